"""Rows of models that go with a pruned tokenizer: to the bit, or refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import transformers  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

from hub_kinds import KINDS, LINES  # noqa: E402
from sagevocab.cli import main  # noqa: E402
from sagevocab.errors import UserError  # noqa: E402
from sagevocab.trimming.prune import prune  # noqa: E402
from sagevocab.trimming.weights import prune_model  # noqa: E402

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SMALL |= {"intermediate_size": 24, "max_position_embeddings": 64}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
MBART = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2}
MBART |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24}
GEMMA = {"num_key_value_heads": 1, "head_dim": 8}
# Name -> class of the model, of its configuration, what it sets, and the tokenizer's kind.
MODELS = {
    "bert": ("BertForMaskedLM", "BertConfig", SMALL, "wordpiece"),
    "gpt2": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {"n_embd": 16, "n_layer": 2, "n_head": 2},
        "byte-level",
    ),
    "llama": ("LlamaForCausalLM", "LlamaConfig", SMALL, "byte fallback"),
    "tied": (
        "LlamaForCausalLM",
        "LlamaConfig",
        SMALL | {"tie_word_embeddings": True},
        "byte fallback",
    ),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5, "unigram"),
    "mbart": ("MBartForConditionalGeneration", "MBartConfig", MBART, "unigram"),
    "xlm-r": ("XLMRobertaForMaskedLM", "XLMRobertaConfig", SMALL, "unigram"),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", SMALL | GEMMA, "byte fallback"),
}
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0}


def saved(folder: Path, name: str, more_rows: int = 0) -> transformers.PreTrainedModel:
    """Save a random model, whose tokenizer has a piece for each row but some."""
    kind, of_config, small, tokenizer = MODELS[name]
    rows = KINDS[tokenizer]().get_vocab_size() + more_rows
    torch.manual_seed(1)
    config = getattr(transformers, of_config)(vocab_size=rows, **small, **IDS)
    model = getattr(transformers, kind)(config).eval()
    model.save_pretrained(folder, max_shard_size="20KB")
    return model


def outputs(
    model: transformers.PreTrainedModel, ids: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor]:
    """The last hidden states, and the logits."""
    given = {"input_ids": torch.tensor(ids)[None]}
    if model.config.is_encoder_decoder:
        given["decoder_input_ids"] = given["input_ids"]
    with torch.no_grad():
        found = model(**given, output_hidden_states=True)
    states = found.decoder_hidden_states if model.config.is_encoder_decoder else found.hidden_states
    return states[-1], found.logits


@pytest.mark.parametrize("name", MODELS)
def test_hidden_states_are_equal_to_the_bit(name: str, tmp_path: Path) -> None:
    before = saved(tmp_path / "before", name, more_rows=7 if name == "t5" else 0)
    tokenizer = KINDS[MODELS[name][3]]()
    pieces = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)[:4]
    size = tokenizer.get_vocab_size() - 200
    result = prune(tokenizer, LINES[:200], size, keep=pieces, output=tmp_path / "tokenizer")
    prune_model(tmp_path / "before", tmp_path / "tokenizer", tmp_path / "after")
    after = type(before).from_pretrained(tmp_path / "after").eval()
    assert after.config.vocab_size == size
    assert after.config.eos_token_id == 2
    ids = np.random.default_rng(1).integers(4, size, 40)
    states, logits = outputs(after, ids)
    old_states, old_logits = outputs(before, result.old_ids[ids])
    assert torch.equal(states, old_states)
    expected = old_logits[..., torch.tensor(result.old_ids)]
    assert (logits - expected).abs().max() <= 1e-5 * expected.abs().max()
    assert (tmp_path / "after/tokenizer.json").exists()


def test_every_tensor_is_the_old_one_or_its_rows(tmp_path: Path) -> None:
    saved(tmp_path / "before", "llama")
    tokenizer = KINDS["byte fallback"]()
    size = tokenizer.get_vocab_size() - 101
    result = prune(tokenizer, LINES[:200], size, output=tmp_path / "tokenizer")
    folders = [tmp_path / "before", tmp_path / "after"]
    prune_model(folders[0], tmp_path / "tokenizer", folders[1], pad_to_multiple_of=64)
    before, after = (
        {
            name: value
            for file in folder.glob("*.safetensors")
            for name, value in load_file(file).items()
        }
        for folder in folders
    )
    assert before.keys() == after.keys()
    for name, value in before.items():
        if value.shape[0] == tokenizer.get_vocab_size():
            assert len(after[name]) % 64 == 0
            assert np.array_equal(after[name][:size], value[result.old_ids])
            assert not after[name][size:].any()
        else:
            assert np.array_equal(after[name], value)
    index = json.loads((folders[1] / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(value.nbytes for value in after.values())
    assert len(list(folders[1].glob("*.safetensors"))) > 1


def test_the_command_says_that_a_model_beside_the_tokenizer_has_the_old_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path / "model", "bert")
    tokenizer = KINDS["wordpiece"]()
    tokenizer.save(str(tmp_path / "model/tokenizer.json"))
    (tmp_path / "text.txt").write_text("\n".join(LINES[:50]), encoding="utf-8")
    size = str(tokenizer.get_vocab_size() - 10)
    given = [str(tmp_path / name) for name in ("model", "text.txt", "small")]
    assert main(["prune", *given[:2], "-o", given[2], "--vocab-size", size]) == 0
    assert f"prune_model('{given[0]}', '{given[2]}'" in capsys.readouterr().err


PEAK = """
import re, sys
from pathlib import Path
from sagevocab.trimming.weights import prune_model
def peak():  # in KiB
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
prune_model(*sys.argv[1:])
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_memory_holds_one_tensor(tmp_path: Path) -> None:
    """Of a model of 240 MB, each of its tensors 80 MB."""
    size = KINDS["byte fallback"]().get_vocab_size()
    prune(KINDS["byte fallback"](), LINES[:200], 900, output=tmp_path / "tokenizer")
    shape, length = [size, 18_000], size * 18_000 * 4
    names = {"model.embed_tokens.weight": shape, "lm_head.weight": shape, "norm": [length // 4]}
    header = {
        name: {"dtype": "F32", "shape": one, "data_offsets": [at * length, (at + 1) * length]}
        for at, (name, one) in enumerate(names.items())
    }
    text = json.dumps(header).encode()
    (tmp_path / "before").mkdir()
    (tmp_path / "before/config.json").write_text(json.dumps({"vocab_size": size}))
    with (tmp_path / "before/model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 3 * length)
    folders = [str(tmp_path / name) for name in ("before", "tokenizer", "after")]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *folders], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 140 * 1024  # less than two tensors


def refused(tmp_path: Path, change: dict) -> str:
    """What `prune_model` says of a model whose config.json was changed."""
    saved(tmp_path / "before", "llama")
    config = json.loads((tmp_path / "before/config.json").read_text())
    (tmp_path / "before/config.json").write_text(json.dumps(config | change))
    prune(KINDS["byte fallback"](), LINES[:200], 900, output=tmp_path / "tokenizer")
    with pytest.raises(UserError) as error:
        prune_model(tmp_path / "before", tmp_path / "tokenizer", tmp_path / "after")
    assert not (tmp_path / "after").exists()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"quantization_config": {}}, "is quantized"),
        ({"compression_config": {}}, "is quantized"),
        ({"vocab_size_per_layer_input": 100}, "vocab_size_per_layer_input"),
        ({"vocab_size": 5}, "has 5 rows"),
        ({"vocab_size": 1200}, "and the configuration 1200 rows"),
        ({"vocab_size": 30_000}, "has 30000 rows, and the tokenizer had 1100 entries"),
        ({"bos_token_id": 10**6}, "bos_token_id is 1000000"),
        ({"text_config": {"image_token_index": 10**6}}, "image_token_index is 1000000"),
        ({"lang_to_id": {"en": 7}}, "lang_to_id may hold ids"),
    ],
)
def test_what_is_not_known_is_refused(change: dict, says: str, tmp_path: Path) -> None:
    assert says in refused(tmp_path, change)


