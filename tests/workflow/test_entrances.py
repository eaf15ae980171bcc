"""Other ways into the workflow than `snakemake` in a checkout with everything installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from checkouts import copy_checkout

from .conftest import Run, run_snakemake
from .test_failures import error_lines

TABLE = "results/tiny/tables/table_hyperparameters_vocabulary.md"
# As snakedeploy writes it, with a folder for the results.
MODULE = """
configfile: "config/mine.yaml"

module sagevocab:
    snakefile: github("owner/sagevocab", path="workflow/Snakefile", tag="v1")
    config: config
    prefix: "mine"

use rule * from sagevocab as sage_*
"""
# As in an environment of Snakemake alone, where the library can't import what it needs.
WITHOUT_PACKAGES = """
import sys

class Missing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "reproduction.run":
            raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

sys.meta_path.insert(0, Missing)
"""
STUB = """#!/bin/sh
echo "conda $*" >> {log}
case "$*" in
  "info --json") echo '{{"conda_prefix": "{prefix}", "platform": "linux-64"}}' ;;
  "--version") echo "conda 99.0.0" ;;
  "config --get"*) echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
  *"env create"*)
    while [ "$1" != --prefix ]; do shift; done
    mkdir -p "$2/bin" && cp {prefix}/bin/env_python "$2/bin/python" ;;
esac
"""
ENV_PYTHON = """#!/bin/sh
echo "python of $CONDA_PREFIX" >> {log}
PYTHONPATH={library} exec {python} "$@"
"""


@pytest.fixture
def elsewhere(tiny, tiny_config: dict, tmp_path: Path) -> Path:
    """A working directory that is no checkout, with the text of the tiny run."""
    shutil.copy(tiny.checkout / "text.txt", tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/mine.yaml").write_text(yaml.safe_dump(tiny_config))
    return tmp_path


def snakemake(folder: Path, *arguments: str, **environment: str) -> Run:
    """Run snakemake in `folder` without any search path of Python but `environment`'s."""
    return run_snakemake(folder, arguments, {"PYTHONPATH": "", **environment})


