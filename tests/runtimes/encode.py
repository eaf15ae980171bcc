"""Encode lines with a tokenizer of `tokenizers` or `transformers`; runs in any environment.

    python encode.py tokenizers|transformers WORK FOLDER ...

WORK/lines.json holds the lines. Prints the ids of each line, as JSON by folder; a folder that does
not load has its error instead.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def ids_of(library: str, folder: Path, lines: list[str]) -> list[list[int]]:
    """Return the ids of lines, without what goes around a text."""
    if library == "transformers":
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder)
        return [tokenizer(line, add_special_tokens=False)["input_ids"] for line in lines]
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return [tokenizer.encode(line, add_special_tokens=False).ids for line in lines]


def main() -> None:
    """Read the command line and print."""
    library, work, folders = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    lines = json.loads((work / "lines.json").read_text(encoding="utf-8"))
    found: dict[str, list[list[int]] | str] = {}
    for folder in folders:
        try:
            found[folder] = ids_of(library, work / folder, lines)
        except Exception as error:
            found[folder] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
