# The scores of the language models, and which differences between tokenizers are more than chance.
#
# In:    scores/{lang}/{tok}/{task}/{seed}.json and .predictions.parquet; workflow/resources/paper_values.yaml
# Out:   tables/NAME.tex, .csv (bare numbers) and .md
# Steps: resample the examples that all models answered, and seeds; test, task by task; set means
#        over the seeds beside the paper's and mark those that differ


rule table_sequence:
    """Scores of the sequence-level tasks (paper, Section 5)."""
    input:
        scores=score_files_of(SEQUENCE_TASKS),
        differences=difference_files(),
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_sequence.tex"),
        csv=result("tables/table_sequence.csv"),
        md=report(
            result("tables/table_sequence.md"),
            caption="../report/table_sequence.rst",
            category="Tables",
        ),
    log:
        result("logs/table_sequence.log"),
    benchmark:
        result("benchmarks/table_sequence.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        tasks=task_columns(SEQUENCE_TASKS),
        tokenizers=LM_TOKENIZERS,
        labels=labels_of(LM_TOKENIZERS),
        presets=presets_of(LM_TOKENIZERS),
        budget=model_budget(),
        code=library_digest("paper.tables_scores"),
    script:
        "../scripts/table_sequence.py"


rule table_ner:
    """Scores of named entity recognition (paper, Section 5)."""
    input:
        scores=score_files_of(TOKEN_TASKS),
        differences=difference_files(),
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_ner.tex"),
        csv=result("tables/table_ner.csv"),
        md=report(
            result("tables/table_ner.md"),
            caption="../report/table_ner.rst",
            category="Tables",
        ),
    log:
        result("logs/table_ner.log"),
    benchmark:
        result("benchmarks/table_ner.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        tasks=task_columns(TOKEN_TASKS),
        tokenizers=LM_TOKENIZERS,
        labels=labels_of(LM_TOKENIZERS),
        presets=presets_of(LM_TOKENIZERS),
        budget=model_budget(),
        code=library_digest("paper.tables_scores"),
    script:
        "../scripts/table_ner.py"


rule table_differences:
    """Differences of scores between tokenizers, by paired bootstrap (paper, Section 5)."""
    input:
        scores=score_files_of(COMPARED_TASKS),
        predictions=prediction_files_of(COMPARED_TASKS),
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_differences.tex"),
        csv=result("tables/table_differences.csv"),
        md=report(
            result("tables/table_differences.md"),
            caption="../report/table_differences.rst",
            category="Tables",
        ),
    log:
        result("logs/table_differences.log"),
    benchmark:
        result("benchmarks/table_differences.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        tasks=task_columns(COMPARED_TASKS),
        tokenizers=COMPARED_MODELS,
        labels=labels_of(COMPARED_MODELS),
        presets=presets_of(COMPARED_MODELS),
        readings=tokenizers_of_method("sage"),
        seed=config["seed"],
        budget=model_budget(),
        code=library_digest("paper.tables_scores"),
    script:
        "../scripts/table_differences.py"
