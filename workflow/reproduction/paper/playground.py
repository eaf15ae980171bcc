"""The vocabularies of a run in the form that the report's playground segments text with.

`workflow/report/segmentation.js` does there what the exported tokenizers do. It needs their pieces,
merges, scores and sentencepiece's character map, nothing else.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sagevocab.corpus.text import read_lines
from sagevocab.huggingface.folders import read_description, read_tokens
from sagevocab.huggingface.markers import merges_of

METHODS = {
    "greedy": "greedy longest match",
    "merges": "merges by rank",
    "unigram": "likeliest pieces",
}
# The paper's example sentences are English. Turkish opens with words that this project chose for
# their many affixes.
SENTENCES = {"tr": ("Evlerimizdeki kitapları okuyamayacaklarmış.", "Geldiklerinde konuşuyorduk.")}
# Of other languages, lines of the run's text are shown: so many, of so many characters.
TEXT_LINES = 3
TEXT_LENGTHS = range(40, 121)


def playground_data(
    vocabularies: Mapping[str, Mapping[str, Path | str]],
    *,
    languages: Mapping[str, str],
    labels: Mapping[str, str],
    examples: Mapping[str, Any],
    corpora: Mapping[str, Path | str],
    shown: Collection[str] = (),
) -> dict[str, Any]:
    """Return what the playground embeds.

    vocabularies: language -> tokenizer -> its `tokenizer.json`, whose folder is read. languages,
    labels: their names. examples: `examples` of paper_values.yaml (language, sentences). corpora:
    language -> the lines that it is trained on, for one without `SENTENCES` and examples. shown:
    the tokenizers that are chosen at first; all, if none is named.

    normalizations: rule -> text -> its replacement, each rule once. languages: name, examples,
    pieces (those of all its tokenizers, each once: pruned vocabularies share most) and tokenizers.
    left_out: the tokenizers that segment by another method than these three.

    Raises:
        UserError: a folder is missing or damaged.
    """
    maps: dict[str, dict[str, str]] = {}
    stanzas, left_out = [], []
    for language, files in vocabularies.items():
        folders = {name: Path(path).parent for name, path in files.items()}
        methods = {name: read_description(folder)["method"] for name, folder in folders.items()}
        known = [name for name in folders if methods[name] in METHODS]
        left_out += [
            {"language": languages[language], "label": labels[name]}
            for name in folders
            if name not in known
        ]
        numbers: dict[str, int] = {}
        tokenizers = [
            {"shown": name in (shown or known)}
            | _tokenizer(folders[name], name, labels[name], maps, numbers)
            for name in known
        ]
        if tokenizers:
            stanzas.append(
                {
                    "key": language,
                    "name": languages[language],
                    "examples": example_sentences(language, examples, corpora),
                    "pieces": "\n".join(numbers),
                    "tokenizers": tokenizers,
                }
            )
    return {"normalizations": maps, "languages": stanzas, "left_out": left_out}


def example_sentences(
    language: str, examples: Mapping[str, Any], corpora: Mapping[str, Path | str]
) -> list[dict[str, str]]:
    """Return sentences to try: name and text. The paper's three (Table 1) in their language.

    Of a language without `SENTENCES` they are the first lines of the corpus that fit.
    """
    if language == examples["language"]:
        return [
            {"name": f"Table 1: {row['bold']}", "text": row["text"]}
            for row in examples["sentences"]
        ]
    if language in SENTENCES:
        return [{"name": text.split()[0], "text": text} for text in SENTENCES[language]]
    lines = _first_lines(corpora[language])
    return [{"name": f"{' '.join(line.split()[:3])} …", "text": line} for line in lines]


def _first_lines(corpus: Path | str) -> list[str]:
    """Return the first lines of a length to read; the first one of all where none has it."""
    lines = (line.strip() for line in read_lines(corpus))
    fitting = (line for line in lines if len(line) in TEXT_LENGTHS)
    return list(islice(fitting, TEXT_LINES)) or [next(iter(read_lines(corpus))).strip()]


def _tokenizer(
    folder: Path,
    name: str,
    label: str,
    maps: dict[str, dict[str, str]],
    numbers: dict[str, int],
) -> dict[str, Any]:
    """Return one tokenizer.

    The replacements of its normalisation go into `maps`; its pieces go into `numbers`, which says
    where they stand among those of the language.
    """
    description = read_description(folder)
    spec, pieces = read_tokens(folder)
    method, rule = description["method"], description["normalization"]
    if rule not in maps:
        steps = spec["normalizer"]["normalizers"]
        encoded = [step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"]
        maps[rule] = replacements(base64.b64decode("".join(encoded)))
    return {
        "key": name,
        "label": label,
        "method": method,
        "how": METHODS[method],
        "normalization": rule,
        "maxWordChars": description["max_word_chars"],
        "runs": _runs([numbers.setdefault(piece, len(numbers)) for piece in pieces]),
        **_model(spec["model"], method, pieces),
    }


def _runs(numbers: Sequence[int]) -> list[int]:
    """Return numbers as runs of consecutive ones: how many to skip (or go back), how many to take.

    >>> _runs([0, 1, 4, 5, 2])
    [0, 2, 2, 2, -4, 1]
    """
    values = np.array(numbers, np.int64)
    first = np.flatnonzero(np.diff(values, prepend=-2) != 1)
    lengths = np.diff(first, append=len(values))
    ends = np.concatenate(([0], values[first] + lengths))
    return np.column_stack((values[first] - ends[:-1], lengths)).ravel().tolist()


def replacements(charsmap: bytes) -> dict[str, str]:
    """Return what sentencepiece's precompiled character map replaces: text -> replacement.

    The map is the size of a trie, the trie as a double array of 32-bit units (bits 10 up: the
    offset to the children; bit 8: a key ends here; low byte: the label), and the replacements. Keys
    that no look-up reaches are left out: those that begin with another key, and those of more than
    5 bytes, beyond which only single characters are looked up.
    """
    if not charsmap:
        return {}
    size = int.from_bytes(charsmap[:4], "little")
    units = np.frombuffer(charsmap[4 : 4 + size], "<u4").astype(np.int64)
    texts = charsmap[4 + size :]
    labels = np.arange(1, 256)
    found: dict[str, str] = {}
    waiting = [(b"", _children(0, units[0]))]
    while waiting:
        key, place = waiting.pop()
        for label in labels[units[place ^ labels] & 0x800000FF == labels].tolist():
            unit, longer = units[place ^ label], key + bytes([label])
            children = _children(place ^ label, unit)
            if unit >> 8 & 1:
                start = int(units[children]) & 0x7FFFFFFF
                text = texts[start : texts.index(b"\0", start)]
                found[longer.decode()] = text.decode()
            elif len(longer) < 5:
                waiting.append((longer, children))
    return found


def _children(place: int, unit: np.int64) -> int:
    return place ^ int((unit >> 10) << ((unit & 0x200) >> 6))


def _model(model: Mapping[str, Any], method: str, pieces: Sequence[str]) -> dict[str, Any]:
    """Return what a method needs beside the pieces."""
    if method == "merges":
        return {"merges": "\n".join(" ".join(pair) for pair in merges_of(model))}
    if method == "unigram":
        scores = dict(model["vocab"])
        return {"scores": [scores[piece] for piece in pieces]}
    return {}
