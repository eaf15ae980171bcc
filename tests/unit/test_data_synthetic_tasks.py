"""The synthetic task sets: schema, balance, splits, and that a linear model can learn them."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy.stats import pearsonr
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, matthews_corrcoef
from sklearn.pipeline import make_pipeline

from sagevocab.data.synthetic import tasks
from sagevocab.data.synthetic.entities import tag_entities
from sagevocab.data.synthetic.tasks import TASKS, rows
from sagevocab.errors import UserError

COLUMNS = {
    "mrpc": ["sentence1", "sentence2", "label", "idx"],
    "mnli": ["premise", "hypothesis", "label", "idx"],
    "cola": ["sentence", "label", "idx"],
    "qnli": ["question", "sentence", "label", "idx"],
    "sst2": ["sentence", "label", "idx"],
    "stsb": ["sentence1", "sentence2", "label", "idx"],
    "qqp": ["question1", "question2", "label", "idx"],
    "xnli_tr": ["premise", "hypothesis", "label", "idx"],
    "ner_en": ["tokens", "ner_tags", "idx"],
    "ner_tr": ["tokens", "ner_tags", "idx"],
}
CLASSIFICATION = [task for task in TASKS if not task.startswith("ner") and task != "stsb"]
NER = {
    "ner_en": {"O", *(f"{p}-{kind}" for p in "BI" for kind in ("PER", "LOC", "ORG"))}
    | {"B-MISC", "I-MISC"},
    "ner_tr": {"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"},
}


@pytest.fixture(scope="module")
def data() -> dict[tuple[str, str], pd.DataFrame]:
    sizes = {"train": 800, "validation": 400}
    return {
        (task, split): rows(task, split, n, seed=1) for task in TASKS for split, n in sizes.items()
    }


def _text_columns(task: str) -> list[str]:
    return [name for name in COLUMNS[task] if name not in ("label", "idx", "ner_tags")]


@pytest.mark.parametrize("task", TASKS)
def test_schema_is_the_real_one(data, task):
    frame = data[task, "train"]
    assert list(frame.columns) == COLUMNS[task]
    assert frame["idx"].tolist() == list(range(800))
    if "label" in frame:
        kind = float if task == "stsb" else int
        assert all(isinstance(label, kind) for label in frame["label"].tolist())


@pytest.mark.parametrize("task", TASKS)
def test_same_arguments_give_same_rows_and_other_seeds_do_not(data, task):
    again = rows(task, "train", 800, seed=1)
    pd.testing.assert_frame_equal(again, data[task, "train"])
    assert not rows(task, "train", 50, seed=2).equals(again.head(50))


@pytest.mark.parametrize("task", TASKS)
def test_no_text_is_in_both_splits_even_with_another_seed(data, task):
    validation = rows(task, "validation", 300, seed=9)
    for column in _text_columns(task):
        train = {str(text) for text in data[task, "train"][column]}
        assert not train & {str(text) for text in validation[column]}


@pytest.mark.parametrize("task", TASKS)
def test_rows_are_distinct(data, task):
    frame = data[task, "train"][_text_columns(task)].astype(str)
    assert not frame.duplicated().any()


@pytest.mark.parametrize("task", CLASSIFICATION)
def test_labels_are_balanced(data, task):
    shares = data[task, "train"]["label"].value_counts(normalize=True)
    assert len(shares) == (3 if "nli" in task and task != "qnli" else 2)
    assert shares.max() < shares.min() + 0.12


def test_similarity_scores_fill_their_range(data):
    labels = data["stsb", "train"]["label"]
    assert labels.between(0, 5).all()
    assert labels.nunique() > 30
    assert (labels < 1).mean() > 0.1 < (labels > 4).mean()


def _bags(frame: pd.DataFrame, task: str) -> list[list[str]]:
    """Words and word pairs of each text, marked by the text they stand in."""
    bags: list[list[str]] = [[] for _ in range(len(frame))]
    for column in _text_columns(task):
        for bag, text in zip(bags, frame[column], strict=True):
            words = text.lower().split()
            pairs = map(" ".join, zip(words, words[1:], strict=False))
            bag += [f"{column}:{item}" for item in (*words, *pairs)]
    return bags


def _fit_predict(data, task, model):
    train, validation = data[task, "train"], data[task, "validation"]
    pipeline = make_pipeline(CountVectorizer(analyzer=lambda bag: bag, min_df=2), model)
    pipeline.fit(_bags(train, task), train["label"])
    return pipeline.predict(_bags(validation, task)), validation["label"]


@pytest.mark.parametrize("task", CLASSIFICATION)
def test_a_bag_of_words_learns_the_task(data, task):
    predicted, truth = _fit_predict(data, task, LogisticRegression(max_iter=300))
    majority = truth.value_counts(normalize=True).max()
    assert (predicted == truth).mean() > majority + 0.25
    if task == "cola":
        assert matthews_corrcoef(truth, predicted) > 0.5
    # ... and the noise keeps it from being trivial
    assert (predicted == truth).mean() < 1


def test_a_bag_of_words_learns_similarity(data):
    predicted, truth = _fit_predict(data, "stsb", Ridge())
    assert pearsonr(predicted, truth).statistic > 0.8


def _token_features(tokens: list[str]) -> list[dict[str, str | bool]]:
    padded = ["<s>", *tokens, "</s>"]
    return [
        {"word": word, "before": before, "after": after, "capital": word[0].isupper()}
        for before, word, after in zip(padded, tokens, padded[2:], strict=False)
    ]


@pytest.mark.parametrize("task", NER)
def test_a_token_classifier_learns_the_entities(data, task):
    train, validation = data[task, "train"].head(400), data[task, "validation"]
    model = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=200))
    features = [row for tokens in train["tokens"] for row in _token_features(tokens)]
    model.fit(features, [tag for tags in train["ner_tags"] for tag in tags])
    truth = [tag for tags in validation["ner_tags"] for tag in tags]
    predicted = model.predict([row for t in validation["tokens"] for row in _token_features(t)])
    entity_tags = sorted(NER[task] - {"O"})
    assert f1_score(truth, predicted, labels=entity_tags, average="micro") > 0.8


@pytest.mark.parametrize("task", NER)
def test_tags_are_iob2_and_as_many_as_tokens(data, task):
    for row in data[task, "train"].itertuples():
        assert len(row.tokens) == len(row.ner_tags) > 0
        for before, tag in zip(["O", *row.ner_tags], row.ner_tags, strict=False):
            if tag.startswith("I-"):
                assert before in (f"B-{tag[2:]}", f"I-{tag[2:]}")
    seen = {tag for tags in data[task, "train"]["ner_tags"] for tag in tags}
    assert seen == NER[task]


def test_entities_are_tagged_token_by_token():
    assert tag_entities("Mr. {PER: Ann Lee} left {LOC: Van Gölü'nde}, {ORG: UN}.") == (
        ["Mr.", "Ann", "Lee", "left", "Van", "Gölü'nde", ",", "UN", "."],
        ["O", "B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O", "B-ORG", "O"],
    )


@pytest.mark.parametrize("arguments", [("rte", "train"), ("mnli", "test")])
def test_unknown_tasks_and_splits_are_refused(arguments):
    with pytest.raises(UserError, match="there is no"):
        rows(*arguments, count=1, seed=1)


def test_too_many_rows_is_one_line_of_advice(monkeypatch):
    monkeypatch.setattr(tasks, "_PATIENCE", 0)
    with pytest.raises(UserError, match=r"^rows: .* made only 0 different rows; ask for fewer$"):
        rows("cola", "train", 1, seed=1)