def test_as_a_module_that_a_hosting_service_has_with_a_prefix(
    elsewhere: Path, tmp_path: Path
) -> None:
    hosted = tmp_path / "hosted/owner/sagevocab"
    copy_checkout(hosted)
    git = ("git", "-C", hosted, "-c", "user.name=A", "-c", "user.email=a@b")
    for command in (["init"], ["add", "--all"], ["commit", "--message=All"], ["tag", "v1"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    (elsewhere / "Snakefile").write_text(MODULE)
    # What lies here is the other workflow's own configuration.
    (elsewhere / "config.yaml").write_text("samples: [a, b]\n")
    run = snakemake(
        elsewhere,
        "sage_table_hyperparameters_vocabulary",
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0=f"url.{tmp_path}/hosted/.insteadOf",
        GIT_CONFIG_VALUE_0="https://github.com/",
        # Snakemake's copy of the sources lies in the working directory, where paths get the prefix.
        XDG_CACHE_HOME=f"{elsewhere}/.cache",
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "hint: there is no target" not in run.stderr
    assert "prune_batch" in (elsewhere / "mine" / TABLE).read_text()
    assert not (elsewhere / "results").exists()


def test_in_another_working_directory_beside_another_library(tiny, elsewhere: Path) -> None:
    (elsewhere / "sagevocab").mkdir()
    (elsewhere / "sagevocab/__init__.py").write_text("raise RuntimeError('the wrong library')\n")
    (elsewhere / "config/mine.yaml").rename(elsewhere / "config/config.yaml")
    arguments = ["--snakefile", str(tiny.checkout / "workflow/Snakefile"), "-np"]
    run = snakemake(elsewhere, *arguments, PYTHONPATH=str(elsewhere))
    assert re.search(r"^all +1$", run.stdout + run.stderr, re.MULTILINE), run.stderr[-3000:]
    assert "results/tiny/report.html" in run.stdout + run.stderr


def test_a_configuration_without_a_word_of_models_runs(tiny) -> None:
    """The paper's settings want a GPU; without one a run is warned, and its texts need none."""
    source = {"path": "text.txt", "format": "text"}
    english = {"lines": 100, "heldout_lines": 10, "source": source}
    own = {"run": "own", "languages": ["en"], "language_settings": {"en": english}}
    (tiny.checkout / "own.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")
    run = tiny("results/own/corpus/en.txt.zst", config=["own.yaml"])
    assert run.returncode == 0, run.stderr
    has_gpu = any(Path("/dev", name).exists() for name in ("nvidiactl", "nvmap", "dxg", "kfd"))
    assert ("warning: lm.gpus is 1, and this machine shows no GPU" in run.stderr) is not has_gpu


def test_a_missing_package_is_one_line_with_the_way_out(tiny, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_PACKAGES)
    run = snakemake(tiny.checkout, "-n", "--configfile", "tiny.yaml", PYTHONPATH=str(tmp_path))
    (line,) = error_lines(run)
    assert "has no package 'numpy'" in line
    assert "--software-deployment-method conda" in line
    assert "Traceback" not in run.stderr


def test_jobs_run_in_their_conda_environment(tiny, elsewhere: Path, tmp_path: Path) -> None:
    prefix, log = tmp_path / "conda", tmp_path / "conda.log"
    (prefix / "bin").mkdir(parents=True)
    library = f"{tiny.checkout}/src{os.pathsep}{tiny.checkout}/workflow"
    scripts = {
        "conda": STUB.format(log=log, prefix=prefix),
        "env_python": ENV_PYTHON.format(log=log, library=library, python=sys.executable),
        "activate": 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n',
    }
    for name, text in scripts.items():
        (prefix / "bin" / name).write_text(text)
        (prefix / "bin" / name).chmod(0o755)
    run = snakemake(
        elsewhere,
        *("--snakefile", str(tiny.checkout / "Snakefile")),
        *("--configfile", "config/mine.yaml"),
        *("--software-deployment-method", "conda", "--", "table_hyperparameters_vocabulary"),
        PATH=f"{prefix / 'bin'}:{os.environ['PATH']}",
    )
    assert run.returncode == 0, run.stderr[-3000:]
    calls = log.read_text()
    (environment,) = re.findall(r"^conda env create .*--prefix \S*?(\w+)_*$", calls, re.MULTILINE)
    assert re.search(rf"^python of .*{environment}", calls, re.MULTILINE)


def test_dates_of_a_fresh_checkout_plan_nothing(tiny, tmp_path: Path) -> None:
    target = "table_hyperparameters_vocabulary"
    assert tiny(target).returncode == 0
    fresh = copy_checkout(tmp_path / "fresh")
    for name in ("text.txt", "tiny.yaml"):
        shutil.copy(tiny.checkout / name, fresh)
    shutil.copytree(tiny.checkout / "results", fresh / "results")
    arguments = ("--configfile", "tiny.yaml", "--", target)
    assert snakemake(fresh, "--touch", *arguments).returncode == 0
    subprocess.run(["touch", *fresh.glob("workflow/scripts/*.py")], check=True)
    run = snakemake(fresh, "--dry-run", *arguments)
    assert "Nothing to be done" in run.stdout + run.stderr, run.stderr[-3000:]


def test_slurm_gets_requests_for_memory_machines_and_cards_that_are_shared(tiny) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    from snakemake_executor_plugin_slurm.submit_string import get_submit_command
    from snakemake_executor_plugin_slurm.utils import set_gres_string

    (tiny.checkout / "cards.yaml").write_text("lm: {gpus: 4}\n")
    targets = ["models/en/sage/model.safetensors", "scores/en/sage/sst2/1.json"]
    run = tiny(
        *("-n", "--forceall", "--workflow-profile=profiles/slurm", "--resources=mem_mb=10000"),
        *(f"results/tiny/{target}" for target in targets),
        extra=["cards.yaml"],
    )
    assert run.returncode == 0, run.stderr[-3000:]
    # What sbatch gets of machines, tasks and cards.
    for rule, cards in (("pretrain_model", "--nodes=1 --gpus=4"), ("finetune_model", "--gpus=1")):
        resources = resources_of(rule, run.stdout + run.stderr)
        job = SimpleNamespace(threads=1, resources=Resources(resources))
        place = dict.fromkeys(("run_uuid", "slurm_logfile", "comment_str", "workdir"), "x")
        call = get_submit_command(job, {**place, "account": "", "partition": ""})
        found = re.findall(r"--(?:nodes|ntasks|gres|gpus)\S*", call + set_gres_string(job))
        assert " ".join(found) == cards
    # A build wants 12,000 MB at its first attempt; here is the ceiling.
    assert resources_of("build_sage", run.stdout + run.stderr)["mem_mb"] == 10_000


def resources_of(rule: str, plan: str) -> dict[str, int | str]:
    """Resources of the first job of a rule in the plan that a dry run prints."""
    line = re.search(rf"rule {rule}:\n(?:    .*\n)*?    resources: (.*)", plan)[1]
    pairs = (pair.split("=", 1) for pair in line.split(", "))
    return {name: int(v) if v.isdigit() else v for name, v in pairs}


def test_a_job_that_slurm_refuses_is_shown_with_the_reason(tiny, tmp_path) -> None:
    target = "corpus/domains/quora.txt.zst"
    for program in ("sbatch", "squeue", "sinfo", "scontrol", "sacct", "sshare"):
        (tmp_path / program).write_text("#!/bin/sh\necho invalid partition >&2; exit 1\n")
        (tmp_path / program).chmod(0o755)
    run = tiny(
        "--workflow-profile=profiles/slurm",
        "--retries=0",
        "--jobs=1",
        "--forceall",
        f"results/tiny/{target}",
        environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    output = run.stdout + run.stderr
    assert run.returncode != 0 and "sbatch failed. The error message was 'invalid part" in output
    assert "Error in rule retrieve_source" not in output  # it ran where Snakemake does


class Resources(dict):
    """Resources of a job, which the plugin reads as keys and as attributes."""

    __getattr__ = dict.__getitem__
