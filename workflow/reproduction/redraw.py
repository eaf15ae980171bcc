"""Draw the figures and tables of a folder of reference results again, without the run's texts.

    python -m reproduction.redraw results/reference/intrinsic OUTPUT [NAME ...]

Writes OUTPUT/figures and OUTPUT/tables: all that the folder has frames of, or those named. Without
names, it builds OUTPUT/report.html, too, with the folder's tokenizers in the playground.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from reproduction.artefacts.registry import RESOURCES, make, places
from reproduction.paper.frames import REPORT, read_calls
from reproduction.paper.report import build_report
from sagevocab.errors import UserError
from sagevocab.files import read_json

TEMPLATE = RESOURCES.parent / "report/report.html.jinja"


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


def rebuild_report(folder: Path, output: Path) -> None:
    """Build the report page of `folder` in `output`, from the figures and tables drawn there.

    Those that were not are the folder's.

    Raises:
        UserError: the folder lacks what the page needs.
    """
    given = read_json(folder / "frames" / REPORT)

    def made(place: str) -> Path:
        """Return what was drawn again, or else what was committed."""
        return output / place if (output / place).is_file() else folder / place

    figures = {name: made(f"figures/{name}.png") for name in given["titles"]}
    tables = {name: made(f"tables/{name}.md") for name in given["titles"]}
    build_report(
        output / "report.html",
        title=f"SaGe, run {given['run']['name']}",
        figures={name: file for name, file in figures.items() if file.is_file()},
        tables={name: file for name, file in tables.items() if file.is_file()},
        **given,
        vocabularies={
            language.name: {
                name: language / name / "tokenizer.json"
                for name in given["run"]["labels"]
                if (language / name).is_dir()
            }
            for language in sorted((folder / "tokenizers").glob("*"))
        },
        corpora={},
        paper=RESOURCES / "paper_values.yaml",
        template=TEMPLATE,
        claims_path=folder / "frames/claims.parquet",
        findings=folder / "findings.md",
    )
    shutil.copyfile(folder / "findings.md", output / "findings.md")  # the page links it


def main() -> None:
    """Read the command line, draw, say where."""
    parser = argparse.ArgumentParser(prog="reproduction.redraw", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="reference results")
    parser.add_argument("output", type=Path, help="a folder for figures and tables")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of figures and tables; else all")
    arguments = parser.parse_args()
    try:
        names = redraw(arguments.folder, arguments.output, arguments.names)
        has_page = not arguments.names and (arguments.folder / "frames" / REPORT).is_file()
        if has_page:
            rebuild_report(arguments.folder, arguments.output)
    except UserError as error:
        sys.exit(f"error: {error}")
    print(f"{len(names)} figures and tables{' and report.html' * has_page} in {arguments.output}")


if __name__ == "__main__":
    main()
