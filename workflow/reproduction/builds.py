"""Every vocabulary of a run, resolved once: how it is made, from what, its size and its seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from reproduction.readings import reading_settings
from sagevocab.presets import PRESETS
from sagevocab.settings import BIGRAM_CODE

if TYPE_CHECKING:
    from reproduction.settings import Configuration, Tokenizer

SEEDED = ("sage", "random")  # the methods that a seed changes
CONTROLS = ("random", "frequency", "extra_tokens", "swallowed")
PRUNED = ("sage", *CONTROLS)  # the methods that prune an initial vocabulary
# Methods that are another segmentation of a tokenizer's pieces -> its method, which is its name.
EXPORTED = {"bpe_merges": "bpe", "unigram_greedy": "unigram"}


@dataclass(frozen=True)
class Build:
    """How a vocabulary is made.

    Attributes:
        method: as in the configuration.
        size: pieces in the end.
        seed: of pruning and embeddings.
        initial: folder of the vocabulary that is pruned, `bpe_initial`; empty where none is.
        initial_size: its size.
        settings: what decides it beside its text, initial pieces and method.
        start: name of the embeddings that SaGe starts from, which says all that decides them
            beside the language; empty where there are none.
        word2vec: settings of the embeddings that SaGe trains while it prunes.
    """

    method: str
    size: int
    seed: int
    initial: str = ""
    initial_size: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""
    word2vec: Mapping[str, Any] = field(default_factory=dict)


def builds_of(config: Configuration) -> dict[str, Build]:
    """Return every vocabulary of a run by the name of its tokenizer.

    They are the tokenizers of the run, their further seeds (`sage.seed2`), those that others are
    exported from, and readings of SaGe without a heuristic, which only the claims compare.
    """
    return {name: _build(config, stanza) for name, stanza in stanzas_of(config).items()}


def stanzas_of(config: Configuration) -> dict[str, Tokenizer]:
    """Return the stanza of every vocabulary of a run; see `builds_of`."""
    stanzas = config.tokenizer_settings
    exported = [EXPORTED.get(stanzas[name].method) for name in config.tokenizers]
    origins = [name for name in exported if name in stanzas and stanzas[name].method == name]
    names = dict.fromkeys([*config.tokenizers, *origins, *config.analysis.heuristics])
    found = {name: stanzas[name] for name in names}
    for name in config.tokenizers:
        found |= further_seeds(name, stanzas[name], config.seed)
    return found


def further_seeds(name: str, stanza: Tokenizer, seed: int) -> dict[str, Tokenizer]:
    """Return the stanzas of the further seeds of a tokenizer: `sage.seed2`.

    seed: of the run.
    """
    first = seed if stanza.seed is None else stanza.seed
    return {
        f"{name}.seed{number}": stanza.model_copy(update={"seed": number, "seeds": 1})
        for number in range(first + 1, first + (stanza.seeds or 1))
    }


def word2vec_settings(config: Configuration, trainer: str | None = None) -> dict[str, Any]:
    """Return what decides embeddings: threads decide those of gensim alone.

    trainer: another one than that of the configuration.
    """
    settings = asdict(config.word2vec) | ({"trainer": trainer} if trainer else {})
    if settings["trainer"] == "blocks":
        del settings["workers"]
    return settings


def _build(config: Configuration, stanza: Tokenizer) -> Build:
    method, vocabulary = stanza.method, config.vocabulary
    made = {
        "method": method,
        "size": vocabulary.vocab_size,
        "seed": config.seed if stanza.seed is None else stanza.seed,
    }
    if method not in PRUNED:
        return Build(**made)
    initial_size = stanza.initial_size or vocabulary.initial_size
    other = "" if initial_size == vocabulary.initial_size else f".{initial_size}"
    made |= {
        "initial": f"{stanza.initial_method}_initial{other}",
        "initial_size": initial_size,
    }
    if method in CONTROLS:
        return Build(**made, settings=_control_settings(config, stanza))
    settings = _sage_settings(config, stanza)
    reading = reading_settings(stanza.reading)
    return Build(
        **made,
        settings=settings,
        start=_start(made["initial"], reading, made["seed"]),
        word2vec=_word2vec(config, reading),
    )


def _control_settings(config: Configuration, stanza: Tokenizer) -> dict[str, Any]:
    batch = config.sage.prune_batch if stanza.method == "frequency" else None
    return {
        "vocab_size": config.vocabulary.vocab_size,
        "prune_batch": stanza.prune_batch or batch,
    }


def _sage_settings(config: Configuration, stanza: Tokenizer) -> dict[str, Any]:
    """Return the arguments of `settings_from`; keys of a stanza come before the run's."""
    of_preset = PRESETS[stanza.reading["preset"]]
    return {
        "vocab_size": config.vocabulary.vocab_size,
        "seed": config.seed,
        **{key: value for key, value in asdict(config.sage).items() if key not in of_preset},
        **stanza.reading,
    }


def _start(initial: str, reading: Mapping[str, Any], seed: int) -> str:
    if not _has_vectors(reading):
        return ""
    shuffled = ".shuffled" if reading["contexts"].startswith("shuffled") else ""
    return f"{initial}.{reading['decoder']}{shuffled}.seed{seed}"


def _has_vectors(reading: Mapping[str, Any]) -> bool:
    """Return what `SageSettings.has_vectors` of a reading would be, that is not checked yet."""
    return reading["contexts"] != "zero" and reading["loss"] != BIGRAM_CODE


def _word2vec(config: Configuration, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of embeddings; of one that trains none their dimension decides alone."""
    if reading["retrain"] and _has_vectors(reading):
        return word2vec_settings(config)
    return {"dimension": config.word2vec.dimension}
