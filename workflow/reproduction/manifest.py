"""`manifest.json` of a run: what made each of its results, and the SHA-256 of every file.

Each job writes its entry when it ends, so a figure that is made alone has one, too.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reproduction.resuming import remove_leftovers, turn
from sagevocab import versions
from sagevocab.files import file_digest, fingerprint, read_json, write_json

# The packages whose versions can change the bytes of a result.
PACKAGES = ("gensim", "matplotlib", "mwparserfromhell", "numba", "numpy", "pandas", "pyarrow")
PACKAGES += ("scipy", "sentencepiece", "snakemake", "tokenizers", "torch", "transformers")
# Parameters that say how a job runs or what is said of its results, not what they are.
_NOT_SETTINGS = ("cache_dir", "calls", "caption", "captions", "code", "decisive", "free", "reads")
_NOT_SETTINGS += ("manifest", "results", "source", "text", "titles", "version")
_DESCRIPTION = ".source.json"
_OF_SOURCES = ("name", "title", "licence", "format", "origin")


def add_entry(manifest: Path, lock: Path, snakemake: Any) -> None:
    """Write the entry of a finished job.

    Args:
        manifest: `manifest.json` of the run.
        lock: a file that jobs lock in turn.
        snakemake: what Snakemake hands to a script.
    """
    environment = {
        "git_commit": git_commit(),
        "packages": package_versions(),
        "python": platform.python_version(),
    }
    known = fingerprint(environment)[:12]
    names = " ".join(f"{name}={value}" for name, value in snakemake.wildcards.items())
    params = {k: v for k, v in snakemake.params.items() if k not in _NOT_SETTINGS}
    entry = {
        "environment": known,
        "code": snakemake.params.get("code") or f"version {snakemake.params.get('version')}",
        "settings": params,
        "sources": _sources(sorted({*snakemake.input, *snakemake.output})),
        "sha256": {file: file_digest(file) for file in snakemake.output if Path(file).is_file()},
    }
    with turn(lock, lambda holder: None):
        whole = read_manifest(manifest)
        jobs = {name: job for name, job in whole["jobs"].items() if _holds(job, entry)}
        jobs[f"{snakemake.rule} {names}".strip()] = entry
        used = {job["environment"] for job in jobs.values()}
        environments = {**whole["environments"], known: environment}
        whole = {"environments": {k: v for k, v in environments.items() if k in used}, "jobs": jobs}
        remove_leftovers(manifest)
        write_json(manifest, whole)


def read_manifest(manifest: Path) -> dict[str, Any]:
    """Return a manifest; an empty one if there is none."""
    return read_json(manifest) if manifest.is_file() else {"environments": {}, "jobs": {}}


def what_made(manifest: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Return what made a run, as its manifest says: commits, and the versions of each package."""
    used = list(read_manifest(manifest)["environments"].values())
    commits = dict.fromkeys(one["git_commit"] or "unknown (no git checkout)" for one in used)
    packages: dict[str, list[str]] = {}
    for name, version in dict.fromkeys(pair for one in used for pair in one["packages"].items()):
        packages.setdefault(name, []).append(version)
    return list(commits), packages


def package_versions() -> dict[str, str]:
    """Return the versions of the installed packages that can change a result."""
    return versions.package_versions(PACKAGES)


def git_commit() -> str | None:
    """Return the commit of this checkout, with `-dirty` for edits of more than its results."""
    git = ["git", "-C", str(Path(__file__).parent)]
    edits = ["status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)results"]
    try:
        commit, edited = (
            subprocess.run([*git, *command], capture_output=True, text=True, check=True, timeout=30)
            for command in (["rev-parse", "HEAD"], edits)
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit.stdout.strip() + ("-dirty" if edited.stdout.strip() else "")


def _sources(files: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return what the descriptions beside retrieved files say, by their paths."""
    found = {file: read_json(file) for file in files if file.endswith(_DESCRIPTION)}
    return {
        file: {key: source[key] for key in _OF_SOURCES if source.get(key)}
        for file, source in found.items()
    }


def _holds(job: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether an older entry still holds: a file is there, and the new job made none."""
    files = job["sha256"]
    return any(map(os.path.exists, files)) and not files.keys() & new["sha256"].keys()
