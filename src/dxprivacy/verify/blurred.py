"""Maps: parts of places, and the parts of distances that noise on them takes (docs/formats.md, sections 4 and 7)."""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from dxprivacy.verify import sphere
from dxprivacy.verify.bells import STEPS, apart
from dxprivacy.verify.blocks import Block, Column, Table
from dxprivacy.verify.combined import Joined, Product, Scaled, WithAbsent, WithOther
from dxprivacy.verify.distances import Constant, Distance, Places
from dxprivacy.verify.planes import Plane, turned
from dxprivacy.verify.reading import Exact, refuse

if TYPE_CHECKING:  # what has no map needs no arrays
    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]

_RADIUS = Fraction(63710088, 10000)
_REACH = 4
_ROOT_OF_TWO = Fraction(1414213563, 10**9)
_CLOSELY = Fraction(1, 1 << 42)  # relative: what floats lose of a distance, and a little more
_WHERE = "certificate"


class Blurred(Block):
    """Rows `beside x parts`: where each value's column starts, its parts and how much it counts there.

    `counted` are the values that lie in `plane`, in its order; `width` is that of the bell.
    """

    kind = "soft"

    def __init__(
        self,
        axis: int,
        shape: tuple[int, int],
        columns: "tuple[Ints, Ints, Ints]",
        beside: Table,
        plane: Plane,
        counted: Sequence[int],
        width: Fraction,
        rounding: Fraction,
    ) -> None:
        self.parts, self.values = shape
        super().__init__(beside.rows * self.parts, sorted((axis, *beside.axes)), Fraction(1, STEPS), Fraction(0))
        self.axis, self.beside, self.plane, self.counted = axis, beside, plane, counted
        self.starts, self.part, self.amount = columns
        self.width, self.rounding = width, rounding

    def column_of(self, value: int) -> tuple[list[int], list[int]]:
        """The parts in which a value counts, and how much in each."""
        here = slice(int(self.starts[value]), int(self.starts[value + 1]))
        return self.part[here].tolist(), self.amount[here].tolist()

    def column(self, values: Sequence[int]) -> Column:
        parts, amounts = self.column_of(values[self.axis])
        return {
            self.first + row * self.parts + part: weight * x
            for row, weight in self.beside.column(values).items()
            for part, x in zip(parts, amounts, strict=True)
        }

    @cached_property
    def most(self) -> int:
        """How much one record counts in all."""
        import numpy as np

        sums = np.concatenate([[0], np.cumsum(self.amount)])
        return int((sums[self.starts[1:]] - sums[self.starts[:-1]]).max(initial=0))

    @cached_property
    def _ends(self) -> "tuple[Ints, Ints]":
        """The least and the largest number of each part, over all values."""
        import numpy as np

        low: Ints = np.full(self.parts, np.iinfo(np.int64).max, dtype=np.int64)  # parts of many cells exceed a whole
        high: Ints = np.zeros(self.parts, dtype=np.int64)
        np.minimum.at(low, self.part, self.amount)
        np.maximum.at(high, self.part, self.amount)
        everywhere = np.bincount(self.part, minlength=self.parts) == self.values
        return np.where(everywhere, low, 0), high

    def filled(self) -> list[bool]:
        """Whether anybody can count in each row."""
        beside = {row: bool(low or high) for row, low, high in self.beside.ends(absent=False)}
        used = (self._ends[1] > 0).tolist()
        return [beside.get(row, False) and u for row in range(self.beside.rows) for u in used]

    def moving(self, axis: int, value: int) -> object:
        if axis != self.axis:
            return self.beside.moving(axis, value)
        place = self._place.get(value)
        return None if place is None else self.plane.rows[place]

    @cached_property
    def _place(self) -> dict[int, int]:
        return {value: k for k, value in enumerate(self.counted)}

    def context(self, axis: int, value: int, uniform: bool) -> object:  # noqa: ARG002
        raise refuse("is a map, which no pair of records tells about", "queries")

    def arrays(self) -> Iterator[Sequence[int]]:
        yield [self.rows, self.axis, self.parts]
        for each in (self.starts, self.part, self.amount):
            yield array("q", each.astype("=i8").tobytes())
        yield from self.beside.arrays()

    def spreads(self, *, absent: bool) -> Iterator[tuple[int, int]]:
        import numpy as np

        low, high = self._ends
        for row, least, most in self.beside.ends(absent=absent):
            for part in np.flatnonzero(high).tolist():
                corners = [x * y for x in (least, most) for y in (int(low[part]), int(high[part]))]
                if max(corners) > min(corners):
                    yield self.first + row * self.parts + part, max(corners) - min(corners)

    def row(self, k: int) -> "Blurred":
        import numpy as np

        group, part = divmod(k, self.parts)
        mine = self.part == part
        many = np.concatenate([[0], np.cumsum(mine)])[self.starts]
        columns = many.astype(np.int64), np.zeros(int(mine.sum()), dtype=np.int64), self.amount[mine]
        shape = (1, self.values)
        beside = self.beside.row(group)
        return Blurred(self.axis, shape, columns, beside, self.plane, self.counted, self.width, self.rounding)

    def groups(self) -> Table:
        """In which group beside a record counts, or in none."""
        inside = set(self.counted)
        groups = {**self.beside.groups, self.axis: [0 if v in inside else -1 for v in range(self.values)]}
        sizes = {**self.beside.sizes, self.axis: 1}
        return Table(groups, {a: [1] * len(g) for a, g in groups.items()}, sizes)


