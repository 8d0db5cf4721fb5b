"""Blurred maps: every place counts in many parts of a map, weighted by a bell curve around it.

Nearby places have nearly the same weights, and all pairs of neighbors have nearly the same ratio of loss to distance.
So the cost follows from the width of the bell (`privacy/map_costs.py`), without comparing pairs.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from dxprivacy.errors import NotCertified, TooLarge
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.normal import STEPS
from dxprivacy.universe.blocks.block import classes_of_rows
from dxprivacy.universe.blocks.one_hot import Factor, OneHot
from dxprivacy.universe.blocks.soft_tables import SoftTable
from dxprivacy.universe.plane import Plane

MOST_ROWS = 200_000
_MOST_TABLE = 20_000_000  # groups of other attributes x values


@dataclass(frozen=True, eq=False)
class Bell:
    """The blur of places: their plane, the standard deviation, and the rounding error of a column in steps."""

    plane: Plane
    width: Fraction
    rounding: Fraction


class Blurred(SoftTable):
    """Rows `beside x parts`; `inside` maps each listed value to its place in the plane (-1: not counted)."""

    by_pairs = False

    def __init__(self, axis: int, matrix: Any, beside: OneHot, bell: Bell, inside: Ints) -> None:
        super().__init__(axis, matrix, beside, unit=Fraction(1, STEPS))
        self.bell, self.inside = bell, inside

    def _require_few(self, parts: int, values: int) -> None:
        """Check limits on the size; the full matrix is never built."""
        if parts * self.beside.rows > MOST_ROWS or self.beside.rows * values > _MOST_TABLE:
            raise TooLarge(
                f"{parts:,} grid cells in {self.beside.rows:,} groups are too many",
                hints=["wider grid cells, or fewer groups"],
            )

    @cached_property
    def groups(self) -> OneHot:
        """The groups of the other attributes, in which each record counts once or not at all."""
        values = self.universe.shape[self.axis]
        counted: Ints = np.full(values, -1, dtype=np.int64)
        counted[: len(self.inside)][self.inside >= 0] = 0
        factors = {**self.beside.factors, self.axis: Factor(counted, np.ones(values, dtype=np.int64))}
        return OneHot(self.universe, factors, {**self.beside.sizes, self.axis: 1})

    @cached_property
    def most(self) -> int:
        """The largest sum of weights of one record over all parts."""
        ends = np.concatenate([[0], np.cumsum(self._amount)])
        return int((ends[self._starts[1:]] - ends[self._starts[:-1]]).max(initial=0)) * self.beside.largest

    @property
    def is_constant(self) -> bool:
        """Whether all records have the same column, for example on a map of one grid cell."""
        return not self.spans(absent=True).any()

    def extremes(self) -> tuple[Floats, Floats]:
        """Combine the extremes of the groups and of the parts; all weights are nonnegative."""
        low, high = (self._beside_entry(cells) for cells in self.beside.ends(absent=False))
        least, most = np.outer(low, self._tops[1]), np.outer(high, self._tops[3])
        return least.ravel().astype(np.float64), most.ravel().astype(np.float64)

    @cached_property
    def _classes(self) -> Ints:
        """A class number for each value, equal for values at one place."""
        values = self.universe.shape[self.axis]
        placed: Floats = np.full((values, 2), np.inf)
        placed[: len(self.inside)][self.inside >= 0] = self.bell.plane.coordinates
        return classes_of_rows(placed.view(np.int64))

    @cached_property
    def _tops(self) -> tuple[Ints, Ints, Ints, Ints]:
        """For each part, a value with the smallest weight and this weight, and a value with the largest and this."""
        values, size = self.entries[0], len(self._starts) - 1
        order = np.lexsort((self._amount, self._part))
        part, value, amount = self._part[order], values[order], self._amount[order]
        many = np.bincount(part, minlength=self.parts_each)
        last = np.cumsum(many) - 1
        used = many > 0
        least, most = (np.zeros(self.parts_each, dtype=np.int64) for _ in range(2))
        low, high = (np.zeros(self.parts_each, dtype=np.int64) for _ in range(2))
        most[used], high[used] = value[last[used]], amount[last[used]]
        everywhere = np.flatnonzero(many == size)
        first = last - many + 1
        least[everywhere], low[everywhere] = value[first[everywhere]], amount[first[everywhere]]
        for k in np.flatnonzero(many < size).tolist():
            mine = np.sort(value[first[k] : last[k] + 1])
            gap = np.flatnonzero(mine != np.arange(len(mine)))
            least[k] = int(gap[0]) if len(gap) else len(mine)
        return least, low, most, high

    @cached_property
    def peak_of_row(self) -> Ints:
        return np.asarray(np.multiply.outer(self.beside.peak_of_row, self._tops[3]).ravel(), dtype=np.int64)

    def ends(self, *, absent: bool) -> tuple[Ints, Ints]:
        """Combine the ends of the groups with those of the parts; all weights are nonnegative."""
        low, high = self.beside.ends(absent=absent)
        nobody = self.universe.absent
        out = []
        for cells, values in ((low, self._tops[0]), (high, self._tops[2])):
            moved = cells[:, None] + self.universe.offsets(self.axis, values)
            out.append((moved if nobody is None else np.where(cells[:, None] == nobody, nobody, moved)).ravel())
        return out[0], out[1]

    def context(self, axis: int, *, uniform: bool) -> Ints:  # noqa: ARG002
        return _not_by_pairs()

    def strengths(self, axis: int, *, uniform: bool) -> tuple[Ints, Ints]:  # noqa: ARG002
        return _not_by_pairs()

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:  # noqa: ARG002
        return _not_by_pairs()

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:  # noqa: ARG002
        return _not_by_pairs()

    def reach(self, weights: Floats) -> float:  # noqa: ARG002
        return _not_by_pairs()

    def _row(self, k: int) -> "Blurred":
        from scipy.sparse import csc_array

        group, part = divmod(k, self.parts_each)
        amounts = np.where(self._part == part, self._amount, 0)
        size = (self.parts_each, len(self._starts) - 1)
        alone = csc_array((amounts, self._part, self._starts), shape=size)[[part]]
        return Blurred(self.axis, alone, self.beside._row(group), self.bell, self.inside)


def _not_by_pairs() -> NoReturn:
    raise NotCertified("maps are not accounted pair by pair", hints=["this is a bug: please report it"])
