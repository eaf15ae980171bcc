"""Tokenizers of Hugging Face as vocabularies to prune: all but their model stays as it is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import (
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import AutoTokenizer

import sagevocab
from hub_samples import KINDS, fitted
from sagevocab.errors import UserError
from sagevocab.huggingface.export import export_greedy
from sagevocab.initial.vocabulary import InitialVocabulary, read_initial
from sagevocab.pieces import prunable
from sagevocab.segmentation.segmenter import GreedySegmenter
from scripts_text import SENTENCES, lines_in

LINES = lines_in("czech", 200) + lines_in("greek", 60)


@pytest.fixture(scope="module")
def made() -> dict[str, Tokenizer]:
    return {name: make(LINES) for name, make in KINDS.items()}


@pytest.fixture(scope="module")
def pruned(made, tmp_path_factory) -> dict[str, tuple[InitialVocabulary, list[str], Any]]:
    """Of each kind what is read, half of its pieces, and the tokenizer of these."""
    root, found = tmp_path_factory.mktemp("pruned"), {}
    for name, tokenizer in made.items():
        initial = read_initial(tokenizer)
        goes = [may and random.Random(name).random() < 0.5 for may in prunable(initial.pieces)]
        left = [piece for piece, gone in zip(initial.pieces, goes, strict=True) if not gone]
        export_greedy(root / name, left, initial.frame)
        found[name] = initial, left, AutoTokenizer.from_pretrained(root / name)
    return found


def engine_ids(initial: InitialVocabulary, pieces: list[str], text: str) -> list[int]:
    """Segment as the pruning does."""
    ids = {token: number for number, token in enumerate(initial.frame.tokens(pieces))}
    numbers, _ = GreedySegmenter(pieces).segment_words(initial.frame.words_of(text))
    tokens = np.array([*map(initial.frame.notation.token, pieces), initial.frame.unknown])
    return [ids[token] for token in tokens[numbers].tolist()]


TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.text("aeřěščνς _▁Ġ\t\n'.,-##<unk>☃中\ufdd0", max_size=60),
    st.sampled_from([*SENTENCES["czech"], *SENTENCES["greek"], "k" * 700, "ř" * 400]),
)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=25)
@given(text=TEXTS)
def test_the_exported_tokenizer_segments_as_the_pruning_does(pruned, name: str, text: str) -> None:
    initial, left, tokenizer = pruned[name]
    if any(token in text for token in initial.frame.special_tokens):
        return
    expected = engine_ids(initial, left, text)
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == expected


@pytest.mark.parametrize("name", KINDS)
def test_what_is_not_the_model_stays(made, pruned, name: str) -> None:
    """Special tokens keep their order, and stand around a text where they stood."""
    (initial, left, tokenizer), old = pruned[name], made[name]
    specials = initial.frame.special_tokens
    kept = [token for token in specials if old.token_to_id(token) is not None]
    assert kept == sorted(kept, key=old.token_to_id)
    assert sorted(kept, key=tokenizer.convert_tokens_to_ids) == kept
    assert len(tokenizer) == len(left) + len(specials)
    texts = [SENTENCES["czech"][0], SENTENCES["greek"][0]]
    for before, after in zip(old.encode_batch(texts), tokenizer(texts)["input_ids"], strict=True):
        tokens = tokenizer.convert_ids_to_tokens(after)
        assert [t for t in tokens if t in kept] == [
            t for t in before.tokens if t in kept and t != "<pad>"
        ]
        shown = tokenizer.decode(after, skip_special_tokens=True)
        if name != "unmarked":  # it has no decoder
            assert shown == old.decode(before.ids, skip_special_tokens=True)


def test_ids_by_hand() -> None:
    """`ab` goes: the tokens behind it move up, and so do the ids that others know them by."""
    vocab = ["[UNK]", "a", "##a", "##b", "b", "[CLS]", "ab", "##ab", "[SEP]", "[PAD]"]
    old = Tokenizer(models.WordPiece({t: n for n, t in enumerate(vocab)}, unk_token="[UNK]"))
    old.pre_tokenizer = pre_tokenizers.Whitespace()
    old.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    old.post_processor = processors.BertProcessing(("[SEP]", 8), ("[CLS]", 5))
    old.enable_padding(pad_id=9, pad_token="[PAD]", length=5)
    initial = read_initial(old)
    assert initial.pieces == ["▁a", "a", "b", "▁b", "▁ab", "ab"]
    left = ["▁a", "a", "b", "▁b", "ab"]
    new = initial.frame.tokenizer(left)
    assert initial.frame.tokens(left) == [token for token in vocab if token != "ab"]
    assert new.encode("aab").ids == [5, 1, 6, 7, 8]
    assert new.encode("a").ids == [5, 1, 7, 8, 8]
    assert initial.frame.words_of("ab ax ▁") == ["▁ab", "\uffff", "\uffff"]


def test_a_folder_is_carried_over_where_it_still_holds(made, tmp_path: Path) -> None:
    made["roberta"].save(str(tmp_path / "tokenizer.json"))
    given = {
        "tokenizer_class": "RobertaTokenizerFast",
        "auto_map": {"AutoTokenizer": "own.py"},
        "model_max_length": 77,
        "bos_token": "<s>",
        "mask_token": {"content": "<mask>", "lstrip": True, "__type": "AddedToken"},
        "added_tokens_decoder": {"0": {"content": "<s>"}},
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(given), encoding="utf-8")
    roles = {"pad_token": "<pad>", "unk_token": {"content": "<unk>"}}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(roles), encoding="utf-8")
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    initial = read_initial(tmp_path)
    export_greedy(tmp_path / "out", initial.pieces, initial.frame)
    config = json.loads((tmp_path / "out/tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert not {"auto_map", "added_tokens_decoder"} & set(config)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.model_max_length == 77
    assert (tokenizer.mask_token, tokenizer.pad_token) == ("<mask>", "<pad>")
    assert tokenizer.chat_template == "{{ messages }}"
    # The folder that came out goes in again, and so does the object.
    for source in (tmp_path / "out", tokenizer):
        again = read_initial(source)
        assert again.pieces == initial.pieces
        assert again.frame.tokenizer(again.pieces).to_str() == tokenizer.backend_tokenizer.to_str()


def test_training_prunes_a_tokenizer_from_elsewhere(made, tmp_path: Path) -> None:
    small = {"word2vec": {"epochs": 1, "dimension": 8}, "threads": 1}
    built = sagevocab.train(LINES, initial=made["gpt2"], vocab_size=500, preset="released", **small)
    assert len(built.initial) == 600
    folder = built.save(tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert len(tokenizer) == 501
    assert sagevocab.load(folder).encode(LINES[0]) == built.encode(LINES[0])
    assert built.encode(LINES[0]) == tokenizer.encode(LINES[0])
    table = sagevocab.compare([folder], LINES[:20])
    assert [row["unknown_share"] for row in table] == [0.0]
    with pytest.raises(UserError, match="brings its own"):
        sagevocab.train(LINES, initial=made["gpt2"], vocab_size=500, special_tokens="bert")


def test_merges_are_kept(made) -> None:
    initial = read_initial(made["gpt2"])
    first = json.loads(made["gpt2"].to_str())["model"]["merges"][0]
    assert initial.merges[0] == tuple(part.replace("Ġ", "▁") for part in first)
    assert read_initial(made["bert"]).merges is None


def test_a_list_in_python() -> None:
    initial = read_initial(["▁a", "b", "ab"])
    assert initial.pieces == ["▁a", "b", "ab", "a", "▁"]


def whole_lines(step: Any = None) -> Tokenizer:
    """Llama 2 and Gemma: spaces become `▁` in the normaliser, and nothing splits."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = step
    return fitted(made, LINES, trainers.BpeTrainer, special_tokens=["<unk>"])


