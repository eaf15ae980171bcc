"""The frame of every script: the rule's log, a lock, one line for a user's mistake, the manifest.

What a training made is kept beside its progress, too: Snakemake removes the outputs of a job before
it starts it again, also where an input was made anew with the same bytes.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import IO, Any

from reproduction.manifest import add_entry
from reproduction.resuming import remove_leftovers, turn
from sagevocab.errors import UserError
from sagevocab.files import (
    atomic_folder,
    atomic_path,
    file_digest,
    fingerprint,
    read_json,
    write_json,
)

log = logging.getLogger(__name__)

# Where locks lie, in the working directory and not among the results.
RUNNING = Path(".snakemake/sagevocab")
# A full disk, a quota, a disk or folder that is read-only.
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
# Parameters that do not decide what a training makes.
_FREE = ("free", "text")


@contextmanager
def job(snakemake: Any) -> Iterator[Path]:
    """Run a rule's step: log to the rule's log, then add an entry to the run's manifest.

    It yields the folder for the step's resumable progress, which a failure leaves alone. A rule
    with `params.version` is a training: if nothing that decides its results has changed, they are
    restored, and the step is skipped.

    Args:
        snakemake: what Snakemake hands to a script; only its attributes are used.

    Raises:
        SystemExit: with code 1, after a user's mistake; with code 0, if a training was restored.
    """
    name, progress, manifest = snakemake.rule, *_places(Path(snakemake.log[0]))
    with _logged(snakemake.log[0]) as say:
        try:
            with turn(RUNNING / f"{name}.{fingerprint(sorted(snakemake.output))[:16]}", _refuse):
                kept = Path(f"{progress}.kept") if snakemake.params.get("version") else None
                decisive = _decisive(snakemake) if kept else ""
                if kept and _restore(kept, decisive, snakemake.output):
                    say(
                        f"{name}: what decides its results is as before, and they are restored; "
                        f"delete {kept} to make them anew"
                    )
                    add_entry(manifest, RUNNING / "manifest", snakemake)
                    raise SystemExit(0)
                for path in snakemake.output:
                    remove_leftovers(path)
                yield progress
                if kept:
                    _keep(kept, decisive, snakemake.output)
                add_entry(manifest, RUNNING / "manifest", snakemake)
                # What would have resumed the job is not needed any more.
                shutil.rmtree(progress, ignore_errors=True)
        except Exception as error:
            line = _line_for(error, name)
            if line is None:
                log.exception("%s failed", name)
                raise
            say(f"error: {name}: {line}")
            raise SystemExit(1) from error


def _places(file: Path) -> tuple[Path, Path]:
    """Return the folder for a job's progress, and the run's manifest, by the job's log.

    The log is logs/RULE/NAME.log or logs/RULE.log in the folder of the run.
    """
    logs = next(folder for folder in file.parents if folder.name == "logs")
    run = logs.parent
    return run / ".state" / file.relative_to(logs).with_suffix(""), run / "manifest.json"


@contextmanager
def _logged(path: str) -> Iterator[Callable[[str], None]]:
    """Send log and streams to a file; yield what writes a line to it and to the terminal.

    What a full disk does not take of the log is lost without an error.
    """
    file = Path(path).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115
    # Other packages tell every font table and every epoch.
    form = "%(asctime)s %(name)s: %(message)s"
    logging.basicConfig(stream=file, format=form, datefmt="%H:%M:%S", force=True)
    for name in ("reproduction", "sagevocab"):
        logging.getLogger(name).setLevel(logging.INFO)
    terminal = sys.stderr
    _redirect_handlers(terminal, file)

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


def _redirect_handlers(terminal: IO[str], file: IO[str]) -> None:
    """Give the log the messages of packages that were imported before, and took the terminal."""
    for logger in map(logging.getLogger, [*logging.root.manager.loggerDict]):
        for handler in logger.handlers:
            # Python's handler of last resort has no stream of its own, but today's standard error.
            if vars(handler).get("stream") is terminal:
                handler.setStream(file)


def _refuse(holder: str) -> None:
    """Refuse to make what another job is making: a killed run may have left it at work."""
    raise UserError(
        f"process {holder} is making the same files; wait for its end, or end it "
        f"(kill {holder.partition(' ')[0]}), and run again: what it saved is resumed"
    )


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
        room = "" if error.errno == errno.EROFS else "make room, or "
        advice = "run in a folder that can be written (snakemake --directory)"
        return f"{place}: cannot be written ({error.strerror}); {room}{advice}"
    return None


# --- results that cost days


def _decisive(snakemake: Any) -> str:
    """Return the fingerprint of all that decides what a training makes."""
    params = {key: value for key, value in snakemake.params.items() if key not in _FREE}
    wildcards = dict(snakemake.wildcards.items())
    return fingerprint(snakemake.rule, wildcards, params, *map(Path, snakemake.input))


def _keep(kept: Path, decisive: str, outputs: list[str]) -> None:
    """Keep results as links, which take no room while the results are there."""
    remove_leftovers(kept)
    digests = {}
    with atomic_folder(kept, replace=True) as folder:
        for path in map(Path, outputs):
            _link(path, folder / path.name)
            digests[path.name] = file_digest(path)
        write_json(folder / "kept.json", {"decisive": decisive, "sha256": digests})


def _restore(kept: Path, decisive: str, outputs: list[str]) -> bool:
    """Put kept results in their place if they are what the job would make; return whether."""
    if not (kept / "kept.json").is_file():
        return False
    known = read_json(kept / "kept.json")
    if known["decisive"] != decisive:
        return False
    files = {kept / name: digest for name, digest in known["sha256"].items()}
    if any(not file.is_file() or file_digest(file) != digest for file, digest in files.items()):
        log.warning("%s: a file was changed; the results are made anew", kept)
        return False
    for path in map(Path, outputs):
        _link(kept / path.name, path)
    return True


def _link(path: Path, place: Path) -> None:
    """Make a file appear at another place too, dated now; as a copy where links can't be had."""
    with atomic_path(place) as temporary:
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copyfile(path, temporary)
        os.utime(temporary)
