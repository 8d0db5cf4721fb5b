"""Tables of whole numbers that add up to 0: how many there are of each size, and one of them, all equally likely.

The size N(z) of a table z of n = d + 1 cells is |z|_1 / 2: what its positive cells add up to, and its negative ones
alike.  There are

    S(r) = sum over p of C(n, p) C(r - 1, p - 1) C(n - p + r - 1, r)

tables of size r > 0: p cells are positive and share r in parts of at least 1, the others share r in parts of at least
0.  With P_d the polynomial of Legendre, sum over r of B(r) x^r = P_d((1 + x) / (1 - x)) / (1 - x) = sum over k of
C(d, k)^2 x^k / (1 - x)^(d + 1), where B(r) = S(0) + ... + S(r) counts all tables of size r at most.  Two things follow.
Legendre's equation becomes a recurrence, by which counts are found,

    (r + 1)^2 S(r + 1) = r^2 S(r) + d (d + 1) B(r).

And B is log-concave: P_d has all its zeros between -1 and 1, so that the numerator is a product of factors a + x with
a > 0, and products of log-concave series without gaps are log-concave.  (Both are compared with all tables in
tests/oracle/test_zero_sum_tables.py.)
"""

import os
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from math import comb

from dxprivacy.mechanisms.sampling.exact_selection import Entropy, below

_WORD = 16  # bytes of a small uniform number: it is drawn again once in 2^64 times


class Tables:
    """All tables of so many cells, counted by their size.

    >>> three = Tables(3)
    >>> [three.upto(r) for r in range(3)], three.of(2)
    ([1, 7, 19], 12)
    """

    def __init__(self, cells: int) -> None:
        if cells < 2:
            raise ValueError("a table that adds up to 0 has two cells at least")
        self.cells = cells
        self._of, self._upto = [1], [1]

    def of(self, size: int) -> int:
        """S: how many have this size."""
        self._grow(size)
        return self._of[size]

    def upto(self, size: int) -> int:
        """B: how many have this size or less."""
        self._grow(size)
        return self._upto[size]

    def _grow(self, size: int) -> None:
        d = self.cells - 1
        while len(self._of) <= size:
            r = len(self._of) - 1
            more = r * r * self._of[r] * (r > 0) + d * (d + 1) * self._upto[r]
            self._of.append(more // (r + 1) ** 2)
            self._upto.append(self._upto[r] + self._of[r + 1])

    def draw(self, most: int, entropy: Entropy = os.urandom) -> list[int]:
        """One of the tables of this size at most, each with the same probability.

        One uniform number picks the size and how many cells are positive; which these are, and how what they have is
        divided, are uniform choices of subsets.  However large the table is and however many cells are positive, as
        many numbers are drawn; one of size 0 takes the steps of one of size 1.
        """
        n = self.cells
        at = below(self.upto(most), entropy)
        size = bisect_right(self._upto, at, 0, most + 1)
        rank = at - self._upto[size - 1] if size else 0
        r = max(size, 1)
        positive = self._positive(r, rank)
        negative = n - positive
        order = _shuffled(n, entropy)
        up = _parts(r - positive, positive, entropy)
        down = _parts(r, negative, entropy)
        out = [0] * n
        for cell, x in zip(order, [*(x + 1 for x in up), *(-x for x in down)], strict=True):
            out[cell] = x * (size > 0)
        return out

    def _positive(self, r: int, rank: int) -> int:
        """How many cells are positive, in the table of this rank among those of size r by that number."""
        n, weight, found = self.cells, self.cells * comb(self.cells + r - 2, r), 1
        passed = 0
        for p in range(1, n):
            passed += weight
            found += rank >= passed
            weight = weight * (n - p) * max(r - p, 0) * (n - p - 1) // ((p + 1) * p * (n - p + r - 1))
        return found


@lru_cache(maxsize=256)
def tables_of(cells: int) -> Tables:
    """Counts depend on the number of cells alone: they are made once."""
    return Tables(cells)


def _shuffled(n: int, entropy: Entropy) -> list[int]:
    """A uniform order of 0 .. n - 1 (Fisher and Yates)."""
    out = list(range(n))
    for k, j in zip(range(n - 1, 0, -1), _uniform(range(n, 1, -1), entropy), strict=True):
        out[k], out[j] = out[j], out[k]
    return out


def _parts(total: int, parts: int, entropy: Entropy) -> list[int]:
    """A number divided into so many parts of at least 0 in order, all ways alike: bars among total + parts - 1 places.

    The subset of places is Floyd's: of 0 .. j either a new number or, where it was taken, j itself.
    """
    bars = parts - 1
    places = total + bars
    chosen: set[int] = set()
    for j, x in zip(range(total, places), _uniform(range(total + 1, places + 1), entropy), strict=True):
        chosen.add(j if x in chosen else x)
    out, last = [], -1
    for place in [*sorted(chosen), places]:
        out.append(place - last - 1)
        last = place
    return out


def _uniform(limits: Sequence[int], entropy: Entropy) -> list[int]:
    """A number below each limit, exactly uniform."""
    drawn = entropy(_WORD * len(limits))
    out = []
    for k, limit in enumerate(limits):
        x = int.from_bytes(drawn[_WORD * k : _WORD * (k + 1)], "little")
        whole = (1 << 8 * _WORD) // limit * limit
        out.append(x % limit if x < whole else below(limit, entropy))
    return out
