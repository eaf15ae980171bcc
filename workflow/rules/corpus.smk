# From raw sources to lines of text and rows of tasks.
#
# In:    retrieved/..., or a local file that the configuration names
# Out:   corpus/{lang}.sentences.txt.zst      every clean sentence, in the source's order
#        corpus/{lang}.txt.zst                the seeded sample that everything is trained on
#        corpus/{lang}.heldout.txt.zst        lines kept out of all training
#        corpus/domains/{domain}.txt.zst
#        corpus/{lang}.{corpus}.words.npz     a text as its word types and the sequence of them
#        tasks/{task}/{split}.parquet         text, text_pair, label; or tokens, tags (IOB2)
# Steps: read the dump as a stream, wikitext to prose, prose to sentences; drop duplicates, sample;
#        normalise and split into words; bring rows and labels of tasks to one form


rule extract_corpus:
    """Sentences of a dump, or lines of any other source. Goes on where a killed run stopped."""
    input:
        source=lambda wildcards: source_input(
            "language_settings", wildcards.lang, f"retrieved/corpora/{wildcards.lang}"
        ),
    output:
        sentences=result("corpus/{lang}.sentences.txt.zst"),
    log:
        result("logs/extract_corpus/{lang}.log"),
    benchmark:
        result("benchmarks/extract_corpus/{lang}.tsv")
    conda:
        "../../envs/corpus.yaml"
    threads: lambda wildcards: 8 if is_dump("language_settings", wildcards.lang) else 1
    resources:
        mem_mb=memory(4000),
        runtime=1440,
    params:
        source=lambda wildcards: source_form("language_settings", wildcards.lang),
        min_words=config["corpus"]["min_words"],
        article_share=lambda wildcards: setting("language_settings", wildcards.lang).get(
            "article_share", 1.0
        ),
        seed=config["seed"],
        state_dir=state("extract_corpus/{lang}"),
        code=library_digest("data.extract"),
    script:
        "../scripts/extract_corpus.py"


rule sample_corpus:
    """A seeded sample of distinct lines to train on, and others held out, in the corpus's order."""
    input:
        sentences=result("corpus/{lang}.sentences.txt.zst"),
    output:
        train=result("corpus/{lang}.txt.zst"),
        heldout=result("corpus/{lang}.heldout.txt.zst"),
    log:
        result("logs/sample_corpus/{lang}.log"),
    benchmark:
        result("benchmarks/sample_corpus/{lang}.tsv")
    conda:
        "../../envs/corpus.yaml"
    threads: 1
    resources:
        mem_mb=memory(8000),
        runtime=120,
    params:
        lines=lambda wildcards: setting("language_settings", wildcards.lang)["lines"],
        heldout_lines=lambda wildcards: setting("language_settings", wildcards.lang)[
            "heldout_lines"
        ],
        shuffle=lambda wildcards: setting("language_settings", wildcards.lang).get("shuffle"),
        seed=config["seed"],
        code=library_digest("data.corpus"),
    script:
        "../scripts/sample_corpus.py"


rule extract_domain:
    """The distinct lines of a domain text, or a seeded sample of them."""
    input:
        source=lambda wildcards: source_input(
            "domain_settings", wildcards.domain, f"retrieved/domains/{wildcards.domain}"
        ),
    output:
        lines=result("corpus/domains/{domain}.txt.zst"),
    log:
        result("logs/extract_domain/{domain}.log"),
    benchmark:
        result("benchmarks/extract_domain/{domain}.tsv")
    conda:
        "../../envs/corpus.yaml"
    threads: lambda wildcards: 8 if is_dump("domain_settings", wildcards.domain) else 1
    resources:
        mem_mb=memory(4000),
        runtime=240,
    params:
        source=lambda wildcards: source_form("domain_settings", wildcards.domain),
        language=lambda wildcards: setting("domain_settings", wildcards.domain)["language"],
        lines=lambda wildcards: setting("domain_settings", wildcards.domain)["lines"],
        min_words=config["corpus"]["min_words"],
        seed=config["seed"],
        code=library_digest("data.extract"),
    script:
        "../scripts/extract_domain.py"


rule index_words:
    """A text as word types and the sequence of them, which all counting and pruning reads."""
    input:
        lines=corpus_lines,
    output:
        words=result("corpus/{lang}.{corpus}.words.npz"),
    log:
        result("logs/index_words/{lang}.{corpus}.log"),
    benchmark:
        result("benchmarks/index_words/{lang}.{corpus}.tsv")
    conda:
        "../../envs/vocabulary.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
    params:
        normalization=config["vocabulary"]["normalization"],
        max_word_chars=config["vocabulary"]["max_word_chars"],
        code=library_digest("vocab.words"),
    script:
        "../scripts/index_words.py"


rule prepare_task:
    """Rows of one split of a task in the form that all tasks share (Section 5)."""
    input:
        source=lambda wildcards: task_input(wildcards.task, wildcards.split),
    output:
        rows=result("tasks/{task}/{split}.parquet"),
    log:
        result("logs/prepare_task/{task}.{split}.log"),
    benchmark:
        result("benchmarks/prepare_task/{task}.{split}.tsv")
    conda:
        "../../envs/corpus.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        source=lambda wildcards: source_form(
            "task_settings",
            wildcards.task,
            task_origin(wildcards.task, wildcards.split),
        ),
        kind=lambda wildcards: setting("task_settings", wildcards.task)["kind"],
        columns=lambda wildcards: setting("task_settings", wildcards.task)["columns"],
        labels=lambda wildcards: setting("task_settings", wildcards.task).get("labels"),
        part=lambda wildcards: task_part(wildcards.task, wildcards.split),
        code=library_digest("data.datasets"),
    script:
        "../scripts/prepare_task.py"
