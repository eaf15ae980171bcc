"""A small template grammar: rules of words and of templates whose slots are filled at random.

A rule is a string of words (drawn by Zipf's law, in the order given, ``_`` for a space), a list of
templates (equally likely), or ``{range: [low, high]}``. In a template ``[noun]`` is a slot;
``[noun|s|a]`` passes the word through filters; ``[x=noun]`` also remembers it, so that ``[x|s]``
says the same word again, in this template or in a later one that shares the memory.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sagevocab.data.synthetic.sampling import Choice, zipf

_SLOT = re.compile(r"\[([^\]]*)\]")
_SPACES = re.compile(r" +")
_SPACE_BEFORE_MARK = re.compile(r" +([,.;:?!)])")


@dataclass(frozen=True, slots=True)
class _Slot:
    """What to say, the name it is remembered by (or ""), and the filters it passes."""

    symbol: str
    name: str
    filters: tuple[str, ...]


def _parse(template: str) -> list[str | _Slot]:
    parts: list[str | _Slot] = []
    for position, text in enumerate(_SLOT.split(template)):
        if position % 2 == 0:
            parts.append(text)
            continue
        source, *filters = text.split("|")
        name, _, symbol = source.rpartition("=")
        parts.append(_Slot(symbol, name, tuple(filters)))
    return parts


class Grammar:
    """Rules, with a reader of word entries and a filter function of the language."""

    def __init__(
        self,
        rules: Mapping[str, Any],
        transform: Callable[[Any, str], Any],
        read: Callable[[str, str], Any] = lambda symbol, entry: entry,
    ) -> None:
        """Compile the rules; `read` gets a rule's name and a word, `transform` a filter's name."""
        self._transform = transform
        self._words: dict[str, Choice[Any]] = {}
        self._templates: dict[str, Choice[str]] = {}
        self._ranges: dict[str, tuple[int, int]] = {}
        self._parsed: dict[str, list[str | _Slot]] = {}
        for symbol, rule in rules.items():
            if isinstance(rule, str):
                words = (word.replace("_", " ") for word in rule.split())
                self._words[symbol] = zipf(read(symbol, word) for word in words)
            elif isinstance(rule, list):
                self._templates[symbol] = Choice(rule)
            else:
                self._ranges[symbol] = tuple(rule["range"])

    def words(self, symbol: str) -> tuple[Any, ...]:
        """All entries of a word rule, as they were read."""
        return self._words[symbol].items

    def say(self, symbol: str, rng: random.Random, memory: dict[str, Any] | None = None) -> str:
        """One random text of a rule, with tidy spaces."""
        return self.fill(f"[{symbol}]", rng, memory)

    def fill(self, template: str, rng: random.Random, memory: dict[str, Any] | None = None) -> str:
        """Fill the slots of one template; `memory` keeps what its slots name."""
        text = self._fill(template, rng, {} if memory is None else memory)
        return _SPACE_BEFORE_MARK.sub(r"\1", _SPACES.sub(" ", text)).strip()

    def _fill(self, template: str, rng: random.Random, memory: dict[str, Any]) -> str:
        parts = self._parsed.get(template)
        if parts is None:
            parts = self._parsed[template] = _parse(template)
        return "".join(
            part if isinstance(part, str) else self._value(part, rng, memory) for part in parts
        )

    def _value(self, slot: _Slot, rng: random.Random, memory: dict[str, Any]) -> str:
        value = memory.get(slot.symbol)
        if value is None:
            value = self._draw(slot.symbol, rng, memory)
        if slot.name:
            memory[slot.name] = value
        for name in slot.filters:
            value = self._transform(value, name)
        return str(value)

    def _draw(self, symbol: str, rng: random.Random, memory: dict[str, Any]) -> Any:
        if symbol in self._words:
            return self._words[symbol].pick(rng)
        if symbol in self._templates:
            return self._fill(self._templates[symbol].pick(rng), rng, memory)
        low, high = self._ranges[symbol]
        return str(rng.randint(low, high))


def load_rules(*names: str) -> dict[str, Any]:
    """Read packaged rule files; a later file adds to and overrides the earlier ones."""
    rules: dict[str, Any] = {}
    for name in names:
        path = Path(__file__).with_name(f"{name}.yaml")
        rules |= yaml.safe_load(path.read_text(encoding="utf-8"))
    return rules
