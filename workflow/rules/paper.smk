# Figures and tables of the paper and of its appendix, a rule of each declaration in
# workflow/reproduction/artefacts; the paper's statements with verdicts; an article and a page on them;
# and reference results for git.
#
# In:    measurements, scores; workflow/resources/paper_values.yaml
# Out:   figures/NAME.pdf and .png, tables/NAME.tex, .csv (bare numbers) and .md
#        claims.parquet, claims.json, claims.md; findings.md; report.html, self-contained;
#        results/reference/{intrinsic,lm}/, and the tables of results/reference/controls/
# Steps: draw; judge every claim for each SaGe tokenizer and language; write what was found as an
#        article; lay all of it out as one page; copy what is small, with the manifest, for others to
#        compare their own run with

for artefact in registered(run):

    rule:
        name:
            artefact.name
        input:
            ignore_dates_of_scripts,
            **{name: input_files(paths) for name, paths in artefact.inputs(run).items()},
            **({} if artefact.is_in(run) else {"refused": refuse(artefact.objection)}),
        output:
            **files_of(artefact),
        # Two tables are long tests.
        localrule: not artefact.memory
        conda:
            "../../envs/paper.yaml"
        resources:
            **({"mem_mb": memory(artefact.memory), "runtime": 60} if artefact.memory else {}),
        params:
            reads=artefact.inputs(run),
            settings=artefact.arguments(run) if artefact.is_in(run) else {},
            name=artefact.name,
            caption=uncompared(CAPTIONS.get(artefact.name)),
            code=code_of("artefact.py", *artefact.functions),
        script:
            "../scripts/artefact.py"

    # What `snakemake --list-target-rules` shows.
    getattr(rules, artefact.name).rule.docstring = f"{artefact.title_in(run)}."


# --- claims, pages, reference results

FIGURES = [name for name in ARTEFACTS if name.startswith("figure_")]
TABLES = [name for name in ARTEFACTS if name.startswith("table_")]
REFERENCE = reference_artefacts(run)
# The tokenizers of which it has all.
KEPT = [] if run.models else run.compared
# The tokenizers that the claims are about, and BPE, which they are set against.
JUDGED = [*run.of_method("bpe"), *run.pruned]
# What the findings take numbers from, and the figures that they show.
OF_FINDINGS = ["figure_overlap", "figure_controls", "figure_learning_curves"]
OF_FINDINGS += ["table_overlap", "table_tokenizers"]
FINDINGS_FIGURES = [name for name in OF_FINDINGS if name in FIGURES]
FINDINGS_TABLES = [name for name in OF_FINDINGS if name in TABLES]


rule build_claims:
    """Every number and statement of the paper beside what this run measures, with a 95 % interval
    and a verdict: reproduced, same direction, undecided, not reproduced, or not measurable here
    with the reason. Beside it, the same measured on the control vocabularies.
    """
    input:
        initial=run.files("vocab/{lang}/bpe_initial/pieces.txt"),
        pieces=run.files("vocab/{lang}/{tok}/pieces.txt", tok=JUDGED),
        analysis=run.analysis_files(JUDGED, *COUNTS),
        words=[
            result(f"corpus/{lang}.{corpus}.words.npz")
            for lang in run.languages
            for corpus in run.corpora_of(lang)
        ],
        rankings=run.files("analysis/{lang}/train/{tok}/rankings.parquet", tok=run.sage_readings),
        boundaries=run.files(
            "analysis/{lang}/morphology/{tok}.parquet", lang=run.morpheme_languages, tok=JUDGED
        ),
        # What SaGe prunes without its heuristics.
        heuristics=run.files("vocab/{lang}/{tok}/ablations.parquet", tok=run.heuristics),
        ablations=run.files("vocab/{lang}/{tok}/ablations.parquet", tok=run.pruned),
        scores=run.score_files(run.tasks),
        curves=flat(curve_files(run, run.model_languages)) + training_logs(run, run.model_languages),
        predictions=run.score_files(run.tasks, "predictions.parquet"),
        paper=shipped("resources/paper_values.yaml"),
        template=shipped("report/claims.md.jinja"),
    output:
        frame=result("claims.parquet"),
        json=result("claims.json"),
        md=in_report("claims.md", "Claims", "claims"),
    conda:
        "../../envs/paper.yaml"
    params:
        run=claims_run(run),
        texts=texts(run),
    script:
        "../scripts/build_claims.py"


rule findings:
    """What the run found, as an article: question, method, what is reproduced, what controls give
    as well, what cannot be said. Every number in it is taken by name from the claims or a table.
    """
    input:
        claims=result("claims.parquet"),
        tables=artefact_files(run, FINDINGS_TABLES, "csv"),
        figures=artefact_files(run, FINDINGS_FIGURES),
        paper=shipped("resources/paper_values.yaml"),
        template=shipped("report/findings.md.jinja"),
    output:
        md=in_report("findings.md", "Findings", "findings"),
    localrule: True
    conda:
        "../../envs/paper.yaml"
    params:
        run={
            **report_run(run),
            "languages": run.languages,
            "settings": {
                **{key: run.section(key) for key in ("vocabulary", "sage", "lm")},
                "word2vec": word2vec_settings(run.config),
            },
        },
        texts=texts(run),
        tables=FINDINGS_TABLES,
        figures=FINDINGS_FIGURES,
    script:
        "../scripts/findings.py"


