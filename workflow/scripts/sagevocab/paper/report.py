"""The report: one HTML page with claims, figures, tables, a playground, costs and provenance.

It opens from disk without a network: it contains its styles, scripts and images, and its content
security policy forbids it to load anything else. It says nothing of when it was made; only the
costs, and claims about them, differ between two builds of equal runs.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
import yaml
from markupsafe import Markup, escape

from sagevocab import __version__
from sagevocab.errors import UserError
from sagevocab.paper.claims_page import count_verdicts, read_records, show_ours, show_value
from sagevocab.paper.notes import presets_note
from sagevocab.paper.playground import playground_data
from sagevocab.paper.verdicts import VERDICTS
from sagevocab.provenance import git_commit, package_versions
from sagevocab.state import write_text

log = logging.getLogger(__name__)

_BACKTICKS = re.compile(r"`([^`]+)`")
_LITERAL = re.compile(r"``(.+?)``")
_EMPHASIS = re.compile(r"(?<!\*)\*{1,2}([^*]+?)\*{1,2}(?!\*)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
MEGABYTE = 1_000_000
LARGEST_PAGE = 10 * MEGABYTE
COSTS = "table_costs"
SETTINGS = "table_hyperparameters_"
# Shown before the name of a verdict, so that colour is not the only sign.
SIGNS = dict(zip(VERDICTS, ("✓", "≈", "✗", "–"), strict=True))


def build_report(
    output: Path | str,
    *,
    title: str,
    run: Mapping[str, Any],
    claims_path: Path | str,
    figures: Mapping[str, Path | str],
    tables: Mapping[str, Path | str],
    captions: Mapping[str, Path | str],
    vocabularies: Mapping[str, Mapping[str, Path | str]],
    paper: Path | str,
    template: Path | str,
    presets: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Write the page.

    run: name, labels and presets (by tokenizer), names (of texts), constructed (names of tasks),
    models (whether the run has any), settings (nested as in the configuration).
    figures: target -> png; tables: target -> JSON of `formats.write_table`; captions: target ->
    reStructuredText. vocabularies: language -> tokenizer -> its tokenizer.json, for the playground.
    paper: `paper_values.yaml`. template: Jinja page, which includes its parts from beside it.
    presets: figure -> label of a SaGe tokenizer in it -> its preset.

    Raises:
        UserError: an input is missing or damaged, or the page would weigh more than 10 MB.
    """
    values = _read_yaml(paper)
    shown = presets or {}
    page = _environment(template).get_template(Path(template).name)
    text = page.render(
        title=title,
        **_claims(claims_path, run),
        figures=[
            {**_figure(name, path, captions), "presets": presets_note(shown.get(name, {}).items())}
            for name, path in figures.items()
        ],
        **_tables(tables, captions),
        **_playground(vocabularies, run, values["examples"]),
        **_background(run, values),
    )
    _require_portable(text, output)
    write_text(output, text)
    log.info("%s: %.1f MB", output, len(text.encode()) / MEGABYTE)


def _playground(
    vocabularies: Mapping[str, Mapping[str, Path | str]],
    run: Mapping[str, Any],
    examples: Any,
) -> dict[str, Any]:
    data = playground_data(
        vocabularies,
        languages=run["names"],
        labels={name: tokenizer_title(name, run) for name in run["labels"]},
        examples=examples,
    )
    return {"playground": data, "playground_json": _script_json(data)}


