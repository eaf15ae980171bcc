"""Starts a module in several processes with torchrun, and ends all of them together.

`launch` is the parent's side, `worker` the frame of each process. Whatever happens to one of them,
the others end, and the parent raises one clear error. The workers read their standard input, whose
other end only the parent holds: when it is gone, be it by SIGKILL, they are told by the system.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sagevocab.errors import UserError
from sagevocab.provenance import PACKAGE

log = logging.getLogger(__name__)

LAUNCHED = "SAGEVOCAB_LAUNCHED"  # the folder in which workers tell the parent what went wrong
TAIL = 4000  # characters of torchrun's own messages that an unexpected error shows


def launch(module: str, arguments: dict[str, Any], processes: int) -> None:
    """Run `module` in `processes` processes; each gets the path of a JSON file of `arguments`.

    Their log lines become this process's. By hand the same is
    `torchrun --standalone --nproc-per-node N -m MODULE FILE.json`.

    Raises:
        UserError: a worker raised it, or the system killed one.
        RuntimeError: a worker raised anything else; its traceback is the text.
    """
    with TemporaryDirectory(prefix="sagevocab-") as name:
        folder = Path(name)
        (folder / "arguments.json").write_text(json.dumps(arguments), encoding="utf-8")
        with (folder / "stderr").open("w", encoding="utf-8") as errors:
            code = _run(_command(module, folder, processes), folder, errors)
        if code:
            raise _error(folder, code)


def _command(module: str, folder: Path, processes: int) -> list[str]:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    # The machine's own name need not be one that it can resolve.
    options = ["--local-addr", "127.0.0.1", "--nproc-per-node", str(processes), "-m", module]
    return [*torchrun, *options, str(folder / "arguments.json")]


def _run(command: list[str], folder: Path, errors: Any) -> int:
    search = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        LAUNCHED: str(folder),
        "PYTHONPATH": os.pathsep.join(search),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }
    if sys.platform == "linux":
        environment.setdefault("GLOO_SOCKET_IFNAME", "lo")
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
    )
    try:
        for line in process.stdout:
            _relay(line.decode("utf-8", "replace").rstrip("\n"))
        return process.wait()
    finally:
        process.stdin.close()  # ends the workers, if they are still there
        process.terminate()
        process.wait()
        process.stdout.close()


def _relay(line: str) -> None:
    """Pass on a line that a worker's log wrote, under the name of the module that did."""
    level, _, rest = line.partition(" ")
    name, _, message = rest.partition(" ")
    number = logging.getLevelNamesMapping().get(level)
    if number is None:
        log.info("%s", line)
    else:
        logging.getLogger(name).log(number, "%s", message)


def _error(folder: Path, code: int) -> Exception:
    """Say what went wrong in the worker that failed first."""
    told = _told(folder)
    if told.get("clear"):
        return UserError(told["text"])
    said = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    # torchrun ends the others with signal 15. They may have told of the connection that broke.
    killed = re.search(r"exitcode\s*:\s*-(?!15\b)(\d+)", said)
    if killed:
        return UserError(
            f"lm.gpus: signal {killed[1]} ended one of the training processes, and so all of them; "
            "the usual cause is too little memory (raise mem_mb with --set-resources)"
        )
    return RuntimeError(told.get("text", f"torchrun ended with exit code {code}\n{said[-TAIL:]}"))


def _told(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "error.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


@contextmanager
def worker() -> Iterator[dict[str, Any]]:
    """Frame of a module that `launch` or torchrun runs: yields the arguments.

    Raises:
        SystemExit: with code 1, after an error, which is told to the parent; one line by hand.
    """
    folder = os.environ.get(LAUNCHED)
    level = logging.INFO if os.environ.get("RANK", "0") == "0" else logging.WARNING
    form = "%(levelname)s %(name)s %(message)s" if folder else "%(asctime)s %(name)s: %(message)s"
    logging.basicConfig(level=level, format=form, stream=sys.stdout, force=True)
    if folder:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        yield json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    except UserError as error:
        _fail(folder, clear=True, text=str(error))
    except MemoryError:
        _fail(folder, clear=True, text="out of memory; raise mem_mb with --set-resources")
    except Exception:
        _fail(folder, clear=False, text=traceback.format_exc())


def _end_with_parent() -> None:
    # Not through sys.stdin: its lock would be held when the interpreter ends.
    while os.read(0, 1):
        pass
    os._exit(1)


def _fail(folder: str | None, *, clear: bool, text: str) -> None:
    """Tell of the first error and end at once: others may wait in a sum that never comes."""
    if folder is None:
        print(f"error: {text}", file=sys.stderr, flush=True)
    else:
        try:
            with (Path(folder) / "error.json").open("x", encoding="utf-8") as file:
                json.dump({"clear": clear, "text": text}, file)
        except FileExistsError:
            pass
    sys.stdout.flush()
    os._exit(1)