# What a run says of the paper; one without the paper's languages says nothing of it.
OF_PAPER = {
    name: result(file)
    for name, file in {"claims_path": "claims.parquet", "findings": "findings.md"}.items()
    if run.reproduces
}
# Languages of which the playground has no sentences but those of the run's own text.
OTHER_LANGUAGES = [name for name in run.languages if name not in PAPER_LANGUAGES]


rule build_report:
    """One page from disk: playground, what was found, figures, tables, costs, provenance, claims.

    In a run without the paper's languages: playground, what the tokenizers make of its texts.
    """
    input:
        **OF_PAPER,
        figures=artefact_files(run, FIGURES, "png"),
        tables=artefact_files(run, TABLES, "md"),
        vocabularies=run.vocabulary_files(),
        paper=shipped("resources/paper_values.yaml"),
        corpora=run.files("corpus/{lang}.txt.zst", lang=OTHER_LANGUAGES),
        template=shipped(f"report/{'report' if run.reproduces else 'texts'}.html.jinja"),
        parts=[
            shipped(f"report/{name}.html.jinja")
            for name in ("frame", "page", "parts", "playground", "claims")
        ],
        style=shipped("report/report.css"),
        behaviour=[
            shipped("report/report.js"),
            shipped("report/segmentation.js"),
            shipped("report/playground.js"),
        ],
    output:
        html=result("report.html"),
    localrule: True
    conda:
        "../../envs/paper.yaml"
    params:
        title=f"SaGe, run {run.config.run}",
        languages=run.languages,
        corpora=OTHER_LANGUAGES,
        figures=FIGURES,
        tables=TABLES,
        run={**report_run(run), "texts": texts(run)},
        titles=TITLES,
        captions=CAPTIONS,
        manifest=result("manifest.json"),
    script:
        "../scripts/build_report.py"


# What is drawn from measurements alone: figures and tables of a reference that need no text.
CALLS = {one.name: call for one in REFERENCE if (call := one.call(run))}


rule build_reference:
    """What a reader compares a run of their own with. Of a run with language models, it has what is
    said of these; `lm.enabled: false` gives the rest.
    """
    input:
        pages=[result(name) for name in ("claims.md", "findings.md") if not run.models],
        artefacts=artefact_files(run, [one.name for one in REFERENCE]),
        frames=sorted({file for call in CALLS.values() for file in flat(call["reads"])}),
        summaries=[
            result(
                f"analysis/{text['language']}/{text['corpus']}/{run.tokenizers[0]}/summary.json"
            )
            for text in texts(run)
        ],
        tokenizers=run.files("vocab/{lang}/{tok}/tokenizer.json", tok=KEPT),
        cards=run.files("vocab/{lang}/{tok}/README.md", tok=KEPT),
        prunings=run.files(
            "vocab/{lang}/{tok}/ablations.parquet", tok=[] if run.models else run.pruned
        ),
        paper=shipped("resources/paper_values.yaml"),
        template=shipped("report/reference.md.jinja"),
    output:
        folder=directory(f"results/reference/{'lm' if run.models else 'intrinsic'}"),
    localrule: True
    conda:
        "../../envs/paper.yaml"
    params:
        texts=texts(run),
        sources=local_sources(run),
        run=report_run(run),
        calls=uncompared(CALLS),
        command=reference_command(typed.configfiles, CHECKOUT),
    script:
        "../scripts/build_reference.py"


# The folder of committed answers that no run of the workflow makes: of other sizes and models.
CONTROLS = "results/reference/controls"
CONTROL_TABLES = [
    *(f"{CONTROLS}/table_{name}" for name in ("overlap_sizes", "pieces_differ", "distances")),
    *(f"{CONTROLS}/{models}/table_causal" for models in ("causal", "causal_large")),
    f"{CONTROLS}/codes/table_samples",
    f"{CONTROLS}/vectors/table_vectors",
    f"{CONTROLS}/released_program/table_released_program",
]


rule reference_tables:
    """Tables over results/reference/controls from what is committed there: pieces in common at other
    sizes, models and vectors of controls, codes, the authors' program, distances from the paper's numbers. No
    part of `all`.
    """
    input:
        ignore_dates_of_scripts,
        answers=sorted(
            str(path)
            for ending in ("*.parquet", "*.json")
            for path in Path(CONTROLS).rglob(ending)
        ),
        readings="results/reference/readings/tables/table_readings.csv",
        claims="results/reference/intrinsic/frames/claims.parquet",
        style=input_files(style_files()),
    output:
        [f"{table}.{form}" for table in CONTROL_TABLES for form in ("csv", "md")],
        [f"{CONTROLS}/figure_distances.{form}" for form in ("pdf", "png")],
    localrule: True
    conda:
        "../../envs/paper.yaml"
    script:
        "../scripts/reference_tables.py"
