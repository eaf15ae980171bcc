"""Exact pruning of finished tokenizers: cuts, ids, files and refusals."""

from __future__ import annotations

import functools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer

from hub_kinds import KINDS, LINES
from sagevocab.errors import UserError
from sagevocab.files import write_json
from sagevocab.huggingface.sentencepiece import tokenizer_of_model
from sagevocab.trimming.chunks import Chunks
from sagevocab.trimming.prune import PrunedTokenizer, prune
from scripts_text import lines_in

TEXT = LINES[::3]
CUT = 250  # pieces that are pruned
HARD = [
    "",
    " ",
    "  a\tb\n",
    "<|endoftext|>x<|endoftext|>",
    "</s>a</s>",
    "[SEP] ne[SEP]",
    "ŽŽŽ żż 中文 ☃☃",
    "a" * 300,
]


@functools.cache
def whole(kind: str) -> Tokenizer:
    return KINDS[kind]()


@functools.cache
def pruned(kind: str, by: str = "tokens", cut: int = CUT) -> PrunedTokenizer:
    return prune(whole(kind), TEXT, whole(kind).get_vocab_size() - cut, by=by)


def hard_lines() -> list[str]:
    """Lines of many scripts, and mixtures of their parts."""
    found = [*LINES[:300], *HARD]
    for name in ("greek", "chinese", "arabic", "thai", "emoji"):
        found += lines_in(name, 20)
    draw = random.Random(1)
    letters = sorted({letter for line in found for letter in line})
    return found + ["".join(draw.choices(letters, k=30)) for _ in range(200)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokens_of_chunks_are_those_of_the_text(kind: str) -> None:
    tokenizer = Tokenizer.from_str(whole(kind).to_str())
    tokenizer.no_padding()
    lines = hard_lines()
    spec = json.loads(tokenizer.to_str())
    added = {token["content"] for token in spec["added_tokens"]}
    encodings = tokenizer.encode_batch(lines, add_special_tokens=False)
    counted = Counter(number for one in encodings for number in one.ids)
    occurrences = Chunks(tokenizer, spec, lines).occurrences(tokenizer.get_vocab_size())
    unknown = spec["model"].get("unk_token") or "<unk>"
    for piece, number in tokenizer.get_vocab().items():
        if piece not in added or piece == unknown:
            assert occurrences[number] == counted[number], piece


@pytest.mark.parametrize("kind", KINDS)
def test_without_pruning_ids_are_equal(kind: str) -> None:
    same = prune(whole(kind), TEXT, whole(kind).get_vocab_size())
    assert same.old_ids.tolist() == list(range(whole(kind).get_vocab_size()))
    for line in hard_lines():
        assert same.tokenizer.encode(line).ids == whole(kind).encode(line).ids


@pytest.mark.parametrize("by", ["tokens", "frequency"])
@pytest.mark.parametrize("kind", KINDS)
def test_text_without_pruned_pieces_is_cut_as_before(kind: str, by: str) -> None:
    result = pruned(kind, by)
    gone = {*result.pruned}
    assert len(gone) == len(result.pruned) == CUT
    assert result.tokenizer.get_vocab_size() == whole(kind).get_vocab_size() - CUT
    entries = whole(kind).get_vocab()
    for piece, number in result.tokenizer.get_vocab().items():
        assert entries[piece] == result.old_ids[number]
    assert np.all(np.diff(result.old_ids) > 0)
    changed = 0
    for line in hard_lines():
        before, after = (one.encode(line).tokens for one in (whole(kind), result.tokenizer))
        if not gone & {*before} and not (kind == "wordpiece" and "[UNK]" in before):
            assert after == before
        changed += after != before
        assert not gone & {*after}
    assert changed


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_are_nested_and_tokens_cost_less_than_random(kind: str) -> None:
    result, more = pruned(kind), pruned(kind, cut=CUT + 50)
    assert more.pruned[:CUT] == result.pruned
    draw = random.Random(1)
    by_chance = {piece: draw.random() for piece in sorted(whole(kind).get_vocab())}
    size = whole(kind).get_vocab_size() - CUT
    at_random = prune(whole(kind), TEXT, size, scores=by_chance)
    tokens = [
        sum(len(one.ids) for one in each.tokenizer.encode_batch(TEXT, add_special_tokens=False))
        for each in (result, at_random)
    ]
    assert tokens[0] < tokens[1]


def test_the_result_is_shown_by_its_sizes() -> None:
    result = pruned("byte-level")
    shown = f"{len(result.old_ids)} entries, {CUT} pruned, tokens: {result.tokens}"
    assert repr(result) == f"<PrunedTokenizer: {shown}>"


# --- folders


def bert_folder(folder: Path) -> Path:
    """A folder as BERT's: with vocab.txt."""
    tokenizer = Tokenizer.from_str(whole("wordpiece").to_str())
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    entries = tokenizer.get_vocab()
    (folder / "vocab.txt").write_text("\n".join(sorted(entries, key=entries.get)) + "\n")
    roles = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", **roles})
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def gpt_folder(folder: Path) -> Path:
    """A folder as GPT-2's: vocab.json, merges.txt and added_tokens.json.

    The numbers of its added tokens, which its configuration has, too, are the last.
    """
    tokenizer = whole("byte-level")
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer.model.save(str(folder))
    write_json(folder / "added_tokens.json", {"<|endoftext|>": 0})
    config = {
        "tokenizer_class": "GPT2Tokenizer",
        "eos_token": "<|endoftext|>",
        "pad_token": "<|pad|>",
        "unk_token": "<|endoftext|>",
        "model_max_length": 77,
    }
    roles = ("<|endoftext|>", "<|pad|>")
    added = {str(tokenizer.token_to_id(role)): {"content": role, "special": True} for role in roles}
    write_json(folder / "tokenizer_config.json", {**config, "added_tokens_decoder": added})
    return folder


LEFT_OUT = {"vocab.txt", "vocab.json", "merges.txt", "added_tokens.json", "model.safetensors"}


@pytest.mark.parametrize("make", [bert_folder, gpt_folder])
def test_a_folder_loads_as_its_class_without_files_of_other_ids(make, tmp_path: Path) -> None:
    before = make(tmp_path / "before")
    size = Tokenizer.from_file(str(before / "tokenizer.json")).get_vocab_size() - CUT
    result = prune(before, TEXT, size, output=tmp_path / "after")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "after")
    first = AutoTokenizer.from_pretrained(before)
    assert type(loaded) is type(first)
    assert len(loaded) == size
    old_ids = np.load(tmp_path / "after/old_ids.npy")
    for role in ("pad_token_id", "unk_token_id", "eos_token_id", "sep_token_id"):
        if getattr(first, role) is not None:
            assert old_ids[getattr(loaded, role)] == getattr(first, role)
    for line in LINES[:100]:
        assert loaded(line)["input_ids"] == result.tokenizer.encode(line).ids
    written = {file.name for file in (tmp_path / "after").iterdir()}
    expected = {file.name for file in before.iterdir()} - LEFT_OUT
    assert written == expected | {"old_ids.npy"}