def test_ids_in_configurations_are_new_and_places_are_not(tmp_path: Path) -> None:
    saved(tmp_path / "before", "llama")
    file = tmp_path / "before/config.json"
    kept = {"forced_decoder_ids": [[1, 700], [2, 701]], "suppress_tokens": [700, -1]}
    nested = {"vision": {"image_token_index": 701}, "bad_words_ids": [[700], [701, 2]]}
    file.write_text(json.dumps(json.loads(file.read_text()) | kept | nested))
    tokenizer = KINDS["byte fallback"]()
    keep = [tokenizer.id_to_token(number) for number in (700, 701)]
    result = prune(tokenizer, LINES[:200], 900, keep=keep, output=tmp_path / "tokenizer")
    prune_model(tmp_path / "before", tmp_path / "tokenizer", tmp_path / "after")
    config = json.loads((tmp_path / "after/config.json").read_text())
    first, second = np.searchsorted(result.old_ids, [700, 701]).tolist()
    assert config["forced_decoder_ids"] == [[1, first], [2, second]]
    assert config["suppress_tokens"] == [first, -1]
    assert config["vision"] == {"image_token_index": second}
    assert config["bad_words_ids"] == [[first], [second, 2]]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: (folder / "before/config.json").write_text("{"), "is not a JSON object"),
        (lambda folder: (folder / "before/config.json").write_text("[5]"), "is not a JSON object"),
        (
            lambda folder: (folder / "before/config.json").write_text('{"half of": "\\ud83d"}'),
            "is not a JSON object",
        ),
        (lambda folder: (folder / "before/model.safetensors.index.json").write_text("5"), "object"),
        (
            lambda folder: (folder / "tokenizer/tokenizer_config.json").write_text("5"),
            "prune again",
        ),
        (lambda folder: reshape(next((folder / "before").glob("*.safetensors"))), "is damaged"),
        (lambda folder: (folder / "tokenizer/old_ids.npy").write_bytes(b"x"), "prune again"),
        (lambda folder: cut(next((folder / "before").glob("*.safetensors"))), "is cut"),
    ],
)
def test_damaged_files_are_one_line(change, says: str, tmp_path: Path) -> None:
    saved(tmp_path / "before", "llama")
    prune(KINDS["byte fallback"](), LINES[:200], 900, output=tmp_path / "tokenizer")
    change(tmp_path)
    with pytest.raises(UserError, match=says):
        prune_model(tmp_path / "before", tmp_path / "tokenizer", tmp_path / "after")


