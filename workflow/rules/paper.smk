# The paper's figures and tables, its statements with verdicts, and one page with everything.
#
# In:    measurements, scores, figures and tables of the run; workflow/resources/paper_values.yaml
# Out:   claims.json, claims.md; report.html, self-contained
# Steps: measure every claim for each SaGe tokenizer and language; lay all of it out as one page


include: "figures.smk"
include: "figures_domains.smk"
include: "tables.smk"
include: "tables_scores.smk"
include: "tables_claims.smk"
include: "tables_settings.smk"


rule build_claims:
    """Every number and statement of the paper beside this run's, with a verdict."""
    input:
        initial=expand(result("vocab/{lang}/bpe_initial/pieces.txt"), lang=LANGUAGES),
        pieces=expand(
            result("vocab/{lang}/{tok}/pieces.txt"),
            lang=LANGUAGES,
            tok=tokenizers_of_method("bpe", "sage"),
        ),
        analysis=[
            result(f"analysis/{lang}/{corpus}/{tok}/{name}.parquet")
            for lang in LANGUAGES
            for corpus in corpora_of(lang)
            for tok in tokenizers_of_method("bpe", "sage")
            for name in ("frequencies", "fertility", "neighbours", "lines")
        ],
        words=[
            result(f"corpus/{lang}.{corpus}.words.npz")
            for lang in LANGUAGES
            for corpus in corpora_of(lang)
        ],
        rankings=expand(
            result("analysis/{lang}/train/{tok}/rankings.parquet"),
            lang=LANGUAGES,
            tok=tokenizers_of_method("sage"),
        ),
        scores=score_files_of(TASKS),
        curves=claimed_curve_files(),
        predictions=prediction_files_of(TASKS),
        paper=resource_file("paper_values.yaml"),
    output:
        json=result("claims.json"),
        md=report(
            result("claims.md"),
            caption="../report/claims.rst",
            category="Claims",
        ),
    log:
        result("logs/build_claims.log"),
    benchmark:
        result("benchmarks/build_claims.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        run={
            "folder": result(""),
            "benchmarks": result("benchmarks"),
            "languages": LANGUAGES,
            "domains": {name: setting("domain_settings", name)["language"] for name in DOMAINS},
            "tasks": {name: setting("task_settings", name)["language"] for name in TASKS},
            "tokenizers": {name: preset_title(name) for name in TOKENIZERS},
            "lm_tokenizers": LM_TOKENIZERS,
            "seeds": SEEDS,
            "pretraining_seeds": PRETRAINING_SEEDS,
            "seed": config["seed"],
            "final_size": config["vocabulary"]["final_size"],
            "synthetic": synthetic_names(),
            "names": text_names(),
            "budget": model_budget() if LM_TOKENIZERS else None,
        },
        code=library_digest("paper.claims"),
    script:
        "../scripts/build_claims.py"


rule build_report:
    """One page from disk: claims with verdicts, figures, tables, playground, costs, provenance."""
    input:
        claims=result("claims.json"),
        figures=[result(f"figures/{name}.png") for name in FIGURES],
        tables=[result(f"tables/{name}.md") for name in TABLES],
        captions=[report_file(f"{name}.rst") for name in [*FIGURES, *TABLES]],
        vocabularies=[
            result(f"vocab/{lang}/{tok}/tokenizer.json")
            for lang in LANGUAGES
            for tok in TOKENIZERS
        ],
        paper=resource_file("paper_values.yaml"),
        template=report_file("report.html.jinja"),
        style=report_file("report.css"),
        behaviour=[
            report_file("report.js"),
            report_file("segmentation.js"),
            report_file("playground.js"),
        ],
    output:
        html=result("report.html"),
    log:
        result("logs/build_report.log"),
    benchmark:
        result("benchmarks/build_report.tsv")
    conda:
        "../../envs/paper.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        title=f"SaGe, run {RUN}",
        languages=LANGUAGES,
        figures=FIGURES,
        tables=TABLES,
        run=report_run(),
        presets=lambda wildcards: figure_presets(),
        code=library_digest("paper.report"),
    script:
        "../scripts/build_report.py"
