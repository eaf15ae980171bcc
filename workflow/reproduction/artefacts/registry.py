"""What the pipeline knows of a figure or a table before it makes one.

`figures` and `tables` beside this module declare them: name, target, caption, the function, the
files that it reads and its settings. `workflow/rules/paper.smk` makes a rule of each. Snakemake
reads these modules whenever it starts, with a Python that may lack pandas and matplotlib, so
functions are named and not imported.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from reproduction.paper.frames import Paths, each, flat

# A run: `reproduction.run.Run`, which jobs that draw need not import.
Run = Any
# Computed from the run's configuration.
Of = Callable[[Run], Any]

RESOURCES = Path(__file__).parents[2] / "resources"

FORMATS = {"figure": ("pdf", "png"), "table": ("tex", "csv", "md")}
# Files that hold what was measured, and no text, model or tokenizer.
_FRAMES = (".parquet", ".json", ".csv", ".txt", ".yaml", ".mplstyle")

# Sentences of several captions: `|greedy|` stands for the first.
SENTENCES = {
    "greedy": "BPE and every reading of SaGe segment greedily.",
    "constructed": (
        "A task called constructed is made of other text by a rule: its scores show that the "
        "pipeline runs, nothing about the task."
    ),
}


@dataclass(frozen=True)
class Read:
    """Files of an argument, and the function that reads each of them, or all at once.

    files: a pattern of results, or computed from the run. With {lang} and {tok} in the pattern it
    is title -> label -> path, with {lang} title -> path. Without a reader the function gets the
    paths, and nothing where it finds them itself (`is_passed`).
    """

    files: str | Of
    each: str = ""
    whole: str = ""
    is_passed: bool = True


@dataclass(frozen=True)
class Artefact:
    """A figure or a table.

    title: what the report page calls it, before the name of its text if that is of another domain.
    function: what makes it, by its name below `reproduction`. target: the target that it is a part
    of, besides `all` and `paper`: intrinsic, downstream, or paper for neither of these.
    caption: reStructuredText. reads: argument -> what it reads. settings: argument -> value.
    languages, tokenizers: what {lang} and {tok} stand for. when: whether a run has it; by default
    where there are languages, and tokenizers if it selects some. needs: what a configuration lists
    for it. notes: of a table. memory: MB;
    None for a job of seconds, which runs where Snakemake does. of_domains: it is made of each text
    of another domain, which {corpus} stands for, else for `train`; its name ends in `_domain`.
    domain: of which.
    """

    name: str
    title: str
    function: str
    target: str | Of
    text: str
    reads: Mapping[str, Read]
    settings: Mapping[str, Of]
    languages: Of = lambda run: run.languages
    tokenizers: Of | None = None
    when: Of | None = None
    needs: str = "what it compares, and bpe"
    notes: Callable[[Run], list[str]] | None = None
    memory: int | None = None
    of_domains: bool = False
    domain: str | None = None

    @property
    def kind(self) -> str:
        """`figure` or `table`."""
        return self.name.partition("_")[0]

    @property
    def functions(self) -> list[str]:
        """The functions that read and make it."""
        readers = (one.each or one.whole for one in self.reads.values())
        return [self.function, *filter(None, readers)]

    def title_in(self, run: Run) -> str:
        """Return its title on the report page."""
        return f"{self.title}: {run.domain(self.domain).name}" if self.domain else self.title

    def part_of(self, run: Run) -> str:
        """Return the target that it is a part of."""
        return self.target if isinstance(self.target, str) else self.target(run)

    def is_in(self, run: Run) -> bool:
        """Return whether a run has it."""
        if self.when:
            return bool(self.when(run))
        return bool(self.languages(run)) and bool(not self.tokenizers or self.tokenizers(run))

    @property
    def objection(self) -> str:
        """Why a run that does not have it cannot make it."""
        return (
            f"config keys tokenizers, figures, lm and tasks: they leave nothing for {self.name} to "
            f"show; list {self.needs}"
        )

    def inputs(self, run: Run) -> dict[str, Paths]:
        """Return the files of each argument."""
        return {
            name: self._matching(run, one.files) if isinstance(one.files, str) else one.files(run)
            for name, one in self.reads.items()
        }

    def _matching(self, run: Run, pattern: str) -> Paths:
        def path(lang: str = "", tok: str = "") -> str:
            return run.result(pattern.format(lang=lang, tok=tok, corpus=self.domain or "train"))

        if "{lang}" not in pattern:
            return path()
        names = self.tokenizers(run) if self.tokenizers else []
        panel = dict(zip(run.labels(names), names, strict=True))
        return {
            title: {k: path(lang, tok) for k, tok in panel.items()}
            if "{tok}" in pattern
            else path(lang)
            for title, lang in self._panels(run).items()
        }

    def _panels(self, run: Run) -> dict[str, str]:
        """Return title -> language of every panel: that of the domain, or one a language."""
        if self.domain:
            return {run.domain_title(self.domain): run.domain(self.domain).language}
        languages = self.languages(run)
        return dict(zip(run.titles(languages), languages, strict=True))

    def arguments(self, run: Run) -> dict[str, Any]:
        """Return what the function is called with beside what it reads."""
        given = {name: value(run) for name, value in self.settings.items()}
        return given | ({"notes": self.notes(run)} if self.notes else {})

    def call(self, run: Run) -> dict[str, Any] | None:
        """Return all that makes it but the files to write; None if it reads more than frames."""
        reads = self.inputs(run)
        if any(Path(file).suffix not in _FRAMES for file in flat(reads)):
            return None
        settings = self.arguments(run)
        return {
            "name": self.name,
            "reads": reads,
            "settings": settings,
            "caption": self.caption,
        }

    @property
    def caption(self) -> str:
        """The caption."""
        return re.sub(r"\|(\w+)\|", lambda match: SENTENCES[match[1]], inspect.cleandoc(self.text))


_REGISTERED: dict[str, Artefact] = {}


def declare(
    name: str,
    title: str,
    target: str | Of,
    function: str,
    caption: str,
    *,
    reads: Mapping[str, str | Of | Read],
    settings: Mapping[str, Of] | None = None,
    **options: Any,
) -> None:
    """Declare a figure or a table, see `Artefact`; `function` is below `reproduction.paper`."""
    if name.startswith("figure_"):
        reads = {"style": styles, **reads}
    known = {key: one if isinstance(one, Read) else Read(one) for key, one in reads.items()}
    _REGISTERED[name] = Artefact(
        name, title, f"paper.{function}", target, caption, known, settings or {}, **options
    )


def declarations() -> dict[str, Artefact]:
    """Return what `figures` and `tables` beside this module declare, by name."""
    for module in ("figures", "tables"):
        import_module(f"reproduction.artefacts.{module}")
    return _REGISTERED


def registered(run: Run) -> Iterator[Artefact]:
    """Yield every figure and table that a run can have, in the order of their declarations."""
    for name, one in declarations().items():
        if one.of_domains:
            base = name.removesuffix("domain")
            yield from (replace(one, name=f"{base}{text}", domain=text) for text in run.domains)
        else:
            yield one


def artefacts_of(run: Run) -> list[Artefact]:
    """Return the figures and tables of a run, in the order of their declarations."""
    return [one for one in registered(run) if one.is_in(run)]


def reference_artefacts(run: Run) -> list[Artefact]:
    """Return those of its reference results: of a run with models, what is said of these."""
    return [one for one in artefacts_of(run) if not run.models or one.part_of(run) == "downstream"]


def declared(name: str) -> Artefact:
    """Return what is declared of a figure or a table, or of all domains' like it."""
    known = declarations()
    if name in known:
        return known[name]
    of_domains = (one for one in known.values() if one.of_domains)
    return next(one for one in of_domains if name.startswith(one.name.removesuffix("domain")))


