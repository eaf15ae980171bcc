"""The record of one claim."""

from __future__ import annotations

from dataclasses import replace

from reproduction.paper.claims import assess_claims
from reproduction.paper.claims_inputs import Results


def record_of(name: str, run: Results, values: dict, tokenizer: str = "sage", language: str = "en"):
    """Return what a run says of a claim as if it were the only one, in one language."""
    claim = next(claim for claim in values["claims"] if claim.id == name)
    method = "bpe" if tokenizer == "bpe" else "sage"
    alone = replace(claim, tokenizers=method, languages=[language], any_language=False)
    records = assess_claims(run, {**values, "claims": [alone]})
    return next(record for record in records if record["tokenizer"] == tokenizer)
