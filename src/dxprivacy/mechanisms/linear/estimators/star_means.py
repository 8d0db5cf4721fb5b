"""Tables that share the noise of their owner's margin: what was asked are means of what they tell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.errors import NotCertified, QuestionError
from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.linear.estimators.least_squares import TableOf
from dxprivacy.mechanisms.linear.noise.noise_laws import Combined, Laplace
from dxprivacy.mechanisms.linear.strategies.k_norm_components import DIGITS, Part, Value, rounded
from dxprivacy.mechanisms.linear.strategies.separated_records import classes_of
from dxprivacy.mechanisms.linear.strategies.tables_in_rows import AskedTable
from dxprivacy.optimize.k_norm.star_fit import Star, spreads
from dxprivacy.optimize.tables import Reconstruction, Table
from dxprivacy.universe.answers import Law
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.hierarchy import Nest, star_of

MOST_ROWS = 30_000


@dataclass(frozen=True, eq=False)
class _OneStar:
    """A star of a component: the places of its tables among those counted, the margin's first; and its nest."""

    star: Star
    places: tuple[int, ...]
    nest: Nest
    rows: Ints  # by their place in the nest: among all counted ones of the plan


class Starred(Part):
    """Tables that share the noise of their owner's margin."""

    whole = False

    def __init__(
        self,
        numbers: tuple[Ints, Ints],
        axes: Sequence[int],
        blocks: Sequence[Block],
        asked: Sequence[AskedTable],
        counted: Sequence[TableOf],
    ) -> None:
        super().__init__(*numbers)
        if len(self.counted) > MOST_ROWS:
            raise NotCertified("too many cells for consistent noise", hints=['method="matrix"'])
        self._asked, self._counted = asked, counted
        self._sizes = [int(classes_of(blocks, axis).max()) + 1 for axis in axes]
        place = {axis: k for k, axis in enumerate(axes)}
        self._tables = [Table(tuple(place[a] for a in t.attributes)) for t in counted]
        self._wanted = [tuple(place[a] for a in t.attributes) for t in asked]
        self._starts = np.cumsum([0] + [b.rows for b in blocks[len(blocks) - len(counted) :]])
        if self._starts[1:].tolist() != np.cumsum([len(t.rows) for t in counted]).tolist():
            raise NotCertified("consistent noise of tables needs a row for each cell, and no others")
        self.stars = [self._star(places) for places in self._places()]
        self._solved: tuple[tuple[float, ...], Reconstruction] | None = None

    def _places(self) -> list[list[int]]:
        """Which tables are a star: a margin opens it."""
        out: list[list[int]] = []
        for k, table in enumerate(self._tables):
            if len(table.attributes) == 1:
                out.append([k])
            elif out and self._tables[out[-1][0]].attributes[0] in table.attributes:
                out[-1].append(k)
            else:
                raise NotCertified("consistent noise needs tables behind the margin that they share")
        return out

    def _star(self, places: Sequence[int]) -> _OneStar:
        owner = self._tables[places[0]].attributes[0]
        starts = np.cumsum([0] + [len(self._counted[k].rows) for k in places])
        rows = np.concatenate([self.counted[self._starts[k] + np.arange(len(self._counted[k].rows))] for k in places])
        groups = []
        for start, k in zip(starts[1:].tolist(), places[1:], strict=False):
            shape = [self._sizes[a] for a in self._tables[k].attributes]
            cells = np.moveaxis(self._counted[k].rows.reshape(shape), self._tables[k].attributes.index(owner), 0)
            groups.append(start + cells.reshape(shape[self._tables[k].attributes.index(owner)], -1))
        nest = star_of(self._counted[places[0]].rows, groups)
        return _OneStar(Star(owner, tuple(self._tables[k].attributes for k in places[1:])), tuple(places), nest, rows)

    @property
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        return [(one.nest, one.rows) for one in self.stars]

    def widest(self, scales: Sequence[float]) -> float:
        cells = [one.places[1:] or one.places for one in self.stars]
        return max(self._scales(scales)[k] for some in cells for k in some)

    def _scales(self, scales: Sequence[float]) -> list[float]:
        """Of each table; all its rows have one."""
        out = []
        for k in range(len(self._tables)):
            mine = {scales[row] for row in self.counted[self._starts[k] : self._starts[k + 1]].tolist()}
            if len(mine) > 1:
                raise NotCertified("consistent noise of tables needs one scale for all cells of a table")
            out.append(mine.pop())
        return out

    def _way(self, scales: Sequence[float]) -> Reconstruction:
        """The way back; kept for the scales that were asked about last."""
        each = tuple(self._scales(scales))
        if self._solved is None or self._solved[0] != each:
            spread: dict[int, tuple[int, float]] = {}  # by table: the owner, and its variance in what it tells alone
            for one in self.stars:
                weights = [1 / each[k] for k in one.places]
                margin, others = spreads(self._sizes, one.star, weights[0], weights[1:])
                spread |= {k: (one.star.owner, v) for k, v in zip(one.places, (margin, *others), strict=True)}
            margins = {one.places[0] for one in self.stars}

            def by_component(k: int, s: tuple[int, ...]) -> float:
                """A table tells nothing of its owner alone that the margin does not tell."""
                return math.inf if k not in margins and s == (spread[k][0],) else spread[k][1]

            try:
                way = Reconstruction(
                    self._sizes, self._wanted, self._tables, [1.0] * len(self._tables), by_component=by_component
                )
            except QuestionError:
                raise NotCertified("the counted rows do not tell everything that is asked") from None
            self._solved = each, way
        return self._solved[1]

    def laws(self, scales: Sequence[float]) -> list[Law]:
        """All cells of a table are alike."""
        out: list[Law] = [Laplace(0.0)] * len(self.asked)
        for table, v in zip(self._asked, self._way(scales).variance(), strict=True):
            for row in table.rows[table.rows >= 0].tolist():
                out[row] = Combined(rounded(v)) if v > 0 else Laplace(0.0)
        return out

    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        mine = noisy[self.counted]
        given = [mine[start + table.rows] for start, table in zip(self._starts, self._counted, strict=False)]
        found: list[Value] = [0] * len(self.asked)
        way = self._way(scales)
        for table, cells, v in zip(self._asked, way.estimate(given, records), way.variance(), strict=True):
            for row, x in zip(table.rows.tolist(), cells.tolist(), strict=True):
                if row >= 0:
                    found[row] = round(x, DIGITS) if v > 0 else round(x)
        return found
