"""Lines as numbered parts, by compiled code: a part is what stands between spaces.

Most words of a text occur again and again. Only the distinct parts become Python strings, so that
normalising and numbering take time with the distinct words and not with the text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import numpy as np
from numba import njit, uint64

from sagevocab.compiling import provide_cache

provide_cache()

_BLOCK = 1 << 20  # bytes of text that are numbered together
_SPACE = 32
_SEED, _PRIME = 0xCBF29CE484222325, 0x100000001B3  # of FNV-1a


class Parts:
    """Lines as numbers of parts.

    text, ends: the distinct parts in order of first appearance, as UTF-8, and where each ends.
    tokens: int32, the parts of the lines by number. line_offsets: int64[lines + 1], into `tokens`.
    """

    def __init__(
        self, text: np.ndarray, ends: np.ndarray, tokens: array[int], line_offsets: array[int]
    ) -> None:
        """Take the distinct parts and the lines."""
        self._text, self._ends, self._tokens = text, ends, tokens
        self._line_offsets = np.asarray(line_offsets)

    def __iter__(self) -> Iterator[str]:
        """Yield the distinct parts."""
        start = 0
        for end in self._ends:
            yield self._text[start:end].tobytes().decode()
            start = end

    def replaced(self, others: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Replace each part p by the numbers others[offsets[p] : offsets[p + 1]].

        Returns the int32 numbers and int64[lines + 1], where each line begins. It can be called
        once: the new numbers take the memory of the old ones.
        """
        tokens, self._tokens = self._tokens, array("i")
        ahead = _most_ahead(np.asarray(tokens), offsets)
        tokens.frombytes(bytes(ahead * tokens.itemsize))
        numbers = np.asarray(tokens)
        count = _replace(numbers, ahead, self._line_offsets, others, offsets)
        return numbers[:count], self._line_offsets


def read_parts(lines: Iterable[str]) -> Parts:
    """Split lines before each space; number the parts that are more than a space.

    A part has the space before it, if there is one: joined again, the parts of a line are the line
    but for spaces that follow each other or end it.
    """
    table = _Table.empty()
    tokens, line_offsets = array("i"), array("q", [0])
    for block in _blocks(lines):
        data = np.frombuffer(b"".join(block), np.uint8)
        line_ends = np.cumsum([len(line) for line in block])
        most = sum(line.count(b" ") for line in block) + len(block)
        table = table.with_room(most, len(data))
        found, stops = np.empty(most, np.int32), np.empty(len(block), np.int64)
        table.n = _number(data, line_ends, *table.arrays, table.n, found, stops)
        line_offsets.frombytes((stops + len(tokens)).tobytes())
        tokens.frombytes(found[: stops[-1]].tobytes())
    return Parts(*table.parts(), tokens, line_offsets)


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


class _Table:
    """A hash table of distinct parts.

    slots: int32, the number of a part or -1; their number is a power of 2. hashes, ends: of each
    part; text: all of them. n: how many there are.
    """

    def __init__(
        self, slots: np.ndarray, hashes: np.ndarray, ends: np.ndarray, text: np.ndarray, n: int
    ) -> None:
        self.arrays, self.n = (slots, hashes, ends, text), n

    @classmethod
    def empty(cls) -> _Table:
        """Return a table without parts."""
        slots = np.full(1, -1, np.int32)
        return cls(slots, np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.uint8), 0)

    def with_room(self, more: int, size: int) -> _Table:
        """Return the table with room for so many more parts, of `size` bytes in all."""
        slots, hashes, ends, text = self.arrays
        n = self.n + more
        if len(slots) < 2 * n:
            slots = np.full(1 << (2 * n).bit_length(), -1, np.int32)
            _enter(slots, hashes, self.n)
        used = int(ends[self.n - 1]) if self.n else 0
        return _Table(slots, _grown(hashes, n), _grown(ends, n), _grown(text, used + size), self.n)

    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the text and the ends of the parts."""
        _, _, ends, text = self.arrays
        ends = ends[: self.n]
        return text[: ends[-1] if self.n else 0], ends


def _grown(array: np.ndarray, size: int) -> np.ndarray:
    """Return the array with room for `size` entries, and for as many again as it had."""
    if len(array) >= size:
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def _number(
    data: np.ndarray,
    line_ends: np.ndarray,
    slots: np.ndarray,
    hashes: np.ndarray,
    ends: np.ndarray,
    text: np.ndarray,
    n: int,
    tokens: np.ndarray,
    stops: np.ndarray,
) -> int:
    """Number the parts of encoded lines; return how many distinct ones there are then.

    tokens, stops: filled with the numbers, and with where those of each line end.
    """
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
                slot = _slot(slots, hashes, ends, text, data, start, stop, value)
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
def _slot(
    slots: np.ndarray,
    hashes: np.ndarray,
    ends: np.ndarray,
    text: np.ndarray,
    data: np.ndarray,
    start: int,
    stop: int,
    value: int,
) -> int:
    """Return the slot of the part data[start:stop], or the free one where it belongs.

    value: its hash.
    """
    slot = np.int64(value & uint64(len(slots) - 1))
    while slots[slot] >= 0:
        number = slots[slot]
        first = ends[number - 1] if number else 0
        if (
            hashes[number] == value
            and ends[number] - first == stop - start
            and _is_equal(text, first, data, start, stop)
        ):
            return slot
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True)
def _is_equal(text: np.ndarray, first: int, data: np.ndarray, start: int, stop: int) -> bool:
    """Return whether data[start:stop] is in the text from `first` on."""
    for at in range(stop - start):  # noqa: SIM110 - the generator of `all` does not compile
        if text[first + at] != data[start + at]:
            return False
    return True


@njit(cache=True, nogil=True)
def _enter(slots: np.ndarray, hashes: np.ndarray, n: int) -> None:
    """Enter `n` parts into slots that are free."""
    for number in range(n):
        slot = np.int64(hashes[number] & uint64(len(slots) - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number


@njit(cache=True, nogil=True)
def _most_ahead(tokens: np.ndarray, offsets: np.ndarray) -> int:
    """Return by how many numbers, at most, the new ones of a text are ahead of the old ones."""
    ahead = most = 0
    for token in tokens:
        ahead += offsets[token + 1] - offsets[token] - 1
        most = max(most, ahead)
    return most


@njit(cache=True, nogil=True)
def _replace(
    tokens: np.ndarray,
    ahead: int,
    line_offsets: np.ndarray,
    others: np.ndarray,
    offsets: np.ndarray,
) -> int:
    """Write other numbers for the tokens over them; return how many.

    tokens: the old numbers and room for `ahead` more. The old ones are moved to the end, so that
    none is overwritten before it is read. line_offsets: becomes that of the new numbers.
    """
    for at in range(len(tokens) - 1, ahead - 1, -1):
        tokens[at] = tokens[at - ahead]
    old = count = 0
    for line in range(len(line_offsets)):
        while old < line_offsets[line]:
            token = tokens[ahead + old]
            for at in range(offsets[token], offsets[token + 1]):
                tokens[count] = others[at]
                count += 1
            old += 1
        line_offsets[line] = count
    return count
