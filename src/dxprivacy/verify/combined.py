"""Distances made of others (docs/formats.md, section 3): one cell more, scaled, joined, over digits, restricted."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product

from dxprivacy.verify.distances import Constant, Distance, Line
from dxprivacy.verify.reading import Exact

_ZERO = Fraction(0)


class WithOther(Distance):
    """A base, and one more cell at the same distance from all."""

    def __init__(self, base: Distance, radius: Exact) -> None:
        super().__init__(base.size + 1)
        self.base, self.radius = base, radius
        self._last, self._float, self._twice = base.size, float(radius), 2 * radius

    def about(self, i: int, j: int) -> float:
        if i == self._last or j == self._last:
            return self._float
        return min(self.base.about(i, j), 2 * self._float)

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        if self.size - 1 in (i, j):
            return self.radius, self.radius
        low, high = self.base.between(i, j)
        least = min(low, self._twice)
        return least, least if high is low else min(high, self._twice)

    def pairs(self, classes: Sequence[int]) -> Iterator[tuple[int, int]]:
        yield from self.base.pairs(classes[:-1])
        yield from ((cell, self.size - 1) for cell in range(self.size - 1))

    def pair_count(self, classes: Sequence[int]) -> int:
        return self.base.pair_count(classes[:-1]) + self.size - 1

    @cached_property
    def largest(self) -> float:
        """Over the base, or to the last cell."""
        r = float(self.radius)
        return r if math.isinf(r) else max(r, min(self.base.largest, 2 * r))

    def _least(self) -> float | None:
        """The base's, or the radius: a detour is longer than that."""
        if not self.radius:
            return None
        found = (x for x in (self.base.least, self._float) if x is not None and x < math.inf)
        return min(found, default=None)


class WithAbsent(WithOther):
    """A base on the records that are there, and one more cell for somebody who is not."""


class Scaled(Distance):
    """A base times a factor."""

    def __init__(self, base: Distance, factor: Fraction) -> None:
        super().__init__(base.size)
        self.base, self.factor = base, factor
        self._float = float(factor)

    def about(self, i: int, j: int) -> float:
        return self.base.about(i, j) * self._float

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        low, high = self.base.between(i, j)
        return low * self.factor, high * self.factor

    def pairs(self, classes: Sequence[int]) -> Iterator[tuple[int, int]]:
        return self.base.pairs(classes)

    def pair_count(self, classes: Sequence[int]) -> int:
        return self.base.pair_count(classes)

    @property
    def axes(self) -> Sequence[Distance] | None:
        return None if self.base.axes is None else [Scaled(a, self.factor) for a in self.base.axes]

    @cached_property
    def largest(self) -> float:
        return self.base.largest * float(self.factor)


class Joined(Distance):
    """Several distances on the same cells, joined by sum, max or (with a cap) min: all pairs."""

    def __init__(self, how: str, parts: Sequence[Distance]) -> None:
        super().__init__(parts[0].size)
        self.how, self.parts = how, parts

    def about(self, i: int, j: int) -> float:
        return float(_join(self.how, [p.about(i, j) for p in self.parts]))

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        ends = [p.between(i, j) for p in self.parts]
        return _join(self.how, [e[0] for e in ends]), _join(self.how, [e[1] for e in ends])

    @cached_property
    def largest(self) -> float:
        """That of the parts, joined: the largest of all, or where one part alone varies and the rest is the same."""
        if self.how == "max" or sum(not isinstance(p, Constant) for p in self.parts) <= 1:
            return float(_join(self.how, [p.largest for p in self.parts]))
        return super().largest


def _join(how: str, values: Sequence[Exact]) -> Exact:
    return sum(values[1:], values[0]) if how == "sum" else max(values) if how == "max" else min(values)


class Product(Distance):
    """Distances of the digits of a cell, joined by sum or max."""

    def __init__(self, how: str, parts: Sequence[Distance]) -> None:
        super().__init__(math.prod(p.size for p in parts))
        self.how, self.parts = how, parts

    def _digits(self, cell: int) -> list[int]:
        out = []
        for part in reversed(self.parts):
            cell, digit = divmod(cell, part.size)
            out.append(digit)
        return out[::-1]

    def about(self, i: int, j: int) -> float:
        digits = zip(self.parts, self._digits(i), self._digits(j), strict=True)
        return float(_join(self.how, [0.0, *(p.about(u, v) for p, u, v in digits if u != v)]))

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        digits = zip(self.parts, self._digits(i), self._digits(j), strict=True)
        ends = [p.between(u, v) for p, u, v in digits if u != v] or [(_ZERO, _ZERO)]
        low = _join(self.how, [e[0] for e in ends])
        # Most distances are known exactly, and sums of fractions take most of the time of a verification.
        return low, low if all(a is b for a, b in ends) else _join(self.how, [e[1] for e in ends])

    @property
    def axes(self) -> Sequence[Distance] | None:
        return self.parts if self.how == "sum" else None

    @cached_property
    def _is_grid(self) -> bool:
        """Equal lines of consecutive positions: steps in several digits at once suffice for the maximum.

        With many short digits these would be more than all pairs.
        """
        lines = [p for p in self.parts if isinstance(p, Line) and isinstance(p.positions, range)]
        few = 3 ** len(self.parts) < self.size
        return few and len(lines) == len(self.parts) and len({p.per_unit for p in lines}) == 1

    def pairs(self, classes: Sequence[int]) -> Iterator[tuple[int, int]]:
        """King's moves on a grid, otherwise all pairs."""
        if self.how == "sum" or not self._is_grid:
            yield from super().pairs(classes)
            return
        moves = [m for m in product((-1, 0, 1), repeat=len(self.parts)) if m > (0,) * len(self.parts)]
        for cell in range(self.size):
            at = self._digits(cell)
            for move in moves:
                to = [a + step for a, step in zip(at, move, strict=True)]
                if all(0 <= t < p.size for t, p in zip(to, self.parts, strict=True)):
                    other = 0
                    for t, p in zip(to, self.parts, strict=True):
                        other = other * p.size + t
                    yield cell, other

    def pair_count(self, classes: Sequence[int]) -> int:
        return (
            self.size * 3 ** len(self.parts) // 2
            if self.how == "max" and self._is_grid
            else super().pair_count(classes)
        )

    @cached_property
    def largest(self) -> float:
        return float(_join(self.how, [p.largest for p in self.parts]))

    def _least(self) -> float | None:
        if self.how != "sum":
            return super()._least()
        return min((x for x in (p.least for p in self.parts) if x is not None), default=None)


class Restricted(Distance):
    """Some cells of a base: all pairs."""

    def __init__(self, base: Distance, cells: list[int]) -> None:
        super().__init__(len(cells))
        self.base, self.cells = base, cells

    def about(self, i: int, j: int) -> float:
        return self.base.about(self.cells[i], self.cells[j])

    def between(self, i: int, j: int) -> tuple[Exact, Exact]:
        return self.base.between(self.cells[i], self.cells[j])
