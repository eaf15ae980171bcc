"""Which learning curves there are: of every model, and of its further pretraining seeds."""

PRETRAINING_SEEDS = config["lm"]["pretraining_seeds"] if LM_TOKENIZERS else []

# Nothing to draw where no lines are held out.
CURVE_LANGUAGES = [
    lang
    for lang in (LANGUAGES if LM_TOKENIZERS else [])
    if setting("language_settings", lang)["heldout_lines"]
    and config["lm"]["pretrain"]["heldout_lines"]
]
DOWNSTREAM_FIGURES = ["figure_learning_curves"] if CURVE_LANGUAGES else []
DOWNSTREAM_TABLES = [
    *DOWNSTREAM_TABLES,
    *(["table_learning_curves"] if CURVE_LANGUAGES else []),
]


def curve_files(*names, languages=CURVE_LANGUAGES):
    """Files of every model, language by language and tokenizer by tokenizer."""
    return expand(
        result("models/{lang}/{tok}/{name}"), lang=languages, tok=LM_TOKENIZERS, name=names
    )


def repeated_curve_files(*names, languages=CURVE_LANGUAGES):
    """The same of all further pretrainings, the seeds of a model together."""
    return expand(
        result("studies/pretraining/{lang}/{tok}/{seed}/{name}"),
        lang=languages,
        tok=LM_TOKENIZERS,
        seed=PRETRAINING_SEEDS,
        name=names,
    )


def claimed_curve_files():
    """All curves, also the empty ones of languages without held-out lines."""
    names = ("heldout.parquet", "training_log.parquet")
    return [
        *curve_files(*names, languages=LANGUAGES),
        *repeated_curve_files(*names, languages=LANGUAGES),
    ]


def curve_baseline():
    """Label of BPE, which the others are compared with; None if it has no model."""
    return labels_of(["bpe"])[0] if "bpe" in LM_TOKENIZERS else None
