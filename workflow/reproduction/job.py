"""The frame of every step: its log, its lock, its record; and what made an artefact."""

from __future__ import annotations

import errno
import functools
import gc
import json
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from reproduction.digests import PACKAGES, code_of, version_of
from sagevocab import versions
from sagevocab.errors import UserError
from sagevocab.state import (
    FULL_DISK,
    atomic_folder,
    atomic_path,
    file_digest,
    fingerprint,
    read_json,
    remove_leftovers,
    turn,
    write_json,
)

log = logging.getLogger(__name__)

# The packages whose versions can change an artefact's bytes.
RECORDED_PACKAGES = ("gensim", "matplotlib", "mwparserfromhell", "numba", "numpy", "pandas")
RECORDED_PACKAGES += ("pyarrow", "scipy", "sentencepiece", "snakemake", "tokenizers", "torch")
RECORDED_PACKAGES += ("transformers",)
# Parameters that say how a job runs, not what it makes.
_UNRECORDED_PARAMS = ("code", "state_dir", "artefact", "cache_dir", "decisive", "text", "free")
# What of a record decides the results of a training run; versions of packages do not.
_DECISIVE = ("rule", "wildcards", "config", "code", "inputs")
# Where a job's lock lies, by its rule and outputs: not among the results.
RUNNING = Path(".snakemake/sagevocab")
_DESCRIPTION = ".source.json"
_OF_SOURCES = ("name", "title", "licence", "format", "origin", "instead_of")
# Formats of one artefact that share one record; other dots in its name mean something.
_FORMATS = (".predictions.parquet", _DESCRIPTION)
_FORMATS += (".pdf", ".png", ".tex", ".csv", ".md", ".json", ".html", ".parquet")
# A full disk, a quota, a disk or folder that is read-only.
_DISK_ERRORS = (*FULL_DISK, errno.EROFS)


@contextmanager
def lasting_imports() -> Iterator[None]:
    """Import without the garbage collector.

    PyTorch and transformers make a million objects that stay. To look for garbage among them takes
    a good part of the time of their import.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def job(snakemake: Any) -> Iterator[dict[str, Any]]:
    """Frame of a rule's step: log to the rule's log, check code and inputs, leave a record.

    A job that a killed run left may still make the same files. Then this one waits for its end, and
    does its work only if they are not there then. What a training run made is kept: if nothing that
    decides its results has changed, the job restores them.

    What the step puts into the mapping that it gets is recorded with what may differ between equal
    runs. A `UserError` becomes one line on the log and on the terminal, and exit code 1.
    `snakemake` is the object Snakemake hands to a script; only its attributes are used.

    Raises:
        SystemExit: with code 1, after a user's mistake; with code 0, if the work was done before.
    """
    started, name = time.time(), snakemake.rule
    with _logged(snakemake.log[0]) as say:
        try:
            _check_code(snakemake.params.get("code"))
            described = _described(snakemake)
            outputs = sorted(map(str, snakemake.output))
            records = _record_paths(snakemake)

            def tell(holder: str) -> None:
                say(
                    f"{name}: process {holder} is making the same files, and this job waits for "
                    f"it; end it (kill {holder.partition(' ')[0]}), and this one resumes from its "
                    "last checkpoint"
                )

            with turn(RUNNING / f"{name}.{fingerprint(outputs)[:16]}", tell):
                # Snakemake removes the outputs before it starts a job.
                if all(map(os.path.exists, outputs)) and _are_of(records, described, described):
                    say(f"{name}: another job has made the files meanwhile")
                    raise SystemExit(0)
                kept = _kept_in(snakemake)
                if kept and _restored(kept, snakemake, described):
                    say(
                        f"{name}: what decides its results is as before, and they are restored; "
                        f"delete {kept} to make them anew"
                    )
                    raise SystemExit(0)
                for path in {*map(Path, outputs), *records}:
                    remove_leftovers(path)
                facts: dict[str, Any] = {}
                yield facts
                _record(snakemake, started, described, facts)
                if kept:
                    _keep(kept, snakemake)
                # What would have resumed the job is not needed any more.
                if state := snakemake.params.get("state_dir"):
                    shutil.rmtree(state, ignore_errors=True)
                # The process ends: no search for garbage in all that it imported.
                gc.freeze()
        except Exception as error:
            line = _line_for(error, name)
            if line is None:
                log.exception("%s failed", name)
                raise
            say(f"error: {name}: {line}")
            raise SystemExit(1) from error


def _line_for(error: Exception, rule: str) -> str | None:
    """Return what to tell of an error; None for a defect, which needs its traceback."""
    more_memory = (
        "run fewer jobs side by side (--cores 1), on a cluster ask for more (in the profile, "
        f"set-resources: {{{rule}: {{mem_mb: MB}}}})"
    )
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"out of memory; {more_memory}"
    if isinstance(error, BrokenExecutor):
        return f"a process was killed, most often because memory ran out; {more_memory}"
    if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
        place = error.filename or "a file of its results"
        advice = "make room, or run in a folder that can be written (snakemake --directory)"
        return f"{place}: cannot be written ({error.strerror}); {advice}"
    return None


@contextmanager
def _logged(path: str) -> Iterator[Callable[[str], None]]:
    """Send log and streams to a file; yield what writes a line to it and to the terminal.

    What a full disk does not take of the log is lost without an error.
    """
    file = Path(path).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115
    # Other packages tell every font table and every epoch.
    logging.basicConfig(
        level=logging.WARNING,
        format="%(asctime)s %(name)s: %(message)s",
        datefmt="%H:%M:%S",
        stream=file,
        force=True,
    )
    for name in PACKAGES:
        logging.getLogger(name).setLevel(logging.INFO)
    terminal = sys.stderr

    def say(line: str) -> None:
        for stream in (file, terminal):
            with suppress(OSError):
                # One write, so that the lines of jobs that fail together do not run together.
                stream.write(f"{line}\n")
                stream.flush()

    try:
        with redirect_stdout(file), redirect_stderr(file):
            yield say
    finally:
        with suppress(OSError):
            file.close()


def _check_code(expected: str | None) -> None:
    """Stop if this library is not the code that the rule's digest or version was taken from."""
    if not expected:
        return
    first, *function = expected.partition(":")[0].split()
    if (code_of(first, *function) if first.endswith(".py") else version_of(first)) != expected:
        raise UserError(
            f"{PACKAGES['sagevocab']}: this sagevocab is not the one beside the Snakefile, or "
            "it was edited while the workflow ran; uninstall the other copy (pip uninstall "
            "sagevocab), install this checkout (make environment) and run again"
        )