def reshape(file: Path) -> None:
    """Say that a side of a tensor is one longer than it is."""
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]
    next(iter(header.values()))["shape"][0] += 1
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def test_what_is_no_path_or_number_is_refused(tmp_path: Path) -> None:
    result = prune(KINDS["byte fallback"](), LINES[:200], 900, output=tmp_path / "tokenizer")
    with pytest.raises(UserError, match="^tokenizer: PrunedTokenizer is not a path"):
        prune_model(tmp_path, result, tmp_path / "after")
    for wrong in (0, -8, True, "8", None, 2.5):
        with pytest.raises(UserError, match="^pad_to_multiple_of"):
            prune_model(tmp_path, tmp_path, tmp_path / "after", pad_to_multiple_of=wrong)


@pytest.mark.parametrize("kind", ["byte fallback", "byte-level"])
def test_a_model_of_another_tokenizer_is_refused(kind: str, tmp_path: Path) -> None:
    name = {"byte fallback": "llama", "byte-level": "gpt2"}[kind]
    saved(tmp_path / "before", name)
    tokenizer, other = KINDS[kind](), json.loads(KINDS[kind]().to_str())
    ids = other["model"]["vocab"]
    first, second = sorted(ids, key=ids.get)[-2:]
    ids[first], ids[second] = ids[second], ids[first]
    size = tokenizer.get_vocab_size() - 100
    prune(tokenizer, LINES[:200], size, keep=[first, second], output=tmp_path / "tokenizer")
    folders = [tmp_path / part for part in ("before", "tokenizer", "after")]
    (folders[0] / "tokenizer.json").write_text(json.dumps(other), "utf-8")
    with pytest.raises(UserError, match="give the model of this tokenizer") as error:
        prune_model(*folders)
    assert "\n" not in str(error.value)
    tokenizer.save(str(folders[0] / "tokenizer.json"))
    prune_model(*folders)


@pytest.mark.parametrize("output", ["before", "tokenizer", "before/new"])
def test_the_output_is_never_what_is_read(output: str, tmp_path: Path) -> None:
    saved(tmp_path / "before", "llama")
    prune(KINDS["byte fallback"](), LINES[:200], 900, output=tmp_path / "tokenizer")
    (tmp_path / "before/tokenizer_config.json").write_text("{}")
    files = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match="is, holds or lies in"):
        prune_model(tmp_path / "before", tmp_path / "tokenizer", tmp_path / output, force=True)
    assert sorted(tmp_path.rglob("*")) == files


def test_a_dimension_that_may_be_the_vocabulary_is_refused(tmp_path: Path) -> None:
    size = KINDS["byte fallback"]().get_vocab_size()
    config = transformers.LlamaConfig(vocab_size=size, **SMALL | {"intermediate_size": size})
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "before")
    prune(KINDS["byte fallback"](), LINES[:200], 900, output=tmp_path / "tokenizer")
    with pytest.raises(UserError, match="mlp"):
        prune_model(tmp_path / "before", tmp_path / "tokenizer", tmp_path / "after")
