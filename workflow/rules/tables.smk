# The tables of the paper, of its appendix and of the studies, one rule a table.
#
# In:    corpora, vocabularies, measurements, scores and claims; workflow/resources/paper_values.yaml
# Out:   tables/NAME.tex, .csv (bare numbers) and .md, where NAME is the rule
# Steps: read, compare BPE with each SaGe tokenizer, set the paper's values beside this run's


rule table_claims:
    """The paper's chief numbers beside those of each SaGe tokenizer (Sections 3 and 4)."""
    input:
        claims=result("claims.json"),
        paper=resource("paper_values.yaml"),
    output:
        tex=result("tables/table_claims.tex"),
        csv=result("tables/table_claims.csv"),
        json=result("tables/table_claims.json"),
        md=in_report("tables/table_claims.md"),
    log:
        result("logs/table_claims.log"),
    benchmark:
        result("benchmarks/table_claims.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        languages=run.languages,
        titles=run.titles(run.languages),
        tokenizers=run.of_method("sage"),
        labels=run.labels(run.of_method("sage")),
        presets=run.presets(run.of_method("sage")),
        pretrain=config["lm"]["pretrain"] if run.models else None,
        code=code_of("table_claims.py"),
    script:
        "../scripts/table_claims.py"


rule table_examples:
    """Sentences with a piece that BPE keeps and SaGe drops (paper, Table 1)."""
    input:
        lines=expand(result("corpus/{lang}.txt.zst"), lang=run.example_languages),
        descriptions=run.descriptions(run.example_languages),
        pieces=expand(
            result("vocab/{lang}/{tok}/pieces.txt"),
            lang=run.example_languages,
            tok=run.compared,
        ),
        paper=resource("paper_values.yaml"),
    output:
        tex=result("tables/table_examples.tex"),
        csv=result("tables/table_examples.csv"),
        json=result("tables/table_examples.json"),
        md=in_report("tables/table_examples.md"),
    log:
        result("logs/table_examples.log"),
    benchmark:
        result("benchmarks/table_examples.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        languages=run.example_languages,
        titles=run.titles(run.example_languages),
        sources=run.text_sources(run.example_languages),
        labels=run.labels(run.compared),
        presets=run.presets(run.compared),
        normalization=config["vocabulary"]["normalization"],
        max_word_chars=config["vocabulary"]["max_word_chars"],
        code=code_of("table_examples.py"),
    script:
        "../scripts/table_examples.py"


rule table_retokenization:
    """An ablation that reaches into a distant window (paper, Table 2)."""
    input:
        lines=expand(result("corpus/{lang}.txt.zst"), lang=run.example_languages),
        descriptions=run.descriptions(run.example_languages),
        initial=expand(result("vocab/{lang}/bpe_initial/pieces.txt"), lang=run.example_languages),
        ablations=expand(
            result("vocab/{lang}/{tok}/ablations.parquet"),
            lang=run.example_languages,
            tok=run.compared[1:],
        ),
        paper=resource("paper_values.yaml"),
    output:
        tex=result("tables/table_retokenization.tex"),
        csv=result("tables/table_retokenization.csv"),
        json=result("tables/table_retokenization.json"),
        md=in_report("tables/table_retokenization.md"),
    log:
        result("logs/table_retokenization.log"),
    benchmark:
        result("benchmarks/table_retokenization.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        languages=run.example_languages,
        titles=run.titles(run.example_languages),
        sources=run.text_sources(run.example_languages),
        labels=run.labels(run.compared[1:]),
        presets=run.presets(run.compared[1:]),
        window=2,
        normalization=config["vocabulary"]["normalization"],
        max_word_chars=config["vocabulary"]["max_word_chars"],
        code=code_of("table_retokenization.py"),
    script:
        "../scripts/table_retokenization.py"


rule table_frequencies:
    """Pieces whose frequency differs most (paper, Section 4, "Token Frequency")."""
    input:
        frequencies=expand(
            result("analysis/{lang}/train/{tok}/frequencies.parquet"),
            lang=run.languages,
            tok=run.compared,
        ),
        paper=resource("paper_values.yaml"),
    output:
        tex=result("tables/table_frequencies.tex"),
        csv=result("tables/table_frequencies.csv"),
        json=result("tables/table_frequencies.json"),
        md=in_report("tables/table_frequencies.md"),
    log:
        result("logs/table_frequencies.log"),
    benchmark:
        result("benchmarks/table_frequencies.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        languages=run.languages,
        titles=run.titles(run.languages),
        labels=run.labels(run.compared),
        presets=run.presets(run.compared),
        top=10,
        code=code_of("table_frequencies.py"),
    script:
        "../scripts/table_frequencies.py"


rule table_tokenizers:
    """What peers measure of a tokenizer: fertility, compression, efficiency, use; every one."""
    input:
        summaries=run.analysis_files(run.ordered_tokenizers, "summary.json"),
        morphology=expand(
            result("analysis/{lang}/morphology/{tok}.json"),
            lang=run.morpheme_languages,
            tok=run.ordered_tokenizers,
        ),
    output:
        tex=result("tables/table_tokenizers.tex"),
        csv=result("tables/table_tokenizers.csv"),
        json=result("tables/table_tokenizers.json"),
        md=in_report("tables/table_tokenizers.md"),
    log:
        result("logs/table_tokenizers.log"),
    benchmark:
        result("benchmarks/table_tokenizers.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        texts=run.measured_texts(),
        listed=run.titles(run.morpheme_languages),
        labels=run.labels(run.ordered_tokenizers),
        presets=run.presets(run.ordered_tokenizers),
        code=code_of("table_tokenizers.py"),
    script:
        "../scripts/table_tokenizers.py"


rule table_sequence:
    """Scores of the sequence-level tasks (paper, Section 5)."""
    input:
        scores=run.score_files(run.tasks_of_kind("sequence")),
        differences=[result("tables/table_differences.csv")] if run.compared_tasks else [],
        paper=resource("paper_values.yaml"),
    output:
        tex=result("tables/table_sequence.tex"),
        csv=result("tables/table_sequence.csv"),
        json=result("tables/table_sequence.json"),
        md=in_report("tables/table_sequence.md"),
    log:
        result("logs/table_sequence.log"),
    benchmark:
        result("benchmarks/table_sequence.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        printed="table_sequence",
        tasks=run.task_columns(run.tasks_of_kind("sequence")),
        tokenizers=run.models,
        labels=run.labels(run.models),
        presets=run.presets(run.models),
        budget=run.model_budget,
        code=code_of("table_sequence.py"),
    script:
        "../scripts/table_sequence.py"


use rule table_sequence as table_ner with:
    input:
        scores=run.score_files(run.tasks_of_kind("tokens")),
        differences=[result("tables/table_differences.csv")] if run.compared_tasks else [],
        paper=resource("paper_values.yaml"),
    output:
        tex=result("tables/table_ner.tex"),
        csv=result("tables/table_ner.csv"),
        json=result("tables/table_ner.json"),
        md=in_report("tables/table_ner.md"),
    log:
        result("logs/table_ner.log"),
    benchmark:
        result("benchmarks/table_ner.tsv")
    params:
        printed="table_ner",
        tasks=run.task_columns(run.tasks_of_kind("tokens")),


rule table_differences:
    """Differences of scores between tokenizers, by paired bootstrap (paper, Section 5)."""
    input:
        scores=run.score_files(run.compared_tasks),
        predictions=run.prediction_files(run.compared_tasks),
        paper=resource("paper_values.yaml"),
    output:
        tex=result("tables/table_differences.tex"),
        csv=result("tables/table_differences.csv"),
        json=result("tables/table_differences.json"),
        md=in_report("tables/table_differences.md"),
    log:
        result("logs/table_differences.log"),
    benchmark:
        result("benchmarks/table_differences.tsv")
    conda:
        "../../envs/paper.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        tasks=run.task_columns(run.compared_tasks),
        tokenizers=run.compared_models,
        labels=run.labels(run.compared_models),
        presets=run.presets(run.compared_models),
        readings=run.of_method("sage"),
        seed=config["seed"],
        budget=run.model_budget,
        code=code_of("table_differences.py"),
    script:
        "../scripts/table_differences.py"


rule table_learning_curves:
    """Where the learning curves end, and what it takes to get as far as BPE's."""
    input:
        heldout=run.curve_files(run.curve_languages, "heldout.parquet"),
        logs=run.curve_files(run.curve_languages, "training_log.parquet"),
        repeats=run.repeated_curve_files(run.curve_languages, "heldout.parquet"),
        repeated_logs=run.repeated_curve_files(run.curve_languages, "training_log.parquet"),
    output:
        tex=result("tables/table_learning_curves.tex"),
        csv=result("tables/table_learning_curves.csv"),
        json=result("tables/table_learning_curves.json"),
        md=in_report("tables/table_learning_curves.md"),
    log:
        result("logs/table_learning_curves.log"),
    benchmark:
        result("benchmarks/table_learning_curves.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.curve_languages),
        compared=run.labels(run.models),
        presets=run.presets(run.models),
        baseline=run.curve_baseline,
        pretrain=config["lm"]["pretrain"],
        seed=config["seed"],
        code=code_of("table_learning_curves.py"),
    script:
        "../scripts/table_learning_curves.py"


rule table_costs:
    """Time and memory of every stage, SaGe against BPE (paper, "Limitations").

    Its numbers come from clocks: it is the one table that differs between equal runs.
    """
    input:
        vocabularies=run.vocabulary_files(),
        analysis=run.analysis_files(run.tokenizers, "summary.json"),
        models=run.model_files(),
        scores=run.score_files(run.tasks),
        studies=studies.files(),
    output:
        tex=result("tables/table_costs.tex"),
        csv=result("tables/table_costs.csv"),
        json=result("tables/table_costs.json"),
        md=in_report("tables/table_costs.md"),
    log:
        result("logs/table_costs.log"),
    benchmark:
        result("benchmarks/table_costs.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        benchmarks=result("benchmarks"),
        stages=STAGES,
        languages=run.languages,
        titles=run.titles(run.languages),
        tokenizers=run.paper_tokenizers,
        labels=run.labels(run.paper_tokenizers),
        presets=run.presets(run.paper_tokenizers),
        budget=run.model_budget if run.models else None,
        tasks=run.task_columns(run.tasks),
        code=code_of("table_costs.py"),
    script:
        "../scripts/table_costs.py"


rule table_hyperparameters_vocabulary:
    """Hyperparameters of vocabulary creation (paper, Appendix A)."""
    input:
        paper=resource("paper_values.yaml"),
    output:
        tex=result("tables/table_hyperparameters_vocabulary.tex"),
        csv=result("tables/table_hyperparameters_vocabulary.csv"),
        json=result("tables/table_hyperparameters_vocabulary.json"),
        md=in_report("tables/table_hyperparameters_vocabulary.md"),
    log:
        result("logs/table_hyperparameters_vocabulary.log"),
    benchmark:
        result("benchmarks/table_hyperparameters_vocabulary.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        stage="vocabulary",
        settings={
            "vocabulary": config["vocabulary"],
            "sage": config["sage"],
            "word2vec": config["word2vec"],
            "tokenizer_settings": run.sage_settings,
            "seed": config["seed"],
        },
        code=code_of("table_hyperparameters_vocabulary.py"),
    script:
        "../scripts/table_hyperparameters_vocabulary.py"


use rule table_hyperparameters_vocabulary as table_hyperparameters_pretraining with:
    output:
        tex=result("tables/table_hyperparameters_pretraining.tex"),
        csv=result("tables/table_hyperparameters_pretraining.csv"),
        json=result("tables/table_hyperparameters_pretraining.json"),
        md=in_report("tables/table_hyperparameters_pretraining.md"),
    log:
        result("logs/table_hyperparameters_pretraining.log"),
    benchmark:
        result("benchmarks/table_hyperparameters_pretraining.tsv")
    params:
        stage="pretraining",
        settings={"lm": {"pretrain": config["lm"]["pretrain"]}},


use rule table_hyperparameters_vocabulary as table_hyperparameters_finetuning with:
    output:
        tex=result("tables/table_hyperparameters_finetuning.tex"),
        csv=result("tables/table_hyperparameters_finetuning.csv"),
        json=result("tables/table_hyperparameters_finetuning.json"),
        md=in_report("tables/table_hyperparameters_finetuning.md"),
    log:
        result("logs/table_hyperparameters_finetuning.log"),
    benchmark:
        result("benchmarks/table_hyperparameters_finetuning.tsv")
    params:
        stage="finetuning",
        settings={"lm": {"finetune": config["lm"]["finetune"]}},
        budget=run.model_budget,
        tasks=run.task_columns(run.tasks),


rule table_readings:
    """What each reading of the loss reproduces, and key quantities; _claims: which claims."""
    input:
        readings=expand(result("analysis/{lang}/readings.json"), lang=studies.languages),
    output:
        tex=result("tables/table_readings.tex"),
        csv=result("tables/table_readings.csv"),
        json=result("tables/table_readings.json"),
        md=in_report("tables/table_readings.md"),
    log:
        result("logs/table_readings.log"),
    benchmark:
        result("benchmarks/table_readings.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(studies.languages),
        readings=studies.rows(),
        code=code_of("table_readings.py"),
    script:
        "../scripts/table_readings.py"


use rule table_readings as table_readings_claims with:
    output:
        tex=result("tables/table_readings_claims.tex"),
        csv=result("tables/table_readings_claims.csv"),
        json=result("tables/table_readings_claims.json"),
        md=in_report("tables/table_readings_claims.md"),
    log:
        result("logs/table_readings_claims.log"),
    benchmark:
        result("benchmarks/table_readings_claims.tsv")


rule table_stability:
    """Pieces in common across seeds and across samples of the corpus."""
    input:
        vocabularies=studies.stability_files(),
    output:
        tex=result("tables/table_stability.tex"),
        csv=result("tables/table_stability.csv"),
        json=result("tables/table_stability.json"),
        md=in_report("tables/table_stability.md"),
    log:
        result("logs/table_stability.log"),
    benchmark:
        result("benchmarks/table_stability.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        rows=studies.stability_rows(),
        sizes=[config["vocabulary"][key] for key in ("initial_size", "final_size")],
        code=code_of("table_stability.py"),
    script:
        "../scripts/table_stability.py"


rule table_sensitivity:
    """What other values of k, M, m, l and n change."""
    input:
        builds=studies.sensitivity_files(),
    output:
        tex=result("tables/table_sensitivity.tex"),
        csv=result("tables/table_sensitivity.csv"),
        json=result("tables/table_sensitivity.json"),
        md=in_report("tables/table_sensitivity.md"),
    log:
        result("logs/table_sensitivity.log"),
    benchmark:
        result("benchmarks/table_sensitivity.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        study=studies.sensitivity_run(),
        rows=studies.sensitivity_rows(),
        titles=dict(zip(run.languages, run.titles(run.languages))),
        window=config["analysis"]["windows"][0],
        code=code_of("table_sensitivity.py"),
    script:
        "../scripts/table_sensitivity.py"
