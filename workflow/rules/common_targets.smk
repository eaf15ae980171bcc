"""Which figures and tables a run has, and the groups of artefacts that have a target."""

# The domain texts that the paper shows; each has its own figures. Others are measured all the same.
PAPER_DOMAINS = [name for name in ("quora", "legal", "reviews") if name in DOMAINS]
# The paper's figures compare: without BPE and a reading of SaGe there is nothing to draw. Asked for
# by name they then have no input, and say so at once.
COMPARED = "bpe" in PAPER_TOKENIZERS and len(PAPER_TOKENIZERS) > 1
COMPARED_TOKENIZERS = PAPER_TOKENIZERS if COMPARED else []
COMPARED_LANGUAGES = LANGUAGES if COMPARED else []
# Those whose sentences may be shown.
SHOWN = config["analysis"]["example_languages"]
EXAMPLE_LANGUAGES = [lang for lang in COMPARED_LANGUAGES if SHOWN == "all" or lang in SHOWN]
# All tokenizers, those of the paper first: a figure gives colours by order.
ALL_TOKENIZERS = [
    *PAPER_TOKENIZERS,
    *(name for name in TOKENIZERS if name not in PAPER_TOKENIZERS),
]
# Languages with a list of segmented words.
MORPHEME_LANGUAGES = [
    lang for lang in LANGUAGES if setting("language_settings", lang).get("morphology")
]
COMPARISON_FIGURES = [
    "figure_lengths",
    "figure_fertility",
    "figure_exponence",
    "figure_ratio",
    *(f"figure_fertility_{name}" for name in PAPER_DOMAINS),
    *(f"figure_ratio_{name}" for name in PAPER_DOMAINS),
]
COMPARISON_TABLES = [
    *(["table_examples", "table_retokenization"] if EXAMPLE_LANGUAGES else []),
    "table_frequencies",
]
INTRINSIC_FIGURES = [*(COMPARISON_FIGURES if COMPARED else []), "figure_tokenizers"]
INTRINSIC_TABLES = [
    *(COMPARISON_TABLES if COMPARED else []),
    "table_tokenizers",
    "table_hyperparameters_vocabulary",
]
FIGURES = [*INTRINSIC_FIGURES, *DOWNSTREAM_FIGURES]
TABLES = [
    *(["table_claims"] if COMPARED else []),
    *INTRINSIC_TABLES,
    *DOWNSTREAM_TABLES,
    "table_costs",
]
FIGURE_FORMATS = ("pdf", "png")
TABLE_FORMATS = ("tex", "csv", "md")


def artefacts(names):
    """Files of the paper's figures and tables by their target names."""
    figures = [name for name in names if name.startswith("figure_")]
    tables = [name for name in names if name.startswith("table_")]
    return [
        *(result(f"figures/{name}.{form}") for name in figures for form in FIGURE_FORMATS),
        *(result(f"tables/{name}.{form}") for name in tables for form in TABLE_FORMATS),
    ]


def downstream_targets():
    """Models, scores and what is made of them."""
    if not LM_TOKENIZERS:
        sys.exit(
            "error: config keys lm.enabled, lm.tokenizers: the run has no language models, so "
            "downstream has nothing to make; set lm.enabled: true and list tokenizers"
        )
    return [
        *targets_of("models"),
        *targets_of("scores"),
        *artefacts(DOWNSTREAM_FIGURES + DOWNSTREAM_TABLES),
    ]


def targets_of(group):
    """Files of a group of the run's artefacts: retrieved, vocabularies, analysis, models ..."""
    return {
        "retrieved": retrieved_files,
        "vocabularies": vocabulary_files,
        "analysis": analysis_files,
        "models": model_files,
        "scores": score_files,
        "studies": study_files,
    }[group]()


def analysis_files():
    """The measurements of every tokenizer on every text of its language."""
    return [
        result(f"analysis/{lang}/{corpus}/{tok}/summary.json")
        for lang in LANGUAGES
        for corpus in corpora_of(lang)
        for tok in TOKENIZERS
    ]


def summaries_of(tokenizers):
    """What was measured of some tokenizers on every text, text by text."""
    return [
        result(f"analysis/{lang}/{corpus}/{tok}/summary.json")
        for lang in LANGUAGES
        for corpus in corpora_of(lang)
        for tok in tokenizers
    ]