def _background(run: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what made the numbers of the page, and how that differs from the paper."""
    return {
        "run": run,
        "version": __version__,
        "differences": list(differences(run, values)),
        "constructed": [run["names"][name] for name in run["constructed"]],
        "settings": yaml.safe_dump(_plain(run["settings"]), allow_unicode=True, sort_keys=True),
        "commit": git_commit() or "unknown (no git checkout)",
        "packages": package_versions(),
        "citation": values["paper"],
    }


def _environment(template: Path | str) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(template).parent),
        autoescape=jinja2.select_autoescape(("html", "html.jinja")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _script_json(value: Any) -> Markup:
    """Return JSON for a script element: without a `<`, which could close it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return Markup(text.replace("<", "\\u003c"))


def _require_portable(text: str, output: Path | str) -> None:
    size = len(text.encode())
    if size > LARGEST_PAGE:
        raise UserError(
            f"{output}: the page would weigh {size / MEGABYTE:.0f} MB, more than 10; draw the "
            "figures with a lower resolution (workflow/resources/style.mplstyle) or run fewer "
            "tokenizers"
        )


def _read_yaml(path: Path | str) -> dict[str, Any]:
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from error


def _plain(value: Any) -> Any:
    """Return nested settings as plain dictionaries and lists, which YAML can write."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


# --- claims


def _claims(path: Path | str, run: Mapping[str, Any]) -> dict[str, Any]:
    records = read_records(path)
    tokenizers = list(dict.fromkeys(record["tokenizer"] for record in records))
    return {
        "origins": _origins(records),
        "verdicts": [{"name": name, "sign": SIGNS[name], "key": _key(name)} for name in VERDICTS],
        "tokenizers": [{"key": name, "label": tokenizer_title(name, run)} for name in tokenizers],
        "counts": {
            name: count_verdicts([r for r in records if r["tokenizer"] == name])
            for name in tokenizers
        },
        "sections": list(_sections(records, run)),
        "n_claims": len({record["id"] for record in records}),
        "n_records": len(records),
        "has_tests": any(show_test(record) for record in records),
    }


def _origins(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the kinds of record that are counted apart, and their headings."""
    titles = {"real": "real data", "constructed": "constructed tasks", "beyond": "beyond the paper"}
    seen = {
        origin
        for count in count_verdicts(records).values()
        for origin, number in count.items()
        if number
    }
    return {origin: title for origin, title in titles.items() if origin in {"real", *seen}}


def tokenizer_title(name: str, run: Mapping[str, Any]) -> str:
    """Return a tokenizer's label, with its preset if SaGe made it."""
    label, preset = run["labels"].get(name, name), run["presets"].get(name)
    return f"{label} ({preset})" if preset else label


def _sections(
    records: Sequence[Mapping[str, Any]], run: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the places in the paper with their rows, one for a claim in one language."""
    for place, members in groupby(records, key=lambda record: record["where"]):
        rows = [
            _row(list(group), run)
            for _, group in groupby(members, key=lambda r: (r["id"], r["language"]))
        ]
        yield {"where": place, "rows": rows}


def _row(group: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> dict[str, Any]:
    first = group[0]
    return {
        "id": first["id"],
        "statement": Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(first["statement"])))),
        "paper": show_value(first["paper"]),
        "text": first["text"],
        "constructed": first["constructed"],
        "timing": first["timing"],
        "outcomes": [
            {
                "tokenizer": record["tokenizer"],
                "label": tokenizer_title(record["tokenizer"], run),
                "ours": show_ours(record) if record["ours"] is not None else "",
                "test": show_test(record),
                "verdict": record["verdict"],
                "key": _key(record["verdict"]),
                "sign": SIGNS[record["verdict"]],
                "reason": record["reason"],
            }
            for record in group
        ],
    }


def show_test(record: Mapping[str, Any]) -> str:
    """Return the p value of a claim's paired test, adjusted for its family; empty if it has none.

    record: one claim; `p_adjusted`, `p_value` and `test` (its name) may be missing or null.
    """
    adjusted, plain = record.get("p_adjusted"), record.get("p_value")
    value, kind = (plain, "p") if adjusted is None else (adjusted, "adjusted p")
    if value is None:
        return ""
    shown = f"{kind} < 0.001" if value < 0.001 else f"{kind} = {value:.3f}"
    return f"{shown} ({record['test']})" if record.get("test") else shown


def _key(verdict: str) -> str:
    return verdict.replace(" ", "-")


# --- figures and tables


def _figure(name: str, path: Path | str, captions: Mapping[str, Path | str]) -> dict[str, Any]:
    try:
        image = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); run {name} again") from error
    caption = read_caption(captions[name])
    summary = _SENTENCE_END.split(caption.striptags())[0]
    return {
        "name": name,
        "image": f"data:image/png;base64,{image}",
        "alt": f"{_title(name)}: {summary}",
        "caption": caption,
    }


def _tables(
    tables: Mapping[str, Path | str], captions: Mapping[str, Path | str]
) -> dict[str, list[dict[str, Any]]]:
    views = [
        {
            "name": name,
            "title": _title(name),
            "content": read_table(path),
            "caption": read_caption(captions[name]),
        }
        for name, path in tables.items()
    ]
    return {
        "tables": [v for v in views if v["name"] != COSTS and not _shows_settings(v["name"])],
        "costs": [v for v in views if v["name"] == COSTS],
        "settings_tables": [v for v in views if _shows_settings(v["name"])],
    }


def read_table(path: Path | str) -> dict[str, Any]:
    """Read the JSON of a table: head, rows and note; a cell is text or runs of [text, in bold].

    Raises:
        UserError: the file cannot be read, or holds no table.
    """
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"))
        return {part: table[part] for part in ("head", "rows", "note")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: holds no table; delete it and run again") from error


def read_caption(path: Path | str) -> Markup:
    """Return the HTML of a caption: reStructuredText of paragraphs, literals and emphasis.

    Raises:
        UserError: the file cannot be read, or holds no text.
    """
    try:
        blocks = re.split(r"\n\s*\n", Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); restore it") from error
    paragraphs = [block for block in blocks if block.strip() and not block.startswith("..")]
    if not paragraphs:
        raise UserError(f"{path}: holds no caption; write what the artefact shows")
    return Markup("\n").join(Markup("<p>{}</p>").format(_inline(block)) for block in paragraphs)


def _inline(text: str) -> Markup:
    """Return a paragraph as HTML."""
    parts = _LITERAL.split(str(escape(" ".join(text.split()))))
    parts[::2] = [_EMPHASIS.sub(r"<em>\1</em>", part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return Markup("".join(parts))


def _shows_settings(name: str) -> bool:
    return name.startswith(SETTINGS)


def _title(name: str) -> str:
    """Return a target's name as words: figure_ratio_quora -> Ratio, quora."""
    first, *rest = name.split("_")[1:]
    return ", ".join([first.capitalize(), *rest])


# --- settings that differ from the paper's


def differences(
    run: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[dict[str, str | bool]]:
    """Yield the settings whose value the paper states and this run changes: key, paper, run."""
    tables = values["hyperparameters"]
    stated = [*values["setup"], *tables["table_hyperparameters_vocabulary"]]
    if run["models"]:
        stated += tables["table_hyperparameters_pretraining"]
        stated += tables["table_hyperparameters_finetuning"]
    for row in stated:
        found, value = _lookup(run["settings"], row.get("config"))
        if found and value != row["value"]:
            shown = "not set" if value is None else show_setting(value)
            yield {"key": row["config"], "paper": show_setting(row["value"]), "run": shown}


def _lookup(settings: Mapping[str, Any], key: str | None) -> tuple[bool, Any]:
    """Return whether the settings have a dotted key, and its value; of a list, its length."""
    place: Any = settings if key else {}
    for part in (key or "-").split("."):
        if not isinstance(place, Mapping) or part not in place:
            return False, None
        place = place[part]
    return True, len(place) if isinstance(place, list | tuple) else place


def show_setting(value: Any) -> str:
    """Return a setting as text, with a comma between thousands."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
