"""Exact samplers of a small database, in integers: the common parts and the three routes.

Multisets of m of N possible records have the scores `S(y) = max_k w_k |m (A x)_k - n (A y)_k|`, and P(y) is
proportional to `exp(-S(y) rate)`. Invariant: the plan has checked, from public numbers, that no S reaches 2^52.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.sampling.exact_selection import Entropy, WeightedSelection, below, is_below
from dxprivacy.mechanisms.smalldb.routes import CHUNK_NUMBERS, tail_length
from dxprivacy.universe.workload import Workload


@dataclass(frozen=True, eq=False, repr=False)
class Draw:
    """One draw: rows, weights and sizes, which are public, and the targets m (A x), which are not."""

    workload: Workload
    weights: Ints
    size: int  # m
    records: int  # n
    rate: Fraction
    targets: Ints = field(repr=False)  # m (A x)
    entropy: Entropy

    @property
    def cells(self) -> int:
        """The number N of possible records."""
        return self.workload.universe.cells

    def score(self, members: list[int]) -> int:
        """Return S of the multiset with these members."""
        columns = self.workload.columns(np.asarray(members, dtype=np.int64))
        return int(self.scores(columns.sum(axis=1, dtype=np.int64)[:, None])[0])

    def scores(self, answers: Ints) -> Ints:
        """Return S of many multisets, given their answers as columns."""
        gaps = np.abs(self.targets[:, None] - self.records * answers) * self.weights[:, None]
        return np.asarray(gaps.max(axis=0), dtype=np.int64)

    def histogram(self, members: list[int]) -> Ints:
        """Return a multiset as a histogram."""
        return np.bincount(np.asarray(members, dtype=np.int64), minlength=self.cells).astype(np.int64)


def uniform_multiset(cells: int, size: int, entropy: Entropy) -> list[int]:
    """Return `size` of `cells` elements with repetition, uniform over multisets.

    A multiset is a subset of size m of N + m - 1 places: its sorted elements minus 0, 1, 2, … The subset is sampled by
    Floyd's algorithm.
    """
    places: set[int] = set()
    for last in range(cells - 1, cells + size - 1):
        place = below(last + 1, entropy)
        places.add(last if place in places else place)
    return [place - k for k, place in enumerate(sorted(places))]


# -- Dynamic programming over answer vectors: few rows with small numbers, any number of candidates --------------------
# `table[j][v]` counts the multisets of j records with the answers v (rows shifted to start at 0), over the possible
# records so far; adding a possible record adds the table of j - 1 shifted by its column. All candidates with the same
# answers have the same score. So an answer vector is selected with probability proportional to its number times exp(-S
# rate), exactly. Then one of its multisets is sampled uniformly, walking the table back: the last possible record is
# used once more in `table[j-1][v - column]` of `table[j][v]` cases. Removing a possible record again is exact, since
# the counts are integers.


def by_answer_table(draw: Draw) -> Ints:
    """Sample a small database by the answer table, exactly from its distribution."""
    matrix = draw.workload.columns(np.arange(draw.cells, dtype=np.int64))
    lowest = matrix.min(axis=1)
    shifted = matrix - lowest[:, None]
    table = _filled(shifted, draw.size)
    counts = table[draw.size].ravel()
    present = np.flatnonzero(counts != 0)
    vectors = np.stack(np.unravel_index(present, table.shape[1:])).astype(np.int64)
    scores = draw.scores(vectors + draw.size * lowest[:, None])
    sizes = [int(count) for count in counts[present]]
    chosen = WeightedSelection(sizes, scores - scores.min(), draw.rate).draw(draw.entropy)
    return _walk_back(table, shifted, draw, vectors[:, chosen])


def _filled(shifted: Ints, size: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.generic]]":
    """The table of all possible records; Python integers if counts exceed 64 bits."""
    shape = (size + 1, *(int(v) * size + 1 for v in shifted.max(axis=1)))
    long = comb(shifted.shape[1] + size - 1, size) >= 1 << 62
    table = np.zeros(shape, dtype=object if long else np.int64)
    table[(0,) * len(shape)] = 1
    for column in shifted.T:
        to, of = _shift(column)
        for j in range(1, size + 1):  # upwards: the record may be used again
            table[j][to] += table[j - 1][of]
    return table


def _shift(column: Ints) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Slices to which counts move when a possible record is added, and from which they come."""
    to = tuple(slice(int(c), None) for c in column)
    of = tuple(slice(None, -int(c) if c else None) for c in column)
    return to, of


def _walk_back(
    table: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]", shifted: Ints, draw: Draw, vector: Ints
) -> Ints:
    """Sample one of the multisets with these answers uniformly; modifies the table."""
    out: Ints = np.zeros(draw.cells, dtype=np.int64)
    left, rest = draw.size, vector.copy()
    for cell in range(draw.cells - 1, -1, -1):
        column = shifted[:, cell]
        while left:
            before = rest - column
            again = int(table[(left - 1, *before.tolist())]) if (before >= 0).all() else 0
            if below(int(table[(left, *rest.tolist())]), draw.entropy) >= again:
                break
            out[cell] += 1
            left, rest = left - 1, before
        to, of = _shift(column)
        for j in range(draw.size, 0, -1):
            table[j][to] -= table[j - 1][of]
    return out


# -- Streamed enumeration: every multiset is scored once, in chunks of bounded memory ----------------------------------
# A multiset is a non-decreasing sequence: a head of m - t records and a tail of t records, starting at the head's last
# one. All tails are built once, sorted by their first record. Those that fit a head are then a suffix of the list: a
# chunk.
#
# First pass: chunk h, with least score b_h, gets slots of integer units, `v >= exp(-(S - b_h) rate) 2^k` for each of
# its members; T_h is their sum. Then a chunk is selected with probability proportional to `T_h exp(-b_h rate)`
# (exactly, `exact_selection`) and one of its units uniformly. The unit is accepted if it lies below the member's
# weight; otherwise everything is drawn again. Each accepted unit of every member is equally likely up to `exp(-b_h
# rate)`. So a member has probability proportional to `exp(-b_h rate) exp(-(S - b_h) rate) 2^k`: the distribution is
# exact. The time depends on public numbers only, up to a second draw with probability below 2^-20.


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
        self._chunks = WeightedSelection(totals, gaps - gaps.min(), draw.rate)

    def sample(self) -> Ints:
        """Sample a small database, exactly from its distribution; samples are independent."""
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
        """Return the least score of a chunk, units that are certainly accepted, ends of the slots, and all scores."""
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
    """All non-decreasing sequences, sorted by their first element.

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
    """Sample a small database by enumeration, exactly from its distribution."""
    return Enumeration(draw).sample()


# -- Rejection: uniform proposals, accepted with probability exp(-S rate), for weights in a bounded range --------------
# The number of proposals depends on the data. The plan takes this route only if e^10 of them suffice on average, and
# the documentation states that its time is not constant.


_BITS = 53


def by_rejection(draw: Draw) -> Ints:
    """Sample a small database by rejection, exactly from its distribution."""
    while True:
        members = uniform_multiset(draw.cells, draw.size, draw.entropy)
        units = int.from_bytes(draw.entropy(8), "little") >> (64 - _BITS)
        if is_below(units, _BITS, draw.score(members) * draw.rate, draw.entropy):
            return draw.histogram(members)
