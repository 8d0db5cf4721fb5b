"""Streamed enumeration: every multiset is scored once, in chunks, in memory that does not grow with their number.

A multiset is a non-decreasing sequence: a head of m - t cells and a tail of t cells, from the head's last on.  All
tails are built once, sorted by their first cell; those that fit a head are then a suffix of the list: a chunk.

First pass: chunk h, with least score b_h, gets slots of whole units, `v >= exp(-(S - b_h) rate) 2^k` for each of its
members; T_h is their sum.  Then a chunk is chosen with probability proportional to `T_h exp(-b_h rate)` (exactly,
`weighted_selection`), a unit of it uniformly, and kept if it lies below the member's weight; otherwise everything is
drawn again.  Each kept unit of every member is equally likely up to `exp(-b_h rate)`, so a member has probability
proportional to `exp(-b_h rate) exp(-(S - b_h) rate) 2^k`: the law is exact.  The time depends on public numbers only,
up to a second draw with probability below 2^-20.
"""

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.sampling.exact_selection import below, is_below
from dxprivacy.mechanisms.sampling.weighted_selection import WeightedChoice
from dxprivacy.mechanisms.smalldb.drawn_database import Draw
from dxprivacy.mechanisms.smalldb.routes import CHUNK_NUMBERS, tail_length

_FILTER = 2.0**-36  # exponents up to 64, three roundings, and numpy's exp
_FAR = 64.0


class Enumeration:
    """All multisets of one draw; `chunk_numbers` limits the memory of a chunk."""

    def __init__(self, draw: Draw, chunk_numbers: int = CHUNK_NUMBERS) -> None:
        self.draw = draw
        rows, cells = draw.workload.rows, draw.cells
        matrix = draw.workload.columns(np.arange(cells, dtype=np.int64))
        length = tail_length(cells, draw.size, rows, chunk_numbers)
        self._matrix, self._length = matrix, length
        self._tails = _sequences(cells, length)
        self._starts = np.searchsorted(self._tails[:, 0], np.arange(cells))
        self._answers = sum((matrix[:, self._tails[:, t]] for t in range(length)), np.zeros((rows, 1), dtype=np.int64))
        self._bits = 61 - len(self._tails).bit_length()

        least, totals = [], []
        self._all = list(self._heads())
        for head in self._all:  # the first pass
            base, _, ends, _ = self._slots(head)
            least.append(base)
            totals.append(int(ends[-1]))
        gaps: Ints = np.array(least, dtype=np.int64)
        self._chunks = WeightedChoice(totals, gaps - gaps.min(), draw.rate)

    def sample(self) -> Ints:
        """A small database, exactly from its law; samples are independent."""
        draw = self.draw
        while True:
            head = self._all[self._chunks.draw(draw.entropy)]
            base, low, ends, scores = self._slots(head)
            point = below(int(ends[-1]), draw.entropy)
            k = int(np.searchsorted(ends, point, side="right"))
            offset = point - (int(ends[k - 1]) if k else 0)
            gap = (int(scores[k]) - base) * draw.rate
            if offset < low[k] or is_below(offset, self._bits, gap, draw.entropy):
                tail = self._tails[self._first(head) + k]
                return draw.histogram([*head, *tail.tolist()])

    def _heads(self) -> Iterator[tuple[int, ...]]:
        """Non-decreasing sequences of the remaining length."""
        return combinations_with_replacement(range(self.draw.cells), self.draw.size - self._length)

    def _first(self, head: tuple[int, ...]) -> int:
        return int(self._starts[head[-1]]) if head else 0

    def _slots(self, head: tuple[int, ...]) -> tuple[int, Ints, Ints, Ints]:
        """Least score of a chunk, units that are certainly kept, ends of the slots, and all scores."""
        answers = self._answers[:, self._first(head) :]
        if head:
            answers = answers + self._matrix[:, list(head)].sum(axis=1, dtype=np.int64)[:, None]
        scores = self.draw.scores(answers)
        base = int(scores.min())
        rate = float(self.draw.rate)
        weights: Floats = np.exp(-np.minimum((scores - base) * rate, _FAR)) * 2.0**self._bits
        low = np.maximum(np.floor(weights * (1 - _FILTER)) - 1, 0).astype(np.int64)
        low[(scores - base) * rate >= _FAR] = 0
        return base, low, np.cumsum(np.ceil(weights * (1 + _FILTER)).astype(np.int64) + 1), scores


def _sequences(cells: int, length: int) -> Ints:
    """All non-decreasing sequences, sorted by their first cell.

    >>> _sequences(2, 2).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    found: Ints = np.arange(cells, dtype=np.int64)[:, None]
    for _ in range(length - 1):
        starts = np.searchsorted(found[:, 0], np.arange(cells))
        parts = [np.column_stack([np.full(len(found) - s, a), found[s:]]) for a, s in enumerate(starts.tolist())]
        found = np.concatenate(parts).astype(np.int64)
    return found


def by_enumeration(draw: Draw) -> Ints:
    """A small database, exactly from its law."""
    return Enumeration(draw).sample()
