"""What the tables and figures of the studies compare.

A study builds tokenizers on samples of the training corpora, which are texts of their own:
`vocab/en.sample1/printed.seed2` is the reading `printed` with seed 2, on the first sample of
English. `Run` knows the samples and the tokenizers; here are the rows that set them side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from reproduction.run import COUNTS, Run, Stanza


@dataclass(frozen=True)
class Studies:
    """The studies of a run: readings of the loss, stability and sensitivity of a vocabulary."""

    run: Run

    def rows(self) -> list[Stanza]:
        """Return the readings as rows, then the run's tokenizers that are readings at full size.

        A row has scale, name, label, preset and the keys that override it.
        """
        if not self.run.readings:
            return []
        full = zip(self.full_size, self.run.labels(self.full_size), strict=True)
        return [
            *({"scale": "sample", **self._row(name)} for name in self.run.readings),
            *({"scale": "full", **self._row(name), "label": label} for name, label in full),
        ]

    def _row(self, name: str) -> Stanza:
        label = self.run.tokenizer(name).label or name.replace("_", " ")
        return {"name": name, "label": label, **self.run.tokenizer(name).reading}

    def _titled(self, name: str) -> Stanza:
        title = self.run.tokenizer(name).preset_title
        return {"label": self._row(name)["label"], "preset": title}

    # --- Files

    def files(self) -> list[str]:
        """Return the vocabularies of all studies."""
        others = [self._with_seeds(name)[0] for name in self.run.varied]
        return [
            f"{self._folder(text, tok)}/pieces.txt"
            for lang in self.run.study_languages
            for number, text in enumerate(self.run.samples_of(lang))
            for tok in (others if number else self.run.studied)
        ]

    def _with_seeds(self, name: str) -> list[str]:
        """Return the tokenizers that are a reading with each seed."""
        return [f"{name}.seed{seed}" for seed in self.run.config.studies.seeds]

    def _folder(self, text: str, tokenizer: str) -> str:
        return self.run.result(f"vocab/{text}/{tokenizer}")

    def _measured(self, text: str, tokenizers: Iterable[str]) -> list[str]:
        """Return vocabularies and counts of BPE and some tokenizers on the text they are from."""
        run, names = self.run, ["bpe", *tokenizers]
        counts = itertools.product(names, COUNTS)
        return [
            *(f"{self._folder(text, name)}/pieces.txt" for name in [*names, "bpe_initial"]),
            *(run.result(f"analysis/{text}/train/{name}/{file}") for name, file in counts),
            run.result(f"corpus/{text}.train.words.npz"),
        ]

    # --- Readings of the loss, on the first sample and at full size

    def readings_files(self, language: str) -> list[str]:
        """Return all that the readings are judged by in a language; nothing without readings."""
        names = [tok for name in self.run.readings for tok in self._with_seeds(name)]
        return [
            *(self._measured(f"{language}.sample1", names) if names else []),
            *(self._measured(language, self.full_size) if names and self.full_size else []),
        ]

    @cached_property
    def full_size(self) -> list[str]:
        """Tokenizers of the run that are a preset as it stands: readings at full size."""
        names = self.run.sage_readings if "bpe" in self.run.tokenizers else []
        return [name for name in names if not self.run.tokenizer(name).overrides]

    def readings_runs(self) -> dict[str, Stanza | None]:
        """Return what claims have to know of the readings; `run`, at full size, may be None."""
        full = {name: self.run.preset(name) for name in self.full_size}
        titles = {name: self.run.tokenizer(name).preset_title for name in self.run.readings}
        study = {tok: title for name, title in titles.items() for tok in self._with_seeds(name)}
        return {
            "study": self._claims(study, sample=".sample1"),
            "run": self._claims(full) if full else None,
        }

    def _claims(self, tokenizers: dict[str, str], sample: str = "") -> Stanza:
        """Return what claims about training corpora, or samples of them, have to know of a run."""
        run = self.run
        return {
            "folder": run.result(""),
            "languages": self.run.study_languages,
            "domains": {},
            "tasks": {},
            "tokenizers": {"bpe": None, **tokenizers},
            "lm_tokenizers": [],
            "seeds": [],
            "seed": run.seed,
            "names": run.names,
            "sample": sample,
        }

    # --- Stability

    def stability_rows(self) -> list[Stanza]:
        """Return what the study of stability compares: BPE and the varied readings, by language.

        seeds and samples: folders of the vocabularies.
        """
        bpe = {"label": "BPE", "preset": None}
        rows = [(bpe, [], "bpe")] if self.run.varied else []
        for name in self.run.varied:
            tokenizers = self._with_seeds(name)
            rows.append((self._titled(name), tokenizers, tokenizers[0]))
        return [
            {
                "language": self.run.language(lang).name,
                **titled,
                "seeds": [self._folder(f"{lang}.sample1", tok) for tok in seeds],
                "samples": [self._folder(text, first) for text in self.run.samples_of(lang)],
            }
            for lang in self.run.study_languages
            for titled, seeds, first in rows
        ]

    def stability_files(self) -> list[str]:
        """Return the files of the vocabularies that the study of stability compares."""
        rows = self.stability_rows()
        folders = [(row["preset"], f) for row in rows for f in (*row["seeds"], *row["samples"])]
        pruned = [f"{folder}/ablations.parquet" for preset, folder in folders if preset]
        return list(dict.fromkeys([*(f"{folder}/pieces.txt" for _, folder in folders), *pruned]))

    # --- Sensitivity

    def sensitivity_run(self) -> Stanza:
        """Return what the quantities have to know of the study of sensitivity."""
        return self._claims(dict.fromkeys(self.run.studied, ""), sample=".sample1")

    def sensitivity_rows(self) -> list[Stanza]:
        """Return what the study of sensitivity compares: a reading, and what differs from it.

        base, seeds and the variants' builds: tokenizers on the first sample.
        """
        sizes = self.run.section("vocabulary")
        usual = {name: {**sizes, **self.run.sage_parameters(name)} for name in self.run.varied}
        return [
            {
                "language": lang,
                **self._titled(name),
                "base": self._with_seeds(name)[0],
                "seeds": self._with_seeds(name)[1:],
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
            for lang in self.run.study_languages
            for name, values in self.run.varied.items()
            if values
        ]

    def sensitivity_files(self) -> list[str]:
        """Return the vocabularies of the study of sensitivity, and their counts."""
        files = []
        for row in self.sensitivity_rows():
            text = f"{row['language']}.sample1"
            names = [row["base"], *row["seeds"], *(v["build"] for v in row["variants"])]
            files += self._measured(text, names)
            files += [f"{self._folder(text, name)}/ablations.parquet" for name in names]
        return list(dict.fromkeys(files))
