"""The report: one HTML page with what was found, figures, tables, a playground and all claims.

It opens from disk without a network: it contains its styles, scripts and images, and its content
security policy forbids it to load anything else. It says nothing of when it was made; only
claims about times differ between two builds of equal runs.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import jinja2
import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from reproduction.manifest import what_made
from reproduction.paper.claims_frame import read_records
from reproduction.paper.claims_page import (
    SIGNS,
    show_agreeing,
    show_control,
    show_measured,
    show_p_value,
    show_value,
)
from reproduction.paper.findings import SUMMARY, section
from reproduction.paper.formats import page_environment
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.playground import playground_data
from reproduction.paper.tables import flat_settings, format_setting
from reproduction.paper.tally import count_by_reading
from sagevocab import __version__
from sagevocab.errors import UserError
from sagevocab.files import write_text

log = logging.getLogger(__name__)

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def build_report(
    output: Path | str,
    *,
    title: str,
    run: Mapping[str, Any],
    figures: Mapping[str, Path | str],
    tables: Mapping[str, Path | str],
    titles: Mapping[str, str],
    captions: Mapping[str, str],
    vocabularies: Mapping[str, Mapping[str, Path | str]],
    corpora: Mapping[str, Path | str],
    paper: Path | str,
    template: Path | str,
    manifest: Path | str,
    claims_path: Path | str = "",
    findings: Path | str = "",
) -> None:
    """Write the page: of a run that reproduces the paper, or of one of other languages.

    run: name, labels and presets (by tokenizer), compared (tokenizers that the playground opens
    with; all, if none), names (of texts), constructed (names of tasks), models (whether the run has
    any), settings (nested as in the configuration), texts (name and title of each).
    figures: target -> png; tables: target -> Markdown, both with their other
    forms beside them; titles, captions (reStructuredText): by target. vocabularies: language ->
    tokenizer -> its tokenizer.json, for the playground; corpora: language -> lines to try there.
    paper: `paper_values.yaml`. template: Jinja page, which includes its parts from beside it.
    manifest: of the run; the page says by which commits and packages it was made.
    claims_path, findings: of a reproduction: `claims.parquet`, and `findings.md`, whose summary
    opens the page.

    Raises:
        UserError: an input is missing or damaged.
    """
    values = read_paper_values(paper)
    content = {"tokenizers": run["labels"]}
    if claims_path:
        content = _of_paper(run, values, read_records(claims_path, paper), findings)
    commits, packages = what_made(Path(manifest))
    environment = page_environment(template, _FILTERS)
    folder = Path(output).parent
    text = environment.get_template(Path(template).name).render(
        title=title,
        run=run,
        scripts=_scripts(environment),
        **content,
        figures={
            name: _figure(path, name, titles[name], captions[name], folder)
            for name, path in figures.items()
        },
        tables={
            name: _table(path, name, titles[name], captions[name], folder)
            for name, path in tables.items()
        },
        playground=playground_data(
            vocabularies,
            languages=run["names"],
            labels=content["tokenizers"],
            examples=values["examples"],
            corpora=corpora,
            shown=run["compared"],
        ),
        # Through JSON, because YAML can't write Snakemake's mappings.
        settings=yaml.safe_dump(json.loads(json.dumps(run["settings"])), allow_unicode=True),
        version=__version__,
        commits=commits,
        packages=packages,
        citation=values["paper"],
    )
    write_text(output, text)
    log.info("%s: %.1f MB", output, len(text.encode()) / 1e6)


def _of_paper(
    run: Mapping[str, Any],
    values: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    findings: Path | str,
) -> dict[str, Any]:
    """Return what the page of a reproduction says of the paper."""
    claims = _claims(records)
    names = (*run["labels"], *map(itemgetter("tokenizer"), records))
    return {
        **claims,
        "tokenizers": {name: tokenizer_title(name, run) for name in names},
        "summary": _summary(findings),
        "differences": list(differences(run, values)),
    }


def _scripts(environment: jinja2.Environment) -> dict[str, Markup]:
    """Return the scripts of the page; its policy names their digests, so it runs no others."""
    parts = {"page": ["report.js"], "playground": ["segmentation.js", "playground.js"]}
    return {
        name: Markup("\n".join(environment.get_template(file).render() for file in files))
        for name, files in parts.items()
    }


def _digest(script: str) -> str:
    """Return the digest of a script as a Content-Security-Policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _with_code(text: str) -> Markup:
    """Return text with what stands in backticks as code."""
    return Markup(MarkdownIt("js-default").renderInline(text))  # noqa: S704


def _script_json(value: Any) -> Markup:
    """Return JSON for a script element: without a `<`, which could close it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return Markup(text.replace("<", "\\u003c"))


def _brief(title: str) -> str:
    """Return the title of a text without what stands in brackets."""
    return re.sub(r"\s*\([^)]*\)", "", title)


_FILTERS = {
    "brief": _brief,
    "show_value": show_value,
    "show_measured": show_measured,
    "show_p_value": show_p_value,
    "show_control": show_control,
    "show_agreeing": show_agreeing,
    "code": _with_code,
    "script_json": _script_json,
    "digest": _digest,
}


def _summary(findings: Path | str) -> Markup:
    """Return the summary of the findings as HTML."""
    return _html(section(_read(findings, "findings"), SUMMARY))


def tokenizer_title(name: str, run: Mapping[str, Any]) -> str:
    """Return a tokenizer's label, with its preset if SaGe made it and the label does not say so."""
    label, preset = run["labels"].get(name, name), run["presets"].get(name)
    if preset is None or preset.partition(" ")[0].replace("_", " ") in label.replace("_", " "):
        return label
    return f"{label}: {preset}" if preset.endswith(")") else f"{label} ({preset})"