# --- the record


def _described(snakemake: Any) -> dict[str, Any]:
    """Return what decides a job's outputs: its part of their record, known before the work.

    Raises:
        UserError: an input is not what its job wrote.
    """
    recorded = functools.cache(_recorded)  # many inputs share a record
    return {
        "rule": snakemake.rule,
        "wildcards": dict(snakemake.wildcards.items()),
        # A source travels as its model, which has a record of its own.
        "config": {
            key: getattr(value, "record", value)
            for key, value in snakemake.params.items()
            if key not in _UNRECORDED_PARAMS
        },
        "code": snakemake.params.get("code"),
        "git_commit": git_commit(),
        "inputs": {path: _input_digest(path, recorded) for path in _files(snakemake.input)},
        "packages": package_versions(),
        "python": platform.python_version(),
    }


def _input_digest(path: str, recorded: Callable[[Path], dict[str, Any]]) -> str:
    """Return the digest of an input.

    A file that has the size and date with which its job left it is what that job recorded, and is
    not read. Others are: a flipped bit seldom stops a reader, and would give other numbers.

    Raises:
        UserError: it is another file than the one that its job recorded.
    """
    records = {place: recorded(place) for place in _records_beside(Path(path))}
    known = {at: r for at, r in records.items() if path in r.get("outputs", {})}
    for record in known.values():
        if record["run"].get("left", {}).get(path) == _left(path):
            return record["outputs"][path]
    digest = file_digest(path)
    for place, record in known.items():
        if record["outputs"][path] != digest:
            raise UserError(
                f"{path}: was cut or changed since its job wrote it; delete it and run again, "
                f"or delete {place} to use it as it is"
            )
    return digest


def _files(paths: Iterable[str]) -> list[str]:
    return [path for path in sorted({*map(str, paths)}) if os.path.isfile(path)]


def _left(path: str) -> list[int]:
    """Return the size of a file and when it was written (ns)."""
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns]


def _recorded(record: Path) -> dict[str, Any]:
    """Return the record of a job; {} without a readable one."""
    with suppress(OSError, ValueError):
        return json.loads(record.read_text(encoding="utf-8"))
    return {}


def _record(
    snakemake: Any, started: float, described: dict[str, Any], facts: dict[str, Any]
) -> None:
    outputs, sources = _files(snakemake.output), {}
    # A fallback may stand in for what is configured: the description beside what was retrieved, an
    # input of the job or an output of the one that retrieves, says what it is.
    for path in _files((*snakemake.input, *snakemake.output)):
        if path.endswith(_DESCRIPTION):
            found = read_json(path)
            sources[path] = {key: found[key] for key in _OF_SOURCES if found.get(key)}
    record = {
        **described,
        "outputs": {path: file_digest(path) for path in outputs},
        # May differ between equal runs, as may the digests of files that hold times.
        "run": {
            "host": platform.node(),
            "threads": snakemake.threads,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "seconds": round(time.time() - started, 3),
            "left": {path: _left(path) for path in outputs},
            **({"sources": sources} if sources else {}),
            **facts,
        },
    }
    for path in _record_paths(snakemake):
        write_json(path, record)


