# Vocabularies (paper, Section 3) and their export as Hugging Face folders.
#
# In:    corpus/{lang}.txt.zst, training lines; corpus/{lang}.train.words.npz, the same as word types.
#        {lang} is a training corpus (`en`) or a sample of it (`en.sample1`)
# Out:   vocab/{lang}/bpe_initial/   the BPE vocabulary that SaGe prunes; bpe_initial.{size} of others
#        vocab/{lang}/unigram_initial/  UnigramLM's, for those of `initial: unigram`
#        vocab/{lang}/{tok}/         a tokenizer: tokenizer.json, tokenizer_config.json, pieces.txt,
#                                    README.md; for SaGe also ablations.parquet and embeddings.npz
#        embeddings/{lang}/{tok}.npz the embeddings that a SaGe tokenizer starts from
#                                    (in a study, of all tokenizers that differ in the pruning only)
# Steps: one rule for each method in `tokenizer_settings`; SaGe is bpe_initial (or unigram_initial) ->
#        embeddings -> pruning


rule train_bpe:
    """BPE of sentencepiece at the final size, segmented by greedy longest match (paper, Section 2)."""
    input:
        lines=result("corpus/{lang}.txt.zst"),
        source=lambda wildcards: run.descriptions([wildcards.lang]),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
        model=result("vocab/{lang}/{tok}/sentencepiece.model"),
    log:
        result("logs/train_bpe/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/train_bpe/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(run.trained("bpe")),
    priority: 1
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(8000),
        runtime=120,
    params:
        method="bpe",
        size=config["vocabulary"]["final_size"],
        key="vocabulary.final_size",
        training=run.sentencepiece_settings,
        words=run.word_settings,
        card=lambda wildcards: run.card(wildcards.lang, "BPE, segmented by greedy longest match"),
        artefact=result("vocab/{lang}/{tok}"),
        code=code_of("train_bpe.py"),
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
        size=lambda wildcards: int(wildcards.size[1:] or config["vocabulary"]["initial_size"]),
        key="vocabulary.initial_size",
        artefact=result("vocab/{lang}/bpe_initial{size}"),


rule export_bpe_merges:
    """The BPE vocabulary of the final size again, segmented by its merges as sentencepiece does."""
    input:
        model=result("vocab/{lang}/bpe/sentencepiece.model"),
        source=lambda wildcards: run.descriptions([wildcards.lang]),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
    log:
        result("logs/export_bpe_merges/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/export_bpe_merges/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(run.of_method("bpe_merges")),
    conda:
        "../../envs/vocabulary.yaml"
    params:
        segmentation="merges",
        words=run.word_settings,
        card=lambda wildcards: run.card(wildcards.lang, "BPE, segmented by its merges"),
        artefact=result("vocab/{lang}/{tok}"),
        code=code_of("export_bpe_merges.py"),
    script:
        "../scripts/export_bpe_merges.py"


use rule train_bpe as train_unigram with:
    log:
        result("logs/train_unigram/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/train_unigram/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(run.trained("unigram")),
    resources:
        mem_mb=memory(16000),
        runtime=240,
    params:
        method="unigram",
        card=lambda wildcards: run.card(wildcards.lang, "UnigramLM"),


use rule train_unigram as train_unigram_initial with:
    """UnigramLM of the initial size, whose pieces SaGe prunes where `initial: unigram` says so."""
    output:
        **tokenizer_files("vocab/{lang}/unigram_initial"),
        model=result("vocab/{lang}/unigram_initial/sentencepiece.model"),
    log:
        result("logs/train_unigram_initial/{lang}.log"),
    benchmark:
        result("benchmarks/train_unigram_initial/{lang}.tsv")
    params:
        size=config["vocabulary"]["initial_size"],
        key="vocabulary.initial_size",
        artefact=result("vocab/{lang}/unigram_initial"),


use rule export_bpe_merges as export_unigram_greedy with:
    """The UnigramLM vocabulary of the final size again, segmented by greedy longest match."""
    input:
        model=result("vocab/{lang}/unigram/sentencepiece.model"),
        source=lambda wildcards: run.descriptions([wildcards.lang]),
    log:
        result("logs/export_unigram_greedy/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/export_unigram_greedy/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(run.of_method("unigram_greedy")),
    params:
        segmentation="greedy",
        card=lambda wildcards: run.card(
            wildcards.lang, "UnigramLM, segmented by greedy longest match"
        ),


rule prune_null:
    """The initial vocabulary, pruned without contexts: at random, or the least frequent pieces."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        pieces=lambda wildcards: run.initial(wildcards.lang, wildcards.tok, "pieces.txt"),
        source=lambda wildcards: run.descriptions([wildcards.lang]),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
        ablations=result("vocab/{lang}/{tok}/ablations.parquet"),
    log:
        result("logs/prune_null/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/prune_null/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(run.with_seeds(run.of_method("random", "frequency"))),
    conda:
        "../../envs/vocabulary.yaml"
    resources:
        mem_mb=memory(8000),
        runtime=120,
    params:
        **run.null_parameters,
        method=lambda wildcards: run.tokenizer(wildcards.tok)["method"],
        seed=lambda wildcards: run.tokenizer(wildcards.tok).get("seed", run.seed),
        words=run.word_settings,
        card=lambda wildcards: run.null_card(wildcards.lang, wildcards.tok),
        artefact=result("vocab/{lang}/{tok}"),
        code=code_of("prune_null.py"),
    script:
        "../scripts/prune_null.py"


rule train_wordpiece:
    """WordPiece of Hugging Face at the final size, in `▁` notation, segmented greedily."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        source=lambda wildcards: run.descriptions([wildcards.lang]),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
    log:
        result("logs/train_wordpiece/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/train_wordpiece/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(run.of_method("wordpiece")),
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(8000),
        runtime=120,
    params:
        size=config["vocabulary"]["final_size"],
        character_coverage=config["vocabulary"]["character_coverage"],
        words=run.word_settings,
        card=lambda wildcards: run.card(
            wildcards.lang, "WordPiece, segmented by greedy longest match"
        ),
        artefact=result("vocab/{lang}/{tok}"),
        code=code_of("train_wordpiece.py"),
    script:
        "../scripts/train_wordpiece.py"


rule import_tokenizer:
    """A tokenizer from elsewhere in this project's form; where there is none, the job says so."""
    input:
        files=lambda wildcards: run.external_files(wildcards.lang, wildcards.tok),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
    log:
        result("logs/import_tokenizer/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/import_tokenizer/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of(run.of_method("external")),
    conda:
        "../../envs/vocabulary.yaml"
    params:
        path=lambda wildcards: run.external_path(wildcards.lang, wildcards.tok),
        words=run.word_settings,
        card=lambda wildcards: run.external_card(wildcards.lang, wildcards.tok),
        artefact=result("vocab/{lang}/{tok}"),
        code=code_of("import_tokenizer.py"),
    script:
        "../scripts/import_tokenizer.py"


rule train_embeddings:
    """Word2Vec over the initial vocabulary, in the decoder of a SaGe tokenizer (paper, Section 3)."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        pieces=lambda wildcards: run.initial(wildcards.lang, wildcards.tok, "pieces.txt"),
        model=lambda wildcards: run.initial(wildcards.lang, wildcards.tok, "sentencepiece.model"),
    output:
        embeddings=result("embeddings/{lang}/{tok}.npz"),
    log:
        result("logs/train_embeddings/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/train_embeddings/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of([*run.with_seeds(run.of_method("sage")), *run.studied]),
    priority: 1
    conda:
        "../../envs/vocabulary.yaml"
    threads: lambda wildcards: run.word2vec_threads(wildcards.lang)
    resources:
        mem_mb=memory(8000),
        runtime=480,
    params:
        decoder=lambda wildcards: run.decoder(wildcards.tok),
        word2vec=lambda wildcards: run.word2vec(wildcards.lang),
        seed=lambda wildcards: run.sage_parameters(wildcards.tok)["seed"],
        state_dir=state("embeddings/{lang}/{tok}"),
        artefact=result("embeddings/{lang}/{tok}.npz"),
        code=code_of("train_embeddings.py"),
    script:
        "../scripts/train_embeddings.py"


rule build_sage:
    """SaGe: prune the initial vocabulary to the final size (paper, Section 3, Algorithm 3)."""
    input:
        words=result("corpus/{lang}.train.words.npz"),
        pieces=lambda wildcards: run.initial(wildcards.lang, wildcards.tok, "pieces.txt"),
        # For its merges, where the decoder is `merges`: then it is BPE's.
        model=lambda wildcards: run.initial(wildcards.lang, wildcards.tok, "sentencepiece.model"),
        embeddings=lambda wildcards: run.embeddings(wildcards.lang, wildcards.tok),
        source=lambda wildcards: run.descriptions([wildcards.lang]),
    output:
        **tokenizer_files("vocab/{lang}/{tok}"),
        ablations=result("vocab/{lang}/{tok}/ablations.parquet"),
        embeddings=result("vocab/{lang}/{tok}/embeddings.npz"),
    log:
        result("logs/build_sage/{lang}.{tok}.log"),
    benchmark:
        result("benchmarks/build_sage/{lang}.{tok}.tsv")
    wildcard_constraints:
        tok=any_of([*run.with_seeds(run.of_method("sage")), *run.studied]),
    priority: 1
    conda:
        "../../envs/vocabulary.yaml"
    threads: 2
    resources:
        mem_mb=memory(12000),
        runtime=480,
    params:
        sage=lambda wildcards: run.sage_parameters(wildcards.tok),
        scheduler=scheduler,
        word2vec=lambda wildcards: run.word2vec(wildcards.lang),
        words=run.word_settings,
        card=lambda wildcards: run.sage_card(wildcards.lang, wildcards.tok),
        state_dir=state("sage/{lang}/{tok}"),
        artefact=result("vocab/{lang}/{tok}"),
        code=code_of("build_sage.py"),
    script:
        "../scripts/build_sage.py"
