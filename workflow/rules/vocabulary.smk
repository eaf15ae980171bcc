# Vocabularies (paper, Section 3) and their export as Hugging Face folders.
#
# In:    corpus/{lang}.txt.zst, training lines; corpus/{lang}.train.words.npz, the same as word types
# Out:   vocab/{lang}/bpe_initial/   the BPE vocabulary that SaGe prunes
#        vocab/{lang}/{tok}/         a tokenizer: tokenizer.json, tokenizer_config.json, pieces.txt,
#                                    README.md; for SaGe also ablations.parquet and embeddings.npz
#        embeddings/{lang}/{tok}.npz the embeddings that a SaGe tokenizer starts from
# Steps: one rule for each method in `tokenizer_settings`; SaGe is bpe_initial -> embeddings -> pruning


rule train_bpe_initial:
    """BPE of sentencepiece at the initial size (paper, Section 3, n * V)."""
    input:
        lines=result("corpus/{lang}.txt.zst"),
        source=corpus_description,
    output:
        pieces=result("vocab/{lang}/bpe_initial/pieces.txt"),
        model=result("vocab/{lang}/bpe_initial/sentencepiece.model"),
        tokenizer=result("vocab/{lang}/bpe_initial/tokenizer.json"),
        settings=result("vocab/{lang}/bpe_initial/tokenizer_config.json"),
        card=result("vocab/{lang}/bpe_initial/README.md"),
    log:
        result("logs/train_bpe_initial/{lang}.log"),
    benchmark:
        result("benchmarks/train_bpe_initial/{lang}.tsv")
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(8000),
        runtime=120,
    params:
        size=config["vocabulary"]["initial_size"],
        training=sentencepiece_settings(),
        words=word_settings(),
        card=vocabulary_card("BPE, segmented by greedy longest match"),
        artefact=result("vocab/{lang}/bpe_initial"),
        export=library_digest("vocab.export"),
        code=library_digest("vocab.bpe"),
    script:
        "../scripts/train_bpe_initial.py"