@dataclass(frozen=True)
class _Length:
    """A distance that is min(max(length * per, floor), cap) of places."""

    rows: Sequence[Sequence[float]]
    p: float | None
    per: Fraction
    floor: Exact
    cap: Exact


def of_places(block: Blurred, metric: Distance) -> Exact:
    """The part of the distance of two places that noise of scale 1 takes."""
    cap: Exact = math.inf
    if isinstance(metric, WithAbsent):
        cap, metric = 2 * metric.radius, metric.base
    if isinstance(metric, Constant):
        return _of_constant(block, metric)
    axes: Sequence[Distance] = metric.parts if isinstance(metric, Product) else [metric]
    if isinstance(metric, Scaled) and metric.axes is not None:
        axes = metric.axes
    if block.axis >= len(axes):
        raise refuse("has no distances between the places of a map", _WHERE)
    along = axes[block.axis]
    if isinstance(along, Constant):
        return _of_constant(block, along)
    found = _length(along)
    if found is None or not _same(found, block):
        raise refuse("has no distances between the places of a map", _WHERE)
    least = _least(found)
    if least is None or not block.most:
        return Fraction(0)
    cap, reach = min(cap, found.cap), _REACH * block.width
    stretch = block.plane.stretch(reach) * (1 if found.p is None or found.p <= 2 else _ROOT_OF_TWO)
    near = max(least, Fraction(found.floor) / found.per)
    if cap != math.inf:
        near = min(near, Fraction(cap) / found.per)
    steps = min(STEPS * apart(stretch * near / block.width) + 2 * block.rounding, Fraction(2 * block.most))
    parts = [steps / (found.per * near)]
    if found.p is None:
        parts.append(2 * block.most / (found.per * max(reach, near)))
    if cap != math.inf:
        parts.append(2 * block.most / Fraction(cap))
    return max(parts)


def _of_constant(block: Blurred, metric: Constant) -> Exact:
    """Any two records may differ by two."""
    if metric.size < 2:
        return Fraction(0)
    return (
        Fraction(2 * block.most) / Fraction(metric.epsilon) if 0 < metric.epsilon < math.inf else _at_the_ends(metric)
    )


def _at_the_ends(metric: Constant) -> Exact:
    return Fraction(0) if metric.epsilon else math.inf


def _length(metric: Distance) -> _Length | None:
    """How a distance follows from places."""
    if isinstance(metric, Places):
        return _Length(metric.rows, metric.p, metric.per_unit, Fraction(0), math.inf)
    if isinstance(metric, WithOther):
        base = _length(metric.base) if metric.radius else None
        return (
            None if base is None else _Length(base.rows, base.p, base.per, base.floor, min(base.cap, 2 * metric.radius))
        )
    if isinstance(metric, Scaled):
        base, f = _length(metric.base), metric.factor
        return None if base is None else replace(base, per=base.per * f, floor=base.floor * f, cap=base.cap * f)
    if isinstance(metric, Joined) and metric.how in ("min", "max"):
        others = [part for part in metric.parts if not isinstance(part, Constant)]
        base = _length(others[0]) if len(others) == 1 else None
        for part in metric.parts:
            if base is not None and isinstance(part, Constant):
                ends = (base.floor, part.epsilon), (base.cap, part.epsilon)
                floor, cap = (max(e) if metric.how == "max" else min(e) for e in ends)
                base = replace(base, floor=floor, cap=cap)
        return base
    return None


