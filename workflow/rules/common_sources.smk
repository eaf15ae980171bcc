"""Where texts and rows come from, and what reading them depends on."""

CATALOGUE = load_catalogue(CHECKOUT / "workflow/resources/datasets.yaml")


def resolved_source(section, name, split=None):
    """Where a corpus, a domain text or a task's split comes from, in one dict."""
    source, key = setting(section, name)["source"], f"{section}.{name}.source"
    if split is not None:
        source, key = source[split], f"{key}.{split}"
    try:
        resolved = resolve_source(source, CATALOGUE, key=key, split=split)
    except UserError as error:
        raise WorkflowError(f"config key {error}") from error
    if resolved["kind"] == "path" and (missing := missing_files(resolved["name"])):
        raise WorkflowError(f"config key {key}.path: there is no file {missing[0]!r}")
    return resolved


def source_form(section, name, split=None):
    """Of a source, what reading it depends on."""
    resolved = resolved_source(section, name, split)
    return {field: resolved[field] for field in ("key", "kind", "format", "column", "sentences")}


def construction_code(task, split):
    """Digest of the constructions, for a task whose rows one of them makes."""
    kind = resolved_source("task_settings", task, split)["kind"]
    return library_digest("data.construct") if kind == "constructed" else None


def morpheme_source(lang):
    """Where the list of segmented words of a language comes from, and its format."""
    stanza = setting("language_settings", lang)["morphology"]
    return resolve_source(stanza, CATALOGUE, key=f"language_settings.{lang}.morphology")


def morpheme_list(lang):
    """The list of segmented words: a local file itself, else what a retrieve rule made of it."""
    source = morpheme_source(lang)
    return source["name"] if source["kind"] == "path" else result(f"retrieved/morphemes/{lang}")


def source_input(section, name, retrieved, split=None):
    """Input files of a source: local files themselves, else what a retrieve rule made of it."""
    source = resolved_source(section, name, split)
    if source["kind"] == "path":
        return local_files(source["name"])
    return [result(retrieved), result(f"{retrieved}.source.json")]


def is_retrieved(source):
    """Whether a source is retrieved, as opposed to a local file."""
    return not source.get("path")


def retrieved_files():
    """What the run takes from outside; a source with a `path:` is used where it is."""
    corpora = [
        result(f"retrieved/corpora/{lang}")
        for lang in LANGUAGES
        if is_retrieved(setting("language_settings", lang)["source"])
    ]
    domains = [
        result(f"retrieved/domains/{name}")
        for name in DOMAINS
        if is_retrieved(setting("domain_settings", name)["source"])
    ]
    tasks = [
        result(f"retrieved/tasks/{task}/{split}")
        for task in (TASKS if LM_TOKENIZERS else [])
        for split in task_origins(task)
        if is_retrieved(setting("task_settings", task)["source"][split])
    ]
    return [*corpora, *domains, *tasks]


def is_dump(section, name):
    """Whether a source may be a dump, whose extraction is worth many cores."""
    return resolved_source(section, name)["format"] == "mediawiki"


def corpus_lines(wildcards):
    """The lines of a text that tokenizers are measured on."""
    if wildcards.corpus == "train":
        return result(f"corpus/{wildcards.lang}.txt.zst")
    return result(f"corpus/domains/{wildcards.corpus}.txt.zst")


def text_title(source):
    """What a text is: as configured or catalogued, else the names of its files."""
    names = " and ".join(Path(file).name for file in local_files(source["name"]))
    return source.get("title") or names


def text_sources(languages):
    """Of the training corpora of some languages, what the text is and its licence."""
    sources = [resolved_source("language_settings", lang) for lang in languages]
    return [
        {
            "kind": source["kind"],
            "title": text_title(source),
            "licence": source.get("licence"),
        }
        for source in sources
    ]


def descriptions_of(languages):
    """What stands beside the retrieved corpora of some languages; nothing for local files."""
    return [
        result(f"retrieved/corpora/{lang}.source.json")
        for lang in languages
        if is_retrieved(setting("language_settings", lang)["source"])
    ]


# A source that can't be is reported now, not hours later when its rule is reached.
for name in LANGUAGES:
    resolved_source("language_settings", name)
for name in DOMAINS:
    resolved_source("domain_settings", name)
