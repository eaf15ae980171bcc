# Learning curves: do coherent tokens need fewer updates? (paper, Section 4, "Subword Fertility";
# left to future work there)
#
# In:    models/{lang}/{tok}/{heldout,training_log}.parquet, what the validations of a model found
# Out:   studies/pretraining/{lang}/{tok}/{seed}/   the same model, pretrained with another seed
#        figures/figure_learning_curves, tables/table_learning_curves
# Steps: pretrain again for each of `lm.pretraining_seeds`; pair the held-out lines; draw, compare


use rule pretrain_model as repeat_pretraining with:
    output:
        weights=result("studies/pretraining/{lang}/{tok}/{seed}/model.safetensors"),
        configuration=result("studies/pretraining/{lang}/{tok}/{seed}/config.json"),
        tokenizer=result("studies/pretraining/{lang}/{tok}/{seed}/tokenizer.json"),
        tokenizer_configuration=result(
            "studies/pretraining/{lang}/{tok}/{seed}/tokenizer_config.json"
        ),
        log=result("studies/pretraining/{lang}/{tok}/{seed}/training_log.parquet"),
        heldout=result("studies/pretraining/{lang}/{tok}/{seed}/heldout.parquet"),
        card=result("studies/pretraining/{lang}/{tok}/{seed}/README.md"),
    log:
        result("logs/repeat_pretraining/{lang}.{tok}.{seed}.log"),
    benchmark:
        result("benchmarks/repeat_pretraining/{lang}.{tok}.{seed}.tsv")
    params:
        name=lambda wildcards: f"{wildcards.lang}/{wildcards.tok}, seed {wildcards.seed} ({RUN})",
        seed=lambda wildcards: int(wildcards.seed),
        state_dir=state("studies/pretraining/{lang}/{tok}/{seed}"),
        live=result("logs/repeat_pretraining/{lang}.{tok}.{seed}"),
        artefact=result("studies/pretraining/{lang}/{tok}/{seed}"),


rule figure_learning_curves:
    """Bits per character and words right against updates, characters and training time."""
    input:
        heldout=curve_files("heldout.parquet"),
        logs=curve_files("training_log.parquet"),
        repeats=repeated_curve_files("heldout.parquet"),
        repeated_logs=repeated_curve_files("training_log.parquet"),
        style=resource_file("style.mplstyle"),
    output:
        pdf=report(
            result("figures/figure_learning_curves.pdf"),
            caption="../report/figure_learning_curves.rst",
            category="Figures",
        ),
        png=result("figures/figure_learning_curves.png"),
    log:
        result("logs/figure_learning_curves.log"),
    benchmark:
        result("benchmarks/figure_learning_curves.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(CURVE_LANGUAGES),
        compared=labels_of(LM_TOKENIZERS),
        presets=presets_of(LM_TOKENIZERS),
        labels=labels_of(ALL_TOKENIZERS),
        baseline=curve_baseline(),
        seed=config["seed"],
        code=library_digest("paper.learning_curves"),
    script:
        "../scripts/figure_learning_curves.py"


rule table_learning_curves:
    """Where the learning curves end, and what it takes to get as far as BPE's."""
    input:
        heldout=curve_files("heldout.parquet"),
        logs=curve_files("training_log.parquet"),
        repeats=repeated_curve_files("heldout.parquet"),
        repeated_logs=repeated_curve_files("training_log.parquet"),
    output:
        tex=result("tables/table_learning_curves.tex"),
        csv=result("tables/table_learning_curves.csv"),
        md=report(
            result("tables/table_learning_curves.md"),
            caption="../report/table_learning_curves.rst",
            category="Tables",
        ),
    log:
        result("logs/table_learning_curves.log"),
    benchmark:
        result("benchmarks/table_learning_curves.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(CURVE_LANGUAGES),
        compared=labels_of(LM_TOKENIZERS),
        presets=presets_of(LM_TOKENIZERS),
        baseline=curve_baseline(),
        pretrain=config["lm"]["pretrain"],
        seed=config["seed"],
        code=library_digest("paper.learning_curves"),
    script:
        "../scripts/table_learning_curves.py"