def _same(found: _Length, block: Blurred) -> bool:
    """Whether these are the places that the map shows."""
    if (found.p is None) != block.plane.earth or len(found.rows[0]) != 2:
        return False
    mine = [found.rows[value] if value < len(found.rows) else None for value in block.counted]
    placed = [None if r is None else (r[0] + 0.0, turned(r[1]) if block.plane.earth else r[1] + 0.0) for r in mine]
    return placed == list(block.plane.rows)


def _least(found: _Length) -> Fraction | None:
    """Not more than the least length between different places; None where there are no two.

    In the order of one coordinate (on the Earth, of points of a sphere), the widest spread one, as far as a difference
    there is not longer than the least length so far.
    """
    import numpy as np

    arc = found.p is None
    rows = np.unique(np.array([_one_way(row, arc) for row in found.rows], dtype=np.float64), axis=0)
    spots = rows
    if arc:
        phi, lam = np.radians(rows.T)
        spots = np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)], axis=1)
    widest = max(range(spots.shape[1]), key=lambda k: len(np.unique(spots[:, k].round(9) if arc else spots[:, k])))
    order = np.argsort(spots[:, widest], kind="stable")
    rows, along = rows[order], spots[order, widest]
    best, pair = math.inf, (0, 0)
    for shift in range(1, len(rows)):
        if float((along[shift:] - along[:-shift]).min()) * 0.99 - 1e-14 * arc > best:
            break
        lengths = _lengths(rows[:-shift], rows[shift:], found.p)
        at = int(lengths.argmin())
        if lengths[at] < best:
            best, pair = float(lengths[at]), (at, at + shift)
    if best == math.inf:
        return None
    if not arc:
        return Fraction(best) * (1 - _CLOSELY)
    a, b = (tuple(rows[k].tolist()) for k in pair)
    return sphere.angle_between((a[0], a[1]), (b[0], b[1]))[0] * (1 - _CLOSELY) * _RADIUS


def _one_way(row: Sequence[float], earth: bool) -> tuple[float, float]:
    if not earth:
        return row[0] + 0.0, row[1] + 0.0
    return row[0] + 0.0, 0.0 if abs(row[0]) == 90 else turned(row[1])


def _lengths(a: Any, b: Any, p: float | None) -> Any:
    """Of many pairs; on the Earth angles by the haversine."""
    import numpy as np

    apart_by = np.abs(a - b)
    if p is None:
        turn = np.minimum(apart_by[:, 1], 360 - apart_by[:, 1])
        ring = np.sin(np.radians(90 - np.abs(a[:, 0]))) * np.sin(np.radians(90 - np.abs(b[:, 0])))
        square = np.sin(np.radians(apart_by[:, 0]) / 2) ** 2 + ring * np.sin(np.radians(turn) / 2) ** 2
        return 2 * np.arcsin(np.minimum(np.sqrt(square), 1.0))
    if p == math.inf:
        return apart_by.max(axis=1)
    top = apart_by.max(axis=1)
    return top * ((apart_by / top[:, None]) ** p).sum(axis=1) ** (1 / p)


def only_along(metric: Distance, axes: Sequence[int], attributes: int) -> Distance:
    """The same distances where records differ in some attributes alone, or in being there at all."""
    base = metric.base if isinstance(metric, WithAbsent) else metric
    own = [base] if attributes == 1 else base.axes
    if own is None:
        raise refuse("distances do not add up over attributes", _WHERE)
    kept: list[Distance] = [x if k in axes else Constant(x.size, math.inf) for k, x in enumerate(own)]
    found = kept[0] if len(kept) == 1 else Product("sum", kept)
    return WithAbsent(found, metric.radius) if isinstance(metric, WithAbsent) else found


def reading_of(block: Blurred, scales: Sequence[float], rows_each: int, *, absent: bool) -> float:
    """The most that replacing a record, or all rows of a person, can lose."""
    least = least_scale(block, scales)
    if least is None or not any(True for _ in block.spreads(absent=absent)):
        return 0.0
    return 2 * block.most * rows_each / least if least else math.inf


def least_scale(block: Blurred, scales: Sequence[float]) -> float | None:
    """Of the rows in which anybody can count."""
    mine = scales[block.first : block.first + block.rows]
    return min((s for s, filled in zip(mine, block.filled(), strict=True) if filled), default=None)
