"""Names, paths and settings that all rule files share, and with common_*.smk the only place for helpers.

Values travel to the rules as `params:`, so that a change of one configuration key reruns its
consumers and nothing else; scripts never see the configuration itself.
"""

import os
import re
from pathlib import Path

import sagevocab
import yaml
from sagevocab.config import changed_settings, missing_files
from sagevocab.data.sources import load_catalogue, local_files, resolve_source
from sagevocab.errors import UserError
from sagevocab.lm.settings import FREE
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


def any_of(names):
    """A wildcard constraint for `names`; one that matches nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def resource_file(name):
    """Path of a file of workflow/resources, from the working directory."""
    return os.path.relpath(CHECKOUT / "workflow/resources" / name)


def report_file(name):
    """Path of a file of workflow/report, from the working directory."""
    return os.path.relpath(CHECKOUT / "workflow/report" / name)


def stage_rules():
    """Names of the rules read so far that make no figure or table, in the order of the stages."""
    names = (rule.name for rule in workflow.rules)
    return [name for name in names if not name.startswith(("figure_", "table_"))]


def tokenizers_of_method(*methods):
    """Names of the run's tokenizers that are built by one of `methods`."""
    return [name for name in TOKENIZERS if setting("tokenizer_settings", name)["method"] in methods]


def labels_of(tokenizers):
    """Names of tokenizers in figures and tables."""
    return [setting("tokenizer_settings", name).get("label", name) for name in tokenizers]


def corpora_of(language):
    """Texts a language's tokenizers are measured on: its training corpus, then its domains."""
    own = [name for name in DOMAINS if setting("domain_settings", name)["language"] == language]
    return ["train", *own]


wildcard_constraints:
    lang=any_of(LANGUAGES),
    tok=any_of(TOKENIZERS),
    domain=any_of(DOMAINS),
    corpus=any_of(["train", *DOMAINS]),
    task=any_of(TASKS),
    split="train|validation",
    seed="[0-9]+",


include: "common_sources.smk"
include: "common_vocabulary.smk"
include: "common_language_models.smk"
include: "common_learning_curves.smk"
include: "common_texts.smk"
include: "common_targets.smk"
include: "common_report.smk"
include: "common_studies.smk"
include: "common_studies_paper.smk"
