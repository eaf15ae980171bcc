# The paper's tables of segmentations and frequencies; every tokenizer's measures; costs.
#
# In:    corpora, vocabularies and measurements; workflow/resources/paper_values.yaml
# Out:   tables/NAME.tex, .csv (bare numbers) and .md
# Steps: read, compare BPE with each SaGe tokenizer, set the paper's values beside ours


rule table_examples:
    """Sentences with a piece that BPE keeps and SaGe drops (paper, Table 1)."""
    input:
        lines=expand(result("corpus/{lang}.txt.zst"), lang=EXAMPLE_LANGUAGES),
        descriptions=descriptions_of(EXAMPLE_LANGUAGES),
        pieces=expand(
            result("vocab/{lang}/{tok}/pieces.txt"),
            lang=EXAMPLE_LANGUAGES,
            tok=COMPARED_TOKENIZERS,
        ),
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_examples.tex"),
        csv=result("tables/table_examples.csv"),
        md=report(
            result("tables/table_examples.md"),
            caption="../report/table_examples.rst",
            category="Tables",
        ),
    log:
        result("logs/table_examples.log"),
    benchmark:
        result("benchmarks/table_examples.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        languages=EXAMPLE_LANGUAGES,
        titles=language_titles(EXAMPLE_LANGUAGES),
        sources=text_sources(EXAMPLE_LANGUAGES),
        labels=labels_of(COMPARED_TOKENIZERS),
        presets=presets_of(COMPARED_TOKENIZERS),
        normalization=config["vocabulary"]["normalization"],
        max_word_chars=config["vocabulary"]["max_word_chars"],
        code=library_digest("paper.tables_examples"),
    script:
        "../scripts/table_examples.py"


rule table_retokenization:
    """An ablation that reaches into a distant window (paper, Table 2)."""
    input:
        lines=expand(result("corpus/{lang}.txt.zst"), lang=EXAMPLE_LANGUAGES),
        descriptions=descriptions_of(EXAMPLE_LANGUAGES),
        initial=expand(result("vocab/{lang}/bpe_initial/pieces.txt"), lang=EXAMPLE_LANGUAGES),
        ablations=expand(
            result("vocab/{lang}/{tok}/ablations.parquet"),
            lang=EXAMPLE_LANGUAGES,
            tok=COMPARED_TOKENIZERS[1:],
        ),
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_retokenization.tex"),
        csv=result("tables/table_retokenization.csv"),
        md=report(
            result("tables/table_retokenization.md"),
            caption="../report/table_retokenization.rst",
            category="Tables",
        ),
    log:
        result("logs/table_retokenization.log"),
    benchmark:
        result("benchmarks/table_retokenization.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        languages=EXAMPLE_LANGUAGES,
        titles=language_titles(EXAMPLE_LANGUAGES),
        sources=text_sources(EXAMPLE_LANGUAGES),
        labels=labels_of(COMPARED_TOKENIZERS[1:]),
        presets=presets_of(COMPARED_TOKENIZERS[1:]),
        window=2,
        normalization=config["vocabulary"]["normalization"],
        max_word_chars=config["vocabulary"]["max_word_chars"],
        code=library_digest("paper.tables_examples"),
    script:
        "../scripts/table_retokenization.py"


rule table_frequencies:
    """Pieces whose frequency differs most (paper, Section 4, "Token Frequency")."""
    input:
        frequencies=expand(
            result("analysis/{lang}/train/{tok}/frequencies.parquet"),
            lang=LANGUAGES,
            tok=COMPARED_TOKENIZERS,
        ),
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_frequencies.tex"),
        csv=result("tables/table_frequencies.csv"),
        md=report(
            result("tables/table_frequencies.md"),
            caption="../report/table_frequencies.rst",
            category="Tables",
        ),
    log:
        result("logs/table_frequencies.log"),
    benchmark:
        result("benchmarks/table_frequencies.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        languages=LANGUAGES,
        titles=language_titles(LANGUAGES),
        labels=labels_of(COMPARED_TOKENIZERS),
        presets=presets_of(COMPARED_TOKENIZERS),
        top=10,
        code=library_digest("paper.tables"),
    script:
        "../scripts/table_frequencies.py"


rule table_tokenizers:
    """What peers measure of a tokenizer: fertility, compression, efficiency, use; every one."""
    input:
        summaries=summaries_of(ALL_TOKENIZERS),
        morphology=expand(
            result("analysis/{lang}/morphology/{tok}.json"),
            lang=MORPHEME_LANGUAGES,
            tok=ALL_TOKENIZERS,
        ),
    output:
        tex=result("tables/table_tokenizers.tex"),
        csv=result("tables/table_tokenizers.csv"),
        md=report(
            result("tables/table_tokenizers.md"),
            caption="../report/table_tokenizers.rst",
            category="Tables",
        ),
    log:
        result("logs/table_tokenizers.log"),
    benchmark:
        result("benchmarks/table_tokenizers.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        texts=measured_texts(),
        listed=language_titles(MORPHEME_LANGUAGES),
        labels=labels_of(ALL_TOKENIZERS),
        presets=presets_of(ALL_TOKENIZERS),
        code=library_digest("paper.tokenizers"),
    script:
        "../scripts/table_tokenizers.py"


rule table_costs:
    """Time and memory of every stage, SaGe against BPE (paper, "Limitations").

    Its numbers come from clocks: it is the one table that differs between equal runs.
    """
    input:
        vocabularies=targets_of("vocabularies"),
        analysis=targets_of("analysis"),
        models=targets_of("models"),
        scores=targets_of("scores"),
        studies=targets_of("studies"),
    output:
        tex=result("tables/table_costs.tex"),
        csv=result("tables/table_costs.csv"),
        md=report(
            result("tables/table_costs.md"),
            caption="../report/table_costs.rst",
            category="Tables",
        ),
    log:
        result("logs/table_costs.log"),
    benchmark:
        result("benchmarks/table_costs.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        benchmarks=result("benchmarks"),
        stages=stage_rules(),
        languages=LANGUAGES,
        titles=language_titles(LANGUAGES),
        tokenizers=PAPER_TOKENIZERS,
        labels=labels_of(PAPER_TOKENIZERS),
        presets=presets_of(PAPER_TOKENIZERS),
        budget=model_budget() if LM_TOKENIZERS else None,
        tasks=task_columns(TASKS),
        code=library_digest("paper.tables"),
    script:
        "../scripts/table_costs.py"
