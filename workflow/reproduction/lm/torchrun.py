"""A pretraining by several processes of this machine, one a GPU, which torchrun starts.

Snakemake's script directive runs Python itself, with one line for a user's mistake and a record of
the job; a rule whose shell command is torchrun would have neither. So the job starts torchrun.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reproduction.lm.pretrain import pretrain
from reproduction.lm.settings import PretrainSettings
from sagevocab.errors import UserError
from sagevocab.files import read_json, write_json, write_text

_CALL, _ERROR = "call.json", "error.txt"
_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
_LIBC = ctypes.CDLL(None)  # loaded before a fork, where loading may hang


def pretrain_together(processes: int, *, settings: PretrainSettings, **call: Any) -> None:
    """Call `pretrain` in so many processes that train one model; one alone is this process.

    Raises:
        UserError: as `pretrain` does, or a process was killed.
    """
    if processes == 1:
        pretrain(settings=settings, **call)
        return
    folder = Path(call["state_dir"])
    (folder / _ERROR).unlink(missing_ok=True)
    write_json(folder / _CALL, call | {"settings": asdict(settings)})
    with subprocess.Popen(
        torchrun(processes, folder / _CALL),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        preexec_fn=end_with_parent,
    ) as started:
        # They save a checkpoint, which this process waits for.
        before = signal.signal(signal.SIGTERM, lambda *_: started.terminate())
        for line in started.stdout:
            print(line, end="", flush=True)
        signal.signal(signal.SIGTERM, before)
    if not started.returncode:
        return
    if (folder / _ERROR).exists():
        raise UserError((folder / _ERROR).read_text(encoding="utf-8"))
    raise UserError(
        f"lm.gpus: {processes}: one of the training processes ended early, and the job's log says "
        "why; run the same command again, and it resumes from its last checkpoint"
    )


def torchrun(processes: int, call: Path) -> list[str]:
    """Return the command that does the call in a file in so many processes."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*launcher, f"--nproc-per-node={processes}", "-m", __name__, str(call)]


def end_with_parent() -> None:
    """Let Linux end this process when its parent is killed, or it would hold the GPUs on."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _main(path: Path) -> None:
    """Be one of the processes of the call at `path`."""
    is_first = os.environ["RANK"] == "0"
    level = logging.INFO if is_first else logging.WARNING
    form = "%(asctime)s %(name)s: %(message)s"
    logging.basicConfig(level=level, format=form, datefmt="%H:%M:%S", stream=sys.stdout)
    call = read_json(path)
    try:
        pretrain(**call | {"settings": PretrainSettings(**call["settings"])})
    except UserError as error:
        write_text(path.with_name(_ERROR), str(error))
        sys.stdout.flush()
        # An ordinary exit could wait for collectives that the others will never join.
        os._exit(1)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
