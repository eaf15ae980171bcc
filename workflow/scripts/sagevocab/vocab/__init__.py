"""Lines become a vocabulary and a tokenizer.

The engine, from the bottom up; each module knows only those above it:

    words       lines of text as word types and a sequence of their numbers
    pieces      the entries of a vocabulary and the file that lists them
    decoding    compiled: how a word type becomes tokens, with any part of a vocabulary
    segment     a finished vocabulary's way to segment words
    embeddings  E_T and E_C of Equation 1, by Word2Vec
    kernels     compiled: Equation 1's sums over lines, with and without each piece
    line_sums   these sums over a stretch of lines: views of the vocabulary, threads
    cluster     a Dask cluster whose workers compute as this machine does
    distributed these sums, taken by its workers
    ablation    the loss of a piece: readings of loss_t
    sage        Algorithm 3: k, M, m, l, the record of what was pruned, its state

`decoding` and `kernels` call nothing compiled outside their own file. The other modules make
initial vocabularies, read foreign tokenizers, write folders, and tie the steps together (`train`).
"""
