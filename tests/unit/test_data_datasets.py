from __future__ import annotations

import gzip

import pandas as pd
import pytest

from reproduction.data.datasets import (
    RowPart,
    normalise_task,
    prepare_task,
    read_column,
    read_rows,
    tags_to_iob2,
)
from reproduction.data.files import Form
from sagevocab.errors import UserError

PAIR = {"text": "question", "text_pair": "sentence", "label": "label"}
TOKENS = {"tokens": "tokens", "tags": "ner_tags"}
JSONL = (
    '{"question": "a?", "sentence": "b", "label": 1}\n'
    '{"question": "ç", "sentence": "", "label": 0}\n'
)


def task(frame, **options) -> pd.DataFrame:
    options = {"kind": "sequence", "columns": PAIR, "labels": [0, 1], "source": "F"} | options
    return normalise_task(frame, **options)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_jsonl_plain_or_compressed(tmp_path, compress) -> None:
    path = tmp_path / "rows"
    path.write_bytes(compress(JSONL.encode()))
    rows = task(read_rows(path, "jsonl"))
    assert rows.to_dict("list") == {"text": ["a?", "ç"], "text_pair": ["b", ""], "label": [1, 0]}
    assert rows["label"].dtype == "int64"


def test_half_a_surrogate_pair_is_named_with_its_row(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(JSONL.replace("ç", "a\\ud83d\\ude00") + JSONL.replace("ç", "a\\ud83d"))
    for read in (
        lambda: read_rows(path, "jsonl"),
        lambda: [*read_column(path, form_of("jsonl", column="question"))],
    ):
        with pytest.raises(UserError, match=r"rows\.jsonl:4: "):
            read()


def test_parquet_csv_and_tsv_agree(tmp_path) -> None:
    frame = pd.DataFrame(
        {"question": ['a "quoted" one', "x, y"], "sentence": ["NA", "null"], "label": [1, 0]}
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "rows.tsv").write_text(
        'question\tsentence\tlabel\na "quoted" one\tNA\t1\nx, y\tnull\t0\n'
    )
    expected = task(frame)
    for form in ("parquet", "csv", "tsv"):
        pd.testing.assert_frame_equal(task(read_rows(tmp_path / f"rows.{form}", form)), expected)


def test_conll_files(tmp_path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text(
        "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\n"
        "# : : O\nPeter NNP B-NP B-PER\n# # I-NP I-PER\nBlackburn NNP I-NP I-PER\n"
    )
    rows = normalise_task(
        read_rows(path, "conll"), kind="tokens", columns=TOKENS, labels=None, source=path
    )
    assert rows["tokens"].tolist() == [["EU", "rejects"], ["Peter", "#", "Blackburn"]]
    assert rows["tags"].tolist() == [["B-ORG", "O"], ["B-PER", "I-PER", "I-PER"]]
    # With two columns, a # that begins a sentence is a token as well.
    (tmp_path / "two.conll").write_text("Ali\tB-PER\ngeldi\tO\n\n#\tO\n1\tO\n")
    assert read_rows(tmp_path / "two.conll", "conll").to_dict("records") == [
        {"tokens": ["Ali", "geldi"], "ner_tags": ["B-PER", "O"]},
        {"tokens": ["#", "1"], "ner_tags": ["O", "O"]},
    ]


@pytest.mark.parametrize(
    ("values", "labels", "numbers"),
    [
        ([0, 1], [0, 1], [0, 1]),
        (["1", "0"], [0, 1], [1, 0]),
        (["no", "yes"], ["yes", "no"], [1, 0]),
        ([1, 0], ["yes", "no"], [1, 0]),
        ([1.0, 0.0], [0, 1], [1, 0]),
        (["0", "a"], ["a", "0"], [1, 0]),
        ([2.5, "4"], None, [2.5, 4.0]),
        ([-1, 0.5], None, [-1.0, 0.5]),
    ],
)
def test_labels_become_class_numbers_or_values(values, labels, numbers) -> None:
    frame = pd.DataFrame({"s": ["a", "b"], "label": pd.Series(values, dtype=object)})
    rows = task(frame, columns={"text": "s", "label": "label"}, labels=labels)
    assert rows["label"].tolist() == numbers
    assert rows["label"].dtype.kind == ("f" if labels is None else "i")


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path) -> None:
    (tmp_path / "rows.csv").write_bytes("\ufeffs,l\na,1\n".encode())
    assert read_rows(tmp_path / "rows.csv", "csv").to_dict("list") == {"s": ["a"], "l": ["1"]}


def form_of(format: str, **fields) -> Form:
    return Form(key="k", format=format, **fields)


LABELS = {
    **{"kind": "sequence", "labels": [0, 1]},
    "columns": {"text": "sentence", "label": "label"},
}


def test_a_prepared_task_is_a_parquet_file_and_an_error_leaves_none(tmp_path) -> None:
    (tmp_path / "rows").write_text(JSONL)
    output, sources = tmp_path / "out.parquet", [tmp_path / "rows"]
    with pytest.raises(UserError, match="no column 'premise'; set k.columns.text to one of quest"):
        wrong = LABELS | {"columns": PAIR | {"text": "premise"}}
        prepare_task(sources, output, form_of("jsonl"), **wrong)
    assert not output.exists()
    prepare_task(sources, output, form_of("jsonl"), **LABELS | {"columns": PAIR})
    assert pd.read_parquet(output)["label"].tolist() == [1, 0]


def test_a_split_may_take_a_part_of_its_rows(tmp_path) -> None:
    rows = [{"sentence": str(n), "label": n % 2} for n in range(50)]
    pd.DataFrame(rows).to_json(tmp_path / "rows", orient="records", lines=True)

    def take(*part) -> list[int]:
        output, how = tmp_path / "out", {"part": RowPart(*part), **LABELS}
        prepare_task([tmp_path / "rows"], output, form_of("jsonl"), **how)
        return pd.read_parquet(output)["text"].astype(int).tolist()

    train, few = take((0.0, 0.8), None, 3), take((0.0, 0.8), 10, 3)
    fewer = take((0.0, 0.8), 5, 3)
    validation = take((0.8, 1.0), None, 3)
    assert sorted(train + validation) == list(range(50))
    assert len(validation) == 10 and len(few) == 10
    assert set(fewer) < set(few) < set(train)
    assert few != train[:10]  # not the head
    assert all(numbers == sorted(numbers) for numbers in (train, few, validation))


# --- tags


def test_bare_classes_make_a_span_of_each_run() -> None:
    assert tags_to_iob2([["O", "PER", "PER", "LOC", "LOC", "O", "LOC"], ["PER"]]) == [
        ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "O", "B-LOC"],
        ["B-PER"],
    ]


