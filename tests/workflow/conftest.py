"""Snakemake in a checkout of its own, and a small configuration for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from checkouts import copy_checkout
from reproduction.data.packages import package_file

Run = subprocess.CompletedProcess


def run_snakemake(checkout: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> Run:
    """Run snakemake in `checkout` with the library of that checkout."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{checkout}/src{os.pathsep}{checkout}/workflow",
        "XDG_CACHE_HOME": str(checkout / ".cache"),
        **environment,
    }
    command = [sys.executable, "-m", "snakemake", "--cores=2", "--scheduler=greedy", *arguments]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def tiny_config() -> dict:
    """One language from a local file, one domain, one task: every stage, in about a minute."""
    return {
        "run": "tiny",
        "languages": ["en"],
        "language_settings": {
            "en": {
                "lines": 1000,
                "heldout_lines": 100,
                "source": {"path": "text.txt", "format": "text"},
            }
        },
        "domains": ["quora"],
        "domain_settings": {
            "quora": {
                "source": {"package": "gensim:test/test_data/lee_background.cor", "format": "text"}
            }
        },
        "tokenizers": ["bpe", "sage", "random"],
        "tokenizer_settings": {"sage": {"seeds": 1}, "random": {"seeds": 3}},
        "vocabulary": {"initial_size": 1250, "vocab_size": 1000},
        "sage": {"prune_batch": 25, "candidates": 100, "rerank_every": 2, "retrain_every": 2},
        "word2vec": {"dimension": 16, "epochs": 1},
        "analysis": {
            "efficiency_lines": 500,
            "heuristics": ["sage_exact"],
        },
        "probes": {"tasks": ["sst2"], "vector_lines": 200, "seeds": [1]},
        "tasks": ["sst2"],
        "task_settings": {
            "sst2": {
                "source": {split: {"constructed": "sst2"} for split in ("train", "validation")},
                "max_train": 64,
                "max_validation": 32,
            }
        },
        "lm": {
            "gpus": 0,
            "tokenizers": ["bpe", "sage"],
            "pretrain": {
                "layers": 1,
                "hidden": 32,
                "heads": 2,
                "intermediate": 64,
                "sequence_length": 32,
                "batch": 8,
                "micro_batch": 8,
                "hours": None,
                "steps": 10,
                "validation_every": 0.5,
            },
            "finetune": {"seeds": [1], "epochs": 1, "max_sequence_length": 32},
            "causal": {
                **{"seeds": [1], "layers": 1, "hidden": 16, "heads": 2},
                **{"lines": 100, "validation_every": 0.5},
            },
        },
    }


@pytest.fixture(scope="session")
def tiny(tmp_path_factory, tiny_config: dict) -> Callable[..., Run]:
    """Run snakemake on the tiny configuration, in a checkout that the session shares."""
    checkout = copy_checkout(tmp_path_factory.mktemp("checkout"))
    news = package_file("gensim:test/test_data/lee_background.cor")
    sentences = news.read_text(encoding="utf-8").replace(". ", "\n")
    (checkout / "text.txt").write_text(sentences, encoding="utf-8")
    (checkout / "tiny.yaml").write_text(yaml.safe_dump(tiny_config), encoding="utf-8")

    def run(
        *arguments: str,
        config: Sequence[str] = ("tiny.yaml",),
        extra: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> Run:
        files = [*config, *extra]
        flags = [argument for argument in arguments if argument.startswith("-")]
        targets = [argument for argument in arguments if argument not in flags]
        flags += ["--configfile", *files] if files else []
        flags += ["-p"] if "-n" in flags else []  # the plan as Snakemake writes it
        return run_snakemake(checkout, [*flags, "--", *targets], environment or {})

    run.checkout = checkout
    return run
