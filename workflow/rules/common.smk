"""Names, paths and settings that all rule files share, and the only place for helper functions.

Values travel to the rules as `params:`, so that a change of one configuration key reruns its
consumers and nothing else; scripts never see the configuration itself.
"""

import os
import re
from pathlib import Path

import sagevocab
from sagevocab.config import missing_files
from sagevocab.data.catalogue import load_catalogue, local_files, resolve_source
from sagevocab.errors import UserError
from sagevocab.provenance import source_digest
from sagevocab.vocab.presets import DEFAULT_PRESET, overrides, reading_settings
from snakemake.exceptions import WorkflowError

CHECKOUT = Path(workflow.basedir).resolve()
CHECKOUT = CHECKOUT.parent if CHECKOUT.name == "workflow" else CHECKOUT

if Path(sagevocab.__file__).resolve().parent != CHECKOUT / "workflow/scripts/sagevocab":
    raise WorkflowError(
        f"sagevocab is imported from {Path(sagevocab.__file__).parent}, not from this checkout; "
        "run `make environment` here, or `pip install --editable .`"
    )


def setting(section, name):
    """The stanza of a language, domain, tokenizer or task.

    Checked here because a schema can't say that a name in one list needs a stanza in another.
    """
    if name not in config[section]:
        raise WorkflowError(
            f"config key {section}: no stanza for {name!r}; add `{section}: {{{name}: ...}}` "
            f"or take the name out of the list (there are: {', '.join(sorted(config[section]))})"
        )
    return config[section][name]


RUN = config["run"]
LANGUAGES = config["languages"]
DOMAINS = [
    name for name in config["domains"] if setting("domain_settings", name)["language"] in LANGUAGES
]
TASKS = [
    name for name in config["tasks"] if setting("task_settings", name)["language"] in LANGUAGES
]
TOKENIZERS = config["tokenizers"]
LM_TOKENIZERS = config["lm"]["tokenizers"] if config["lm"]["enabled"] else []
SEEDS = config["lm"]["finetune"]["seeds"]
# The tokenizers that the paper's figures and tables compare, in their order.
PAPER_TOKENIZERS = [name for name in ("bpe", "sage", "sage_released") if name in TOKENIZERS]


def result(path):
    """Path of an artefact of this run."""
    return f"results/{RUN}/{path}"


def state(path):
    """Folder for the resumable progress of a job: outside its outputs, which a failure deletes."""
    return f"results/{RUN}/.state/{path}"


def library_digest(module):
    """Digest of a module and all that it imports, for `params` of the rules that use it."""
    return f"{module}:{source_digest(module)}"


def memory(megabytes):
    """Memory that doubles with every attempt of a job, in MB."""
    return lambda wildcards, attempt: megabytes * 2 ** (attempt - 1)


def tokenizers_of_method(*methods):
    """Names of the run's tokenizers that are built by one of `methods`."""
    return [name for name in TOKENIZERS if setting("tokenizer_settings", name)["method"] in methods]


def corpora_of(language):
    """Texts a language's tokenizers are measured on: its training corpus, then its domains."""
    own = [name for name in DOMAINS if setting("domain_settings", name)["language"] == language]
    return ["train", *own]


def tasks_of(language):
    """Evaluation tasks in a language."""
    return [name for name in TASKS if setting("task_settings", name)["language"] == language]


def any_of(names):
    """A wildcard constraint for `names`; one that matches nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


# --- groups of artefacts, for the targets in the Snakefile

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
SEQUENCE_TASKS = [name for name in TASKS if setting("task_settings", name)["kind"] == "sequence"]
TOKEN_TASKS = [name for name in TASKS if setting("task_settings", name)["kind"] == "tokens"]
DOWNSTREAM_TABLES = [
    *(["table_sequence"] if LM_TOKENIZERS and SEQUENCE_TASKS else []),
    *(["table_ner"] if LM_TOKENIZERS and TOKEN_TASKS else []),
    *(["table_hyperparameters_pretraining"] if LM_TOKENIZERS else []),
    *(["table_hyperparameters_finetuning"] if LM_TOKENIZERS else []),
]
FIGURES = INTRINSIC_FIGURES
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
        for split in ("train", "validation")
        if is_retrieved(setting("task_settings", task)["source"][split])
    ]
    return [*corpora, *domains, *tasks]


def is_retrieved(source):
    """Whether a source is fetched or generated, as opposed to a local file."""
    return not source.get("path")


def vocabulary_files():
    """The folder of every tokenizer, by its first file."""
    return expand(result("vocab/{lang}/{tok}/tokenizer.json"), lang=LANGUAGES, tok=TOKENIZERS)


def analysis_files():
    """The measurements of every tokenizer on every text of its language."""
    return [
        result(f"analysis/{lang}/{corpus}/{tok}/summary.json")
        for lang in LANGUAGES
        for corpus in corpora_of(lang)
        for tok in TOKENIZERS
    ]


def model_files():
    """The language model of every language and tokenizer in `lm.tokenizers`."""
    return expand(
        result("models/{lang}/{tok}/model.safetensors"), lang=LANGUAGES, tok=LM_TOKENIZERS
    )


def score_files():
    """The score of every task, tokenizer and fine-tuning seed."""
    return [
        result(f"scores/{lang}/{tok}/{task}/{seed}.json")
        for lang in LANGUAGES
        for tok in LM_TOKENIZERS
        for task in tasks_of(lang)
        for seed in SEEDS
    ]


wildcard_constraints:
    lang=any_of(LANGUAGES),
    tok=any_of(TOKENIZERS),
    domain=any_of(DOMAINS),
    corpus=any_of(["train", *DOMAINS]),
    task=any_of(TASKS),
    split="train|validation",
    seed="[0-9]+",


# --- paper


def resource_file(name):
    """Path of a file of workflow/resources, from the working directory."""
    return os.path.relpath(CHECKOUT / "workflow/resources" / name)


def is_synthetic(*sources):
    """Whether a generator makes the text of one of these sources (a `path:` wins over it)."""
    return any(source.get("generator") and not source.get("path") for source in sources)


def synthetic_language(lang):
    """Whether a language's training corpus is synthetic, and with it all that is trained on it."""
    return is_synthetic(setting("language_settings", lang)["source"])


