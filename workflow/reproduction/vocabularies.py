"""What decides a vocabulary of a run: its settings, what it is pruned from, where it starts.

A tokenizer is one of the run, one of its further seeds (`sage.seed2`), or a reading of SaGe without
a heuristic, which only the claims compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagevocab.presets import reading_settings

if TYPE_CHECKING:
    from reproduction.run import Run, Stanza

# What `count_pieces` writes of a vocabulary as tables, and what statistics are computed from.
COUNTS = ("frequencies.parquet", "fertility.parquet", "neighbours.parquet", "lines.parquet")


def trained(run: Run, method: str) -> list[str]:
    """Return the tokenizers of method `bpe` or `unigram`.

    The one named like the method is among them even if it is not compared: `bpe_merges` and
    `unigram_greedy` are exported from it.
    """
    named = run.config.tokenizer_settings.get(method)
    exported = [method] if named and named.method == method else []
    return sorted({*run.of_method(method), *exported})


def sage_parameters(run: Run, tokenizer: str) -> Stanza:
    """Return all that decides a SaGe vocabulary beside corpus, initial pieces, embeddings."""
    return run.config.sage_parameters(run.tokenizer(tokenizer))


def control_parameters(run: Run, tokenizer: str) -> Stanza:
    """Return what decides a control's vocabulary beside its method and its seed."""
    stanza = run.tokenizer(tokenizer)
    batch = run.config.sage.prune_batch if stanza.method == "frequency" else None
    return {
        "final_size": run.config.vocabulary.final_size,
        "prune_batch": stanza.prune_batch or batch,
    }


def initial_size(run: Run, tokenizer: str) -> int:
    """Return the size of the vocabulary that a tokenizer is pruned from."""
    return run.tokenizer(tokenizer).initial_size or run.config.vocabulary.initial_size


def initial(run: Run, language: str, tokenizer: str, name: str) -> str:
    """Return a file of the vocabulary that a tokenizer is pruned from."""
    return run.result(f"vocab/{language}/{_initial_name(run, tokenizer)}/{name}")


def _initial_name(run: Run, tokenizer: str) -> str:
    size = initial_size(run, tokenizer)
    other = "" if size == run.config.vocabulary.initial_size else f".{size}"
    return f"{run.tokenizer(tokenizer).initial_method}_initial{other}"


def contexts(run: Run, tokenizer: str) -> str:
    """Return what a SaGe tokenizer sees of contexts: `real`, `zero` or `shuffled`."""
    return reading_settings(run.tokenizer(tokenizer).reading)["contexts"]


def start(run: Run, tokenizer: str) -> str:
    """Return the name of the embeddings that a SaGe tokenizer starts from.

    It says all that decides them beside the language, so tokenizers that start alike share them.
    """
    seed = sage_parameters(run, tokenizer)["seed"]
    decoder = reading_settings(run.tokenizer(tokenizer).reading)["decoder"]
    shuffled = ".shuffled" if contexts(run, tokenizer) == "shuffled" else ""
    return f"{_initial_name(run, tokenizer)}.{decoder}{shuffled}.seed{seed}"


def embeddings(run: Run, language: str, tokenizer: str) -> str | list[str]:
    """Return the embeddings that a SaGe tokenizer starts from; none where they are zero."""
    if contexts(run, tokenizer) == "zero":
        return []
    return run.result(f"embeddings/{language}/{start(run, tokenizer)}.npz")