rule train_bpe:
    """BPE of sentencepiece at the final size, segmented by greedy longest match (paper, Section 2)."""
    input:
        lines=result("corpus/{lang}.txt.zst"),
        source=corpus_description,
    output:
        pieces=result("vocab/{lang}/{tok}/pieces.txt"),
        model=result("vocab/{lang}/{tok}/sentencepiece.model"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        settings=result("vocab/{lang}/{tok}/tokenizer_config.json"),
        card=result("vocab/{lang}/{tok}/README.md"),
    log:
        result("logs/train_bpe/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/train_bpe/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(bpe_tokenizers()),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(8000),
        runtime=120,
    params:
        size=config["vocabulary"]["final_size"],
        training=sentencepiece_settings(),
        words=word_settings(),
        card=vocabulary_card("BPE, segmented by greedy longest match"),
        artefact=result("vocab/{lang}/{tok}"),
        export=library_digest("vocab.export"),
        code=library_digest("vocab.bpe"),
    script:
        "../scripts/train_bpe.py"


rule export_bpe_merges:
    """The BPE vocabulary of the final size again, segmented by its merges as sentencepiece does."""
    input:
        model=result("vocab/{lang}/bpe/sentencepiece.model"),
        source=corpus_description,
    output:
        pieces=result("vocab/{lang}/{tok}/pieces.txt"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        settings=result("vocab/{lang}/{tok}/tokenizer_config.json"),
        card=result("vocab/{lang}/{tok}/README.md"),
    log:
        result("logs/export_bpe_merges/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/export_bpe_merges/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(tokenizers_of_method("bpe_merges")),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        words=word_settings(),
        card=vocabulary_card("BPE, segmented by its merges"),
        artefact=result("vocab/{lang}/{tok}"),
        export=library_digest("vocab.export"),
        code=library_digest("vocab.bpe"),
    script:
        "../scripts/export_bpe_merges.py"


rule train_unigram:
    """UnigramLM of sentencepiece at the final size, segmented into its likeliest pieces."""
    input:
        lines=result("corpus/{lang}.txt.zst"),
        source=corpus_description,
    output:
        pieces=result("vocab/{lang}/{tok}/pieces.txt"),
        model=result("vocab/{lang}/{tok}/sentencepiece.model"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        settings=result("vocab/{lang}/{tok}/tokenizer_config.json"),
        card=result("vocab/{lang}/{tok}/README.md"),
    log:
        result("logs/train_unigram/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/train_unigram/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(tokenizers_of_method("unigram")),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(16000),
        runtime=240,
    params:
        size=config["vocabulary"]["final_size"],
        training=sentencepiece_settings(),
        words=word_settings(),
        card=vocabulary_card("UnigramLM"),
        artefact=result("vocab/{lang}/{tok}"),
        export=library_digest("vocab.export"),
        code=library_digest("vocab.bpe"),
    script:
        "../scripts/train_unigram.py"


rule train_wordpiece:
    """WordPiece of Hugging Face at the final size, in `▁` notation, segmented greedily."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        source=corpus_description,
    output:
        pieces=result("vocab/{lang}/{tok}/pieces.txt"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        settings=result("vocab/{lang}/{tok}/tokenizer_config.json"),
        card=result("vocab/{lang}/{tok}/README.md"),
    log:
        result("logs/train_wordpiece/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/train_wordpiece/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(tokenizers_of_method("wordpiece")),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(8000),
        runtime=120,
    params:
        size=config["vocabulary"]["final_size"],
        character_coverage=config["vocabulary"]["character_coverage"],
        words=word_settings(),
        card=vocabulary_card("WordPiece, segmented by greedy longest match"),
        artefact=result("vocab/{lang}/{tok}"),
        export=library_digest("vocab.export"),
        code=library_digest("vocab.bpe"),
    script:
        "../scripts/train_wordpiece.py"


rule import_tokenizer:
    """A tokenizer from elsewhere in this project's form; where there is none, the job says so."""
    input:
        files=external_files,
    output:
        pieces=result("vocab/{lang}/{tok}/pieces.txt"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        settings=result("vocab/{lang}/{tok}/tokenizer_config.json"),
        card=result("vocab/{lang}/{tok}/README.md"),
    log:
        result("logs/import_tokenizer/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/import_tokenizer/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(tokenizers_of_method("external")),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        path=external_path,
        words=word_settings(),
        card=external_card,
        artefact=result("vocab/{lang}/{tok}"),
        code=library_digest("vocab.external"),
    script:
        "../scripts/import_tokenizer.py"


rule train_embeddings:
    """Word2Vec over the initial vocabulary, in the decoder of a SaGe tokenizer (paper, Section 3)."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        pieces=result("vocab/{lang}/bpe_initial/pieces.txt"),
        model=result("vocab/{lang}/bpe_initial/sentencepiece.model"),
    output:
        embeddings=result("embeddings/{lang}/{tok}.npz"),
    log:
        result("logs/train_embeddings/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/train_embeddings/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(tokenizers_of_method("sage")),
    conda:
        "../../envs/vocabulary.yaml"
    threads: config["word2vec"]["workers"]
    resources:
        mem_mb=memory(8000),
        runtime=480,
    params:
        decoder=sage_decoder,
        word2vec=config["word2vec"],
        seed=config["seed"],
        state_dir=state("embeddings/{lang}/{tok}"),
        artefact=result("embeddings/{lang}/{tok}.npz"),
        merges=library_digest("vocab.bpe"),
        code=library_digest("vocab.embeddings"),
    script:
        "../scripts/train_embeddings.py"


rule build_sage:
    """SaGe: prune the initial vocabulary to the final size (paper, Section 3, Algorithm 3)."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        pieces=result("vocab/{lang}/bpe_initial/pieces.txt"),
        model=result("vocab/{lang}/bpe_initial/sentencepiece.model"),
        embeddings=result("embeddings/{lang}/{tok}.npz"),
        source=corpus_description,
    output:
        pieces=result("vocab/{lang}/{tok}/pieces.txt"),
        tokenizer=result("vocab/{lang}/{tok}/tokenizer.json"),
        settings=result("vocab/{lang}/{tok}/tokenizer_config.json"),
        card=result("vocab/{lang}/{tok}/README.md"),
        ablations=result("vocab/{lang}/{tok}/ablations.parquet"),
        embeddings=result("vocab/{lang}/{tok}/embeddings.npz"),
    log:
        result("logs/build_sage/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/build_sage/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(tokenizers_of_method("sage")),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(12000),
        runtime=480,
    params:
        sage=sage_parameters,
        word2vec=config["word2vec"],
        words=word_settings(),
        card=sage_card,
        state_dir=state("sage/{lang}/{tok}"),
        artefact=result("vocab/{lang}/{tok}"),
        merges=library_digest("vocab.bpe"),
        export=library_digest("vocab.export"),
        code=library_digest("vocab.sage"),
    script:
        "../scripts/build_sage.py"
