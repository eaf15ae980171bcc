# The paper's tables of hyperparameters (Appendix A), written from the run's own configuration.
#
# In:    workflow/resources/paper_values.yaml; the configuration, through `params:`
# Out:   tables/NAME.tex, .csv and .md
# Steps: set this run's value beside the paper's, setting by setting


rule table_hyperparameters_vocabulary:
    """Hyperparameters of vocabulary creation (paper, Appendix A)."""
    input:
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_hyperparameters_vocabulary.tex"),
        csv=result("tables/table_hyperparameters_vocabulary.csv"),
        md=report(
            result("tables/table_hyperparameters_vocabulary.md"),
            caption="../report/table_hyperparameters_vocabulary.rst",
            category="Tables",
        ),
    log:
        result("logs/table_hyperparameters_vocabulary.log"),
    benchmark:
        result("benchmarks/table_hyperparameters_vocabulary.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        settings={
            "vocabulary": config["vocabulary"],
            "sage": config["sage"],
            "word2vec": config["word2vec"],
            "tokenizer_settings": sage_settings(),
            "seed": config["seed"],
        },
        code=library_digest("paper.tables"),
    script:
        "../scripts/table_hyperparameters_vocabulary.py"


rule table_hyperparameters_pretraining:
    """Hyperparameters of pre-training (paper, Appendix A)."""
    input:
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_hyperparameters_pretraining.tex"),
        csv=result("tables/table_hyperparameters_pretraining.csv"),
        md=report(
            result("tables/table_hyperparameters_pretraining.md"),
            caption="../report/table_hyperparameters_pretraining.rst",
            category="Tables",
        ),
    log:
        result("logs/table_hyperparameters_pretraining.log"),
    benchmark:
        result("benchmarks/table_hyperparameters_pretraining.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        settings={"lm": {"pretrain": config["lm"]["pretrain"]}},
        code=library_digest("paper.tables"),
    script:
        "../scripts/table_hyperparameters_pretraining.py"


rule table_hyperparameters_finetuning:
    """Hyperparameters of fine-tuning (paper, Appendix A)."""
    input:
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_hyperparameters_finetuning.tex"),
        csv=result("tables/table_hyperparameters_finetuning.csv"),
        md=report(
            result("tables/table_hyperparameters_finetuning.md"),
            caption="../report/table_hyperparameters_finetuning.rst",
            category="Tables",
        ),
    log:
        result("logs/table_hyperparameters_finetuning.log"),
    benchmark:
        result("benchmarks/table_hyperparameters_finetuning.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        settings={"lm": {"finetune": config["lm"]["finetune"]}},
        budget=model_budget(),
        tasks=task_columns(TASKS),
        code=library_digest("paper.tables"),
    script:
        "../scripts/table_hyperparameters_finetuning.py"
