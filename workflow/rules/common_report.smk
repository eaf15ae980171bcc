"""What the report page and the reference page tell of a run."""


def report_settings():
    """The part of the configuration that the report page shows."""
    shown = ("seed", "corpus", "vocabulary", "sage", "word2vec", "analysis", "lm")
    used = {
        "language_settings": LANGUAGES,
        "domain_settings": DOMAINS,
        "tokenizer_settings": TOKENIZERS,
        "task_settings": TASKS if LM_TOKENIZERS else [],
    }
    stanzas = {key: {name: config[key][name] for name in names} for key, names in used.items()}
    return {**{key: config[key] for key in shown if key in config}, **stanzas}


def report_run():
    """What the report and the reference page tell of the run."""
    return {
        "name": RUN,
        "labels": dict(zip(TOKENIZERS, labels_of(TOKENIZERS))),
        "presets": {name: preset_title(name) for name in TOKENIZERS},
        "names": text_names(),
        "synthetic": synthetic_names(),
        "models": bool(LM_TOKENIZERS),
        "settings": report_settings(),
    }


def figure_presets():
    """Presets of the SaGe tokenizers in each figure; asked for when all rules have been read."""
    shown = {name: getattr(rules, name).params.get("presets") for name in FIGURES}
    return {name: presets for name, presets in shown.items() if presets}


REFERENCE = "lm" if LM_TOKENIZERS else "intrinsic"
REFERENCE_COMMAND = (
    f"snakemake --configfile {' '.join(Path(file).name for file in workflow.overwrite_configfiles)}"
    " -- all build_reference"
)


# What a run without models shows, too, is in the folder of such a run.
REFERENCE_NAMES = (
    [
        *DOWNSTREAM_FIGURES,
        *(["table_claims"] if COMPARED else []),
        *DOWNSTREAM_TABLES,
        "table_costs",
    ]
    if LM_TOKENIZERS
    else FIGURES + TABLES
)


def reference_tasks():
    """Every split of every task that models are scored on: what it is and its local files."""
    return [
        reference_task(task, split)
        for task in (TASKS if LM_TOKENIZERS else [])
        for split in ("train", "validation")
    ]


def reference_task(task, split):
    """One split of a task; `rows` of it are in tasks/."""
    source = resolved_source("task_settings", task, task_origin(task, split))
    return {
        "task": task,
        "label": setting("task_settings", task).get("label", task),
        "split": split,
        "title": text_title(source),
        "files": local_files(source["name"]) if source["kind"] == "path" else [],
    }


def reference_texts():
    """The texts that tokenizers are trained and measured on, and those of the paper."""
    corpora = [("language_settings", lang, lang, "train") for lang in LANGUAGES]
    domains = [
        ("domain_settings", name, setting("domain_settings", name)["language"], name)
        for name in DOMAINS
    ]
    return [reference_text(*text) for text in [*corpora, *domains]]


def reference_changes():
    """Where the settings of vocabularies, measurements and models are not those of config.yaml.

    What texts are, and from where, is told beside them.
    """
    usual = yaml.safe_load((CHECKOUT / "config.yaml").read_text(encoding="utf-8"))
    check_config(usual)
    lines = [
        f"{section}.{name}.{key}"
        for section, names in (("language_settings", LANGUAGES), ("domain_settings", DOMAINS))
        for name in names
        for key in ("lines", "heldout_lines", "shuffle")
        if name in usual[section]
    ]
    tokenizers = [f"tokenizer_settings.{name}" for name in TOKENIZERS]
    known = [key for key in tokenizers if key.split(".")[1] in usual["tokenizer_settings"]]
    sections = ["seed", "corpus", "tokenizers", "vocabulary", "sage", "word2vec", "analysis"]
    studies = "studies" if READINGS else "studies.enabled"
    models = "lm" if LM_TOKENIZERS else "lm.enabled"
    return changed_settings(config, usual, [*lines, *sections, *known, studies, models])


def morpheme_lists():
    """The lists of segmented words of the run's languages: path and format."""
    return [dict(morpheme_list(lang)) for lang in MORPHEME_LANGUAGES]


def reference_text(section, name, language, corpus):
    """One text: what it is, its local files, and what stands in its place in the paper."""
    source = resolved_source(section, name)
    printed = CATALOGUE.get(setting(section, name)["source"].get("dataset"), {})
    files = local_files(source["name"]) if source["kind"] == "path" else []
    return {
        "language": language,
        "corpus": corpus,
        "name": setting(section, name)["name"],
        "title": text_title(source),
        "licence": source.get("licence") or "not stated",
        "files": files,
        "format": source["format"],
        "paper": printed.get("title", "not in the paper"),
    }