def synthetic_domain(name):
    """Whether a domain text, or the corpus of the tokenizers measured on it, is synthetic."""
    stanza = setting("domain_settings", name)
    return is_synthetic(stanza["source"]) or synthetic_language(stanza["language"])


def synthetic_task(name):
    """Whether a task's examples, or the corpus of the models evaluated on it, are synthetic."""
    stanza = setting("task_settings", name)
    return is_synthetic(*stanza["source"].values()) or synthetic_language(stanza["language"])


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


def summaries_of(tokenizers):
    """What was measured of some tokenizers on every text, text by text."""
    return [
        result(f"analysis/{lang}/{corpus}/{tok}/summary.json")
        for lang in LANGUAGES
        for corpus in corpora_of(lang)
        for tok in tokenizers
    ]


def morpheme_list(lang):
    """The list of segmented words of a language: path and format."""
    return setting("language_settings", lang)["morphology"]


def labels_of(tokenizers):
    """Names of tokenizers in figures and tables."""
    return [setting("tokenizer_settings", name).get("label", name) for name in tokenizers]


def task_columns(tasks):
    """Tasks as the columns of a score table."""
    stanzas = {name: setting("task_settings", name) for name in tasks}
    return [
        {
            "name": name,
            "label": stanza.get("label", name),
            "metric": stanza["metric"],
            "synthetic": synthetic_task(name),
        }
        for name, stanza in stanzas.items()
    ]


def score_files_of(tasks):
    """Scores of some tasks, of every tokenizer with a model and every seed."""
    return [
        result(f"scores/{setting('task_settings', task)['language']}/{tok}/{task}/{seed}.json")
        for tok in LM_TOKENIZERS
        for task in tasks
        for seed in SEEDS
    ]


def sage_settings():
    """Settings of the SaGe tokenizers that figures and tables show: preset and overrides."""
    stanzas = {name: setting("tokenizer_settings", name) for name in PAPER_TOKENIZERS}
    return {
        name: {key: value for key, value in stanza.items() if key not in ("label", "method")}
        for name, stanza in stanzas.items()
        if stanza["method"] == "sage"
    }


def stage_rules():
    """Names of the rules read so far that make no figure or table, in the order of the stages."""
    names = (rule.name for rule in workflow.rules)
    return [name for name in names if not name.startswith(("figure_", "table_"))]


# --- paper: claims and report


def report_file(name):
    """Path of a file of workflow/report, from the working directory."""
    return os.path.relpath(CHECKOUT / "workflow/report" / name)


def preset_title(name):
    """Reading of the method that a SaGe tokenizer stands for, with overrides; None for others."""
    stanza = setting("tokenizer_settings", name)
    return title_of_reading(stanza) if stanza["method"] == "sage" else None


def title_of_reading(stanza):
    """Preset of a reading of the method, and the keys that override it."""
    changed = [f"{key}: {value}" for key, value in sorted(overrides(stanza).items())]
    preset = stanza.get("preset", DEFAULT_PRESET)
    return f"{preset} ({', '.join(changed)})" if changed else preset


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


# --- sources

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


def generator_code(section, name, split=None):
    """Digest of the generators, for a source that one of them makes."""
    kind = resolved_source(section, name, split)["kind"]
    return library_digest("data.generate") if kind == "generator" else None


def source_input(section, name, retrieved, split=None):
    """Input files of a source: local files themselves, else what a retrieve rule made of it."""
    source = resolved_source(section, name, split)
    if source["kind"] == "path":
        return local_files(source["name"])
    return [result(retrieved), result(f"{retrieved}.source.json")]


def is_dump(section, name):
    """Whether a source may be a dump, whose extraction is worth many cores."""
    return resolved_source(section, name)["format"] == "mediawiki"


