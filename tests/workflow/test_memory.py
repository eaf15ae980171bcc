"""The memory of a job that is tried again."""

from __future__ import annotations

from pathlib import Path

import yaml

from .conftest import ROOT, run_snakemake

SNAKEFILE = """
from reproduction.run import memory

rule half:
    output: "half"
    params: "half.seen"
    resources: mem_mb=memory({half})
    shell:
        "echo {{resources.mem_mb}} >> {{params}}; "
        "test $(wc -l < {{params}}) = 3 && touch {{output}}"

use rule half as quarter with:
    output: "quarter"
    params: "quarter.seen"
    resources: mem_mb=memory({quarter})
"""


def test_memory_doubles_once_and_never_beyond_the_ceiling_of_the_profile(tmp_path: Path) -> None:
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    ceiling = int(next(one for one in profile["resources"] if "mem_mb" in one).split("=")[1])
    half = ceiling // 2 + 1
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(half=half, quarter=ceiling // 4))
    limits = ["--resources", f"mem_mb={ceiling}", "--set-resource-scopes"]
    limits += profile["set-resource-scopes"]
    path = {"PYTHONPATH": f"{ROOT}/src:{ROOT}/workflow"}
    run = run_snakemake(tmp_path, ["--retries=2", *limits, "--", "half", "quarter"], path)
    assert run.returncode == 0, run.stderr[-3000:]
    seen = {name: (tmp_path / f"{name}.seen").read_text().split() for name in ("half", "quarter")}
    assert list(map(int, seen["half"])) == [half, ceiling, ceiling]
    assert list(map(int, seen["quarter"])) == [ceiling // 4, *[ceiling // 4 * 2] * 2]
