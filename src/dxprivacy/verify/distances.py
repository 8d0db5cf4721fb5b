"""Distances from the metric's spec (docs/formats.md, section 3): floats that filter, exact bounds that decide.

`about` is within ERROR of the distance (relative), 0 and infinite exactly where it is; `between` gives two fractions
with the distance between them, equal where it is rational.  `pairs` are pairs that suffice: the distance is the
shortest-path closure of them (section 9), so a loss that keeps below it there keeps below it everywhere.
"""

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise

from dxprivacy.errors import Undecided
from dxprivacy.verify import sphere
from dxprivacy.verify.reading import Exact

ERROR = 2.0**-19
_ZERO = Fraction(0)
_TOO_FAR = 20_000_000
_REMEMBERED = 3_000
_FEW_PLACES = 2_000
_KILOMETERS = Fraction(63710088, 10000)


class Distance(ABC):
    """A distance on the cells 0, 1, …, size - 1."""

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def about(self, i: int, j: int) -> float:
        """The distance of two different cells, within ERROR."""

    @abstractmethod
    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        """Two fractions around the distance of two different cells, or twice infinity."""

    def pairs(self, classes: Sequence[int]) -> Iterator[tuple[int, int]]:  # noqa: ARG002  (only some need them)
        """Pairs that suffice for a loss that does not tell cells of one class apart."""
        return combinations(range(self.size), 2)

    def pair_count(self, classes: Sequence[int]) -> int:  # noqa: ARG002
        """How many pairs that are."""
        return self.size * (self.size - 1) // 2

    @property
    def axes(self) -> "Sequence[Distance] | None":
        """One distance per attribute, if this is their sum."""
        return None

    @cached_property
    def largest(self) -> float:
        """The largest distance; infinite if some is."""
        if self.size * (self.size - 1) // 2 > _TOO_FAR:
            raise Undecided("too many pairs to find the largest distance", where="metric")
        return max((self.about(i, j) for i, j in combinations(range(self.size), 2)), default=0.0)

    @cached_property
    def least(self) -> float | None:
        """The least positive finite distance."""
        return self._least()

    def _least(self) -> float | None:
        """It is among the pairs that suffice."""
        if self.pair_count(range(self.size)) > _TOO_FAR:
            raise Undecided("too many pairs to find the least distance", where="metric")
        found = (self.about(i, j) for i, j in self.pairs(range(self.size)))
        return min((d for d in found if 0 < d < math.inf), default=None)


class Constant(Distance):
    """One distance for all; of each two classes, one pair."""

    def __init__(self, size: int, epsilon: Exact) -> None:
        super().__init__(size)
        self.epsilon = epsilon
        self._float = float(epsilon)

    def about(self, i: int, j: int) -> float:  # noqa: ARG002
        return self._float

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:  # noqa: ARG002
        return self.epsilon, self.epsilon

    def pairs(self, classes: Sequence[int]) -> Iterator[tuple[int, int]]:
        first: dict[int, int] = {}
        for cell in range(self.size):
            first.setdefault(classes[cell], cell)
        return combinations(sorted(first.values()), 2)

    def pair_count(self, classes: Sequence[int]) -> int:
        count = len(set(classes))
        return count * (count - 1) // 2

    @cached_property
    def largest(self) -> float:
        return float(self.epsilon) if self.size > 1 else 0.0

    def _least(self) -> float | None:
        return self.largest if 0 < self.largest < math.inf else None


class Line(Distance):
    """Positions on a line; neighbors suffice."""

    def __init__(self, positions: Sequence[int], per_unit: Exact) -> None:
        super().__init__(len(positions))
        self.positions, self.per_unit = positions, per_unit
        self._price = float(per_unit)

    def about(self, i: int, j: int) -> float:
        steps = abs(self.positions[i] - self.positions[j])
        return steps * self._price if steps else 0.0

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        steps = abs(self.positions[i] - self.positions[j])
        value = steps * self.per_unit if steps else _ZERO
        return value, value

    def pairs(self, classes: Sequence[int]) -> Iterator[tuple[int, int]]:  # noqa: ARG002
        return pairwise(sorted(range(self.size), key=self.positions.__getitem__))

    def pair_count(self, classes: Sequence[int]) -> int:  # noqa: ARG002
        return self.size - 1

    @cached_property
    def largest(self) -> float:
        steps = max(self.positions) - min(self.positions)
        return float(steps * self.per_unit) if steps else 0.0


class Table(Distance):
    """Whole ticks above the diagonal, -1 for infinity."""

    def __init__(self, rows: list[list[int]], tick: Fraction) -> None:
        super().__init__(len(rows) + 1)
        self.rows, self.tick = rows, tick
        self._float = float(tick)

    def _ticks(self, i: int, j: int) -> int:
        a, b = (i, j) if i < j else (j, i)
        return self.rows[a][b - a - 1]

    def about(self, i: int, j: int) -> float:
        ticks = self._ticks(i, j)
        return math.inf if ticks < 0 else ticks * self._float

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        ticks = self._ticks(i, j)
        value: Exact = math.inf if ticks < 0 else ticks * self.tick
        return value, value


