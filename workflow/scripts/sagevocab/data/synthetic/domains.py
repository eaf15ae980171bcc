"""Synthetic domain texts: English questions and bills, Turkish reviews.

They stand in for domain corpora that cannot be shipped. Templates and word lists are of the
project's own making; their words differ from an encyclopaedia's on purpose, and numbers measured on
them say nothing about real questions, laws or reviews.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from sagevocab.data.synthetic.english_forms import transform
from sagevocab.data.synthetic.grammar import Grammar, load_rules
from sagevocab.data.synthetic.sampling import distinct
from sagevocab.data.synthetic.turkish_reviews import Reviewer


@cache
def _english(name: str) -> Grammar:
    return Grammar(load_rules("english_lexicon", name), transform)


def quora(count: int, seed: int) -> Iterator[str]:
    """Yield `count` distinct synthetic English questions, in the manner of a Q&A site."""
    rng = random.Random(f"quora {seed}")
    return distinct(lambda: _capital(_english("quora").say("question", rng)), count)


def legal(count: int, seed: int) -> Iterator[str]:
    """Yield `count` distinct synthetic English sentences, in the manner of bills."""
    rng = random.Random(f"legal {seed}")
    return distinct(lambda: _capital(_english("legal").say("bill", rng)), count)


def reviews(count: int, seed: int) -> Iterator[str]:
    """Yield `count` distinct synthetic Turkish reviews of products, hotels and films."""
    reviewer = Reviewer(random.Random(f"reviews {seed}"))
    return distinct(reviewer.review, count)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
