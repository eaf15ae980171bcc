"""What texts and languages are called in figures, tables and the report."""


def language_titles(languages):
    """Names of languages as panels and rows show them."""
    return [setting("language_settings", lang)["name"] for lang in languages]


def domain_title(name):
    """Name of a domain text as a panel shows it."""
    title = setting("domain_settings", name)["name"]
    return title[:1].upper() + title[1:]


def measured_texts():
    """Texts that tokenizers are measured on, as pairs of language and text for tables."""
    titles = dict(zip(LANGUAGES, language_titles(LANGUAGES), strict=True))
    return [
        [titles[lang], "Training corpus" if corpus == "train" else domain_title(corpus)]
        for lang in LANGUAGES
        for corpus in corpora_of(lang)
    ]


def constructed_tasks():
    """Tasks of the run whose examples are constructed."""
    return list(filter(is_constructed, TASKS)) if LM_TOKENIZERS else []


def text_names():
    """What the run's languages, domains and tasks are called."""
    return {
        **{name: setting("language_settings", name)["name"] for name in LANGUAGES},
        **{name: setting("domain_settings", name)["name"] for name in DOMAINS},
        **{name: setting("task_settings", name).get("label", name) for name in TASKS},
    }
