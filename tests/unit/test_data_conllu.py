"""CoNLL-U treebanks: sentences, written words, and lines that are none."""

from __future__ import annotations

import pytest

from reproduction.data.conllu import read_conllu
from reproduction.data.datasets import read_column
from reproduction.data.files import Form
from sagevocab.errors import UserError


def token(number, form, features="_", misc="_") -> str:
    return "\t".join([str(number), form, "_", "X", "X", features, "0", "dep", "_", misc])


TREEBANK = "\n".join(
    [
        "# sent_id = 1",
        "# text = Birleşmiş Milletler geldi.",
        token(1, "Bir", misc="SpaceAfter=No"),
        token(2, "leş", "Derivation=Bcm|Proper=True", "SpaceAfter=No"),
        token(3, "miş", "Derivation=PerPart"),
        token(4, "Milletler"),
        token(5, "geldi", misc="SpaceAfter=No"),
        token(6, "."),
        "",
        token("1-2", "vámonos", misc="SpaceAfter=No"),
        token(1, "vamos"),
        token(2, "nos"),
        token("2.1", "empty"),
        token(3, "!"),
    ]
)


@pytest.fixture
def written(tmp_path):
    def write(text: str):
        path = tmp_path / "bank.conllu"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_texts_are_the_comments_or_put_together(written) -> None:
    path = written(TREEBANK)
    texts = ["Birleşmiş Milletler geldi.", "vámonos!"]
    assert [sentence.text for sentence in read_conllu(path)] == texts
    assert list(read_column(path, Form(key="k", format="conllu"))) == texts


def test_a_word_is_its_base_and_derivations(written) -> None:
    first, second = read_conllu(written(TREEBANK))
    words = [[token.form for token in word] for word in first.words()]
    assert words == [["Bir", "leş", "miş"], ["Milletler"], ["geldi"], ["."]]
    assert [[token.form for token in word] for word in second.words()] == [["vámonos"], ["!"]]


@pytest.mark.parametrize(
    "line", ["1\tBir\tbir", "word", token("one", "Bir"), token(1, "a") + "\tb"]
)
def test_a_malformed_line_is_given_by_its_number(written, line) -> None:
    path = written(f"{token(1, 'a')}\n\n{line}\n")
    with pytest.raises(UserError, match=r"bank\.conllu:3: is not a CoNLL-U token"):
        list(read_conllu(path))
