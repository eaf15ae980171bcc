"""What SECURITY.md says: files are data. Reading one runs no code and fetches nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig

from reproduction.data.dump import read_articles
from reproduction.lm.finetune import load_model
from reproduction.lm.settings import FinetuneSettings
from reproduction.lm.shards import open_shard
from reproduction.lm.tasks import Task
from sagevocab.errors import UserError
from sagevocab.files import write_json
from sagevocab.huggingface.load import load

TASK = Task("sst2", "sequence", "accuracy", (0, 1))
SMALL = BertConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=1)


class Planted:
    """Leaves a file behind wherever it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple:
        return Path.touch, (self.mark,)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "code was run"


def test_a_pickle_instead_of_shards_is_not_loaded(tmp_path: Path, mark: Path) -> None:
    np.save(tmp_path / "train.npy", np.array([[Planted(mark)]], dtype=object))
    write_json(tmp_path / "index.json", {"tokenizer": "x", "train": {}})
    with pytest.raises(ValueError, match="Python objects"):
        open_shard(tmp_path)
    assert not mark.exists()


def test_weights_that_are_a_pickle_are_not_loaded(tmp_path: Path, mark: Path) -> None:
    SMALL.save_pretrained(tmp_path)
    torch.save({"planted": Planted(mark)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match="is not a pretrained model"):
        load_model(tmp_path, TASK, [], FinetuneSettings())
    assert not mark.exists()


def test_code_in_the_folder_of_a_model_or_tokenizer_is_not_run(tmp_path: Path, mark: Path) -> None:
    (tmp_path / "code.py").write_text(f"open({str(mark)!r}, 'w')\nclass Mine: pass\n")
    mine = {"model_type": "mine", "auto_map": {"AutoConfig": "code.Mine"}}
    (tmp_path / "config.json").write_text(json.dumps(mine))
    theirs = {"tokenizer_class": "Mine", "auto_map": {"AutoTokenizer": ["code.Mine", None]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(theirs))
    with pytest.raises(UserError):
        load_model(tmp_path, TASK, [], FinetuneSettings())
    with pytest.raises(UserError):
        load(tmp_path)
    assert not mark.exists()


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
ENTITIES = {
    "a billion laughs": f'<!ENTITY l0 "lol">{LAUGHS}',
    "a file of the machine": '<!ENTITY l11 SYSTEM "file:///etc/hostname">',
}


@pytest.mark.parametrize("name", ENTITIES)
def test_entities_of_a_dump_are_neither_blown_up_nor_fetched(name: str, tmp_path: Path) -> None:
    page = "<page><title>A</title><ns>0</ns><revision><text>&l11;</text></revision></page>"
    dump = f"<!DOCTYPE m [{ENTITIES[name]}]><mediawiki>{page}</mediawiki>"
    (tmp_path / "dump.xml").write_text(dump)
    with pytest.raises(UserError, match="is not a MediaWiki XML dump, or is damaged"):
        list(read_articles(tmp_path / "dump.xml"))
