# The paper's figures (Sections 3 to 5) and those of the studies, one rule a figure.
#
# In:    vocabularies, measurements, learning curves and assessed readings of the run
# Out:   figures/NAME.pdf and .png, where NAME is the rule
# Steps: read the measurements, draw one panel or row a language. A figure on another text is the same
#        figure with other inputs (`use rule`); a domain that the configuration leaves out has none


rule figure_lengths:
    """Length of the vocabularies' pieces (paper, Section 4, "Token Length")."""
    input:
        pieces=expand(
            result("vocab/{lang}/{tok}/pieces.txt"),
            lang=run.languages,
            tok=run.compared,
        ),
        style=resource("style.mplstyle"),
    output:
        pdf=in_report("figures/figure_lengths.pdf"),
        png=result("figures/figure_lengths.png"),
    log:
        result("logs/figure_lengths.log"),
    benchmark:
        result("benchmarks/figure_lengths.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.languages),
        labels=run.labels(run.compared),
        presets=run.presets(run.compared),
        code=code_of("figure_lengths.py"),
    script:
        "../scripts/figure_lengths.py"


rule figure_fertility:
    """Subwords per corpus word, BPE beside SaGe (paper, Section 4, "Subword Fertility")."""
    input:
        fertility=expand(
            result("analysis/{lang}/train/{tok}/fertility.parquet"),
            lang=run.languages,
            tok=run.compared,
        ),
        style=resource("style.mplstyle"),
    output:
        pdf=in_report("figures/figure_fertility.pdf"),
        png=result("figures/figure_fertility.png"),
    log:
        result("logs/figure_fertility.log"),
    benchmark:
        result("benchmarks/figure_fertility.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.languages),
        labels=run.labels(run.compared),
        presets=run.presets(run.compared),
        code=code_of("figure_fertility.py"),
    script:
        "../scripts/figure_fertility.py"


rule figure_exponence:
    """Distinct neighbours of the top pieces, ranked (paper, Section 4, "Contextual Exponence")."""
    input:
        neighbours=expand(
            result("analysis/{lang}/train/{tok}/neighbours.parquet"),
            lang=run.languages,
            tok=run.compared,
        ),
        style=resource("style.mplstyle"),
    output:
        pdf=in_report("figures/figure_exponence.pdf"),
        png=result("figures/figure_exponence.png"),
    log:
        result("logs/figure_exponence.log"),
    benchmark:
        result("benchmarks/figure_exponence.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.languages),
        windows=config["analysis"]["windows"],
        top=config["analysis"]["top_neighbours"],
        labels=run.labels(run.compared),
        presets=run.presets(run.compared),
        code=code_of("figure_exponence.py"),
    script:
        "../scripts/figure_exponence.py"


rule figure_ratio:
    """Distinct neighbours over frequency (paper, Section 4, "Contextual Exponence")."""
    input:
        neighbours=expand(
            result("analysis/{lang}/train/{tok}/neighbours.parquet"),
            lang=run.languages,
            tok=run.compared,
        ),
        style=resource("style.mplstyle"),
    output:
        pdf=in_report("figures/figure_ratio.pdf"),
        png=result("figures/figure_ratio.png"),
    log:
        result("logs/figure_ratio.log"),
    benchmark:
        result("benchmarks/figure_ratio.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.languages),
        window=config["analysis"]["windows"][0],
        labels=run.labels(run.compared),
        presets=run.presets(run.compared),
        code=code_of("figure_ratio.py"),
    script:
        "../scripts/figure_ratio.py"


if "quora" in run.domains:

    use rule figure_fertility as figure_fertility_quora with:
        input:
            fertility=run.domain_counts("quora", "fertility.parquet"),
            style=resource("style.mplstyle"),
        output:
            pdf=in_report("figures/figure_fertility_quora.pdf"),
            png=result("figures/figure_fertility_quora.png"),
        log:
            result("logs/figure_fertility_quora.log"),
        benchmark:
            result("benchmarks/figure_fertility_quora.tsv")
        params:
            titles=[run.domain_title("quora")],

    use rule figure_ratio as figure_ratio_quora with:
        input:
            neighbours=run.domain_counts("quora", "neighbours.parquet"),
            style=resource("style.mplstyle"),
        output:
            pdf=in_report("figures/figure_ratio_quora.pdf"),
            png=result("figures/figure_ratio_quora.png"),
        log:
            result("logs/figure_ratio_quora.log"),
        benchmark:
            result("benchmarks/figure_ratio_quora.tsv")
        params:
            titles=[run.domain_title("quora")],


if "legal" in run.domains:

    use rule figure_fertility as figure_fertility_legal with:
        input:
            fertility=run.domain_counts("legal", "fertility.parquet"),
            style=resource("style.mplstyle"),
        output:
            pdf=in_report("figures/figure_fertility_legal.pdf"),
            png=result("figures/figure_fertility_legal.png"),
        log:
            result("logs/figure_fertility_legal.log"),
        benchmark:
            result("benchmarks/figure_fertility_legal.tsv")
        params:
            titles=[run.domain_title("legal")],

    use rule figure_ratio as figure_ratio_legal with:
        input:
            neighbours=run.domain_counts("legal", "neighbours.parquet"),
            style=resource("style.mplstyle"),
        output:
            pdf=in_report("figures/figure_ratio_legal.pdf"),
            png=result("figures/figure_ratio_legal.png"),
        log:
            result("logs/figure_ratio_legal.log"),
        benchmark:
            result("benchmarks/figure_ratio_legal.tsv")
        params:
            titles=[run.domain_title("legal")],


if "reviews" in run.domains:

    use rule figure_fertility as figure_fertility_reviews with:
        input:
            fertility=run.domain_counts("reviews", "fertility.parquet"),
            style=resource("style.mplstyle"),
        output:
            pdf=in_report("figures/figure_fertility_reviews.pdf"),
            png=result("figures/figure_fertility_reviews.png"),
        log:
            result("logs/figure_fertility_reviews.log"),
        benchmark:
            result("benchmarks/figure_fertility_reviews.tsv")
        params:
            titles=[run.domain_title("reviews")],

    use rule figure_ratio as figure_ratio_reviews with:
        input:
            neighbours=run.domain_counts("reviews", "neighbours.parquet"),
            style=resource("style.mplstyle"),
        output:
            pdf=in_report("figures/figure_ratio_reviews.pdf"),
            png=result("figures/figure_ratio_reviews.png"),
        log:
            result("logs/figure_ratio_reviews.log"),
        benchmark:
            result("benchmarks/figure_ratio_reviews.tsv")
        params:
            titles=[run.domain_title("reviews")],


rule figure_tokenizers:
    """What peers measure of a tokenizer, drawn for every one on every text."""
    input:
        summaries=run.analysis_files(run.ordered_tokenizers, "summary.json"),
        style=resource("style.mplstyle"),
    output:
        pdf=in_report("figures/figure_tokenizers.pdf"),
        png=result("figures/figure_tokenizers.png"),
    log:
        result("logs/figure_tokenizers.log"),
    benchmark:
        result("benchmarks/figure_tokenizers.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        texts=run.measured_texts(),
        labels=run.labels(run.ordered_tokenizers),
        presets=run.presets(run.ordered_tokenizers),
        code=code_of("figure_tokenizers.py"),
    script:
        "../scripts/figure_tokenizers.py"


rule figure_rankings:
    """Rank correlation of the losses by distance (paper, Section 3)."""
    input:
        rankings=expand(
            result("analysis/{lang}/train/{tok}/rankings.parquet"),
            lang=run.languages,
            tok=run.of_method("sage"),
        ),
        paper=resource("paper_values.yaml"),
        style=resource("style.mplstyle"),
    output:
        pdf=in_report("figures/figure_rankings.pdf"),
        png=result("figures/figure_rankings.png"),
    log:
        result("logs/figure_rankings.log"),
    benchmark:
        result("benchmarks/figure_rankings.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.languages),
        ranked=run.labels(run.of_method("sage")),
        presets=run.presets(run.of_method("sage")),
        labels=run.labels(run.ordered_tokenizers),
        code=code_of("figure_rankings.py"),
    script:
        "../scripts/figure_rankings.py"


rule figure_readings:
    """Key quantities of each reading of the loss, a mark a seed."""
    input:
        readings=expand(result("analysis/{lang}/readings.json"), lang=studies.languages),
        style=resource("style.mplstyle"),
    output:
        pdf=in_report("figures/figure_readings.pdf"),
        png=result("figures/figure_readings.png"),
    log:
        result("logs/figure_readings.log"),
    benchmark:
        result("benchmarks/figure_readings.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(studies.languages),
        readings=studies.rows(),
        code=code_of("figure_readings.py"),
    script:
        "../scripts/figure_readings.py"


rule figure_learning_curves:
    """Bits per character and words right against updates, characters and training time."""
    input:
        heldout=run.curve_files(run.curve_languages, "heldout.parquet"),
        logs=run.curve_files(run.curve_languages, "training_log.parquet"),
        repeats=run.repeated_curve_files(run.curve_languages, "heldout.parquet"),
        repeated_logs=run.repeated_curve_files(run.curve_languages, "training_log.parquet"),
        style=resource("style.mplstyle"),
    output:
        pdf=in_report("figures/figure_learning_curves.pdf"),
        png=result("figures/figure_learning_curves.png"),
    log:
        result("logs/figure_learning_curves.log"),
    benchmark:
        result("benchmarks/figure_learning_curves.tsv")
    conda:
        "../../envs/paper.yaml"
    params:
        titles=run.titles(run.curve_languages),
        compared=run.labels(run.models),
        presets=run.presets(run.models),
        labels=run.labels(run.ordered_tokenizers),
        baseline=run.curve_baseline,
        seed=config["seed"],
        code=code_of("figure_learning_curves.py"),
    script:
        "../scripts/figure_learning_curves.py"