def test_a_file_beside_its_configuration_is_its_folder(tmp_path: Path) -> None:
    before = bert_folder(tmp_path / "bert")
    results = [prune(path, TEXT, 700) for path in (before, before / "tokenizer.json")]
    for name, result in zip("ab", results, strict=True):
        result.save(tmp_path / name)
    a, b = ({file.name: file.read_bytes() for file in (tmp_path / x).iterdir()} for x in "ab")
    assert a == b


def test_numbers_of_added_tokens_are_those_of_the_pruned_tokenizer(tmp_path: Path) -> None:
    prune(gpt_folder(tmp_path / "gpt"), TEXT, 700, output=tmp_path / "after")
    gpt = Tokenizer.from_file(str(tmp_path / "after/tokenizer.json"))
    config = json.loads((tmp_path / "after/tokenizer_config.json").read_text("utf-8"))
    for number, token in config["added_tokens_decoder"].items():
        assert gpt.id_to_token(int(number)) == token["content"]
    assert config["model_max_length"] == 77


# --- refusals


@pytest.mark.parametrize("output", ["home/bert", "home", "home/bert/new", "link"])
@pytest.mark.parametrize("read", [Path, AutoTokenizer.from_pretrained])
def test_the_output_is_never_the_tokenizer(output: str, read: Callable, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    write_json(tmp_path / "home/tokenizer_config.json", {})
    bert = bert_folder(tmp_path / "home/bert")
    (tmp_path / "link").symlink_to(bert)
    with pytest.raises(UserError, match="is, holds or lies in"):
        prune(read(bert), TEXT, 700, output=tmp_path / output, force=True)
    with pytest.raises(UserError, match="is, holds or lies in"):
        prune(read(bert), TEXT, 700).save(tmp_path / output, force=True)
    assert (bert / "model.safetensors").read_bytes() == b"weights"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"vocab_size": 10**6}, "vocab_size: "),
        ({"vocab_size": 10}, "vocab_size: 10 is too small"),
        ({"vocab_size": 0}, "vocab_size: 0"),
        ({"vocab_size": 700.0}, "vocab_size: 700.0"),
        ({"vocab_size": 700, "by": "loss"}, "by: 'loss'"),
        ({"vocab_size": 700, "keep": ["not a piece"]}, "keep: 'not a piece'"),
        ({"vocab_size": 700, "keep": [5]}, "keep: 5"),
        ({"vocab_size": 700, "keep": 5}, "keep: 5"),
        ({"vocab_size": 700, "scores": [1]}, "scores: list"),
        ({"vocab_size": 700, "scores": {5: 1.0}}, "scores: 5"),
        ({"vocab_size": 700, "scores": {"a": float("nan")}}, "scores: 'a'"),
        ({"vocab_size": 700, "scores": {"a": "x"}}, "scores: 'a'"),
        ({"vocab_size": 700, "scores": {"a": 1.0}}, "have no score"),
    ],
)
def test_what_cannot_be_pruned_is_refused_in_one_line(arguments: dict, says: str) -> None:
    with pytest.raises(UserError) as error:
        prune(whole("byte-level"), TEXT, **arguments)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_what_the_tokenizer_itself_cannot_encode_is_one_line() -> None:
    model = models.Unigram([("a", -1.0), ("b", -2.0), ("ab", -1.5)], None, False)
    with pytest.raises(UserError, match="^texts: "):
        prune(Tokenizer(model), ["a☃"], 2)


