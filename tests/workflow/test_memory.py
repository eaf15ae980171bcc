"""The memory of a job that is tried again."""

from __future__ import annotations

from pathlib import Path

import yaml

from .conftest import ROOT, run_snakemake

SNAKEFILE = """
from reproduction.run import memory

rule one:
    output: "one"
    resources: mem_mb=memory({megabytes})
    shell: "echo {{resources.mem_mb}} >> seen; test $(wc -l < seen) = 3 && touch one"
"""


def test_memory_doubles_once_and_never_beyond_the_ceiling_of_the_profile(tmp_path: Path) -> None:
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    ceiling = int(next(one for one in profile["resources"] if "mem_mb" in one).split("=")[1])
    for megabytes, seen in (
        (4000, [4000, 8000, 8000]),
        (ceiling - 1, [ceiling - 1, *[ceiling] * 2]),
    ):
        folder = tmp_path / str(megabytes)
        folder.mkdir()
        (folder / "Snakefile").write_text(SNAKEFILE.format(megabytes=megabytes))
        limits = ["--resources", f"mem_mb={ceiling}", "--set-resource-scopes"]
        limits += profile["set-resource-scopes"]
        path = {"PYTHONPATH": f"{ROOT}/src:{ROOT}/workflow"}
        run = run_snakemake(folder, ["--retries=2", *limits, "--", "one"], path)
        assert run.returncode == 0, run.stderr[-3000:]
        assert list(map(int, (folder / "seen").read_text().split())) == seen
