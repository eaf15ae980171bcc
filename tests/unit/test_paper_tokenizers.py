"""The table of every tokenizer's measures, where a run lacks what the reference run has."""

from __future__ import annotations

import json

import pandas as pd

from reference_runs import REFERENCE
from reproduction.paper.tokenizers import table_tokenizers

SUMMARY = REFERENCE / "intrinsic/frames/analysis/en/train/bpe/summary.json"


def test_morphemes_stand_only_where_a_list_is_given(outputs):
    panel = {"BPE": json.loads(SUMMARY.read_bytes())}
    texts = {(language, "Training corpus"): panel for language in ("English", "Turkish")}
    agreement = {name: {"value": 0.3, "low": 0.2, "high": 0.4} for name in ("precision", "recall")}
    agreement |= {"words": 40, "f1": {"value": 0.5, "low": 0.4, "high": 0.6}}
    table_tokenizers(texts, morphology={"English": {"BPE": agreement}}).write(**outputs)
    data = pd.read_csv(outputs["csv"])
    assert data["morpheme_recall"].isna().tolist() == [False, True]
    table_tokenizers(texts, morphology={}).write(**outputs)
    assert "morpheme_recall" not in pd.read_csv(outputs["csv"]).dropna(axis="columns")
    assert "language_settings.LANGUAGE.morphology" in outputs["md"].read_text(encoding="utf-8")
