# The studies' tables and figures: readings of the loss, stability and sensitivity of a vocabulary.
#
# In:    studies/, as rules/studies.smk builds it; vocabularies, counts and rankings of the run's own
#        SaGe tokenizers, which are the readings at full size; resources/paper_values.yaml
# Out:   studies/readings/{lang}.json   claims and quantities of every reading and seed
#        tables/NAME.tex, .csv and .md; figures/NAME.pdf and .png
# Steps: judge every reading by the paper's claims, count pieces in common, correlate rankings


rule assess_readings:
    """The paper's claims and the key quantities of every reading with every seed, in a language."""
    input:
        readings=study_counts,
        full=full_size_counts,
        paper=resource_file("paper_values.yaml"),
    output:
        readings=result("studies/readings/{lang}.json"),
    log:
        result("logs/assess_readings/{lang}.log"),
    benchmark:
        result("benchmarks/assess_readings/{lang}.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
    params:
        study=study_run("readings"),
        run=full_size_run(),
        builds=[(name, seed) for name in READINGS for seed in STUDY_SEEDS],
        window=config["analysis"]["windows"][0],
        state_dir=state("readings/{lang}"),
        code=library_digest("paper.studies"),
    script:
        "../scripts/assess_readings.py"


rule table_readings:
    """What each reading of the loss reproduces, and key quantities."""
    input:
        readings=expand(result("studies/readings/{lang}.json"), lang=STUDY_LANGUAGES),
        paper=resource_file("paper_values.yaml"),
    output:
        tex=result("tables/table_readings.tex"),
        csv=result("tables/table_readings.csv"),
        md=report(
            result("tables/table_readings.md"),
            caption="../report/table_readings.rst",
            category="Tables",
        ),
    log:
        result("logs/table_readings.log"),
    benchmark:
        result("benchmarks/table_readings.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(STUDY_LANGUAGES),
        readings=study_readings(),
        full=full_size_readings(),
        code=library_digest("paper.tables_readings"),
    script:
        "../scripts/table_readings.py"


rule table_readings_claims:
    """Which reading of the loss reproduces which claim."""
    input:
        readings=expand(result("studies/readings/{lang}.json"), lang=STUDY_LANGUAGES),
    output:
        tex=result("tables/table_readings_claims.tex"),
        csv=result("tables/table_readings_claims.csv"),
        md=report(
            result("tables/table_readings_claims.md"),
            caption="../report/table_readings_claims.rst",
            category="Tables",
        ),
    log:
        result("logs/table_readings_claims.log"),
    benchmark:
        result("benchmarks/table_readings_claims.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(STUDY_LANGUAGES),
        readings=study_readings(),
        full=full_size_readings(),
        code=library_digest("paper.tables_readings"),
    script:
        "../scripts/table_readings_claims.py"


rule figure_readings:
    """Key quantities of each reading of the loss, a mark a seed."""
    input:
        readings=expand(result("studies/readings/{lang}.json"), lang=STUDY_LANGUAGES),
        paper=resource_file("paper_values.yaml"),
        style=resource_file("style.mplstyle"),
    output:
        pdf=report(
            result("figures/figure_readings.pdf"),
            caption="../report/figure_readings.rst",
            category="Figures",
        ),
        png=result("figures/figure_readings.png"),
    log:
        result("logs/figure_readings.log"),
    benchmark:
        result("benchmarks/figure_readings.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(STUDY_LANGUAGES),
        readings=study_readings(),
        full=full_size_readings(),
        code=library_digest("paper.figures_studies"),
    script:
        "../scripts/figure_readings.py"


rule table_stability:
    """Pieces in common across seeds and across samples of the corpus."""
    input:
        vocabularies=stability_files(),
    output:
        tex=result("tables/table_stability.tex"),
        csv=result("tables/table_stability.csv"),
        md=report(
            result("tables/table_stability.md"),
            caption="../report/table_stability.rst",
            category="Tables",
        ),
    log:
        result("logs/table_stability.log"),
    benchmark:
        result("benchmarks/table_stability.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        rows=stability_rows(),
        sizes=[config["vocabulary"][key] for key in ("initial_size", "final_size")],
        code=library_digest("paper.tables_studies"),
    script:
        "../scripts/table_stability.py"


rule table_sensitivity:
    """What other values of k, M, m, l and n change."""
    input:
        builds=sensitivity_files(),
    output:
        tex=result("tables/table_sensitivity.tex"),
        csv=result("tables/table_sensitivity.csv"),
        md=report(
            result("tables/table_sensitivity.md"),
            caption="../report/table_sensitivity.rst",
            category="Tables",
        ),
    log:
        result("logs/table_sensitivity.log"),
    benchmark:
        result("benchmarks/table_sensitivity.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        study=study_run("readings", "sensitivity"),
        rows=sensitivity_rows(),
        titles=dict(zip(LANGUAGES, language_titles(LANGUAGES))),
        window=config["analysis"]["windows"][0],
        code=library_digest("paper.tables_studies"),
    script:
        "../scripts/table_sensitivity.py"


rule figure_rankings:
    """Rank correlation of the losses by distance (paper, Section 3)."""
    input:
        rankings=expand(
            result("analysis/{lang}/train/{tok}/rankings.parquet"),
            lang=LANGUAGES,
            tok=RANKED_TOKENIZERS,
        ),
        paper=resource_file("paper_values.yaml"),
        style=resource_file("style.mplstyle"),
    output:
        pdf=report(
            result("figures/figure_rankings.pdf"),
            caption="../report/figure_rankings.rst",
            category="Figures",
        ),
        png=result("figures/figure_rankings.png"),
    log:
        result("logs/figure_rankings.log"),
    benchmark:
        result("benchmarks/figure_rankings.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        titles=language_titles(LANGUAGES),
        ranked=labels_of(RANKED_TOKENIZERS),
        presets=presets_of(RANKED_TOKENIZERS),
        labels=labels_of(ALL_TOKENIZERS),
        code=library_digest("paper.figures_studies"),
    script:
        "../scripts/figure_rankings.py"
