"""Whether two runs made the same results: every byte, but for what clocks wrote.

    python tests/trees.py BEFORE/results/demo AFTER/results/demo

compares what two commits make. The manifest, which names the code, is then left out.

Free to differ are logs; benchmarks, which a killed Snakemake may also leave out; in the manifest
the environment (digests of the code must agree) and the digests of files that hold times; times in
logs of training; claims about time; and the pages and the tables that show them, whose other
contents are compared in `claims.json` and the `csv` files.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

# Below a run's folder. Of these only the names are compared: the contents are times, or show some.
_NAMES_ONLY = re.compile(
    r"logs/.*"
    r"|tables/table_controls\.(md|tex)"
    r"|claims\.md|findings\.md|report\.html"
)
# The files that hold times beside results.
_TIMED = re.compile(
    rf"{_NAMES_ONLY.pattern}|.*training_log\.parquet|claims\.(json|parquet)"
    r"|tables/table_controls\.csv"
)
_MANIFEST = "manifest.json"
_TIMED_CLAIMS = ["cost_ratio", "cost_hours"]
_TIMES = re.compile(r"seconds.*|tokens_per_second|peak_share|waiting")  # columns


def differences(one: Path, other: Path) -> list[str]:
    """Return a line for each file in which two folders `results/RUN` differ; none if they agree."""
    return listed(digests(one), digests(other))


def listed(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Return a line for each file that two digests of trees do not share."""
    lines = [f"{name}: only in the first" for name in sorted(one.keys() - other.keys())]
    lines += [f"{name}: only in the second" for name in sorted(other.keys() - one.keys())]
    both = sorted(one.keys() & other.keys())
    return lines + [f"{name}: differs" for name in both if one[name] != other[name]]


def digests(tree: Path) -> dict[str, str]:
    """Return path -> SHA-256 of what must be equal in it, for all files of a folder `results/RUN`.

    Hidden files count: a job leaves none behind. Progress under `.state` does, too.
    """
    files = sorted(path for path in tree.rglob("*") if not path.is_dir())
    names = {path: path.relative_to(tree).as_posix() for path in files}
    return {
        name: hashlib.sha256(_fixed(path, name)).hexdigest()
        for path, name in names.items()
        if not name.startswith("benchmarks/")
    }


def _fixed(path: Path, name: str) -> bytes:
    """Return the part of a file that no clock wrote."""
    if _NAMES_ONLY.fullmatch(name):
        return b""
    if name == _MANIFEST:
        return _fixed_manifest(json.loads(path.read_bytes()))
    if name.endswith(".kept/kept.json"):
        kept = json.loads(path.read_bytes())
        return _bytes({**kept, "sha256": _untimed(kept["sha256"], _TIMED)})
    if name == "claims.json":
        claims = json.loads(path.read_bytes())
        return _bytes([claim for claim in claims if not claim["timing"]])
    if not _TIMED.fullmatch(name):
        return path.read_bytes()
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    for name in {"id", "statement"} & set(frame):
        frame = frame[~frame[name].isin(_TIMED_CLAIMS)]
    return _frame_bytes(frame[[name for name in frame if not _TIMES.fullmatch(name)]])


def _fixed_manifest(manifest: dict) -> bytes:
    """Return the jobs of a manifest without what tells one run from an equal one."""
    timed = re.compile(rf"results/[^/]+/({_TIMED.pattern})")
    jobs = {
        name: {
            **job,
            "environment": None,
            "sha256": _untimed(job["sha256"], timed),
        }
        for name, job in manifest["jobs"].items()
    }
    return _bytes(jobs)


def _untimed(digests: Mapping[str, str], timed: re.Pattern) -> dict[str, str | None]:
    """Return digests by file, without those of files that hold times."""
    return {file: None if timed.fullmatch(file) else digest for file, digest in digests.items()}


def _bytes(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _frame_bytes(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def main() -> None:
    """Compare what two commits make; exit with 1 where they differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", type=Path, nargs=2, help="folders results/RUN")
    one, other = map(digests, parser.parse_args().trees)
    one.pop(_MANIFEST, None)
    other.pop(_MANIFEST, None)
    lines = listed(one, other)
    print("\n".join(lines) or "equal")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
