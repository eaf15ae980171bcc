# What all rule files share. `run` is the checked configuration and answers what rules ask of it
# (workflow/reproduction/run.py).
#
# What a pretraining waits for has `priority: 1`, so that GPUs begin early (docs/reproduce.md). What has
# `localrule: True` runs where Snakemake runs, on a cluster, too: figures, tables and pages take seconds,
# and submitting them takes longer; nodes may lack the network for what is retrieved.
#
# Values travel to the rules as `params`, so a change of one configuration key reruns the rules that
# use it and no others. Scripts never read the configuration itself.

import dataclasses
import itertools
import os
import re
import sys
from pathlib import Path

from snakemake.settings.types import RerunTrigger

if " " in sys.executable:
    sys.exit(
        f"error: {sys.executable}: Snakemake starts no job with a Python in a folder whose name has a "
        "space; set it up in another folder"
    )


def checkout_of(rules):
    """The folder of the checkout that has the folder of rules.

    From a hosting service, `github(...)` in a `module` statement, Snakemake takes single files out of
    a clone without a working tree. The library and its data are read as folders, so their commit is
    checked out beside that clone, once.
    """
    if not hasattr(rules, "hosted_repo"):
        return Path(str(rules)).resolve().parents[1]
    clone = rules.hosted_repo.repo
    commit = clone.git.rev_parse(f"{rules.ref}^{{commit}}")
    folder = Path(f"{clone.git_dir}.{commit}")
    if not folder.exists():
        new = Path(f"{folder}.{os.getpid()}")
        clone.clone(new).git.checkout(commit)
        new.rename(folder)
    return folder


# `workflow.basedir` would be another folder where this workflow is used as a module.
CHECKOUT = checkout_of(workflow.current_basedir)
SOURCES = [str(CHECKOUT / "src"), str(CHECKOUT / "workflow")]
if not all(map(os.path.isdir, SOURCES)):
    sys.exit(
        "error: this workflow reads files beside its Snakefile, which a URL does not give: clone the "
        "repository and use the clone's workflow/Snakefile"
    )