def corpus_lines(wildcards):
    """The lines of a text that tokenizers are measured on."""
    if wildcards.corpus == "train":
        return result(f"corpus/{wildcards.lang}.txt.zst")
    return result(f"corpus/domains/{wildcards.corpus}.txt.zst")


# A source that can't be is reported now, not hours later when its rule is reached.
for name in LANGUAGES:
    resolved_source("language_settings", name)
for name in DOMAINS:
    resolved_source("domain_settings", name)
for name in TASKS if LM_TOKENIZERS else ():
    for split in ("train", "validation"):
        resolved_source("task_settings", name, split)


# --- paper: reference results

REFERENCE = "lm" if LM_TOKENIZERS else "intrinsic"
REFERENCE_COMMAND = (
    f"snakemake --configfile {' '.join(Path(file).name for file in workflow.overwrite_configfiles)}"
    " -- all build_reference"
)


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


def reference_texts():
    """The texts that tokenizers are trained and measured on, and those of the paper."""
    corpora = [("language_settings", lang, lang, "train") for lang in LANGUAGES]
    domains = [
        ("domain_settings", name, setting("domain_settings", name)["language"], name)
        for name in DOMAINS
    ]
    return [reference_text(*text) for text in [*corpora, *domains]]


def reference_text(section, name, language, corpus):
    """One text: what it is, its local files, and what stands in its place in the paper."""
    source = resolved_source(section, name)
    printed = CATALOGUE.get(setting(section, name)["source"].get("dataset"), {})
    files = local_files(source["name"]) if source["kind"] == "path" else []
    return {
        "language": language,
        "corpus": corpus,
        "name": setting(section, name)["name"],
        "title": source.get("title") or " and ".join(Path(file).name for file in files),
        "licence": source.get("licence") or "not stated",
        "files": files,
        "paper": printed.get("title", "not in the paper"),
    }


# --- vocabulary


def bpe_tokenizers():
    """Tokenizers of method `bpe`; `bpe` itself also where only `bpe_merges` is to be compared."""
    named = config["tokenizer_settings"].get("bpe", {}).get("method") == "bpe"
    return sorted({*tokenizers_of_method("bpe"), *(["bpe"] if named else [])})


def sentencepiece_settings():
    """What sentencepiece is told beside the size."""
    keys = ("character_coverage", "max_piece_length", "max_sentence_length", "normalization")
    return {key: config["vocabulary"][key] for key in keys}


def word_settings():
    """How text becomes words, in the library and in every exported tokenizer."""
    return {key: config["vocabulary"][key] for key in ("normalization", "max_word_chars")}


def vocabulary_card(method, **settings):
    """What the model card of a vocabulary trained here says, by language."""
    return lambda wildcards: {
        "language": wildcards.lang,
        "language_name": setting("language_settings", wildcards.lang)["name"],
        "method": method,
        "source": {
            field: value
            for field, value in resolved_source("language_settings", wildcards.lang).items()
            if field in ("kind", "name", "title", "licence")
        },
        "settings": settings,
    }


def corpus_description(wildcards):
    """What the retrieved corpus of a language really is, for model cards; nothing for a local file."""
    source = setting("language_settings", wildcards.lang)["source"]
    description = result(f"retrieved/corpora/{wildcards.lang}.source.json")
    return [description] if is_retrieved(source) else []


def sage_reading(wildcards):
    """Which reading of SaGe a tokenizer is: its preset and the keys that override it."""
    stanza = setting("tokenizer_settings", wildcards.tok)
    return {"preset": stanza.get("preset", DEFAULT_PRESET), **overrides(stanza)}


def sage_decoder(wildcards):
    """The decoder of a SaGe tokenizer's ablation."""
    return reading_settings(sage_reading(wildcards))["decoder"]


def sage_parameters(wildcards):
    """All that decides a SaGe vocabulary, beside its corpus, initial pieces and embeddings."""
    size = config["vocabulary"]["final_size"]
    return {"final_size": size, "seed": config["seed"], **config["sage"], **sage_reading(wildcards)}


def sage_card(wildcards):
    """What the model card of a SaGe vocabulary says: its reading and the numbers of the ablation."""
    settings = sage_parameters(wildcards)
    method = f"SaGe, preset {settings['preset']}, segmented by greedy longest match"
    initial_size = config["vocabulary"]["initial_size"]
    return vocabulary_card(method, initial_size=initial_size, **settings)(wildcards)


def external_path(wildcards):
    """Where a tokenizer of method `external` lies."""
    path = setting("tokenizer_settings", wildcards.tok)["path"]
    return path.replace("{lang}", wildcards.lang)


def external_files(wildcards):
    """The files of an external tokenizer; none if they are missing, which the job then explains."""
    path = Path(external_path(wildcards))
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [str(file) for file in files if file.is_file()]


def external_card(wildcards):
    """What the model card of an external tokenizer says."""
    card = vocabulary_card(f"imported from `{Path(external_path(wildcards)).name}`")(wildcards)
    return {**card, "source": None}
