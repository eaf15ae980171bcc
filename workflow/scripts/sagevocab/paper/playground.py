"""The vocabularies of a run in the form that the report's playground segments text with.

`workflow/report/segmentation.js` does there what the exported tokenizers do; it needs their pieces,
merges, scores and sentencepiece's character map, nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError
from sagevocab.vocab.pieces import read_pieces
from sagevocab.vocab.segment import read_description

METHODS = {
    "greedy": "greedy longest match",
    "merges": "merges by rank",
    "unigram": "likeliest pieces",
}
# The paper's example sentences are English. In another language the box opens with words of its
# own: ours, and chosen for having many affixes.
SENTENCES = {"tr": ("Evlerimizdeki kitapları okuyamayacaklarmış.", "Geldiklerinde konuşuyorduk.")}
SENTENCE_OF_ANY_LANGUAGE = "SaGe 2023"


def playground_data(
    vocabularies: Mapping[str, Mapping[str, Path | str]],
    *,
    languages: Mapping[str, str],
    labels: Mapping[str, str],
    examples: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what the playground embeds.

    vocabularies: language -> tokenizer -> its `tokenizer.json`, whose folder is read. languages,
    labels: how they are called. examples: `examples` of paper_values.yaml (language, sentences).

    normalizations: rule -> base64 of its character map, each once. languages: name, examples and
    tokenizers. left_out: the tokenizers that segment by another method than these three.

    Raises:
        UserError: a folder is missing or damaged.
    """
    maps: dict[str, str] = {}
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
        tokenizers = [_tokenizer(folders[name], name, labels[name], maps) for name in known]
        if tokenizers:
            stanzas.append(
                {
                    "key": language,
                    "name": languages[language],
                    "examples": example_sentences(language, examples),
                    "tokenizers": tokenizers,
                }
            )
    return {"normalizations": maps, "languages": stanzas, "left_out": left_out}


def example_sentences(language: str, examples: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return sentences to try: name and text. The paper's three (Table 1) in their language."""
    if language == examples["language"]:
        return [
            {"name": f"Table 1: {row['bold']}", "text": row["text"]}
            for row in examples["sentences"]
        ]
    own: Sequence[str] = SENTENCES.get(language, (SENTENCE_OF_ANY_LANGUAGE,))
    return [{"name": text.split()[0].rstrip("."), "text": text} for text in own]


def _tokenizer(folder: Path, name: str, label: str, maps: dict[str, str]) -> dict[str, Any]:
    """Return one tokenizer; its character map goes into `maps`."""
    path = folder / "tokenizer.json"
    description = read_description(folder)
    pieces = read_pieces(folder / "pieces.txt")
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
        maps.setdefault(description["normalization"], _character_map(spec["normalizer"]))
        own = _model(spec["model"], description["method"], pieces)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: is not the tokenizer.json of a vocabulary ({error}); delete it and run again"
        ) from error
    return {
        "key": name,
        "label": label,
        "method": description["method"],
        "how": METHODS[description["method"]],
        "normalization": description["normalization"],
        "maxWordChars": description["max_word_chars"],
        "pieces": "\n".join(pieces),
        **own,
    }


def _character_map(normalizer: Mapping[str, Any]) -> str:
    """Return the base64 of the map; empty if there is none (rule `identity`)."""
    steps = [step for step in normalizer["normalizers"] if step["type"] == "Precompiled"]
    return steps[0]["precompiled_charsmap"] if steps else ""


def _model(model: Mapping[str, Any], method: str, pieces: Sequence[str]) -> dict[str, Any]:
    """Return what a method needs beside the pieces."""
    if method == "merges":
        return {"merges": "\n".join(" ".join(pair) for pair in model["merges"])}
    if method == "unigram":
        scores = dict(model["vocab"])
        return {"scores": [scores[piece] for piece in pieces]}
    return {}
