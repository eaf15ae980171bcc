"""What the tables and figures of the studies compare.

A study builds tokenizers on samples of the training corpora, which are texts of their own:
`vocab/en.sample1/printed.seed2` is the reading `printed` with seed 2, on the first sample of
English. `Run` knows the samples and the tokenizers; here are the rows that set them side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from reproduction.vocabularies import COUNTS, sage_parameters

if TYPE_CHECKING:
    from reproduction.run import Run, Stanza


def study_files(run: Run) -> list[str]:
    """Return the vocabularies of all studies."""
    others = [builds(run, name)[0] for name in run.varied]
    return [
        f"{_folder(run, text, tok)}/pieces.txt"
        for lang in run.study_languages
        for number, text in enumerate(run.samples_of(lang))
        for tok in (others if number else run.studied)
    ]


def builds(run: Run, reading: str) -> list[str]:
    """Return the tokenizers that are a reading with each seed."""
    return [f"{reading}.seed{seed}" for seed in run.config.studies.seeds]


def _folder(run: Run, text: str, tokenizer: str) -> str:
    return run.result(f"vocab/{text}/{tokenizer}")


def _measured(run: Run, text: str, tokenizers: Iterable[str]) -> list[str]:
    """Return vocabularies and counts of BPE and some tokenizers on the text they are from."""
    names = ["bpe", *tokenizers]
    counts = itertools.product(names, COUNTS)
    return [
        *(f"{_folder(run, text, name)}/pieces.txt" for name in [*names, "bpe_initial"]),
        *(run.result(f"analysis/{text}/train/{name}/{file}") for name, file in counts),
        run.result(f"corpus/{text}.train.words.npz"),
    ]


def _row(run: Run, name: str) -> Stanza:
    label = run.tokenizer(name).label or name.replace("_", " ")
    return {"name": name, "label": label, **run.tokenizer(name).reading}


def _titled(run: Run, name: str) -> Stanza:
    title = run.tokenizer(name).preset_title
    return {"label": _row(run, name)["label"], "preset": title}


# --- Readings of the loss, on the first sample and at full size


def reading_rows(run: Run) -> list[Stanza]:
    """Return the readings as rows, then the run's tokenizers that are readings at full size.

    A row has scale, name, label, preset and the keys that override it.
    """
    if not run.readings:
        return []
    full = zip(full_size(run), run.labels(full_size(run)), strict=True)
    return [
        *({"scale": "sample", **_row(run, name)} for name in run.readings),
        *({"scale": "full", **_row(run, name), "label": label} for name, label in full),
    ]


def readings_files(run: Run, language: str) -> list[str]:
    """Return all that the readings are judged by in a language; nothing without readings."""
    names = [tok for name in run.readings for tok in builds(run, name)]
    return [
        *(_measured(run, f"{language}.sample1", names) if names else []),
        *(_measured(run, language, full_size(run)) if names and full_size(run) else []),
    ]


def full_size(run: Run) -> list[str]:
    """Tokenizers of the run that are a preset as it stands: readings at full size."""
    names = run.sage_readings if "bpe" in run.tokenizers else []
    return [name for name in names if not run.tokenizer(name).overrides]


def readings_runs(run: Run) -> dict[str, Stanza | None]:
    """Return what claims have to know of the readings; `run`, at full size, may be None."""
    full = {name: run.preset(name) for name in full_size(run)}
    titles = {name: run.tokenizer(name).preset_title for name in run.readings}
    study = {tok: title for name, title in titles.items() for tok in builds(run, name)}
    return {
        "study": _claims(run, study, sample=".sample1"),
        "run": _claims(run, full) if full else None,
    }


def _claims(run: Run, tokenizers: dict[str, str], sample: str = "") -> Stanza:
    """Return what claims about training corpora, or samples of them, have to know of a run."""
    return {
        "folder": run.result(""),
        "languages": run.study_languages,
        "tokenizers": {"bpe": None, **tokenizers},
        "seed": run.seed,
        "names": run.names,
        "sample": sample,
    }


# --- Stability


def stability_rows(run: Run) -> list[Stanza]:
    """Return what the study of stability compares: BPE and the varied readings, by language.

    seeds and samples: folders of the vocabularies.
    """
    bpe = ({"label": "BPE", "preset": None}, [], "bpe")
    readings = [
        (_titled(run, name), builds(run, name), builds(run, name)[0]) for name in run.varied
    ]
    return [
        {
            "language": run.language(lang).name,
            **titled,
            "seeds": [_folder(run, f"{lang}.sample1", tok) for tok in seeds],
            "samples": [_folder(run, text, first) for text in run.samples_of(lang)],
        }
        for lang in run.study_languages
        for titled, seeds, first in [bpe, *readings]
        if readings
    ]


def stability_files(run: Run) -> list[str]:
    """Return the files of the vocabularies that the study of stability compares."""
    rows = stability_rows(run)
    folders = [(row["preset"], f) for row in rows for f in (*row["seeds"], *row["samples"])]
    pruned = [f"{folder}/ablations.parquet" for preset, folder in folders if preset]
    return list(dict.fromkeys([*(f"{folder}/pieces.txt" for _, folder in folders), *pruned]))


# --- Sensitivity


def sensitivity_run(run: Run) -> Stanza:
    """Return what the quantities have to know of the study of sensitivity."""
    return _claims(run, dict.fromkeys(run.studied, ""), sample=".sample1")


def sensitivity_rows(run: Run) -> list[Stanza]:
    """Return what the study of sensitivity compares: a reading, and what differs from it.

    base, seeds and the variants' builds: tokenizers on the first sample.
    """
    sizes = run.section("vocabulary")
    usual = {name: {**sizes, **sage_parameters(run, name)} for name in run.varied}
    return [
        {
            "language": lang,
            **_titled(run, name),
            "base": builds(run, name)[0],
            "seeds": builds(run, name)[1:],
            "variants": [
                {
                    "key": key,
                    "value": value,
                    "usual": usual[name][key],
                    "build": f"{name}.{key}-{value}",
                }
                for key, value in values
            ],
        }
        for lang in run.study_languages
        for name, values in run.varied.items()
        if values
    ]


def sensitivity_files(run: Run) -> list[str]:
    """Return the vocabularies of the study of sensitivity, and their counts."""
    files = []
    for row in sensitivity_rows(run):
        text = f"{row['language']}.sample1"
        names = [row["base"], *row["seeds"], *(v["build"] for v in row["variants"])]
        files += _measured(run, text, names)
        files += [f"{_folder(run, text, name)}/ablations.parquet" for name in names]
    return list(dict.fromkeys(files))