def make(
    name: str,
    *,
    reads: Mapping[str, Paths],
    settings: Mapping[str, Any],
    caption: str,
    files: Mapping[str, str],
) -> None:
    """Make a figure or a table: read, call its function, write files (format -> path).

    settings: of its function.
    """
    one = declared(name)
    given = {k: _read(one.reads[k], v) for k, v in reads.items() if one.reads[k].is_passed}
    if one.kind == "table":
        _function(one.function)(**given, **settings).write(caption=caption, **files)
    else:
        _function(one.function)(**given, **settings, **files)


def _read(one: Read, paths: Paths) -> Any:
    if one.whole:
        return _function(one.whole)(paths)
    return each(_function(one.each), paths) if one.each else paths


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"reproduction.{module}"), function)


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


def resource(name: str) -> str:
    """Return the path of a file of workflow/resources, from the working directory."""
    return os.path.relpath(RESOURCES / name)


def styles(run: Run) -> list[str]:
    """Return matplotlib's style files for figures as wide as the configuration says."""
    return style_files("column") if run.config.figures.width == "column" else style_files()


def style_files(*further: str) -> list[str]:
    """Return matplotlib's style file for a figure across a page, and those laid over it."""
    return [resource(f"{name}.mplstyle") for name in ("style", *further)]


def paper_values(run: Run) -> str:
    """Return the path of what the paper printed."""
    return resource("paper_values.yaml")