def plain(model: models.Model, trainer: Callable | None = None, **options: Any) -> Tokenizer:
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return fitted(made, LINES, trainer, **options) if trainer else made


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "llama2": (whole_lines, "does not split text into words"),
    "gemma": (
        lambda: whole_lines(pre_tokenizers.Split(" ", "merged_with_previous")),
        "does not split text into words",
    ),
    "bytes": (
        lambda: plain(models.BPE({"a": 0}, [], byte_fallback=True)),
        "falls back to bytes where it has no piece",
    ),
    "suffix": (
        lambda: plain(
            models.BPE(end_of_word_suffix="</w>"), trainers.BpeTrainer, end_of_word_suffix="</w>"
        ),
        r"have a suffix there \(</w>\)",
    ),
    "words": (
        lambda: plain(models.WordLevel({"a": 0}, unk_token="a")),
        "of type WordLevel has no pieces inside words",
    ),
    "empty": (lambda: plain(models.BPE()), "has no pieces"),
    "slow": (lambda: object(), "object is not a tokenizer that can be read"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_segmented_greedily_is_refused(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(UserError, match=message) as caught:
        read_initial(make(), {"max_word_chars": 4})
    assert str(caught.value).startswith("initial: ")


def test_settings_that_a_model_brings_itself_are_refused(spm: Path) -> None:
    with pytest.raises(UserError, match=r"^vocabulary\.normalization: .*leave it out"):
        sagevocab.train(LINES, 1, initial=spm, vocabulary={"normalization": "nfkc"})


# --- sentencepiece's own


@pytest.fixture(scope="module")
def spm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with symbols of its own and another rule than the library's."""
    path = tmp_path_factory.mktemp("spm") / "own.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES),
            model_writer=file,
            **{"model_type": "bpe", "vocab_size": 300, "minloglevel": 2, "pad_id": 3},
            control_symbols=["<ctl>"],
            normalization_rule_name="nfkc",
        )
    return path


def test_a_sentencepiece_model_keeps_its_special_tokens_and_its_rule(spm: Path, tmp_path) -> None:
    own = ["<unk>", "<s>", "</s>", "<pad>", "<ctl>"]
    settings = {"word2vec": {"epochs": 1, "dimension": 8}, "progress": False}
    # The preset that segments by merges, none of which may make a symbol.
    pruned = sagevocab.train(LINES, 280, initial=spm, preset="released", **settings)
    assert pruned.record["words"]["normalization"] == "nfkc"
    assert "nmt_nfkc" not in json.dumps(pruned.record)
    assert pruned.frame.special_tokens == own
    assert not set(own) & set(pruned.initial)
    tokenizer = AutoTokenizer.from_pretrained(pruned.save(tmp_path / "out"))
    assert tokenizer.convert_ids_to_tokens(list(range(5))) == own
    assert (tokenizer.unk_token, tokenizer.pad_token, tokenizer.eos_token) == (
        *("<unk>", "<pad>", "</s>"),
    )
    chosen = sagevocab.train(LINES, 280, initial=spm, special_tokens="gpt", **settings)
    assert chosen.frame.special_tokens == ["<|endoftext|>", "[UNK]"]