class Graph(Distance):
    """Shortest paths; the edges suffice."""

    def __init__(self, size: int, edges: dict[tuple[int, int], int], tick: Fraction) -> None:
        super().__init__(size)
        self.edges, self.tick = edges, tick

    @cached_property
    def _neighbors(self) -> list[list[tuple[int, int]]]:
        out: list[list[tuple[int, int]]] = [[] for _ in range(self.size)]
        for (i, j), ticks in self.edges.items():
            out[i].append((j, ticks))
            out[j].append((i, ticks))
        return out

    @cached_property
    def _found(self) -> dict[int, dict[int, int]]:
        return {}

    def _from(self, start: int) -> dict[int, int]:
        """Dijkstra; pairs come sorted, so a few starts are worth keeping."""
        if start not in self._found:
            from heapq import heappop, heappush

            if len(self._found) > 100:
                self._found.clear()
            done: dict[int, int] = {}
            queue = [(0, start)]
            while queue:
                way, at = heappop(queue)
                if at not in done:
                    done[at] = way
                    for to, ticks in self._neighbors[at]:
                        if to not in done:
                            heappush(queue, (way + ticks, to))
            self._found[start] = done
        return self._found[start]

    def about(self, i: int, j: int) -> float:
        return float(self.between(i, j)[0])

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        ticks = self._from(min(i, j)).get(max(i, j))
        value: Exact = math.inf if ticks is None else ticks * self.tick
        return value, value

    def pairs(self, classes: Sequence[int]) -> Iterator[tuple[int, int]]:  # noqa: ARG002
        return iter(self.edges)

    def pair_count(self, classes: Sequence[int]) -> int:  # noqa: ARG002
        return len(self.edges)


class Places(Distance):
    """Coordinates and a length; `p` is 2 for Euclid, None on the sphere."""

    def __init__(self, rows: list[list[float]], per_unit: Fraction, p: float | None) -> None:
        super().__init__(len(rows))
        self.rows, self.per_unit, self.p = rows, per_unit, p
        self._price = float(per_unit) * (float(_KILOMETERS) if p is None else 1.0)

    @cached_property
    def _known(self) -> "array[float]":
        return array("d", [-1.0]) * (self.size * self.size if self.size <= _REMEMBERED else 0)

    def about(self, i: int, j: int) -> float:
        """Length times price; remembered where there are few."""
        if not self._known:
            return self._length(i, j)
        at = i * self.size + j if i < j else j * self.size + i
        if self._known[at] < 0:
            self._known[at] = self._length(i, j)
        return self._known[at]

    def _length(self, i: int, j: int) -> float:
        x, y = self.rows[i], self.rows[j]
        if x == y:
            return 0.0
        if self.p is None:
            if sphere.same((x[0], x[1]), (y[0], y[1])):
                return 0.0
            length = sphere.angle_about((x[0], x[1]), (y[0], y[1]))
        elif self.p == 2:
            length = math.dist(x, y)
        else:
            apart = [abs(a - b) for a, b in zip(x, y, strict=True)]
            length = top = max(apart)
            if self.p < math.inf:
                length = top * math.fsum((a / top) ** self.p for a in apart) ** (1 / self.p)
        value = length * self._price
        if not 1e-290 < value < 1e290:
            raise Undecided("distances beyond the range of floats", where="metric")
        return value

    @property
    def price(self) -> float:
        """Of a unit of length; on the sphere of a radian."""
        return self._price

    @cached_property
    def largest(self) -> float:
        """Of many places, at most 2^-21 above it."""
        if self.size > _FEW_PLACES:
            from dxprivacy.verify.spaces import Clipped, space
            from dxprivacy.verify.walks import farthest

            points = space(Clipped(self.rows, self.p, self._price))
            if points is not None:
                return farthest(points)
        return super().largest

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        """Length times price, to 38 digits where it is irrational."""
        x, y = self.rows[i], self.rows[j]
        if self.p is None:
            low, high = sphere.angle_between((x[0], x[1]), (y[0], y[1]))
            return low * _KILOMETERS * self.per_unit, high * _KILOMETERS * self.per_unit
        apart = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x, y, strict=True)]
        if self.p == math.inf:
            value = max(apart)
            return value * self.per_unit, value * self.per_unit
        p = int(self.p)
        low, high = _root(sum((a**p for a in apart), _ZERO), p)
        return low * self.per_unit, high * self.per_unit


def _root(x: Fraction, p: int) -> tuple[Fraction, Fraction]:
    """The p-th root of a fraction, between two fractions 2^-120 apart (relative), equal if it is one itself.

    >>> _root(Fraction(25, 4), 2), [float(x) for x in _root(Fraction(2), 2)]
    ((Fraction(5, 2), Fraction(5, 2)), [1.4142135623730951, 1.4142135623730951])
    """
    if p == 1 or not x:
        return x, x
    size = (x.numerator.bit_length() - x.denominator.bit_length()) // p
    shift = max(0, 128 - size)
    # denominators are powers of two: choose a shift that makes x * 2^(p shift) whole, so that exact roots are found
    bits = x.denominator.bit_length() - 1
    shift = max(shift, -(-bits // p))
    scaled = x * (1 << p * shift)
    n = scaled.numerator // scaled.denominator
    root = _whole_root(n, p)
    low = Fraction(root, 1 << shift)
    return (low, low) if low**p == x else (low, Fraction(root + 1, 1 << shift))


def _whole_root(n: int, p: int) -> int:
    """The largest r with r^p <= n, by bisection of the bits."""
    if p == 2:
        return math.isqrt(n)
    root = 0
    for bit in range(n.bit_length() // p + 1, -1, -1):
        if (root | 1 << bit) ** p <= n:
            root |= 1 << bit
    return root
