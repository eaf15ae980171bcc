# Studies of the method: readings of the loss, stability and sensitivity of a vocabulary.
#
# In:    corpus/{lang}.txt.zst, training lines
# Out:   studies/samples/{lang}/{sample}.txt.zst, .words.npz   a seeded sample of the lines
#        studies/bpe/{lang}/{sample}.{size}/                   BPE on it; of the final size also counts
#        studies/embeddings/{lang}/{sample}.{size}.{decoder}.{seed}.npz
#        studies/{study}/{lang}/{setting}/{seed}/              a vocabulary: pieces.txt,
#            ablations.parquet, and its counts on the sample as analysis/ has them
# Steps: sample, BPE, embeddings for each decoder and seed, then one pruning a setting and seed


rule sample_study:
    """A seeded sample of a training corpus, as lines and as word types."""
    input:
        lines=result("corpus/{lang}.txt.zst"),
    output:
        lines=result("studies/samples/{lang}/{sample}.txt.zst"),
        words=result("studies/samples/{lang}/{sample}.words.npz"),
    log:
        result("logs/sample_study/{lang}.{sample}.log"),
    benchmark:
        result("benchmarks/sample_study/{lang}.{sample}.tsv")
    conda:
        "../../envs/vocabulary.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        lines=studies.settings["lines"],
        seed=lambda wildcards: config["seed"] + int(wildcards.sample),
        words=run.word_settings,
        code=code_of("sample_study.py"),
    script:
        "../scripts/sample_study.py"


rule train_study_bpe:
    """BPE of sentencepiece on a sample."""
    input:
        lines=result("studies/samples/{lang}/{sample}.txt.zst"),
    output:
        pieces=result("studies/bpe/{lang}/{sample}.{size}/pieces.txt"),
        model=result("studies/bpe/{lang}/{sample}.{size}/sentencepiece.model"),
    log:
        result("logs/train_study_bpe/{lang}.{sample}.{size}.log"),
    benchmark:
        result("benchmarks/train_study_bpe/{lang}.{sample}.{size}.tsv")
    conda:
        "../../envs/vocabulary.yaml"
    resources:
        mem_mb=memory(8000),
        runtime=60,
    params:
        training=run.sentencepiece_settings,
        code=code_of("train_study_bpe.py"),
    script:
        "../scripts/train_study_bpe.py"


rule count_study_bpe:
    """Frequencies, fertility and neighbours of a sample's BPE, which the builds are compared with."""
    input:
        words=result("studies/samples/{lang}/{sample}.words.npz"),
        pieces=result("studies/bpe/{lang}/{sample}.{size}/pieces.txt"),
    output:
        frequencies=result("studies/bpe/{lang}/{sample}.{size}/frequencies.parquet"),
        fertility=result("studies/bpe/{lang}/{sample}.{size}/fertility.parquet"),
        neighbours=result("studies/bpe/{lang}/{sample}.{size}/neighbours.parquet"),
        lines=result("studies/bpe/{lang}/{sample}.{size}/lines.parquet"),
    log:
        result("logs/count_study_bpe/{lang}.{sample}.{size}.log"),
    benchmark:
        result("benchmarks/count_study_bpe/{lang}.{sample}.{size}.tsv")
    conda:
        "../../envs/vocabulary.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        windows=config["analysis"]["windows"],
        code=code_of("count_study_bpe.py"),
    script:
        "../scripts/count_study_bpe.py"


rule train_study_embeddings:
    """Word2Vec over a sample, in a decoder and with a seed."""
    input:
        words=result("studies/samples/{lang}/{sample}.words.npz"),
        pieces=result("studies/bpe/{lang}/{sample}.{size}/pieces.txt"),
        model=result("studies/bpe/{lang}/{sample}.{size}/sentencepiece.model"),
    output:
        embeddings=result("studies/embeddings/{lang}/{sample}.{size}.{decoder}.{seed}.npz"),
    log:
        result("logs/train_study_embeddings/{lang}.{sample}.{size}.{decoder}.{seed}.log"),
    benchmark:
        result("benchmarks/train_study_embeddings/{lang}.{sample}.{size}.{decoder}.{seed}.tsv")
    conda:
        "../../envs/vocabulary.yaml"
    threads: config["word2vec"]["workers"]
    resources:
        mem_mb=memory(4000),
        runtime=240,
    params:
        word2vec=studies.word2vec,
        state_dir=state("study_embeddings/{lang}/{sample}.{size}.{decoder}.{seed}"),
        code=code_of("train_study_embeddings.py"),
    script:
        "../scripts/train_study_embeddings.py"


rule build_study:
    """One vocabulary of a study, and its counts on the sample it was made from."""
    input:
        unpack(
            lambda wildcards: studies.inputs(
                wildcards.study, wildcards.lang, wildcards.setting, wildcards.seed
            )
        ),
    output:
        pieces=result("studies/{study}/{lang}/{setting}/{seed}/pieces.txt"),
        ablations=result("studies/{study}/{lang}/{setting}/{seed}/ablations.parquet"),
        frequencies=result("studies/{study}/{lang}/{setting}/{seed}/frequencies.parquet"),
        fertility=result("studies/{study}/{lang}/{setting}/{seed}/fertility.parquet"),
        neighbours=result("studies/{study}/{lang}/{setting}/{seed}/neighbours.parquet"),
        lines=result("studies/{study}/{lang}/{setting}/{seed}/lines.parquet"),
    log:
        result("logs/build_study/{study}.{lang}.{setting}.{seed}.log"),
    benchmark:
        result("benchmarks/build_study/{study}.{lang}.{setting}.{seed}.tsv")
    conda:
        "../../envs/vocabulary.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=240,
    params:
        sage=lambda wildcards: studies.sage_parameters(
            wildcards.study, wildcards.setting, wildcards.seed
        ),
        word2vec=studies.word2vec,
        windows=config["analysis"]["windows"],
        state_dir=state("study/{study}.{lang}.{setting}.{seed}"),
        code=code_of("build_study.py"),
    script:
        "../scripts/build_study.py"


rule assess_readings:
    """The paper's claims and the key quantities of every reading with every seed, in a language."""
    input:
        readings=lambda wildcards: studies.counts(wildcards.lang),
        full=lambda wildcards: studies.full_size_counts(wildcards.lang),
        paper=resource("paper_values.yaml"),
    output:
        readings=result("studies/readings/{lang}.json"),
    log:
        result("logs/assess_readings/{lang}.log"),
    benchmark:
        result("benchmarks/assess_readings/{lang}.tsv")
    conda:
        "../../envs/paper.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=120,
    params:
        study=studies.claims("readings"),
        run=studies.full_size_claims(),
        builds=[(name, seed) for name in studies.readings for seed in studies.seeds],
        window=config["analysis"]["windows"][0],
        state_dir=state("readings/{lang}"),
        code=code_of("assess_readings.py"),
    script:
        "../scripts/assess_readings.py"