def _claims(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the claims by place in the paper, and the verdicts of each reading counted.

    places: (place, rows); a row is the records of one claim in one language.
    """
    return {
        "records": records,
        "signs": SIGNS,
        "places": [
            (place, list(_grouped(members, itemgetter("id", "language")).values()))
            for place, members in _grouped(records, itemgetter("where")).items()
        ],
        "counts": count_by_reading(records),
    }


def _grouped(
    records: Sequence[Mapping[str, Any]], key: Callable[[Mapping[str, Any]], Any]
) -> dict[Any, list[Mapping[str, Any]]]:
    """Return the records by a key, in the order in which the keys first appear."""
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


# --- figures and tables


def _figure(path: Path | str, name: str, title: str, caption: str, folder: Path) -> dict[str, Any]:
    try:
        image = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); run {name} again") from error
    first, *more = _SENTENCE_END.split(caption.strip(), maxsplit=1)
    return {
        "name": name,
        "title": title,
        "image": f"data:image/png;base64,{image}",
        "caption": show_caption(name, caption),
        "first": show_caption(name, first),
        "details": show_caption(name, more[0]) if more else "",
        "files": _files(path, folder, ("png", "pdf")),
    }


def _table(path: Path | str, name: str, title: str, caption: str, folder: Path) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "content": _html(_read(path, name), title),
        "caption": show_caption(name, caption),
        "files": _files(path, folder, ("csv", "md", "tex")),
    }


def _read(path: Path | str, name: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); run {name} again") from error


def _files(path: Path | str, folder: Path, forms: Sequence[str]) -> dict[str, str]:
    """Return the files of a figure or table by their form, as links from the page's folder."""
    return {
        form: Path(os.path.relpath(path, folder)).with_suffix(f".{form}").as_posix()
        for form in forms
    }


def show_caption(name: str, text: str) -> Markup:
    """Return the HTML of a caption: reStructuredText of paragraphs, literals and emphasis.

    Raises:
        UserError: the text is empty.
    """
    if not text.strip():
        raise UserError(
            f"rule {name}: has no caption; say in its docstring what the artefact shows"
        )
    return _html(inspect.cleandoc(text))


def _html(text: str, region: str = "In numbers") -> Markup:
    """Return Markdown as HTML; what a caption has of reStructuredText is the same in both.

    The page loads no files and has no inline styles: an image is a link to the figure on the page,
    and a table that is wide for a window scrolls by itself. region: what a screen reader calls
    its tables.
    """
    markdown = MarkdownIt("js-default")
    scroll = f'<div class="scroll" role="region" aria-label="{escape(region)}" tabindex="0">'
    rules = {"table_open": lambda *_: f"{scroll}<table>", **_RENDER_RULES}
    for name, rule in rules.items():
        markdown.add_render_rule(name, rule)
    return Markup(markdown.render(text).strip())  # noqa: S704 (HTML in it is escaped)


def _figure_link(renderer: RendererHTML, tokens: Sequence[Token], at: int, *_: Any) -> str:
    figure = Path(str(tokens[at].attrs["src"])).stem
    return f'<a href="#{escape(figure)}">{escape(tokens[at].content)}</a>'


def _table_cell(renderer: RendererHTML, tokens: Sequence[Token], at: int, *_: Any) -> str:
    return '<td class="number">' if "right" in str(tokens[at].attrs.get("style")) else "<td>"


# Kind of Markdown token -> how it is written.
_RENDER_RULES: dict[str, Callable[..., str]] = {
    "image": _figure_link,
    "table_close": lambda *_: "</table></div>",
    "th_open": lambda *_: '<th scope="col">',
    "td_open": _table_cell,
}


# --- settings that differ from the paper's


def differences(
    run: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[dict[str, str | bool]]:
    """Yield the settings whose value the paper states and this run changes: key, paper, run.

    The paper does not state on how many lines it trained Word2Vec. It speaks of one corpus, so a
    sample is a difference, too.
    """
    tables = values["hyperparameters"]
    stated = [*values["setup"], *tables["table_hyperparameters_vocabulary"]]
    if run["models"]:
        stated += tables["table_hyperparameters_pretraining"]
        stated += tables["table_hyperparameters_finetuning"]
    settings = dict(flat_settings(run["settings"]))
    for row in stated:
        key = row.get("config")
        if key not in settings:
            continue
        value = settings[key]
        value = len(value) if isinstance(value, list | tuple) else value
        if value != row["value"]:
            paper = format_setting(row["value"])
            yield {"key": key, "paper": paper, "run": format_setting(value) or "not set"}
    sample = settings.get("word2vec.lines", "all")
    if sample != "all":
        key = "word2vec.lines"
        yield {"key": key, "paper": "not stated; all lines", "run": format_setting(sample)}
