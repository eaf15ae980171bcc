"""Reference results: a finished run's small artefacts in one folder that can be committed.

Tables, figures, their provenance records and the measurements that they are drawn from, and a page
that describes the texts of the run and its settings that are not the paper's; of vocabularies also
claims, findings, the compared tokenizers and what each seed pruned. Texts are left out.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import yaml

from reproduction.job import git_commit, package_versions, record_beside
from reproduction.paper.formats import listed
from reproduction.paper.frames import LARGEST_FRAMES, REPORT, write_frames, write_in_order
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.notes import OWN_CONFIGURATION, scope_note
from reproduction.paper.report import differences, show_setting, tokenizer_title
from reproduction.paper.table import markdown_table
from reproduction.paper.tally import count_verdicts
from reproduction.parquet import read_parquet, write_parquet
from sagevocab.errors import UserError
from sagevocab.pieces import read_pieces
from sagevocab.state import atomic_folder, file_digest, read_json, write_text

log = logging.getLogger(__name__)

_SHOWN_SETTINGS = ("seed", "vocabulary", "sage", "word2vec", "analysis")
_MODEL_SETTINGS = ("lm",)
LARGEST_FILE = 1_000_000  # bytes; a larger figure or table stays behind
_TOO_LARGE = f"Larger than {LARGEST_FILE / 1e6:g} MB, so not here: "
_FRAMES_TOO_LARGE = f"Drawn from more than {LARGEST_FRAMES / 1e6:g} MB, which is not in `frames/`: "
_VERDICTS_NOTE = (
    "In brackets: the same statements in languages of which the paper does not make them."
)
_OF_VOCABULARIES = (
    "[findings.md](findings.md) says what was found, [claims.md](claims.md) (and "
    "`frames/claims.json`) has every statement."
)
_OF_MODELS = "It is what the run says of language models."
_VOCABULARIES = (
    "",
    "`tokenizers/` has the tokenizers of the first seed; "
    '`AutoTokenizer.from_pretrained("tokenizers/en/sage")` loads one. `prunings/` has what every '
    "seed and every control pruned from the common initial vocabulary: the order, or -1 for a "
    "piece that stayed.",
)
_OWN_FILES = (
    "",
    f"`{OWN_CONFIGURATION}` is not in this repository. It names the files that are listed below by "
    "their paths on the machine of the run. What else it sets is among the settings that differ.",
)
_TEXTS_NOTE = (
    "They are not part of this folder; where a table shows sentences, they come from the training "
    "corpus of their language, under its licence."
)


def build_reference(
    output: Path | str,
    files: Sequence[Path | str],
    *,
    texts: Sequence[Mapping[str, Any]],
    run: Mapping[str, Any],
    paper: Path | str,
    command: str,
    claims: Path | str | None = None,
    calls: Mapping[str, Mapping[str, Any]] | None = None,
    captions: Mapping[str, str] | None = None,
    results: Path | str = "",
    lists: Sequence[Mapping[str, str]] = (),
    tasks: Sequence[Mapping[str, Any]] = (),
    changes: Sequence[Mapping[str, Any]] = (),
    made: Mapping[str, Sequence[Path | str]] | None = None,
    tokenizers: Sequence[Path | str] = (),
    prunings: Sequence[Path | str] = (),
) -> None:
    """Copy `files` and their provenance records into the folder `output`, and write its page.

    texts: name, title, licence, files (of the source), format, paper (title of the paper's own
    text), in_paper (whether it is that one), summary (path of a `summary.json` on the text). run:
    as for the report. command: what was run. claims: `claims.json`, for a page that counts
    verdicts. calls: of `write_frames`, for the run's folder `results`. captions: those of the
    report page, if it is to be built again. lists: path and format of the lists of segmented words.
    tasks: label, split, title, files (of the source) and rows (path of the rows taken from them) of
    each split of each task.
    changes: settings that are not those of config.yaml: key, usual, run. made: artefacts that stay
    behind, by a phrase such as "Models were trained"; the page names the commits that made them.
    tokenizers: folders to copy. prunings: `ablations.parquet` of every tokenizer that is pruned.

    Raises:
        UserError: a task is constructed, or a file is missing or damaged.
    """
    if run["constructed"]:
        names = ", ".join(run["constructed"])
        raise UserError(
            f"reference: {names} are constructed tasks; reference results are of real ones"
        )
    output = Path(output)
    with atomic_folder(output, replace=True) as folder:
        left = [Path(file).name for file in files if not _copy(Path(file), folder)]
        for tokenizer in tokenizers:
            _copy_tokenizer(Path(tokenizer), folder / "tokenizers")
        heavy = write_frames(folder / "frames", calls, Path(results)) if calls else []
        if captions:
            write_in_order(folder / "frames" / REPORT, {"run": run, "captions": captions})
        write_prunings(list(map(Path, prunings)), folder / "prunings")
        sections = (
            _opening(run, command),
            _verdicts(read_json(claims), run) if claims else [],
            [scope_note(run["settings"]["lm"])] if run["models"] else [],
            ["## Texts"],
            [_texts_note(texts)],
            _text_table(texts),
            _digests(texts, lists),
            _task_table(tasks),
            ["## Settings that differ from the paper's", "", *_differences(run, paper, changes)],
            _settings(run),
            ["## Made with"],
            _commits(made or {}),
            [", ".join(f"{name} {version}" for name, version in package_versions().items())],
            [f"{_TOO_LARGE}{', '.join(left)}."] if left else [],
            [f"{_FRAMES_TOO_LARGE}{', '.join(heavy)}."] if heavy else [],
        )
        page = "\n\n".join(filter(None, map("\n".join, sections)))
        write_text(folder / "README.md", page + "\n")
    log.info("%s: %d files", output, len(list(output.rglob("*"))))


def _copy(file: Path, output: Path) -> bool:
    """Copy a file with its provenance record, if it is small enough; return whether it was."""
    if not file.is_file():
        raise UserError(f"{file}: is missing; make the run whole first")
    if file.stat().st_size > LARGEST_FILE:
        return False
    folder = output / (file.parent.name if file.parent.name in ("figures", "tables") else "")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, folder / file.name)
    record = record_beside(file)
    if record.is_file():
        records = output / "provenance"
        records.mkdir(exist_ok=True)
        shutil.copyfile(record, records / record.name)
    return True


def _copy_tokenizer(tokenizer: Path, output: Path) -> None:
    """Copy what `AutoTokenizer.from_pretrained` reads, the list of pieces and the model card."""
    folder = output / tokenizer.parent.name / tokenizer.name
    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "pieces.txt", "README.md"):
        shutil.copyfile(tokenizer / name, folder / name)


def write_prunings(files: Sequence[Path], output: Path) -> None:
    """Write what every tokenizer of a language pruned, a file a language.

    With `pieces.txt` of the vocabulary that all start from, it gives every vocabulary again. The
    column of a tokenizer is the order in which it pruned a piece, from 0 on, or -1.
    """
    languages = dict.fromkeys(file.parents[1].name for file in files)
    for language in languages:
        own = [file for file in files if file.parents[1].name == language]
        pieces = read_pieces(own[0].parents[1] / "bpe_initial" / "pieces.txt")
        columns: dict[str, Any] = {"piece": pd.Series(pieces, dtype="str")}
        for file in own:
            order = read_parquet(file, ["piece", "order"]).set_index("piece")["order"]
            columns[file.parent.name] = order.reindex(pieces, fill_value=-1).to_numpy(np.int32)
        write_parquet(output / f"{language}.parquet", pd.DataFrame(columns))


def _opening(run: Mapping[str, Any], command: str) -> list[str]:
    return [
        "# Reference results",
        "",
        f"The outcome of the run `{run['name']}` at commit `{git_commit() or 'unknown'}`. "
        f"{_OF_MODELS if run['models'] else _OF_VOCABULARIES} Beside this page are `tables/`, "
        "`figures/`, and in `provenance/` what made each of them. `frames/` has the measurements "
        "behind them, where they need no text and are not too large: "
        "`python -m reproduction.redraw FOLDER OUTPUT` draws figures and tables again"
        f"{'' if run['models'] else ', and builds the report page'}.",
        *(_VOCABULARIES if not run["models"] else []),
        "",
        f"    {command}",
        *(_OWN_FILES if OWN_CONFIGURATION in command else ()),
    ]


def _commits(made: Mapping[str, Sequence[Path | str]]) -> Iterator[str]:
    for what, files in made.items():
        found = sorted({read_json(record_beside(Path(file)))["git_commit"] for file in files})
        if found:
            commits = " and ".join(f"`{commit or 'unknown'}`" for commit in found)
            yield f"{what} at commit {commits}."


def _verdicts(claims: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> list[str]:
    tokenizers = list(dict.fromkeys(record["tokenizer"] for record in claims))
    counts = {
        name: count_verdicts([r for r in claims if r["tokenizer"] == name]) for name in tokenizers
    }
    head = ["verdict", *(tokenizer_title(name, run) for name in tokenizers)]
    rows = [
        [verdict, *(_count(counts[name][verdict]) for name in tokenizers)]
        for verdict in counts[tokenizers[0]]
    ]
    table = markdown_table(head, rows, "l" + "r" * len(tokenizers))
    return ["## Verdicts", "", *table, "", _VERDICTS_NOTE]


def _count(count: Mapping[str, int]) -> str:
    beyond = count["beyond"]
    return f"{count['real']} (+{beyond})" if beyond else str(count["real"])


def _texts_note(texts: Sequence[Mapping[str, Any]]) -> str:
    own = [text["name"] for text in texts if text["in_paper"]]
    whose = f"The paper's own: {listed(own)}." if own else "None of them is the paper's own."
    return f"{whose} {_TEXTS_NOTE}"


def _text_table(texts: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for text in texts:
        size = read_json(text["summary"])
        counts = [f"{size['lines']:,}", f"{size['words']:,}"]
        rows.append(
            [text["name"], text["title"], text["licence"] or "not stated", *counts]
            + [text["paper"] or "not in the paper"]
        )
    head = ["text", "what it is", "licence", "lines", "words", "in the paper"]
    return markdown_table(head, rows, "lllrrl")


def _digests(texts: Sequence[Mapping[str, Any]], lists: Sequence[Mapping[str, str]]) -> list[str]:
    files = [(file, text["format"]) for text in texts for file in text["files"]]
    files += [(one["path"], f"segmented words, {one['format']}") for one in lists]
    rows = [(Path(file).name, f"`{file_digest(file)}`", form) for file, form in files]
    return markdown_table(["file", "sha256", "format"], rows)


def _task_table(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for task in tasks:
        digests = ", ".join(f"`{file_digest(file)}`" for file in task["files"])
        count = f"{_row_count(task['rows']):,}"
        rows.append([task["label"], task["split"], count, task["title"], digests])
    head = ["task", "split", "rows taken", "file", "sha256"]
    return ["## Tasks", "", *markdown_table(head, rows, "llrll")] if rows else []


def _row_count(path: Path | str) -> int:
    try:
        return pyarrow.parquet.read_metadata(path).num_rows
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it and run again") from error


def _settings(run: Mapping[str, Any]) -> list[str]:
    settings = run["settings"]
    names = [*_SHOWN_SETTINGS, *(_MODEL_SETTINGS if run["models"] else ())]
    shown = {key: settings[key] for key in names if key in settings}
    plain = json.loads(json.dumps(shown))  # Snakemake's own mappings are no YAML
    what = "models" if run["models"] else "measurements"
    lines = yaml.safe_dump(plain, sort_keys=True).splitlines()
    return [f"All settings of the vocabularies and {what}:", "", *(f"    {line}" for line in lines)]


def _differences(
    run: Mapping[str, Any], paper: Path | str, changes: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the settings that the paper states otherwise, then the others that were changed."""
    stated = list(differences(run, read_paper_values(paper)))
    known = {row["key"] for row in stated}
    rows = [(f"`{row['key']}`", row["paper"], row["run"]) for row in stated]
    others = [
        (f"`{row['key']}`", _shown(row["usual"]), _shown(row["run"]))
        for row in changes
        if row["key"] not in known
    ]
    nothing = ["None of those that the paper states. The texts are others (above)."]
    yield from markdown_table(["key", "paper", "here"], rows) if rows else nothing
    yield ""
    if not others:
        yield "All others are as in `config.yaml`."
        return
    yield "Other settings that are not those of `config.yaml`:"
    yield ""
    yield from markdown_table(["key", "config.yaml", "here"], others)


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list | tuple):
        return ", ".join(map(show_setting, value)) or "none"
    return show_setting(value)
