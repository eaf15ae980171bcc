# Vocabularies (paper, Section 3) and their export as Hugging Face folders.
#
# In:    corpus/{lang}.train.words.npz, the training lines as word types.
# Out:   vocab/{lang}/bpe_initial/   the BPE vocabulary that SaGe prunes; bpe_initial.{size} of others
#        vocab/{lang}/unigram_initial/  UnigramLM's, for those of `initial: unigram`
#        vocab/{lang}/{tok}/         a tokenizer: tokenizer.json, tokenizer_config.json, pieces.txt;
#                                    for SaGe also ablations.parquet and embeddings.npz; README.md, its
#                                    model card, for those that the run compares
#        embeddings/{lang}/{initial}.{decoder}{contexts}.seed{seed}.npz   the embeddings that SaGe
#                                    tokenizers start from
# Steps: one rule for each method in `tokenizer_settings`; SaGe is bpe_initial (or unigram_initial) ->
#        embeddings -> pruning


# What sentencepiece gets beside the size.
OF_SENTENCEPIECE = [field.name for field in dataclasses.fields(TrainingSettings)]


rule train_bpe:
    """BPE of sentencepiece at the final size, segmented by greedy longest match (paper, Section 2)."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
        model=result("vocab/{lang}/{tok}/sentencepiece.model"),
    wildcard_constraints:
        tok=any_of(run.built_by("bpe")),
    priority: 1
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(8000),
    params:
        method="bpe",
        size=run.config.vocabulary.vocab_size,
        key="vocabulary.vocab_size",
        training={key: getattr(run.config.vocabulary, key) for key in OF_SENTENCEPIECE},
        words=run.word_settings,
    script:
        "../scripts/train_bpe.py"


use rule train_bpe as train_bpe_initial with:
    output:
        **tokenizer_files("vocab/{lang}/bpe_initial{size}"),
        model=result("vocab/{lang}/bpe_initial{size}/sentencepiece.model"),
    log:
        result("logs/train_bpe_initial/{lang}{size}.log"),
    benchmark:
        result("benchmarks/train_bpe_initial/{lang}{size}.tsv")
    wildcard_constraints:
        size="|\\.[0-9]+",
    params:
        size=lambda wildcards: int(wildcards.size[1:] or run.config.vocabulary.initial_size),
        key="vocabulary.initial_size",


rule export_again:
    """The pieces of BPE or UnigramLM in their other segmentation: by merges, or by longest match."""
    input:
        model=exported_model,
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
    wildcard_constraints:
        tok=any_of(run.of_method(*EXPORTED)),
    localrule: True
    conda:
        "../../envs/vocabulary.yaml"
    params:
        method=lambda wildcards: run.builds[wildcards.tok].method,
        words=run.word_settings,
    script:
        "../scripts/export_again.py"


use rule train_bpe as train_unigram with:
    wildcard_constraints:
        tok=any_of(run.built_by("unigram")),
    resources:
        mem_mb=memory(16000),
        runtime=240,
    params:
        method="unigram",


use rule train_unigram as train_unigram_initial with:
    """UnigramLM of the initial size, whose pieces SaGe prunes where `initial: unigram` says so."""
    output:
        **tokenizer_files("vocab/{lang}/unigram_initial"),
        model=result("vocab/{lang}/unigram_initial/sentencepiece.model"),
    params:
        size=run.config.vocabulary.initial_size,
        key="vocabulary.initial_size",


rule prune_control:
    """The initial vocabulary, pruned without contexts: at random, or by counts."""
    input:
        unpack(initial_files),
        words=result("corpus/{lang}.train.words.npz"),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
        ablations=result("vocab/{lang}/{tok}/ablations.parquet"),
    wildcard_constraints:
        tok=any_of(run.built_by(*CONTROLS)),
    conda:
        "../../envs/vocabulary.yaml"
    resources:
        mem_mb=memory(8000),
    params:
        control=control_params,
        words=run.word_settings,
    script:
        "../scripts/prune_control.py"


rule train_wordpiece:
    """WordPiece of Hugging Face at the final size, in `▁` notation, segmented greedily."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
    wildcard_constraints:
        tok=any_of(run.of_method("wordpiece")),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(8000),
    params:
        size=run.config.vocabulary.vocab_size,
        character_coverage=run.config.vocabulary.character_coverage,
        words=run.word_settings,
    script:
        "../scripts/train_wordpiece.py"


rule import_tokenizer:
    """A tokenizer from elsewhere in this project's form; where there is none, the job says so."""
    input:
        files=external_files,
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
    wildcard_constraints:
        tok=any_of(run.of_method("external")),
    localrule: True
    conda:
        "../../envs/vocabulary.yaml"
    params:
        path=lambda wildcards: run.tokenizer(wildcards.tok).path_in(wildcards.lang),
        words=run.word_settings,
    script:
        "../scripts/import_tokenizer.py"


rule train_embeddings:
    """Word2Vec over an initial vocabulary, in the decoder of SaGe tokenizers (paper, Section 3)."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        pieces=result("vocab/{lang}/{initial}/pieces.txt"),
        model=result("vocab/{lang}/{initial}/sentencepiece.model"),
    output:
        embeddings=result("embeddings/{lang}/{initial}.{decoder}{contexts}.seed{seed}.npz"),
    log:
        result("logs/train_embeddings/{lang}.{initial}.{decoder}{contexts}.seed{seed}.log"),
    benchmark:
        result("benchmarks/train_embeddings/{lang}.{initial}.{decoder}{contexts}.seed{seed}.tsv")
    wildcard_constraints:
        initial="(bpe|unigram)_initial(\\.[0-9]+)?",
        decoder="greedy|merges",
        contexts="(\\.shuffled)?",
    priority: 1
    conda:
        "../../envs/vocabulary.yaml"
    threads: WORD2VEC_THREADS
    resources:
        mem_mb=memory(8000),
        runtime=480,
    params:
        decoder="{decoder}",
        word2vec=word2vec_settings(run.config),
        seed="{seed}",
    script:
        "../scripts/train_embeddings.py"


rule build_sage:
    """SaGe: prune the initial vocabulary to the final size (paper, Section 3, Algorithm 3)."""
    input:
        unpack(initial_files),
        words=result("corpus/{lang}.train.words.npz"),
        embeddings=first_embeddings,
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
        ablations=result("vocab/{lang}/{tok}/ablations.parquet"),
        embeddings=result("vocab/{lang}/{tok}/embeddings.npz"),
    wildcard_constraints:
        tok=any_of(run.built_by("sage")),
    priority: 1
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(12000),
        runtime=480,
    params:
        sage=sage_settings,
        word2vec=lambda wildcards: run.builds[wildcards.tok].word2vec,
        words=run.word_settings,
    script:
        "../scripts/build_sage.py"


rule write_cards:
    """The model cards: what each tokenizer of the run is, and from which text. Names and licences are
    in no other job of a vocabulary, so none is made again because one of them changes.
    """
    input:
        pieces=run.files("vocab/{lang}/{tok}/pieces.txt", tok=run.tokenizers),
    output:
        run.files("vocab/{lang}/{tok}/README.md", tok=run.tokenizers),
    localrule: True
    conda:
        "../../envs/vocabulary.yaml"
    params:
        cards=[card(run, *pair) for pair in itertools.product(run.languages, run.tokenizers)],
    script:
        "../scripts/write_cards.py"
