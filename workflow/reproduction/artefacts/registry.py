"""What the pipeline knows of a figure or a table before it makes one.

A figure or a table is a function with `@figure` or `@table` in the modules beside this one. The
decorator says what it reads, of what target it is a part and when a run has it; the docstring is
its caption, in reStructuredText. `workflow/rules/artefacts.smk` makes a rule of each.

Snakemake reads these modules whenever it starts, with a Python that may lack pandas and matplotlib.
So a function imports what it draws with inside its body, where the digest of its code looks, too.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from reproduction.paper.notes import presets_note

# A run: `reproduction.run.Run`, which jobs that draw need not import.
Run = Any
# A question that a run answers.
Of = Callable[[Run], Any]
# The path of a file, or paths by panel and tokenizer.
Paths = str | Sequence[str] | Mapping[str, Any]
# A table: `reproduction.paper.table.Table`, which needs pandas.
Table = Any
# A figure as a function of what it reads, of its settings and of the files to write; a table as one
# that returns a `Table`.
Make = Callable[..., Any]

RESOURCES = Path(__file__).parents[2] / "resources"

FORMATS = {"figure": ("pdf", "png"), "table": ("tex", "csv", "html", "md")}
# Files that hold what was measured, and no text, model or tokenizer.
_FRAMES = (".parquet", ".json", ".csv", ".txt", ".yaml", ".mplstyle")

# Sentences of several captions: `|greedy|` in a docstring stands for the first.
SENTENCES = {
    "greedy": (
        "BPE and every reading of SaGe segment greedily; the preset ``printed`` is Algorithm 3 as "
        "printed, ``released`` what the released program does."
    ),
    "constructed": (
        "A task called constructed is made of other text by a rule: its scores show that the "
        "pipeline runs, nothing about the task."
    ),
}


@dataclass(frozen=True)
class Artefact:
    """A figure or a table.

    make: the function. target: the target that it is a part of, besides `all` and `paper`.
    reads: names of the function's arguments -> a pattern of results, or what a run answers, which
    the function gets as it is. With {lang} and {tok} in the pattern it gets title -> label -> path,
    with {lang} title -> path.
    languages, tokenizers: what {lang} and {tok} stand for. when: whether a run has it; by default
    where there are languages, and tokenizers if it asks for some. legend: the tokenizers whose
    presets it names, by default `tokenizers`. settings: further arguments. memory: MB; None for a
    job of seconds, which runs where Snakemake does. of_models: it is in the reference results of
    language models, as all that is part of `downstream` is. of_domains: it is made of each text of
    another domain, which {corpus} stands for, else for `train`; its name ends in `_domain`.
    domain: of which.
    """

    make: Make
    target: Of
    reads: Mapping[str, str | Of]
    languages: Of = lambda run: run.languages
    tokenizers: Of | None = None
    when: Of | None = None
    legend: Of | None = None
    settings: Of = lambda run: {}
    memory: int | None = None
    of_models: bool = False
    of_domains: bool = False
    domain: str | None = None

    @property
    def name(self) -> str:
        """Name of the target and of the files: that of the function, with the domain in it."""
        name = self.make.__name__
        return f"{name.removesuffix('domain')}{self.domain}" if self.domain else name

    @property
    def kind(self) -> str:
        """`figure` or `table`."""
        return self.name.partition("_")[0]

    @property
    def function(self) -> str:
        """Module and name of the function, for `code_of` and the step that calls it."""
        return f"{self.make.__module__.partition('.')[2]}.{self.make.__name__}"

    def is_in(self, run: Run) -> bool:
        """Return whether a run has it."""
        if self.when:
            return bool(self.when(run))
        return bool(self.languages(run)) and bool(not self.tokenizers or self.tokenizers(run))

    def inputs(self, run: Run) -> dict[str, Paths]:
        """Return what the function reads, by argument; paths by panel as nested mappings."""
        return {
            name: self._matching(run, files) if isinstance(files, str) else files(run)
            for name, files in self.reads.items()
        }

    def _matching(self, run: Run, pattern: str) -> Paths:
        """Return the files of a pattern: title -> label -> path, as far as it has wildcards."""

        def path(lang: str = "", tok: str = "") -> str:
            return run.result(pattern.format(lang=lang, tok=tok, corpus=self.domain or "train"))

        def of_language(lang: str) -> Paths:
            if "{tok}" not in pattern:
                return path(lang)
            names = self.tokenizers(run) if self.tokenizers else []
            return {k: path(lang, tok) for k, tok in zip(run.labels(names), names, strict=True)}

        if "{lang}" not in pattern:
            return path()
        return {title: of_language(lang) for title, lang in self._panels(run).items()}

    def _panels(self, run: Run) -> dict[str, str]:
        """Return title -> language of every panel: that of the domain, or one a language."""
        if self.domain:
            return {run.domain_title(self.domain): run.domain(self.domain).language}
        languages = self.languages(run)
        return dict(zip(run.titles(languages), languages, strict=True))

    def arguments(self, run: Run) -> dict[str, Any]:
        """Return the further arguments; a table with a legend gets `presets`, for its note."""
        has_note = self.kind == "table" and (self.legend or self.tokenizers)
        return self.settings(run) | ({"presets": self._presets(run)} if has_note else {})

    def call(self, run: Run) -> dict[str, Any] | None:
        """Return all that makes it but the files to write; None if it reads more than frames."""
        reads = self.inputs(run)
        if any(Path(file).suffix not in _FRAMES for file in flat(reads)):
            return None
        return {
            "function": self.function,
            "reads": reads,
            "settings": self.arguments(run),
            "caption": self.caption(run),
        }

    def _presets(self, run: Run) -> dict[str, str]:
        """Return the readings of the SaGe tokenizers that it shows, by label."""
        legend = self.legend or self.tokenizers
        shown = legend(run) if legend else []
        labelled = zip(run.labels(shown), map(run.preset, shown), strict=True)
        return {label: preset for label, preset in labelled if preset}

    def caption(self, run: Run) -> str:
        """Return the docstring of the function, and the presets of what a figure shows.

        Those of a table stand in its note.
        """
        text = re.sub(
            r"\|(\w+)\|", lambda match: SENTENCES[match[1]], inspect.getdoc(self.make) or ""
        )
        note = presets_note(self._presets(run).items()) if self.kind == "figure" else ""
        return f"{text}\n\n{note}" if text and note else text


_REGISTERED: dict[str, Artefact] = {}


def figure(target: str | Of, **declared: Any) -> Callable[[Make], Make]:
    """Register a function as a figure; it gets `pdf`, `png` and `style` besides.

    Args:
        target: the target that it is a part of: intrinsic, downstream, studies, or paper for none
            of these.
        declared: what it reads, by argument, and other fields of `Artefact`.
    """
    style = {"style": lambda run: resource("style.mplstyle")}
    return _register(target, style | declared)


def table(target: str | Of, **declared: Any) -> Callable[[Make], Make]:
    """Register a function as a table, which it returns; the arguments are as for `figure`."""
    return _register(target, declared)


def _register(target: str | Of, declared: dict[str, Any]) -> Callable[[Make], Make]:
    known = {field.name for field in fields(Artefact)}
    options = {name: declared.pop(name) for name in known & declared.keys()}

    def register(make: Make) -> Make:
        if make.__name__ in _REGISTERED:
            raise ValueError(f"{make.__name__} is there twice; give one of them another name")
        part_of = target if callable(target) else lambda run: target
        _REGISTERED[make.__name__] = Artefact(make, part_of, reads=declared, **options)
        return make

    return register


def registered(run: Run) -> Iterator[Artefact]:
    """Yield every figure and table that a run can be asked for, in the order of their functions."""
    for artefact in _REGISTERED.values():
        if artefact.of_domains:
            yield from (replace(artefact, domain=domain) for domain in run.domains)
        else:
            yield artefact


def make(
    function: str,
    *,
    reads: Mapping[str, Paths],
    settings: Mapping[str, Any],
    caption: str,
    files: Mapping[str, str],
) -> None:
    """Make a figure or a table.

    function: its module and name, in `reproduction`. reads, settings: its arguments. files: format
    -> path to write.
    """
    module, _, name = function.rpartition(".")
    drawn = getattr(import_module(f"reproduction.{module}"), name)
    if name.startswith("table_"):
        drawn(**reads, **settings).write(caption=caption, **files)
    else:
        drawn(**reads, **settings, **files)


def places(name: str) -> dict[str, str]:
    """Return the files of a figure or a table in its run's folder, by format."""
    kind = name.partition("_")[0]
    return {form: f"{kind}s/{name}.{form}" for form in FORMATS[kind]}


def artefact_files(run: Run, names: Iterable[str], *formats: str) -> list[str]:
    """Return the files of figures and tables, given by target name; by default every format."""
    return [
        run.result(path)
        for name in names
        for form, path in places(name).items()
        if not formats or form in formats
    ]


def flat(paths: Paths) -> list[str]:
    """Return the files of an input, panel by panel."""
    if isinstance(paths, Mapping):
        return [file for part in paths.values() for file in flat(part)]
    return [paths] if isinstance(paths, str) else list(paths)


def resource(name: str) -> str:
    """Return the path of a file of workflow/resources, from the working directory."""
    return os.path.relpath(RESOURCES / name)


def paper_values(run: Run) -> str:
    """Return the path of what the paper printed."""
    return resource("paper_values.yaml")
