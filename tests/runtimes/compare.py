"""Compare the ids of 2,000 hard lines in other runtimes of tokenizers: see `make test-runtimes`.

    python tests/runtimes/compare.py ENVIRONMENTS

ENVIRONMENTS is a folder to make: a Python with `tokenizers` 0.19 and `transformers` 4.41, one with
the coming `tokenizers` 1.0, and npm's `@huggingface/tokenizers`. What is there already stays.

Every export of this library must give the ids that this environment's `tokenizers` gives. In
JavaScript, the library itself approximates character maps and makes one token of neighbouring
unknown characters in a UnigramLM. So lines that both normalise alike count there, a run of unknown
tokens of a UnigramLM counts once, and a pruned tokenizer may differ only where the whole one does
(that library has no UnigramLM with bytes). 1.0 is reported, not required.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from itertools import groupby
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "library"))

from samples import hard_lines, write_exports, write_pruned  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

PYTHONS = {
    "old": ["tokenizers==0.19.1", "transformers==4.41.2"],
    "coming": ["tokenizers==1.0.0rc3"],
}
JAVASCRIPT = "@huggingface/tokenizers@0.2.0"
LEAST_ALIKE = 0.25  # share of the lines; with folded capitals 0.3 are
Found = dict[str, Any]


def make_environments(root: Path) -> None:
    """Install the other runtimes, each in a folder of its own."""
    for name, packages in PYTHONS.items():
        if not (root / name / "installed").exists():
            venv.create(root / name, with_pip=True)
            pip = [root / name / "bin/python", "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "--disable-pip-version-check", *packages], check=True)
            (root / name / "installed").touch()
    if not (root / "npm/node_modules").exists():
        (root / "npm").mkdir(parents=True, exist_ok=True)
        (root / "npm/package.json").write_text("{}\n", encoding="utf-8")
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", JAVASCRIPT], cwd=root / "npm", check=True
        )


def encoded(command: list[Any], work: Path, folders: list[str], place: Path | None = None) -> Found:
    """Return the ids of the lines by folder; place: where the command runs."""
    words = [*map(str, command), str(work), *folders]
    done = subprocess.run(words, cwd=place, check=True, capture_output=True)
    return json.loads(done.stdout)


def differing(lines: list[str], one: Any, other: Any) -> list[str]:
    """Return the lines whose ids differ, the shortest first; an error counts for all lines."""
    if isinstance(one, str) or isinstance(other, str):
        return [f"(error: {other if isinstance(other, str) else one})", *lines]
    found = [line for line, a, b in zip(lines, one, other, strict=True) if a != b]
    return sorted(found, key=len)


def in_javascript(lines: list[str], folder: Path, expected: Any, found: Found) -> list[str]:
    """Return the lines whose ids differ in JavaScript, although they are normalised alike."""
    if isinstance(found[folder.name], str):
        return differing(lines, expected, found[folder.name])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = json.loads(tokenizer.to_str())["model"]
    unknown = model.get("unk_id") if model["type"] == "Unigram" else None

    def comparable(ids: list[int]) -> list[int]:
        return [n for n, run in groupby(ids) for _ in (run if n != unknown else [0])]

    bad, alike = [], 0
    normalize = tokenizer.normalizer.normalize_str if tokenizer.normalizer else str
    rows = zip(lines, expected, found[folder.name], found[f"normalized {folder.name}"], strict=True)
    for line, ids, in_npm, normalized in rows:
        if normalize(line) != normalized:
            continue
        alike += 1
        if comparable(ids) != comparable(in_npm):
            bad.append(line)
    print(f"{JAVASCRIPT}: {folder.name}: {alike} of {len(lines)} lines are normalised alike")
    if alike < len(lines) * LEAST_ALIKE:
        return ["(hardly any line is normalised alike)", *lines]
    return sorted(bad, key=len)


def main() -> None:
    """Make environments and folders, compare, and exit with 1 if ids differ."""
    root = Path(sys.argv[1]).absolute()
    make_environments(root)
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        exports, kinds = write_exports(work), write_pruned(work)
        lines = hard_lines()
        (work / "lines.json").write_text(json.dumps(lines), encoding="utf-8")
        folders = [*exports, *(f"{name}-{kind}" for name in ("whole", "pruned") for kind in kinds)]
        encode, old = HERE / "encode.py", root / "old/bin/python"
        expected = encoded([sys.executable, encode, "tokenizers"], work, folders)
        others = {
            "transformers": [sys.executable, encode, "transformers"],
            "tokenizers 0.19": [old, encode, "tokenizers"],
            "transformers 4.41": [old, encode, "transformers"],
        }
        bad = 0
        for name, command in others.items():
            found = encoded(command, work, folders)
            bad += report(
                name, {one: differing(lines, expected[one], found[one]) for one in folders}
            )
        found = encoded(["node", HERE / "encode.mjs"], work, folders, root / "npm")
        in_npm = {one: in_javascript(lines, work / one, expected[one], found) for one in exports}
        for kind in kinds:
            if kind == "unigram-with-bytes":
                continue
            whole, pruned = (
                differing(lines, expected[f"{name}-{kind}"], found[f"{name}-{kind}"])
                for name in ("whole", "pruned")
            )
            in_npm[f"pruned-{kind}"] = [line for line in pruned if line not in whole]
        bad += report(JAVASCRIPT, in_npm)
        found = encoded([root / "coming/bin/python", encode, "tokenizers"], work, folders)
        coming = {one: differing(lines, expected[one], found[one]) for one in folders}
        report(f"not required: {PYTHONS['coming'][0]}", coming)
    sys.exit(bad > 0)


def report(runtime: str, differing: dict[str, list[str]]) -> int:
    """Print the folders with lines that differ, and the shortest such line; return how many."""
    for folder, lines in differing.items():
        if lines:
            print(f"{runtime}: {folder}: {len(lines)} lines differ, such as {lines[0]!a:.100}")
    bad = sum(map(len, differing.values()))
    print(f"{runtime}: {len(differing)} folders, {bad} lines differ", flush=True)
    return bad


if __name__ == "__main__":
    main()
