"""What texts and languages are called in figures, tables and the report."""


def language_titles(languages):
    """Names of languages as panels and rows show them, synthetic text called so."""
    names = {lang: setting("language_settings", lang)["name"] for lang in languages}
    return [
        f"{name} (synthetic)" if synthetic_language(lang) else name for lang, name in names.items()
    ]


def domain_title(name):
    """Name of a domain text as a panel shows it, synthetic text called so."""
    title = setting("domain_settings", name)["name"]
    title = title[:1].upper() + title[1:]
    return f"{title} (synthetic)" if synthetic_domain(name) else title


def measured_texts():
    """Texts that tokenizers are measured on, as pairs of language and text for tables."""
    titles = dict(zip(LANGUAGES, language_titles(LANGUAGES), strict=True))
    return [
        [titles[lang], "Training corpus" if corpus == "train" else domain_title(corpus)]
        for lang in LANGUAGES
        for corpus in corpora_of(lang)
    ]


def synthetic_names():
    """Languages, domains and tasks of the run with text that a generator made."""
    tasks = TASKS if LM_TOKENIZERS else []
    return [
        *filter(synthetic_language, LANGUAGES),
        *filter(synthetic_domain, DOMAINS),
        *filter(synthetic_task, tasks),
    ]


def text_names():
    """What the run's languages, domains and tasks are called."""
    return {
        **{name: setting("language_settings", name)["name"] for name in LANGUAGES},
        **{name: setting("domain_settings", name)["name"] for name in DOMAINS},
        **{name: setting("task_settings", name).get("label", name) for name in TASKS},
    }
