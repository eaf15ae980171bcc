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
    """Sentences of a dump, or lines of any other source. Resumes where a killed run stopped."""
    input:
        source=language_source,
    output:
        sentences=result("corpus/{lang}.sentences.txt.zst"),
    conda:
        "../../envs/corpus.yaml"
    threads: lambda wildcards: THREADS_OF.get(run.source("language_settings", wildcards.lang).format, 1)
    resources:
        runtime=1440,
    params:
        source=lambda wildcards: run.source("language_settings", wildcards.lang).form,
    script:
        "../scripts/extract_corpus.py"


rule sample_corpus:
    """A seeded sample of distinct lines to train on, and others held out, in the corpus's order."""
    input:
        sentences=result("corpus/{lang}.sentences.txt.zst"),
    output:
        train=result("corpus/{lang}.txt.zst"),
        heldout=result("corpus/{lang}.heldout.txt.zst"),
    conda:
        "../../envs/corpus.yaml"
    resources:
        mem_mb=memory(8000),
    params:
        lines=lookup(dpath="language_settings/{lang}/lines", within=settings),
        heldout_lines=lookup(dpath="language_settings/{lang}/heldout_lines", within=settings),
        shuffle=lookup(dpath="language_settings/{lang}/shuffle", within=settings),
        seed=run.seed,
    script:
        "../scripts/sample_corpus.py"


rule extract_domain:
    """The distinct lines of a domain text, or a seeded sample of them."""
    input:
        source=domain_source,
    output:
        lines=result("corpus/domains/{domain}.txt.zst"),
    conda:
        "../../envs/corpus.yaml"
    threads: lambda wildcards: THREADS_OF.get(run.source("domain_settings", wildcards.domain).format, 1)
    resources:
        runtime=240,
    params:
        source=lambda wildcards: run.source("domain_settings", wildcards.domain).form,
        language=lookup(dpath="domain_settings/{domain}/language", within=settings),
        lines=lookup(dpath="domain_settings/{domain}/lines", within=settings),
        seed=run.seed,
    script:
        "../scripts/extract_domain.py"


rule index_words:
    """A text as word types and the sequence of them, which all counting and pruning reads."""
    input:
        lines=measured_lines,
    output:
        words=result("corpus/{lang}.{corpus}.words.npz"),
    conda:
        "../../envs/vocabulary.yaml"
    params:
        **run.word_settings,
    script:
        "../scripts/index_words.py"


rule prepare_task:
    """Rows of a task, trained on and scored, in the form that all tasks share (Section 5)."""
    input:
        unpack(task_sources),
    output:
        train=result("tasks/{task}/train.parquet"),
        validation=result("tasks/{task}/validation.parquet"),
    conda:
        "../../envs/corpus.yaml"
    params:
        splits=lambda wildcards: run.task_splits(wildcards.task),
        kind=lookup(dpath="task_settings/{task}/kind", within=settings),
        columns=lookup(dpath="task_settings/{task}/columns", within=settings),
        labels=lookup(dpath="task_settings/{task}/labels", within=settings),
    script:
        "../scripts/prepare_task.py"