# The library of this checkout, installed or not, and the pipeline's package, which never is; the
# variable is for the jobs.
sys.path[:0] = SOURCES
search_path = [*SOURCES, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
os.environ |= {"PYTHONPATH": os.pathsep.join(filter(None, dict.fromkeys(search_path)))}

INSTALLATION = (
    "with --software-deployment-method conda NumPy and pydantic beside Snakemake are enough "
    "(pip install numpy pydantic), without it install everything (`make environment` in the checkout)"
)

try:
    from reproduction.artefacts.registry import (
        artefact_files,
        artefacts_of,
        flat,
        places,
        reference_artefacts,
        registered,
        style_files,
    )
    from reproduction.artefacts.shared import curve_files, training_logs
    from reproduction.builds import CONTROLS, EXPORTED, word2vec_settings
    from reproduction.cards import card, text_of
    from reproduction.config import load_run
    from reproduction.costs import costs_of, seconds_of_jobs
    from reproduction.digests import code_of
    from reproduction.lm.settings import FREE, FREE_OF_MODELS, RESULT_VERSION
    from reproduction.progress import show_briefly
    from reproduction.retrievals import dump_sample, retrieved_files, sources_table
    from reproduction.run import memory
    from reproduction.run_report import (
        claims_run,
        local_sources,
        reference_command,
        report_run,
        texts,
    )
    from reproduction.settings import PAPER_LANGUAGES
    from reproduction.targets import first_sentence, hints
    from sagevocab.errors import UserError
    from sagevocab.settings import TrainingSettings
except ModuleNotFoundError as error:
    sys.exit(f"error: Snakemake's Python has no package {error.name!r}; {INSTALLATION}")

try:
    # A workflow that uses this one as a module hands over its configuration itself.
    alone = workflow.modifier.namespace is None
    typed = workflow.config_settings
    own = {"files": typed.configfiles, "command_line": typed.config} if alone else {}
    run = load_run(config, working_directory=alone, **own)
except UserError as error:
    sys.exit(f"error: {error}")

result = run.result
# The checked settings, for `lookup`.
settings = run.config.model_dump()


def wildcards_of(path):
    """The wildcards of a file, as `{NAME}`, in their order."""
    return [f"{{{name}}}" for name in dict.fromkeys(re.findall(r"\{(\w+)", path))]


def any_of(names):
    """A wildcard constraint for `names`; one that matches nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


# The folder `workflow` of this checkout, from the working directory.
SHIPPED = os.path.relpath(CHECKOUT / "workflow")


def input_files(paths):
    """Input files; those of this checkout are where they are, whatever prefix a module has."""
    return [local(file) if Path(file).is_relative_to(SHIPPED) else file for file in flat(paths)]


def shipped(name):
    """A file of this checkout's folder workflow."""
    return local(os.path.join(SHIPPED, name))


def in_report(path, category, caption="caption"):
    """A file that `snakemake --report` shows."""
    return report(result(path), caption=f"../report/{caption}.rst", category=category)


# --- files of the stages


def of_tokenizers(path, tokenizers):
    """A file of each of some tokenizers; wildcards of texts stay."""
    return expand(result(path), tok=tokenizers, allow_missing=True)


def tokenizer_files(folder):
    """The files of every exported tokenizer."""
    return {
        "pieces": result(f"{folder}/pieces.txt"),
        "tokenizer": result(f"{folder}/tokenizer.json"),
        "settings": result(f"{folder}/tokenizer_config.json"),
    }


# What transformers loads a model from.
OF_MODEL = {
    "weights": "model.safetensors",
    "configuration": "config.json",
    "tokenizer": "tokenizer.json",
    "tokenizer_configuration": "tokenizer_config.json",
}
# What is beside it: its pieces, its card, and what was measured while it was trained.
BESIDE_MODEL = {
    "pieces": "pieces.txt",
    "card": "README.md",
    "log": "training_log.parquet",
    "heldout": "heldout.parquet",
}


def model_files(folder):
    """The files of a trained model."""
    return {key: result(f"{folder}/{name}") for key, name in (OF_MODEL | BESIDE_MODEL).items()}


def pretrained(wildcards):
    """The files of the model that a fine-tuning starts from."""
    return {key: f"{run.pretrained(wildcards)}/{name}" for key, name in OF_MODEL.items()}


def ignore_dates_of_scripts(wildcards=None):
    """Let no date of a script file plan a job: it is that of the checkout, and params have a digest.

    Snakemake has no settings of a plan while it reads the rules. It has them when it calls the first
    function of wildcards, before it looks at a date: that of a source, or, for what may have none
    below it, this one as an input that gives no file. A workflow that uses this one as a module says
    so in its profile.
    """
    if alone:
        settings_of_plan = workflow.dag_settings
        settings_of_plan.rerun_triggers = settings_of_plan.rerun_triggers - {RerunTrigger.CODE}
    return []


def source_files(section, name, split=None):
    """The files of a source; those of this machine are where they are, whatever prefix a module has."""
    ignore_dates_of_scripts()
    files = run.source_files(section, name, split)
    is_local = run.source(section, name, split).kind == "path"
    return [local(file) for file in files] if is_local else files


def language_source(wildcards):
    """The files of the text of a language."""
    return source_files("language_settings", wildcards.lang)


def domain_source(wildcards):
    """The files of the text of another domain."""
    return source_files("domain_settings", wildcards.domain)


def morphemes(wildcards):
    """The list of segmented words of a language."""
    return source_files("morphology", wildcards.lang)[0]


def task_sources(wildcards):
    """The files of a task's rows, by split."""
    origins = {split: run.task(wildcards.task).origin(split) for split in ("train", "validation")}
    return {
        split: source_files("task_settings", wildcards.task, origin)
        for split, origin in origins.items()
    }


def measured_lines(wildcards):
    """The lines of a text that tokenizers are measured on."""
    if wildcards.corpus == "train":
        return result("corpus/{lang}.txt.zst")
    return result("corpus/domains/{corpus}.txt.zst")


def initial_files(wildcards):
    """The vocabulary that a tokenizer is pruned from, with its merges, where the method needs them."""
    folder = f"vocab/{wildcards.lang}/{run.builds[wildcards.tok].initial}"
    return {
        "pieces": result(f"{folder}/pieces.txt"),
        "model": result(f"{folder}/sentencepiece.model"),
    }


def exported_model(wildcards):
    """The model whose pieces a tokenizer segments in another way."""
    method = run.builds[wildcards.tok].method
    return result(f"vocab/{wildcards.lang}/{EXPORTED[method]}/sentencepiece.model")


def first_embeddings(wildcards):
    """The embeddings that a SaGe tokenizer starts from, if any."""
    start = run.builds[wildcards.tok].start
    return result(f"embeddings/{wildcards.lang}/{start}.npz") if start else []


def prunings_of(wildcards):
    """What each pruning of BPE's pieces took away, by tokenizer: of the seed, where it has that one."""
    found = {}
    for name in (*run.sage_readings, *run.unseeded_controls):
        of_seed = f"{name}.seed{wildcards.seed}"
        tokenizer = of_seed if of_seed in run.builds else name
        found[name] = result(f"vocab/{wildcards.lang}/{tokenizer}/ablations.parquet")
    return found


def external_files(wildcards):
    """The files of a tokenizer from elsewhere."""
    path = Path(run.tokenizer(wildcards.tok).path_in(wildcards.lang))
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [local(str(file)) for file in files if file.is_file()]


def downstream_targets(wildcards):
    """Models, scores and what is made of them."""
    if not run.models:
        sys.exit(
            "error: config keys lm.enabled, lm.languages, lm.tokenizers: the run has no language models, "
            "so downstream has nothing to make; set lm.enabled: true, list languages of the run and "
            "tokenizers"
        )
    drawn = artefact_files(run, part_of("downstream"))
    return [*run.model_files(), *run.score_files(run.tasks), *drawn]


# --- figures and tables

# Figures and tables of the run by name, in the order of their declarations -> the target they are part
# of: intrinsic, downstream or, for what is in neither of these, paper.
ARTEFACTS = {one.name: one.part_of(run) for one in artefacts_of(run)}
TITLES = {one.name: one.title_in(run) for one in artefacts_of(run)}
CAPTIONS = {one.name: one.caption for one in artefacts_of(run)}
# What `snakemake --report` shows of each.
SHOWN = {"figure": "pdf", "table": "md"}


def part_of(target):
    """The figures and tables of a target, by name."""
    return [name for name, whole in ARTEFACTS.items() if whole == target]


def refuse(objection):
    """An input that ends the plan with an error."""
    return lambda wildcards: sys.exit(f"error: {objection}")


def files_of(artefact):
    """The files of a figure or a table, by their format."""
    files, shown = places(artefact.name), SHOWN[artefact.kind]
    return {
        **{form: result(path) for form, path in files.items()},
        shown: in_report(files[shown], f"{artefact.kind.title()}s"),
    }


# --- params and resources


def sage_settings(wildcards):
    """What decides a SaGe vocabulary beside corpus, initial pieces, embeddings."""
    return run.builds[wildcards.tok].settings


def control_params(wildcards):
    """What decides a control beside corpus and initial pieces."""
    build = run.builds[wildcards.tok]
    return {"method": build.method, "seed": build.seed, **build.settings}


# Threads that train embeddings; gensim repeats itself with one.
WORD2VEC_THREADS = 2 if run.config.word2vec.trainer == "blocks" else run.config.word2vec.workers
# Threads that extract a text: that of a dump is worth many cores.
THREADS_OF = {"mediawiki": 4}


def uncompared(value):
    """A value of `params` that plans no job when it changes, as of what depends on the output."""
    return lambda wildcards, output: value


def free(section, *keys):
    """Settings that change speed and memory: no finished model needs another training run for them."""
    of_section = {key: run.section(f"lm.{section}")[key] for key in keys}
    return uncompared({"gpus": run.config.lm.gpus, **of_section})


def decisive(section, *free):
    """Settings that a finished model depends on."""
    return {key: value for key, value in run.section(section).items() if key not in free}


# Snakemake does not limit a resource that nobody has declared, and trainings side by side on one
# machine would share its GPU, or wait for one while they hold cores. Without --jobs N there is no
# cluster that hands them out.
HAS_CLUSTER = workflow.global_resources["_nodes"].value is not None
if "gpu" not in workflow.global_resources and not HAS_CLUSTER:
    workflow.register_resource("gpu", max(1, run.config.lm.gpus))

if alone:
    show_briefly(seconds_of_jobs(run), lambda jobs: str(costs_of(run, jobs)), elsewhere=HAS_CLUSTER)


def shows_gpu():
    """Whether this machine has a driver of GPUs (NVIDIA's or AMD's)."""
    devices = Path(os.devnull).parent
    return any((devices / name).exists() for name in ("nvidiactl", "nvmap", "dxg", "kfd"))


onstart:
    if "retrieve" in workflow.dag_settings.targets:
        print(*sources_table(run), sep="\n", file=sys.stderr)
    if run.left_out:
        named = "; ".join(f"{key} {', '.join(names)}" for key, names in run.left_out.items())
        print(
            f"warning: left out, as `languages` lacks their languages: {named}", file=sys.stderr
        )
    if run.models and run.config.lm.gpus and not (HAS_CLUSTER or shows_gpu()):
        print(
            f"warning: lm.gpus is {run.config.lm.gpus}, and this machine shows no GPU: jobs that "
            "train language models would fail; lm.gpus: 0 trains on the CPU",
            file=sys.stderr,
        )


wildcard_constraints:
    lang=any_of(run.languages),
    tok=any_of(run.builds),
    domain=any_of(run.domains),
    corpus=any_of(["train", *run.domains]),
    task=any_of(dict.fromkeys([*run.tasks, *run.probe_tasks])),
    split="train|validation",
    seed="[0-9]+",
    number="[0-9]+",
