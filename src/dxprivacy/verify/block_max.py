"""Tables that one record changes together: how far a cell of each errs (docs/formats.md, section 10).

The distribution of the noise is proportional to exp(-max over tables of size / scale); a table's size is what its
positive cells add up to.  Everything with t as its largest size / scale, or less, is V(t) outcomes, and exp(-m) is the
integral of e^-t from m on: so t has a density proportional to e^-t V(t), and below it all tables are equally likely.
Sizes are counted here in whole numbers, by how many cells are positive.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.errors import Undecided

_WHERE = "measured"
_FADED = 80.0
_MOST_LEVELS = 200_000
_MOST_COUNTS = 1_500_000  # sizes times cells


class _Sizes:
    """Tables of n cells by their size r: how many have it at most, and the mean sum of their squares."""

    def __init__(self, cells: int) -> None:
        self.cells, self.within, self.squares = cells, [1], [0.0]

    def upto(self, r: int) -> None:
        """Count on to this size."""
        while len(self.within) <= r:
            if len(self.within) * self.cells > _MOST_COUNTS:
                raise Undecided("noise too wide to repeat the errors here", where=_WHERE)
            ways, square = self._of(len(self.within))
            self.within.append(self.within[-1] + ways)
            part = ways / self.within[-1]
            self.squares.append(self.squares[-1] * (1 - part) + square * part)

    def _of(self, r: int) -> tuple[int, float]:
        """How many have just this size, and their mean square: p cells share r, at least 1 each, the others share r."""
        n, total, squares = self.cells, 0, 0.0
        which, up, down = n, 1, math.comb(n + r - 2, r)  # C(n, p), C(r - 1, p - 1), C(n - p + r - 1, r)
        found = []
        for p in range(1, min(n - 1, r) + 1):
            ways = which * up * down
            total += ways
            found.append((ways, _shared(r - p, p) + 2 * (r - p) + p + _shared(r, n - p)))
            which = which * (n - p) // (p + 1)
            up = up * (r - p) // p
            down = down * (n - p - 1) // (n - p + r - 1)
        for ways, square in found:
            squares += ways / total * square
        return total, squares


def _shared(whole: int, parts: int) -> float:
    """The mean sum of squares where a number is divided into so many parts of at least 0, all ways alike."""
    return 2 * whole * (whole - 1) / (parts + 1) + whole


@dataclass(frozen=True)
class Cell:
    """The noise of a cell: its variance, and how likely each radius is below which its table is uniform."""

    variance: float
    radii: dict[int, float]

    def beyond(self, h: int) -> float:
        """Of a table of two cells, P(|z| > h): of 2 R + 1 numbers 2 (R - h) are larger."""
        return math.fsum(w * 2 * (r - h) / (2 * r + 1) for r, w in self.radii.items() if r > h)

    @property
    def mean_size(self) -> float:
        """Of a table of two cells: R (R + 1) / (2 R + 1)."""
        return math.fsum(w * r * (r + 1) / (2 * r + 1) for r, w in self.radii.items())


def cells_of(cells: Sequence[int], scales: Sequence[float]) -> list[Cell]:
    """A cell of each table."""
    kinds = Counter((n, 1 / Fraction(s)) for n, s in zip(cells, scales, strict=True))
    unit = math.lcm(*(rate.denominator for _, rate in kinds))
    sizes = {n: _Sizes(n) for n in cells}
    at = dict.fromkeys(kinds, 0)
    free, place, most = sum(n - 1 for n in cells), 0, -math.inf
    seen: list[tuple[float, dict[tuple[int, Fraction], int]]] = []
    while True:
        following = min((at[kind] + 1) * int(kind[1] * unit) for kind in kinds)
        below = math.fsum(often * math.log(sizes[kind[0]].within[at[kind]]) for kind, often in kinds.items())
        weight = below - place / unit + math.log(-math.expm1(-(following - place) / unit))
        most = max(most, weight)
        seen.append((weight, dict(at)))
        if weight < most - _FADED and place > free * unit and min(at.values()) > 2:  # narrow tables, too
            break
        if len(seen) * len(kinds) > _MOST_LEVELS:
            raise Undecided("noise too wide to repeat the errors here", where=_WHERE)
        place = following
        for kind in kinds:
            if (at[kind] + 1) * int(kind[1] * unit) == place:
                at[kind] += 1
                sizes[kind[0]].upto(at[kind])
    total = math.fsum(math.exp(weight - most) for weight, _ in seen)
    out = {}
    for kind in kinds:
        radii: dict[int, float] = {}
        for weight, radius in seen:
            radii[radius[kind]] = radii.get(radius[kind], 0.0) + math.exp(weight - most) / total
        squares = sizes[kind[0]].squares
        out[kind] = Cell(math.fsum(w * squares[r] for r, w in radii.items()) / kind[0], radii)
    return [out[n, 1 / Fraction(s)] for n, s in zip(cells, scales, strict=True)]