def _record_paths(snakemake: Any) -> set[Path]:
    """One record an artefact: beside folders that `params.artefact` names, else by file stem."""
    named = snakemake.params.get("artefact") or []
    folders = [named] if isinstance(named, str) else named
    names = map(Path, folders) if folders else (_stem(Path(path)) for path in snakemake.output)
    return {_record_of(name) for name in names}


def _records_beside(path: Path) -> list[Path]:
    """Return where the record of the job that wrote a file may be: by its stem, by its folder."""
    return [_record_of(_stem(path)), _record_of(path.parent)]


def record_beside(path: Path) -> Path:
    """Return the record of the job that wrote a file; it need not be there."""
    by_stem, by_folder = _records_beside(path)
    return by_stem if by_stem.is_file() else by_folder


def _record_of(artefact: Path) -> Path:
    return Path(f"{artefact}.provenance.json")


def _stem(path: Path) -> Path:
    ending = next(filter(path.name.endswith, _FORMATS), "")
    return path.with_name(path.name.removesuffix(ending))


def _are_of(records: Iterable[Path], described: dict[str, Any], keys: Iterable[str]) -> bool:
    """Return whether all records are there and agree with this job in some keys."""
    asked = fingerprint([described[key] for key in keys])
    return all(
        path.is_file() and fingerprint([_recorded(path).get(key) for key in keys]) == asked
        for path in records
    )


def package_versions() -> dict[str, str]:
    """Versions of the installed packages that can change an artefact."""
    return versions.package_versions(RECORDED_PACKAGES)


def git_commit() -> str | None:
    """Commit of the checkout that holds this library, with `-dirty` for uncommitted edits.

    Results that git keeps are no edits: a run that renews them would else call itself dirty.
    """

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
        except (OSError, subprocess.SubprocessError):
            return None
        return answer.stdout.strip()

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return None
    edits = git(
        "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)results"
    )
    return commit if edits == "" else f"{commit}-dirty"


# --- results that cost days


def _kept_in(snakemake: Any) -> Path | None:
    """Return where a job keeps its results beside their place; None unless it is a training run.

    Snakemake removes the outputs of a job before it starts it again, which it also does where an
    input was made anew with the same bytes: after an edit of code that comes long before.
    """
    folder, code = snakemake.params.get("state_dir"), snakemake.params.get("code") or ".py:"
    is_training = folder and not re.match(r"\w*\.py\b", code)  # has `version_of`
    return Path(f"{folder}.kept") if is_training else None


def _files_of(snakemake: Any) -> dict[str, Path]:
    """Return a job's outputs, its records and the files of its artefact's folder, by name."""
    folder = snakemake.params.get("artefact")
    beside = Path(folder).iterdir() if folder and Path(folder).is_dir() else ()
    paths = {*map(Path, snakemake.output), *_record_paths(snakemake), *beside}
    return {path.name: path for path in paths}


def _keep(kept: Path, snakemake: Any) -> None:
    """Keep the results of training as links, which take no room while the results are there."""
    remove_leftovers(kept)
    with atomic_folder(kept, replace=True) as folder:
        for name, path in _files_of(snakemake).items():
            _link(path, folder / name)


def _restored(kept: Path, snakemake: Any, described: dict[str, Any]) -> bool:
    """Put kept results in their place if they are what this job would make; return whether."""
    records = [kept / path.name for path in _record_paths(snakemake)]
    if not _are_of(records, described, _DECISIVE):
        return False
    written = {
        kept / Path(path).name: digest
        for record in records
        for path, digest in read_json(record)["outputs"].items()
    }
    if any(not path.is_file() or file_digest(path) != digest for path, digest in written.items()):
        log.warning("%s: a file was changed; the results are made anew", kept)
        return False
    places = _files_of(snakemake)
    folder = Path(snakemake.params.get("artefact") or Path(snakemake.output[0]).parent)
    for path in kept.iterdir():
        _link(path, places.get(path.name, folder / path.name))
    return True


def _link(path: Path, place: Path) -> None:
    """Make a file appear at another place too, dated now; as a copy where links can't be had."""
    with atomic_path(place) as temporary:
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copyfile(path, temporary)
        os.utime(temporary)
