"""Vocabularies to prune that one already has: lists, sentencepiece models, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sentencepiece
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer

import sagevocab
from sagevocab.cli import main
from sagevocab.errors import UserError
from sagevocab.files import write_json
from sagevocab.initial.vocabulary import read_initial
from scripts_text import lines_in

LINES = lines_in("czech", 200) + lines_in("greek", 60)


def test_a_list_in_python() -> None:
    initial = read_initial(["▁a", "b", "ab"])
    assert initial.pieces == ["▁a", "b", "ab", "a", "▁"]


@pytest.mark.parametrize("name", ["", "tokenizer.json"])
def test_finished_tokenizers_are_refused_and_prune_is_named(name: str, tmp_path: Path) -> None:
    finished = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    finished.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UserError, match=r"^initial: .*sagevocab\.prune"):
        read_initial(tmp_path / name)


def test_settings_that_a_model_brings_itself_are_refused(spm: Path) -> None:
    with pytest.raises(UserError, match=r"^vocabulary\.normalization: .*leave it out"):
        sagevocab.train(LINES, 1, initial=spm, vocabulary={"normalization": "nfkc"})


@pytest.mark.parametrize("sizes", [["--vocab-size", "140"], ["--sizes", "140,150"]])
@pytest.mark.parametrize("initial", ["bpe", "out/140/pieces.txt"])
def test_the_output_never_replaces_what_is_read(
    sizes: list[str], initial: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "out/140/text.txt" if initial == "bpe" else "text.txt"
    write_json("out/tokenizer_config.json", {})
    write_json("out/140/tokenizer_config.json", {})
    for name in (text, "out/140/pieces.txt"):
        Path(name).write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    given = ["train", text, "-o", "out", *sizes, "--initial", initial, "--force"]
    assert main(given) == 1
    assert "is, holds or lies in what is read" in capsys.readouterr().err
    built = sagevocab.train(text, 180, preset="counts", progress=False)
    if initial == "bpe":
        with pytest.raises(UserError, match="is, holds or lies in what is read"):
            built.at_size(190).save("out/140", force=True)
    assert Path(text).read_text("utf-8").splitlines() == LINES
    assert Path("out/140/pieces.txt").exists()


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
    assert pruned.pipeline.special_tokens == own
    assert not set(own) & set(pruned.initial)
    tokenizer = AutoTokenizer.from_pretrained(pruned.save(tmp_path / "out"))
    assert tokenizer.convert_ids_to_tokens(list(range(5))) == own
    assert (tokenizer.unk_token, tokenizer.pad_token, tokenizer.eos_token) == (
        *("<unk>", "<pad>", "</s>"),
    )
    chosen = sagevocab.train(LINES, 280, initial=spm, special_tokens="gpt", **settings)
    assert chosen.pipeline.special_tokens == ["<|endoftext|>", "[UNK]"]
