# What all rule files share. `run` is the checked configuration and answers what rules ask of it
# (workflow/reproduction/run.py).
#
# What a pretraining waits for has `priority: 1`, so that GPUs begin early (docs/reproduce.md). What has
# `localrule: True` runs where Snakemake runs, on a cluster, too: figures, tables and pages take seconds,
# and submitting them takes longer; nodes may lack the network for what is retrieved.
#
# Values travel to the rules as `params`, so a change of one configuration key reruns the rules that
# use it and no others. Scripts never read the configuration itself.

import argparse
import atexit
import dataclasses
import importlib.util
import inspect
import itertools
import os
import re
import shutil
import sys
from pathlib import Path


def check_profile(arguments):
    """End where --workflow-profile names no profile: Snakemake would run without it, on this machine.

    Nothing is checked with --directory, which has changed what a relative path means.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--workflow-profile", default="none")
    name = parser.parse_known_args(arguments)[0].workflow_profile
    places = [Path(), Path("profiles"), Path(workflow.main_snakefile).parent / "profiles"]
    missing = name != "none" and not any((place / name).exists() for place in places)
    if missing and workflow.overwrite_workdir is None:
        sys.exit(
            f"error: --workflow-profile: there is no {name}; give a folder such as profiles/slurm"
        )


check_profile(sys.argv)


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
# What jobs need where no conda environment gives it to them.
PACKAGES = ("gensim", "matplotlib", "numba", "pandas", "pyarrow", "sentencepiece", "torch")

try:
    from reproduction.artefacts.shared import causal_files, curve_files, training_logs
    from reproduction.artefacts.registry import (
        artefact_files,
        artefacts_of,
        flat,
        places,
        reference_artefacts,
        registered,
        resource,
    )
    from reproduction.digests import code_of
    from reproduction.cards import card, text_of
    from reproduction.config import load_config
    from reproduction.lm.settings import FREE, RESULT_VERSION
    from reproduction.retrievals import (
        dump_sample,
        failed_retrievals,
        retrieved_files,
        sources_table,
    )
    from reproduction.run import Run, memory
    from reproduction.run_report import (
        changes,
        claims_run,
        reference_command,
        reference_tasks,
        reference_sources,
        report_run,
        texts,
    )
    from reproduction.sections import CONTROLS, PAPER_LANGUAGES
    from reproduction.vocabularies import (
        COUNTS,
        control_parameters,
        embeddings,
        initial,
        sage_parameters,
        trained,
    )
    from sagevocab.errors import UserError
    from sagevocab.settings import TrainingSettings
except ModuleNotFoundError as error:
    sys.exit(f"error: Snakemake's Python has no package {error.name!r}; {INSTALLATION}")

try:
    # A workflow that uses this one as a module hands over its configuration itself.
    alone = workflow.modifier.namespace is None
    run = Run.of(
        load_config(CHECKOUT, config, working_directory=alone), CHECKOUT / "workflow/resources"
    )
except UserError as error:
    sys.exit(f"error: {error}")

result = run.result


def any_of(names):
    """A wildcard constraint for `names`; one that matches nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def report_file(name):
    """Path of a file of workflow/report, from the working directory."""
    return os.path.relpath(CHECKOUT / "workflow/report" / name)


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


def model_files(folder):
    """The files of a trained model: for transformers, and what was measured while it was trained."""
    measured = {"log": "training_log.parquet", "heldout": "heldout.parquet", "card": "README.md"}
    files = {**OF_MODEL, "pieces": "pieces.txt", **measured}
    return {key: result(f"{folder}/{name}") for key, name in files.items()}


def pretrained(wildcards):
    """The files of the model that a fine-tuning starts from."""
    return {key: f"{run.pretrained(wildcards)}/{name}" for key, name in OF_MODEL.items()}


def in_report(path, category):
    """A file that `snakemake --report` shows; its caption is the docstring of its rule."""
    return report(result(path), caption="../report/caption.rst", category=category)


def caption(rule_name):
    """The docstring of a rule as text without indentation."""
    return inspect.cleandoc(getattr(rules, rule_name).rule.docstring or "")


def retrieved(source):
    """Params of the retrieval of `source`, a function of the wildcards.

    What depends on the output is not compared with the last run's.
    """
    return {
        "source": lambda wildcards, output: source(wildcards),
        "decisive": lambda wildcards: source(wildcards).decisive,
        "cache_dir": lambda wildcards, output: run.config.download_dir,
    }


def measured_lines(wildcards):
    """The lines of a text that tokenizers are measured on."""
    if wildcards.corpus == "train":
        return result("corpus/{lang}.txt.zst")
    return result("corpus/domains/{corpus}.txt.zst")


def extraction_threads(source):
    """The threads that extract a text: that of a dump is worth many cores."""
    return 4 if source.format == "mediawiki" else 1


def rows_of(split):
    """The files of a split of a task, as a function of wildcards."""
    return lambda wildcards: run.source_files(
        "task_settings", wildcards.task, run.task(wildcards.task).origin(split)
    )


def initial_file(name):
    """A file of the vocabulary that a tokenizer is pruned from, as a function of wildcards."""
    return lambda wildcards: initial(run, wildcards.lang, wildcards.tok, name)


def seed_of(wildcards):
    """The seed of a tokenizer: its own, or the run's."""
    seed = run.tokenizer(wildcards.tok).seed
    return run.seed if seed is None else seed


def external_files(wildcards):
    """The files of a tokenizer from elsewhere."""
    path = Path(run.tokenizer(wildcards.tok).path_in(wildcards.lang))
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [str(file) for file in files if file.is_file()]


