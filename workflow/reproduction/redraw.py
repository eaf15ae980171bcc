"""Draw the figures and tables of a folder of reference results again, without the run's texts.

    python -m reproduction.redraw results/reference/intrinsic OUTPUT [NAME ...]

Writes OUTPUT/figures and OUTPUT/tables: all that the folder has frames of, or those named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from reproduction.artefacts.registry import RESOURCES, make, places
from reproduction.paper.frames import read_calls
from sagevocab.errors import UserError


def redraw(folder: Path, output: Path, names: Sequence[str] = ()) -> list[str]:
    """Make the figures and tables of `folder` from its frames; return their names.

    Raises:
        UserError: the folder has no frames, or none of one of `names`; the output is the folder
            itself, or a file.
    """
    if output.resolve() == folder.resolve() or output.is_file():
        raise UserError(f"{output}: would be overwritten; name a new folder for the output")
    calls = read_calls(folder / "frames", RESOURCES)
    if unknown := sorted(set(names) - set(calls)):
        raise UserError(f"{folder}: has no frames of {unknown[0]}, but of {', '.join(calls)}")
    for name in names or calls:
        files = {form: output / place for form, place in places(name).items()}
        for file in files.values():
            file.parent.mkdir(parents=True, exist_ok=True)
        make(**calls[name], files={form: str(file) for form, file in files.items()})
    return [*(names or calls)]


def main() -> None:
    """Read the command line, draw, say where."""
    parser = argparse.ArgumentParser(
        prog="reproduction.redraw",
        description=__doc__.split("\n")[0],
        epilog="example: python -m reproduction.redraw results/reference/intrinsic out",
    )
    parser.add_argument("folder", type=Path, help="reference results")
    parser.add_argument("output", type=Path, help="a folder for figures and tables")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of figures and tables; else all")
    arguments = parser.parse_args()
    try:
        names = redraw(arguments.folder, arguments.output, arguments.names)
    except UserError as error:
        sys.exit(f"error: {error}")
    print(f"{len(names)} figures and tables in {arguments.output}")


if __name__ == "__main__":
    main()
