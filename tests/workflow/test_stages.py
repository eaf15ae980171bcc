"""Each stage with the packages of its environment alone: `make test-stages` (minutes, downloads).

The environments are conda's but for Python, which is this one: virtual environments in
build/environments, with what pip installs in conda's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import stages

ENVIRONMENTS = stages.load_environments()
BUILD = stages.ROOT / "build/environments"
CONDA = """#!/bin/sh
case "$*" in
  "info --json") echo '{{"conda_prefix": "{conda}", "platform": "linux-64"}}' ;;
  "--version") echo "conda 99.0.0" ;;
  "config --get"*) echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
  *"env create"*)
    while [ $# -gt 0 ]; do
      case "$1" in --file) file=$2 ;; --prefix) prefix=$2 ;; esac
      shift
    done
    for made in {build}/*; do
      if cmp -s "$file" "$made/environment.yaml"; then ln -s "$made" "$prefix"; fi
    done ;;
esac
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.version_info >= (3, 12), reason="the environments are those of Python 3.11"
    ),
]


def python_of(name: str, lines: list[str], text: str = "") -> Path:
    """Return the Python of a virtual environment with the lines of the lock; it is made once."""
    folder = BUILD / name
    made, text = folder / "environment.yaml", text or "\n".join(lines)
    if not made.exists() or made.read_text(encoding="utf-8") != text:
        venv.create(folder, clear=True, with_pip=True)
        (folder / "requirements.txt").write_text("\n".join(lines), encoding="utf-8")
        subprocess.run(
            [
                folder / "bin/python",
                "-m",
                "pip",
                "install",
                "-q",
                "-r",
                folder / "requirements.txt",
            ],
            check=True,
        )
        made.write_text(text, encoding="utf-8")
    return folder / "bin/python"


def python_of_stage(stage: str) -> Path:
    text = (ENVIRONMENTS.HERE / f"{stage}.yaml").read_text(encoding="utf-8")
    lines = text.split("- pip:\n")[1].splitlines()
    return python_of(stage, [line.strip().removeprefix("- ") for line in lines], text)


def test_every_rule_runs_in_them(tiny, tmp_path: Path) -> None:
    for stage in ENVIRONMENTS.STAGES:
        python_of_stage(stage)
    # NumPy and pydantic beside Snakemake: what the documentation says is enough.
    python = python_of("snakemake", ENVIRONMENTS.locked(["numpy", "pydantic", "snakemake"]))
    (tmp_path / "bin").mkdir()
    conda = tmp_path / "bin/conda"
    conda.write_text(CONDA.format(conda=tmp_path, build=BUILD), encoding="utf-8")
    conda.chmod(0o755)
    activate = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'
    (tmp_path / "bin/activate").write_text(activate, encoding="utf-8")
    run = subprocess.run(
        [python, "-m", "snakemake", "--cores=2", "--scheduler=greedy", "--configfile=tiny.yaml"]
        + ["--software-deployment-method=conda", "--", "all"],
        cwd=tiny.checkout,
        env={**os.environ, "PYTHONPATH": "", "PATH": f"{conda.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-5000:]
    assert (tiny.checkout / "results/tiny/report.html").exists()