# Threads that train embeddings; gensim repeats itself with one.
WORD2VEC_THREADS = 2 if run.config.word2vec.trainer == "blocks" else run.config.word2vec.workers


def free(section, *keys):
    """Settings that change speed and memory: no finished model needs another training run for them.

    What depends on the output is not compared with the last run's.
    """
    lm = run.config.lm
    settings = {key: getattr(getattr(lm, section), key) for key in keys}
    return lambda wildcards, output: {"gpus": lm.gpus, **settings}


def decisive(section, *free):
    """Settings that a finished model depends on."""
    return {key: value for key, value in run.section(section).items() if key not in free}


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


# Snakemake does not limit a resource that nobody has declared, and trainings side by side on one
# machine would share its GPU, or wait for one while they hold cores. Without --jobs N there is no
# cluster that hands them out.
HAS_CLUSTER = workflow.global_resources["_nodes"].value is not None
if "gpu" not in workflow.global_resources and not HAS_CLUSTER:
    workflow.register_resource("gpu", max(1, run.config.lm.gpus))


def shows_gpu():
    """Whether this machine has a driver of GPUs (NVIDIA's or AMD's)."""
    devices = Path(os.devnull).parent
    return any((devices / name).exists() for name in ("nvidiactl", "nvmap", "dxg", "kfd"))


def writable(path):
    """Whether a file or folder can be made at `path`, which need not be there yet."""
    place = next(place for place in [path, *path.parents] if place.exists())
    return os.access(place, os.W_OK | os.X_OK)


# What a plan costs most of, by what the jobs of a rule train.
TRAININGS = {
    "vocabularies": (
        *("train_bpe", "train_bpe_initial", "train_unigram", "train_unigram_initial"),
        *("train_wordpiece", "prune_control", "build_sage"),
    ),
    "Word2Vec": ("train_embeddings", "train_vectors"),
    "pretrainings": ("pretrain_model", "repeat_pretraining"),
    "fine-tunings": ("finetune_model",),
    "causal models": ("train_causal",),
}


def trainings():
    """What a dry run plans to train, in one line."""
    planned = [job.rule for job in workflow.dag.needrun_jobs(exclude_finished=False)]
    counts = {
        what: sum(planned.count(getattr(rules, name).rule) for name in names)
        for what, names in TRAININGS.items()
    }
    lm, units = run.section("lm.pretrain"), {
        "hours": "hours",
        "steps": "updates",
        "tokens": "tokens",
    }
    key = next(key for key in units if lm[key] is not None)
    budgets = {"pretrainings": f" of {lm[key]:g} {units[key]}"}
    counted = (f"{count} {what}{budgets.get(what, '')}" for what, count in counts.items())
    return f"This would train: {', '.join(counted)}."


def last_words():
    """End a dry run with what it would train."""
    if workflow.dag is not None and workflow.is_main_process and workflow.dryrun:
        print(trainings(), file=sys.stderr)


# Snakemake calls no handler of the workflow in a dry run, or where there is nothing to do.
atexit.register(last_words)


onstart:
    if not writable(Path(result("any")).parent):
        sys.exit(
            f"error: {result('')}: cannot be written, the disk or folder is read-only; make it "
            "writable, or run in another folder (snakemake --directory)"
        )
    if workflow.executor_plugin.name == "slurm" and not shutil.which("sbatch"):
        sys.exit(
            "error: executor slurm: this machine has no sbatch; log in where jobs are submitted, or "
            "run here (no --workflow-profile, but --cores 2)"
        )
    if HAS_CLUSTER:
        # A job that SLURM refuses would else be shown with the log of an earlier success.
        for log in [log for job in workflow.dag.needrun_jobs() for log in job.log]:
            Path(log).unlink(missing_ok=True)
    # To start 100 jobs a second at most, its default, Snakemake 9 looks at all waiting jobs again a
    # second after each look, and every job that ends adds a look of its own: after 400 jobs its process
    # keeps half a core busy. A limit that a user sets stays.
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    if "retrieve" in workflow.dag_settings.targets:
        # What can't be had from one server is no reason to leave the rest where it is.
        workflow.scheduler.keepgoing = True
        print(*sources_table(run), sep="\n", file=sys.stderr)
    conda = any(
        method.name == "CONDA" for method in workflow.deployment_settings.deployment_method
    )
    missing = [name for name in PACKAGES if not (conda or importlib.util.find_spec(name))]
    if missing:
        sys.exit(f"error: Snakemake's Python has no {', '.join(missing)}; {INSTALLATION}")
    if run.models and run.config.lm.gpus and not (HAS_CLUSTER or shows_gpu()):
        print(
            f"warning: lm.gpus is {run.config.lm.gpus}, and this machine shows no GPU: jobs that "
            "train language models would fail; lm.gpus: 0 trains on the CPU",
            file=sys.stderr,
        )


onerror:
    failed = failed_retrievals(run)
    if failed:
        print("These sources could not be retrieved:", *failed, sep="\n  ", file=sys.stderr)


wildcard_constraints:
    lang=any_of(run.languages),
    tok=any_of(
        [
            *run.tokenizers,
            *trained(run, "bpe"),
            *trained(run, "unigram"),
            *run.reseeded,
            *run.heuristics,
        ]
    ),
    domain=any_of(run.domains),
    corpus=any_of(["train", *run.domains]),
    task=any_of(dict.fromkeys([*run.tasks, *run.probe_tasks])),
    split="train|validation",
    seed="[0-9]+",
    number="[0-9]+",
