"""Which vocabularies the studies build, and what their figures and tables compare.

A build is a setting and a seed of a study in a language. A setting is named by the reading of the
loss and by what differs from the run's own settings: `printed`, `printed.sample2`,
`printed.prune_batch-50`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sagevocab.vocab.presets import overrides, reading_settings
from sagevocab.workflow import COUNTS, Run, preset_title
from sagevocab.workflow_texts import Stanza


@dataclass(frozen=True)
class Studies:
    """The studies of a run: readings of the loss, stability and sensitivity of a vocabulary."""

    run: Run

    # --- Settings

    @property
    def settings(self) -> Stanza:
        """The section `studies` of the configuration."""
        return self.run.config["studies"]

    @property
    def readings(self) -> list[str]:
        """Names of the readings of the loss; none if the studies are off."""
        return self.run.readings

    @property
    def varied(self) -> list[str]:
        """Names of the readings whose samples and settings are varied."""
        return [name for name in self.settings["varied"] if name in self.readings]

    @property
    def seeds(self) -> list[int]:
        """Seeds of each reading; the other studies take the first."""
        return self.settings["seeds"]

    @property
    def samples(self) -> list[int]:
        """Numbers of the samples of each corpus."""
        return list(range(1, self.settings["samples"] + 1)) if self.readings else []

    @property
    def languages(self) -> list[str]:
        """Languages with studies."""
        return self.run.languages if self.readings else []

    @property
    def word2vec(self) -> Stanza:
        """Settings of the studies' embeddings."""
        return {**self.run.config["word2vec"], "lines": self.settings["word2vec_lines"]}

    def reading(self, name: str) -> Stanza:
        """Return the settings of a reading: its preset and the keys that override it."""
        stanza = self.run.config["reading_settings"][name]
        return {key: value for key, value in stanza.items() if key != "label"}

    def label(self, name: str) -> str:
        """Return the name of a reading in figures and tables."""
        return self.run.config["reading_settings"][name].get("label", name.replace("_", " "))

    def varied_values(self, name: str) -> list[tuple[str, int]]:
        """Return the (key, value) pairs that the study of sensitivity sets, one at a time."""
        retrains = reading_settings(self.reading(name))["retrain"]
        keys = [key for key in self.settings["values"] if key != "retrain_every" or retrains]
        return [(key, value) for key in keys for value in self.settings["values"][key]]

    # --- Builds

    @cached_property
    def builds(self) -> dict[str, dict[str, Stanza]]:
        """Study -> setting -> what it is: reading, sample of the corpus, key and value."""
        return {
            "readings": {name: {"reading": name} for name in self.readings},
            "stability": {
                f"{name}.sample{sample}": {"reading": name, "sample": sample}
                for name in self.varied
                for sample in self.samples[1:]
            },
            "sensitivity": {
                f"{name}.{key}-{value}": {"reading": name, "key": key, "value": value}
                for name in self.varied
                for key, value in self.varied_values(name)
            },
        }

    def seeds_of(self, study: str) -> list[int]:
        """Return the seeds with which a study's settings are built."""
        return self.seeds if study == "readings" else self.seeds[:1]

    def initial_size(self, build: Stanza) -> int:
        """Return the size of the initial vocabulary of a build."""
        varied = build.get("key") == "initial_size"
        return build["value"] if varied else self.run.config["vocabulary"]["initial_size"]

    def sage_parameters(self, study: str, setting: str, seed: str) -> Stanza:
        """Return all that decides the pruning of a build beside corpus and initial pieces."""
        build = self.builds[study][setting]
        varied = build.get("key") not in (None, "initial_size")
        return {
            "final_size": self.run.config["vocabulary"]["final_size"],
            "seed": int(seed),
            **self.run.config["sage"],
            **({build["key"]: build["value"]} if varied else {}),
            **self.reading(build["reading"]),
        }

    def inputs(self, study: str, language: str, setting: str, seed: str) -> dict[str, str]:
        """Return corpus, initial vocabulary and embeddings of a build."""
        build = self.builds[study][setting]
        part = f"{build.get('sample', 1)}.{self.initial_size(build)}"
        decoder = reading_settings(self.reading(build["reading"]))["decoder"]
        paths = {
            "words": f"samples/{language}/{build.get('sample', 1)}.words.npz",
            "pieces": f"bpe/{language}/{part}/pieces.txt",
            "model": f"bpe/{language}/{part}/sentencepiece.model",
            "embeddings": f"embeddings/{language}/{part}.{decoder}.{seed}.npz",
        }
        return {name: self.run.result(f"studies/{path}") for name, path in paths.items()}

    def folders(
        self, study: str, language: str, setting: str, seeds: Sequence[int] | None = None
    ) -> list[str]:
        """Return the folders of the builds of a setting, by default of all its seeds."""
        return [
            self.run.result(f"studies/{study}/{language}/{setting}/{seed}")
            for seed in seeds or self.seeds_of(study)
        ]

    def baselines(self, language: str, samples: Iterable[int] = (1,)) -> list[str]:
        """Return the folders of the BPE vocabularies of the final size on samples of a corpus."""
        size = self.run.config["vocabulary"]["final_size"]
        return [self.run.result(f"studies/bpe/{language}/{sample}.{size}") for sample in samples]

    def files(self) -> list[str]:
        """Return the vocabularies of all studies."""
        return [
            f"{folder}/pieces.txt"
            for study, settings in self.builds.items()
            for lang in self.run.languages
            for setting in settings
            for folder in self.folders(study, lang, setting)
        ]

    # --- Figures and tables

    @property
    def figures(self) -> list[str]:
        """Figures of the studies, by target name."""
        return ["figure_readings"] if self.readings else []

    @property
    def tables(self) -> list[str]:
        """Tables of the studies, by target name."""
        return [
            *(["table_readings", "table_readings_claims"] if self.readings else []),
            *(["table_stability"] if self.varied else []),
            *(["table_sensitivity"] if self.builds["sensitivity"] else []),
        ]

    # --- Readings of the loss

    def rows(self) -> list[Stanza]:
        """Return the readings as rows: what each is called and what it is."""
        return [
            {"name": name, "label": self.label(name), **self.reading(name)}
            for name in self.readings
        ]

    @cached_property
    def full_size(self) -> list[str]:
        """Tokenizers of the run that are a preset as it stands: readings at full size."""
        names = self.run.of_method("sage") if "bpe" in self.run.tokenizers else []
        return [name for name in names if not overrides(self.run.tokenizer(name))]

    def full_size_rows(self) -> list[Stanza]:
        """Return the readings at full size as rows."""
        rows = zip(self.full_size, self.run.labels(self.full_size), strict=True)
        return [
            {"name": name, "label": label, "preset": self.run.preset(name)} for name, label in rows
        ]

    def _claims(self, tokenizers: Stanza, **settings: Any) -> Stanza:
        """Return what claims about the training corpora have to know of a run."""
        run = self.run
        return {
            "folder": run.result(""),
            "languages": run.languages,
            "domains": {},
            "tasks": {},
            "lm_tokenizers": [],
            "seeds": [],
            "seed": run.seed,
            "final_size": run.config["vocabulary"]["final_size"],
            "names": run.names,
            **settings,
            "tokenizers": {"bpe": None, **tokenizers},
        }

    def full_size_claims(self) -> Stanza | None:
        """Return the run as far as the readings at full size go; None without any."""
        presets = {name: self.run.preset(name) for name in self.full_size}
        return self._claims(presets) if presets else None

    def claims(self, *studies: str) -> Stanza:
        """Return some studies as a run, whose tokenizers are the builds."""
        builds = {
            f"{study}/{name}/{seed}": preset_title(self.reading(build["reading"]))
            for study in studies
            for name, build in self.builds[study].items()
            for seed in self.seeds_of(study)
        }
        return self._claims(builds, initial_size=self.run.config["vocabulary"]["initial_size"])

    def counts(self, language: str) -> list[str]:
        """Return all that the readings are judged by in a language; nothing without readings."""
        if not self.readings:
            return []
        size, run = self.run.config["vocabulary"]["initial_size"], self.run
        readings = [
            folder for name in self.readings for folder in self.folders("readings", language, name)
        ]
        return [
            *self._files([*readings, *self.baselines(language)], "pieces.txt", *COUNTS),
            run.result(f"studies/bpe/{language}/1.{size}/pieces.txt"),
            run.result(f"studies/samples/{language}/1.words.npz"),
        ]

    def full_size_counts(self, language: str) -> list[str]:
        """Return the same of the run's own tokenizers."""
        if not (self.readings and self.full_size):
            return []
        run, tokenizers = self.run, ["bpe", *self.full_size]
        return [
            *(run.result(f"vocab/{language}/{tok}/pieces.txt") for tok in tokenizers),
            *self._files(
                [run.result(f"analysis/{language}/train/{tok}") for tok in tokenizers], *COUNTS
            ),
            run.result(f"vocab/{language}/bpe_initial/pieces.txt"),
            run.result(f"corpus/{language}.train.words.npz"),
        ]

    @staticmethod
    def _files(folders: Iterable[str], *names: str) -> list[str]:
        return [f"{folder}/{name}" for folder in folders for name in names]

    # --- Stability

    def stability_rows(self) -> list[Stanza]:
        """Return what the study of stability compares: BPE and the varied readings, by language."""
        titles = zip(self.run.titles(self.run.languages), self.run.languages, strict=True)
        return [
            row
            for title, lang in titles
            if self.varied
            for row in (
                {
                    "language": title,
                    "label": "BPE",
                    "preset": None,
                    "seeds": [],
                    "samples": self.baselines(lang, self.samples),
                },
                *(self._stability_row(title, lang, name) for name in self.varied),
            )
        ]

    def _stability_row(self, title: str, language: str, name: str) -> Stanza:
        others = [
            folder
            for sample in self.samples[1:]
            for folder in self.folders("stability", language, f"{name}.sample{sample}")
        ]
        return {
            "language": title,
            "label": self.label(name),
            "preset": preset_title(self.reading(name)),
            "seeds": self.folders("readings", language, name),
            "samples": [*self.folders("readings", language, name, self.seeds[:1]), *others],
        }

    def stability_files(self) -> list[str]:
        """Return the vocabularies of the study of stability."""
        rows = self.stability_rows()
        bpe = {folder for row in rows if row["preset"] is None for folder in row["samples"]}
        folders = {folder: 0 for row in rows for folder in [*row["seeds"], *row["samples"]]}
        return [
            *self._files((f for f in folders if f not in bpe), "pieces.txt", "ablations.parquet"),
            *self._files(sorted(bpe), "pieces.txt"),
        ]

    # --- Sensitivity

    def sensitivity_rows(self) -> list[Stanza]:
        """Return what the study of sensitivity compares: a reading, and what differs from it."""
        config = self.run.config
        usual = {**config["sage"], "initial_size": config["vocabulary"]["initial_size"]}
        first, *others = self.seeds
        return [
            {
                "language": lang,
                "label": self.label(name),
                "preset": preset_title(self.reading(name)),
                "base": f"readings/{name}/{first}",
                "seeds": [f"readings/{name}/{seed}" for seed in others],
                "variants": [
                    {
                        "key": key,
                        "value": value,
                        "usual": usual[key],
                        "build": f"sensitivity/{name}.{key}-{value}/{first}",
                    }
                    for key, value in self.varied_values(name)
                ],
            }
            for lang in self.run.languages
            for name in self.varied
            if self.varied_values(name)
        ]

    def sensitivity_files(self) -> list[str]:
        """Return the vocabularies of the study of sensitivity, and their counts."""
        rows = self.sensitivity_rows()
        builds = [
            (row["language"], *build.split("/"))
            for row in rows
            for build in (row["base"], *row["seeds"], *(v["build"] for v in row["variants"]))
        ]
        folders = [
            self.run.result(f"studies/{study}/{lang}/{setting}/{seed}")
            for lang, study, setting, seed in builds
        ]
        baselines = [
            folder for lang in self.run.languages if rows for folder in self.baselines(lang)
        ]
        return [
            *self._files(folders, "pieces.txt", "ablations.parquet", *COUNTS),
            *self._files(baselines, "pieces.txt", *COUNTS),
        ]
