"""Lines as numbered words, by compiled code that sees their parts: what stands between spaces.

Most words of a text occur again and again. Only the distinct parts become Python strings, so that
normalising and numbering take time with the distinct words and not with the text.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numba import njit, uint64

from sagevocab.numba_cache import provide_cache

provide_cache()

_BLOCK = 1 << 20  # bytes of text that are numbered together
_SPACE = 32
_SEED, _PRIME = 0xCBF29CE484222325, 0x100000001B3  # of FNV-1a


def read_words(
    lines: Iterable[str], words_of: Callable[[str], list[str]]
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Read lines as words, block by block; lines without a word are dropped.

    Lines are split before each space into parts; those that are more than a space are numbered. A
    part has the space before it, if there is one: joined again, the parts of a line are the line
    but for spaces that follow each other or end it. words_of: gives the words of a part.

    Returns the fields of a `WordCorpus`.
    """
    table, n, numbers = _Table.empty(), 0, {}  # n: distinct parts
    words, offsets = array("i"), array("q", [0])  # those of part p: offsets[p] to offsets[p + 1]
    tokens, line_offsets = array("i"), array("q", [0])
    for block in _blocks(lines):
        data = np.frombuffer(b"".join(block), np.uint8)
        line_ends = np.cumsum([len(line) for line in block])
        most = sum(line.count(b" ") for line in block) + len(block)
        table, known = table.with_room(n, most, len(data)), n
        found, stops = np.empty(most, np.int32), np.empty(len(block), np.int64)
        n = _number(data, line_ends, table, known, found, stops)
        for part in table.parts(known, n):
            words.extend([numbers.setdefault(word, len(numbers)) for word in words_of(part)])
            offsets.append(len(words))
        parts = found[: stops[-1]]
        found, ends = expanded(parts, stops, np.asarray(words), np.asarray(offsets))
        line_offsets.frombytes((len(tokens) + ends[np.diff(ends, prepend=0) > 0]).tobytes())
        tokens.frombytes(found.tobytes())
    return list(numbers), np.asarray(tokens), np.asarray(line_offsets)


def _blocks(lines: Iterable[str]) -> Iterator[list[bytes]]:
    """Yield encoded lines, many at a time."""
    block, size = [], 0
    for line in lines:
        block.append(line.encode())
        size += len(block[-1])
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


class _Table(NamedTuple):
    """A hash table of distinct parts, with room for more.

    slots: int32, the number of a part or -1; their number is a power of 2. hashes: uint64, of each
    part. ends: int64, where each ends in text: uint8, all of them one after another.
    """

    slots: np.ndarray
    hashes: np.ndarray
    ends: np.ndarray
    text: np.ndarray

    @classmethod
    def empty(cls) -> _Table:
        """Return a table without parts."""
        slots = np.full(1, -1, np.int32)
        return cls(slots, np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.uint8))

    def with_room(self, n: int, more: int, size: int) -> _Table:
        """Return the table of n parts with room for so many more, of `size` bytes in all."""
        slots, hashes, ends, text = self
        most = n + more
        if len(slots) < 2 * most:
            slots = np.full(1 << (2 * most).bit_length(), -1, np.int32)
            _enter(slots, hashes, n)
        used = int(ends[n - 1]) if n else 0
        return _Table(slots, _grown(hashes, most), _grown(ends, most), _grown(text, used + size))

    def parts(self, first: int, last: int) -> Iterator[str]:
        """Yield the parts from one number to another."""
        start = self.ends[first - 1] if first else 0
        for end in self.ends[first:last]:
            yield self.text[start:end].tobytes().decode()
            start = end


def _grown(array: np.ndarray, size: int) -> np.ndarray:
    """Return the array with room for `size` entries, and for as many again as it had."""
    if len(array) >= size:
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def _number(data, line_ends, table, n, tokens, stops):
    """Number the parts of encoded lines; return how many distinct ones there are then, n before.

    tokens, stops: filled with the numbers, and with where those of each line end.
    """
    slots, hashes, ends, text = table
    count = start = 0
    for line in range(len(line_ends)):
        end = line_ends[line]
        while start < end:
            value = (uint64(_SEED) ^ uint64(data[start])) * uint64(_PRIME)
            stop = start + 1
            while stop < end and data[stop] != _SPACE:
                value = (value ^ uint64(data[stop])) * uint64(_PRIME)
                stop += 1
            if stop > start + 1 or data[start] != _SPACE:
                value ^= value >> uint64(32)
                slot = _slot(table, value, data[start:stop])
                if slots[slot] < 0:
                    first = ends[n - 1] if n else 0
                    text[first : first + stop - start] = data[start:stop]
                    slots[slot], hashes[n], ends[n] = n, value, first + stop - start
                    n += 1
                tokens[count] = slots[slot]
                count += 1
            start = stop
        stops[line] = count
    return n


@njit(cache=True, nogil=True)
def _slot(table, value, part):
    """Return the slot of a part whose hash is `value`, or the free one where it belongs."""
    slots, hashes, ends, text = table
    slot = np.int64(value & uint64(len(slots) - 1))
    while slots[slot] >= 0:
        number = slots[slot]
        first = ends[number - 1] if number else 0
        if hashes[number] == value and _is_equal(text[first : ends[number]], part):
            return slot
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True)
def _is_equal(one, other):
    """Return whether two parts have the same bytes."""
    if len(one) != len(other):
        return False
    for at in range(len(one)):  # noqa: SIM110 - the generator of `all` does not compile
        if one[at] != other[at]:
            return False
    return True


@njit(cache=True, nogil=True)
def _enter(slots, hashes, n):
    """Enter `n` parts into slots that are free."""
    for number in range(n):
        slot = np.int64(hashes[number] & uint64(len(slots) - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number


@njit(cache=True, nogil=True)
def expanded(
    numbers: np.ndarray, ends: np.ndarray, runs: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Replace each number n by the run runs[offsets[n] : offsets[n + 1]].

    Args:
        numbers: of all lines, one after another.
        ends: where each line ends in them.
        runs: of all numbers, one after another.
        offsets: where the run of each number begins.

    Returns:
        The runs one after another, and where lines end in them.
    """
    size = 0
    for number in numbers:
        size += offsets[number + 1] - offsets[number]
    found, stops = np.empty(size, np.int32), np.empty(len(ends), np.int64)
    begin = count = 0
    for line in range(len(ends)):
        for number in numbers[begin : ends[line]]:
            for at in range(offsets[number], offsets[number + 1]):
                found[count] = runs[at]
                count += 1
        begin = ends[line]
        stops[line] = count
    return found, stops