def tokens(frame, labels=None) -> pd.DataFrame:
    return normalise_task(
        pd.DataFrame(frame), kind="tokens", columns=TOKENS, labels=labels, source="F"
    )


def test_class_numbers_take_their_names_and_empty_sentences_go() -> None:
    frame = {"tokens": [["a", "b", "c"], []], "ner_tags": [[0, 1, 2], []]}
    rows = tokens(frame, ["O", "B-PER", "I-PER"])
    assert rows["tags"].tolist() == [["O", "B-PER", "I-PER"]]


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"labels": [0, 1, 2]}, "labels are 0, 1, .* 0, 1, 2"),
        ({"scores": [0, 0.5]}, "rows, row 2: the score 1 is not from 0 to 0.5"),
        ({"scores": [0.5, 5]}, "rows, row 1: the score 0 is not from 0.5 to 5"),
    ],
)
def test_a_set_that_was_changed_is_refused(tmp_path, described, message) -> None:
    sources, output = [tmp_path / "rows"], tmp_path / "o.parquet"
    sources[0].write_text('{"sentence": "a", "label": 0}\n{"sentence": "b", "label": 1}\n')
    with pytest.raises(UserError, match=message):
        prepare_task(sources, output, form_of("jsonl", **described), **LABELS)
    right = form_of("jsonl", scores=[0, 1], labels=[1, 0])
    prepare_task(sources, output, right, **LABELS)


def test_the_classes_of_tags_are_compared_without_their_prefixes(tmp_path) -> None:
    sources, output = [tmp_path / "rows"], tmp_path / "o.parquet"
    sources[0].write_text("A B-PER\nb O\n\nC I-LOC\n")
    how = {"kind": "tokens", "columns": TOKENS, "labels": None}
    prepare_task(sources, output, form_of("conll", labels=["LOC", "PER"]), **how)
    message = "its labels are LOC, PER, the catalogue says LOC, ORG, PER"
    with pytest.raises(UserError, match=message):
        prepare_task(sources, output, form_of("conll", labels=["LOC", "ORG", "PER"]), **how)
