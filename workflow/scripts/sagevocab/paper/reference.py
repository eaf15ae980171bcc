"""Reference results: a finished run's small artefacts in one folder that can be committed.

Claims, tables, figures and their provenance records, and a page that says which text they were made
from and how it differs from the paper's. Vocabularies, measurements and texts stay behind.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import yaml

from sagevocab.errors import UserError
from sagevocab.paper.claims_page import count_verdicts, read_records
from sagevocab.paper.inputs import read_paper_values
from sagevocab.paper.notes import scope_note
from sagevocab.paper.report import differences, show_setting, tokenizer_title
from sagevocab.provenance import git_commit, package_versions
from sagevocab.state import atomic_folder, file_digest, write_text

log = logging.getLogger(__name__)

_SHOWN_SETTINGS = ("seed", "vocabulary", "sage", "word2vec", "analysis")
_MODEL_SETTINGS = ("lm",)
LARGEST_FILE = 500_000  # bytes; a larger figure or table stays behind


def build_reference(
    output: Path | str,
    files: Sequence[Path | str],
    *,
    texts: Sequence[Mapping[str, Any]],
    run: Mapping[str, Any],
    claims: Path | str,
    paper: Path | str,
    command: str,
    lists: Sequence[Mapping[str, str]] = (),
    tasks: Sequence[Mapping[str, Any]] = (),
    changes: Sequence[Mapping[str, Any]] = (),
    made: Mapping[str, Sequence[Path | str]] | None = None,
) -> None:
    """Copy `files` and their provenance records into the folder `output`, and write its page.

    texts: name, title, licence, files (of the source), format, paper (title of the paper's own
    text), summary (path of a `summary.json` on the text). run: as for the report. command: what was
    run. lists: path and format of the lists of segmented words. tasks: of each split of each
    task, label, split, title, files (of the source) and rows (path of what was taken of it).
    changes: settings that are not those of config.yaml: key, usual, run. made: artefacts that stay
    behind, by what they are; the page tells the commits at which they were made.

    Raises:
        UserError: a text is synthetic, or a file is missing or damaged.
    """
    if run["synthetic"]:
        names = ", ".join(run["synthetic"])
        raise UserError(f"reference: {names} hold generated text; reference results are of real")
    output = Path(output)
    with atomic_folder(output, replace=True) as folder:
        left = [Path(file).name for file in files if not _copy(Path(file), folder)]
        values = read_paper_values(paper)
        settings = [*_differences(run, values, changes)]
        page = _page(
            texts,
            run,
            read_records(claims),
            [*_digests(texts, lists)],
            [*_task_table(tasks)],
            settings,
            [*_commits(made or {})],
            command,
            left,
        )
        write_text(folder / "README.md", page)
    log.info("%s: %d files", output, len(list(output.rglob("*"))))


def _copy(file: Path, output: Path) -> bool:
    """Copy a file with its record; tell whether it was small enough."""
    if not file.is_file():
        raise UserError(f"{file}: is missing; make the run whole first")
    if file.stat().st_size > LARGEST_FILE:
        return False
    folder = output / (file.parent.name if file.parent.name in ("figures", "tables") else "")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, folder / file.name)
    record = file.parent / f"{file.stem}.provenance.json"
    if record.is_file():
        records = output / "provenance"
        records.mkdir(exist_ok=True)
        shutil.copyfile(record, records / record.name)
    return True


def _read_json(path: Path | str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it and run again") from error


def _page(
    texts: Sequence[Mapping[str, Any]],
    run: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]],
    files: Sequence[str],
    tasks: Sequence[str],
    differing: Sequence[str],
    commits: Sequence[str],
    command: str,
    left: Sequence[str],
) -> str:
    sections = (
        _opening(run, command),
        ["## Verdicts", "", *_verdict_table(claims, run)],
        ["In brackets: the same statements in languages of which the paper does not make them."],
        _budget(run),
        ["## Texts"],
        [
            "None of them is the paper's own. They are not part of this folder; where a table "
            "shows sentences, they come from the training corpus of their language, under its "
            "licence."
        ],
        _text_table(texts),
        files,
        tasks,
        ["## Settings that differ from the paper's", "", *differing],
        [f"All settings of the vocabularies and {'models' if run['models'] else 'measurements'}:"],
        _settings(run),
        ["## Made with"],
        commits,
        [", ".join(f"{name} {version}" for name, version in package_versions().items())],
        _left_out(left),
    )
    return "\n\n".join(filter(None, map("\n".join, sections))) + "\n"


def _opening(run: Mapping[str, Any], command: str) -> Iterator[str]:
    yield "# Reference results"
    yield ""
    yield (
        f"The outcome of the run `{run['name']}` at commit `{git_commit() or 'unknown'}`: "
        "[claims.md](claims.md) (and `claims.json`), `tables/`, `figures/`, and in `provenance/` "
        "what made each of them."
    )
    yield ""
    yield f"    {command}"


def _budget(run: Mapping[str, Any]) -> Iterator[str]:
    if run["models"]:
        yield scope_note(run["settings"]["lm"])


def _commits(made: Mapping[str, Sequence[Path | str]]) -> Iterator[str]:
    for what, files in made.items():
        found = sorted({_read_json(_record_of(Path(file)))["git_commit"] for file in files})
        if found:
            commits = " and ".join(f"`{commit or 'unknown'}`" for commit in found)
            yield f"{what} at commit {commits}."


def _record_of(file: Path) -> Path:
    """Return the provenance record of a file: its own, or that of the folder it is a part of."""
    own = file.with_name(f"{file.stem}.provenance.json")
    return own if own.is_file() else file.parent.with_name(f"{file.parent.name}.provenance.json")


def _left_out(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"Larger than {LARGEST_FILE // 1000} kB, so not here: {', '.join(names)}."


def _verdict_table(claims: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> Iterator[str]:
    tokenizers = list(dict.fromkeys(record["tokenizer"] for record in claims))
    counts = {
        name: count_verdicts([r for r in claims if r["tokenizer"] == name]) for name in tokenizers
    }
    yield f"| verdict | {' | '.join(tokenizer_title(name, run) for name in tokenizers)} |"
    yield f"| --- |{' ---: |' * len(tokenizers)}"
    for verdict in counts[tokenizers[0]]:
        numbers = (_count(counts[name][verdict]) for name in tokenizers)
        yield f"| {verdict} | {' | '.join(numbers)} |"


def _count(count: Mapping[str, int]) -> str:
    beyond = count["beyond"]
    return f"{count['real']} (+{beyond})" if beyond else str(count["real"])


def _text_table(texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| text | what it is | licence | lines | words | in the paper |"
    yield "| --- | --- | --- | ---: | ---: | --- |"
    for text in texts:
        size = _read_json(text["summary"])
        cells = [
            text["name"],
            text["title"],
            text["licence"],
            f"{size['lines']:,}",
            f"{size['words']:,}",
            text["paper"],
        ]
        yield f"| {' | '.join(cells)} |"


def _digests(
    texts: Sequence[Mapping[str, Any]], lists: Sequence[Mapping[str, str]]
) -> Iterator[str]:
    files = [(file, text["format"]) for text in texts for file in text["files"]]
    files += [(one["path"], f"segmented words, {one['format']}") for one in lists]
    yield "| file | sha256 | format |"
    yield "| --- | --- | --- |"
    for file, form in files:
        yield f"| {Path(file).name} | `{file_digest(file)}` | {form} |"


def _task_table(tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not tasks:
        return
    yield "## Tasks"
    yield ""
    yield "| task | split | rows taken | file | sha256 |"
    yield "| --- | --- | ---: | --- | --- |"
    for task in tasks:
        digests = ", ".join(f"`{file_digest(file)}`" for file in task["files"])
        rows = f"{_row_count(task['rows']):,}"
        cells = [task["label"], task["split"], rows, task["title"], digests]
        yield f"| {' | '.join(cells)} |"


def _row_count(path: Path | str) -> int:
    try:
        return pyarrow.parquet.read_metadata(path).num_rows
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it and run again") from error


def _settings(run: Mapping[str, Any]) -> Iterator[str]:
    settings = run["settings"]
    names = [*_SHOWN_SETTINGS, *(_MODEL_SETTINGS if run["models"] else ())]
    shown = {key: settings[key] for key in names if key in settings}
    plain = json.loads(json.dumps(shown))  # Snakemake's own mappings are no YAML
    return (f"    {line}" for line in yaml.safe_dump(plain, sort_keys=True).splitlines())


def _differences(
    run: Mapping[str, Any], values: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the settings that the paper states otherwise, then the others that were changed."""
    stated = [(row["key"], row["paper"], row["run"]) for row in differences(run, values)]
    known = {key for key, _, _ in stated}
    others = [
        (row["key"], _shown(row["usual"]), _shown(row["run"]))
        for row in changes
        if row["key"] not in known
    ]
    yield from _setting_table("paper", stated) or ["None of those that the paper states."]
    yield ""
    if not others:
        yield "All others are as in `config.yaml`."
        return
    yield "Other settings that are not those of `config.yaml`:"
    yield ""
    yield from _setting_table("config.yaml", others)


def _setting_table(usual: str, rows: Sequence[tuple[str, Any, Any]]) -> list[str]:
    if not rows:
        return []
    head = [f"| key | {usual} | here |", "| --- | --- | --- |"]
    return [*head, *(f"| `{key}` | {first} | {second} |" for key, first, second in rows)]


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list | tuple):
        return ", ".join(map(show_setting, value)) or "none"
    return show_setting(value)