def test_unknown_characters_that_vanish_join_their_neighbours() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    result = prune(tokenizer, ["a☃b", "ab"], 3)
    assert result.tokens == (2, 2)
    assert tokenizer.encode("a☃b").tokens == ["ab"]


def test_models_that_cannot_be_pruned_are_refused() -> None:
    vocab = {"a": 0, "##b": 1, "ab": 2}
    prefixed = models.BPE(vocab, [("a", "##b")], continuing_subword_prefix="##")
    words = models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>")
    for model in (words, prefixed):
        with pytest.raises(UserError, match="^tokenizer: "):
            prune(Tokenizer(model), TEXT, 1)


def test_padding_and_truncation_stay() -> None:
    tokenizer = Tokenizer.from_str(whole("unigram").to_str())
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(pad_id=2, pad_token="<unk>", length=6)
    result = prune(tokenizer, TEXT, tokenizer.get_vocab_size() - CUT)
    assert result.tokenizer.truncation == tokenizer.truncation
    found = result.tokenizer.encode("a")
    assert len(found.ids) == 6
    assert found.tokens == tokenizer.encode("a").tokens
    assert result.old_ids[found.ids].tolist() == tokenizer.encode("a").ids


def test_a_size_that_is_too_small_is_refused_before_the_text_is_read() -> None:
    def text() -> Iterator[str]:
        raise AssertionError
        yield

    with pytest.raises(UserError, match="^vocab_size: 10 is too small"):
        prune(whole("unigram"), text(), 10)


def test_what_is_to_stay_stays() -> None:
    tokenizer = whole("byte-level")
    first = pruned("byte-level").pruned[:20]
    size = tokenizer.get_vocab_size() - CUT
    kept = prune(tokenizer, TEXT, size, keep=first)
    assert not {*first} & {*kept.pruned}
    assert {*first} <= kept.tokenizer.get_vocab().keys()


def test_a_piece_costs_the_tokens_that_the_text_gains() -> None:
    """`ab` falls in two parts seven times, `wxyz` in four three times: 7 tokens more, and 9."""
    letters = [*"abwxyz", *(f"##{letter}" for letter in "abwxyz")]
    ids = {piece: number for number, piece in enumerate(["[UNK]", *letters, "ab", "wxyz"])}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    result = prune(tokenizer, ["ab " * 7 + "wxyz " * 3], len(ids) - 2)
    assert result.pruned == ["ab", "wxyz"]
    assert result.tokens == (10, 10 + 7 + 9)


def test_pieces_worth_nothing_go_first() -> None:
    tokenizer = whole("unigram")
    worth = {piece: 1.0 for piece in tokenizer.get_vocab()} | {"▁the": 0.0, "▁said": -1.0}
    result = prune(tokenizer, TEXT, tokenizer.get_vocab_size() - 2, scores=worth)
    assert result.pruned == ["▁said", "▁the"]


def test_a_sentencepiece_model_beside_has_fewer_pieces(tmp_path: Path) -> None:
    """Both cut as before; sentencepiece keeps its ids where the folder has them."""
    before = tmp_path / "before"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=str(tmp_path / "m"), vocab_size=700,
        model_type="unigram", minloglevel=2,
    )  # fmt: skip
    before.mkdir()
    (tmp_path / "m.model").rename(before / "spiece.model")
    tokenizer, _ = tokenizer_of_model(before / "spiece.model", "tokenizer")
    tokenizer.save(str(before / "tokenizer.json"))
    result = prune(before, TEXT, tokenizer.get_vocab_size() - CUT, output=tmp_path / "after")
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "after/spiece.model"))
    assert len(model) == len(result.old_ids)
    for line in LINES[:200]:
        assert model.encode(line) == result.tokenizer.encode(line, add_special_tokens=False).ids
