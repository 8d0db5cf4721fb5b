"""Hierarchical counts with k-norm noise, drawn together; the workload consists of sums of their bins.

Release B x + B z, where z is integer on the bins, sum z = 0 (the number of records is public), and P(z) is proportional
to exp(-sum_k |B_k z| / s_k). The normalizing factor does not depend on x. So replacing a record i by j changes the
probability of any output by at most exp(sum_k |B_ki - B_kj| / s_k). That is the loss of independent Laplace noise of
these scales, with the same cost, certificate and ledger entry (the K-norm mechanism of the norm sum |B_k z| / s_k). B
counts every bin by itself, so this is a norm. Each query is a sum of noisy bins, so answers are integers and
consistent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from dxprivacy.errors import NotCertified, QueryError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.estimators.least_squares import (
    Component,
    Solution,
    TableOf,
    components,
    noises_of,
    rows_of,
    solved,
)
from dxprivacy.mechanisms.linear.estimators.measured import Measured
from dxprivacy.mechanisms.linear.noise.noise_distributions import Agreeing, Blend, Combined, Known, Laplace, least_of
from dxprivacy.mechanisms.linear.strategies.k_norm_strategies import DIGITS, KNormPart, Value, rounded
from dxprivacy.mechanisms.linear.strategies.separated_records import classes_of, count_representatives, representatives
from dxprivacy.mechanisms.linear.strategies.tables_in_rows import AskedTable, tables_in
from dxprivacy.mechanisms.sampling.hierarchy_tables import TooCoarse
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.mechanisms.sampling.tree_noise import Family, family_of
from dxprivacy.optimize.k_norm.hierarchy_moments import Moments
from dxprivacy.optimize.k_norm.star_fit import Star, spreads
from dxprivacy.optimize.tables import MeasuredTable, Reconstruction
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Distribution
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.hierarchy import NO_ROW, Nest, nest_of, star_of
from dxprivacy.universe.workload import Workload

# -- Hierarchies of counts: the workload consists of sums of noisy bins ------------------------------------------------


MOST_CELLS = 1_500
_LONG = 4_000.0
_ROOM = 1 << 62


class NestedSums(KNormPart):
    """Rows that form a hierarchy down to single bins."""

    whole = True

    def __init__(
        self, numbers: tuple[Ints, Ints], axes: Sequence[int], asked: Sequence[Block], counted: Sequence[Block]
    ) -> None:
        super().__init__(*numbers)
        if count_representatives([*asked, *counted], axes) > MOST_CELLS:
            raise NotCertified("too many possible records for k-norm noise", hints=['method="optimal"'])
        cells = representatives([*asked, *counted], axes)
        rows = np.vstack([b.columns(cells) for b in counted])
        nest = nest_of(rows)
        if nest is None:
            raise NotCertified("k-norm noise needs a hierarchy of counts, down to single bins")
        self.nest, self._rows = nest, rows == 1
        self.most = min(max(_LONG / nest.depth, 100.0), 400.0)  # each level of a hierarchy has its own lookup tables
        self.wanted = np.vstack([np.zeros((0, len(cells)), dtype=np.int64), *(b.columns(cells) for b in asked)])
        self._places = nest.row[nest.ends]  # of bins among the measured rows

    @property
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        return [(self.nest, self.counted)]

    def widest(self, scales: Sequence[float]) -> float:
        return max(float(scales[k]) for k in self.counted[self._places].tolist())

    @cached_property
    def _steps(self) -> list[tuple[int, int]]:
        """The grid step of each workload row's noise, and the largest change of the row by one unit of noise.

        The noise adds up to 0, so only differences between a row's entries count.
        """
        apart = self.wanted - self.wanted[:, :1]
        span = self.wanted.max(axis=1) - self.wanted.min(axis=1)
        return list(zip(np.gcd.reduce(apart, axis=1).tolist(), span.tolist(), strict=True))

    def distributions(self, scales: Sequence[float]) -> list[Distribution]:
        moments = Moments(self.nest, 1 / np.array(scales)[self.counted])
        known: dict[tuple[float, int, int], Distribution] = {}
        told: dict[tuple[int, int], Distribution] = {}
        out: list[Distribution] = []
        spread = moments.variances(self.wanted.astype(np.float64)).tolist()
        for v, (step, span), count in zip(spread, self._steps, self._same, strict=True):
            key = rounded(v), step, span
            if not step:
                out.append(Laplace(0.0))
            elif count == NO_ROW:
                out.append(known.setdefault(key, Agreeing(*key)))
            else:
                if (count, step) not in told:
                    told[count, step] = Known(key[0], _beyond(moments.distribution(count)), step)
                out.append(told[count, step])
        return out

    @cached_property
    def _same(self) -> list[int]:
        """For each workload row, the measured row with the same noise distribution up to a factor, or `NO_ROW`.

        The measured row counts either the bins with the larger entry or all others.
        """
        places = {k: row for k, row in enumerate(self.nest.row.tolist()) if row != NO_ROW}
        sets = {self._rows[row].tobytes(): k for k, row in places.items()}
        out = []
        for row in self.wanted:
            larger = row == row.max()
            found = [sets.get(side.tobytes(), NO_ROW) for side in (larger, ~larger)]
            out.append(max(found) if len(np.unique(row)) == 2 else NO_ROW)
        return out

    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:  # noqa: ARG002
        """Sums of noisy bins, without rounding."""
        cells = noisy[self.counted[self._places]]
        most = int(np.abs(self.wanted).max(initial=0)) * sum(abs(x) for x in cells.tolist())
        wanted = self.wanted if most < _ROOM else self.wanted.astype(object)
        return [int(x) for x in (wanted @ cells).tolist()]


def _beyond(distribution: Floats) -> tuple[float, ...]:
    """Return P(|z| > h) for h = 0, 1, ... of a symmetric distribution on -M .. M."""
    tail = 2 * np.cumsum(distribution[: len(distribution) // 2])[::-1]
    return (*tail.tolist(), 0.0)


# -- Components with independent noise, next to others with k-norm noise -----------------------------------------------


class Alone(KNormPart):
    """Rows with independent noise, and the reason; the workload is estimated by least squares."""

    whole = False

    def __init__(self, numbers: tuple[Ints, Ints], whole: Measured, part: Component, why: NotCertified) -> None:
        super().__init__(*numbers)
        self.why = why
        self._whole, self._part = whole, part
        self._solved: tuple[tuple[float, ...], Solution] | None = None

    @property
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        return ()

    @property
    def alone(self) -> Ints:
        return self.counted

    def widest(self, scales: Sequence[float]) -> float:  # noqa: ARG002
        return 0.0

    def _solution(self, scales: Sequence[float]) -> Solution:
        key = tuple(scales)
        if self._solved is None or self._solved[0] != key:
            self._solved = key, solved(self._whole, self._part, noises_of(key))
        return self._solved[1]

    def distributions(self, scales: Sequence[float]) -> list[Distribution]:
        found = self._solution(scales)
        least = least_of(found.noises.tolist())
        return [Blend(rounded(v), *least) if v > 0 else Laplace(0.0) for v in found.variances().tolist()]

    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        found = self._solution(scales)
        spread = found.variances().tolist()
        told = found.estimate(noisy, records).tolist()
        return [round(x, DIGITS) if v > 0 else round(x) for x, v in zip(told, spread, strict=True)]


# -- Stars: tables that share the noise of their owner's margin; the workload is estimated by weighted means -----------


MOST_ROWS = 30_000


@dataclass(frozen=True, eq=False)
class _OneStar:
    """A star of a component: the numbers of its tables among the measured ones, margin first, and its hierarchy."""

    star: Star
    places: tuple[int, ...]
    nest: Nest
    rows: Ints  # row numbers in the plan, in the order of the hierarchy


class Starred(KNormPart):
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
            raise NotCertified("too many possible records for k-norm noise", hints=['method="matrix"'])
        self._asked, self._counted = asked, counted
        self._sizes = [int(classes_of(blocks, axis).max()) + 1 for axis in axes]
        place = {axis: k for k, axis in enumerate(axes)}
        self._tables = [MeasuredTable(tuple(place[a] for a in t.attributes)) for t in counted]
        self._wanted = [tuple(place[a] for a in t.attributes) for t in asked]
        self._starts = np.cumsum([0] + [b.rows for b in blocks[len(blocks) - len(counted) :]])
        if self._starts[1:].tolist() != np.cumsum([len(t.rows) for t in counted]).tolist():
            raise NotCertified("k-norm noise of tables needs a row for each bin, and no others")
        self.stars = [self._star(places) for places in self._places()]
        self._solved: tuple[tuple[float, ...], Reconstruction] | None = None

    def _places(self) -> list[list[int]]:
        """The tables of each star; a one-attribute table (the margin) starts a star."""
        out: list[list[int]] = []
        for k, table in enumerate(self._tables):
            if len(table.attributes) == 1:
                out.append([k])
            elif out and self._tables[out[-1][0]].attributes[0] in table.attributes:
                out[-1].append(k)
            else:
                raise NotCertified("k-norm noise needs every table after the margin that it shares")
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
        """The scale of each table; raises if its rows have different ones."""
        out = []
        for k in range(len(self._tables)):
            mine = {scales[row] for row in self.counted[self._starts[k] : self._starts[k + 1]].tolist()}
            if len(mine) > 1:
                raise NotCertified("k-norm noise of tables needs one scale for all bins of a table")
            out.append(mine.pop())
        return out

    def _way(self, scales: Sequence[float]) -> Reconstruction:
        """The estimator, cached for the last scales."""
        each = tuple(self._scales(scales))
        if self._solved is None or self._solved[0] != each:
            # By table: the owner, and the variance of the table's own information.
            spread: dict[int, tuple[int, float]] = {}
            for one in self.stars:
                weights = [1 / each[k] for k in one.places]
                margin, others = spreads(self._sizes, one.star, weights[0], weights[1:])
                spread |= {k: (one.star.owner, v) for k, v in zip(one.places, (margin, *others), strict=True)}
            margins = {one.places[0] for one in self.stars}

            def by_component(k: int, s: tuple[int, ...]) -> float:
                """The variance per component: only the margin has information about the owner alone."""
                return math.inf if k not in margins and s == (spread[k][0],) else spread[k][1]

            try:
                way = Reconstruction(
                    self._sizes, self._wanted, self._tables, [1.0] * len(self._tables), by_component=by_component
                )
            except QueryError:
                raise NotCertified("the counted rows do not tell everything that is asked") from None
            self._solved = each, way
        return self._solved[1]

    def distributions(self, scales: Sequence[float]) -> list[Distribution]:
        """All bins of a table have the same distribution."""
        out: list[Distribution] = [Laplace(0.0)] * len(self.asked)
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


# -- Hierarchical counts with k-norm noise -----------------------------------------------------------------------------


_LEAST = 1e-300  # smaller scales count as no noise


class KNormCounts(Measured):
    """Hierarchical counts with k-norm noise; the workload consists of sums of their bins."""

    how = "k-norm"

    def __init__(self, asked: Workload, queries: Stack) -> None:
        super().__init__(asked, queries)
        if asked.universe.absent is not None:
            raise NotCertified("k-norm noise needs a public number of records", hints=['method="optimal"'])
        self._drawn: tuple[tuple[float, ...], list[Family]] | None = None

    @property
    def note(self) -> str:  # type: ignore[override]
        """The note for readers, which depends on whether all answers are integers."""
        if self.whole:
            return "answers are sums of noisy counts with k-norm noise: they are integers, and add up"
        if any(isinstance(part, Starred) for part in self.parts):
            return "answers are means of noisy tables that share margins: not integers; consistent if nothing is other"
        return "answers are estimated from noisy counts, some with k-norm noise: not all are integers"

    @property
    def whole(self) -> bool:
        """Whether answers are integers that add up."""
        return all(part.whole for part in self.parts)

    @cached_property
    def parts(self) -> tuple[KNormPart, ...]:
        """The components of attributes that rows connect; every measured row is in one."""
        found = tuple(part_of(self, part) for part in components(self.asked.blocks, self.workload.blocks))
        alone = [part for part in found if isinstance(part, Alone)]
        if alone and len(alone) == len(found):
            raise alone[0].why
        if sum(len(part.counted) for part in found) != self.workload.rows:
            raise NotCertified("k-norm noise is for counts that separate records: the number of all records is public")
        return found

    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """The noise distribution of each workload row; constant rows have none."""
        self._require_noise(scales)
        out: list[Distribution] = [Laplace(0.0)] * self.asked.rows
        for part in self.parts:
            for row, distribution in zip(part.asked.tolist(), part.distributions(scales), strict=True):
                out[row] = distribution
        return tuple(out)

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":
        """Estimate each workload row from its component; a constant row gives a multiple of the number of records."""
        first = self.asked.columns(np.zeros(1, dtype=np.int64))[:, 0]
        out: list[int | float | Fraction] = [int(x) * records for x in first.tolist()]
        for part in self.parts:
            for row, value in zip(part.asked.tolist(), part.estimates(noisy, scales, records), strict=True):
                out[row] = value
        return out

    @cached_property
    def _nests(self) -> list[tuple[Nest, Ints]]:
        return [nest for part in self.parts for nest in part.nests]

    def drawn(self, scales: Floats, noise: Noise) -> Ints:
        """The noise of every measured row: exactly sampled, and consistent."""
        out = np.zeros(self.workload.rows, dtype=np.int64)
        alone = np.concatenate([part.alone for part in self.parts])
        if len(alone):
            out[alone] = noise.laplace(scales[alone])
        for (nest, rows), family in zip(self._nests, self._families(tuple(scales.tolist())), strict=True):
            z, made = noise.together(family), nest.row >= 0
            out[rows[nest.row[made]]] = z[made]
        return out

    def prepare(self, scales: Sequence[float]) -> None:
        """Build the sampler's tables before anything is spent."""
        for family in self._families(tuple(scales)):
            try:
                family.prepare()
            except TooCoarse:
                raise NotCertified(
                    "k-norm noise is too wide, or too rare, for its tables",
                    hints=[('method="matrix"', "independent noise, of any scale")],
                ) from None

    def require_narrow(self, scales: Sequence[float], part: float = 1.0) -> None:
        """Raise if noise is so wide that tables get too long; `part` of the widest scale leaves room for repairs."""
        if any(p.widest(scales) > part * p.most for p in self.parts):
            most = min(p.most for p in self.parts)
            raise NotCertified(
                f"k-norm noise of a scale of more than {most:,.0f} needs tables that are too long",
                hints=[('method="matrix"', "independent noise, of any scale")],
            )

    def _families(self, scales: tuple[float, ...]) -> list[Family]:
        if self._drawn is None or self._drawn[0] != scales:
            self._require_noise(scales)
            self.require_narrow(scales)
            families = [_family(_Distribution(n, tuple(scales[k] for k in rows.tolist()))) for n, rows in self._nests]
            self._drawn = (scales, families)
        return self._drawn[1]

    def _require_noise(self, scales: Sequence[float]) -> None:
        """Raise unless all rows with k-norm noise have a positive, finite scale."""
        if not all(_LEAST < scales[k] < math.inf for _, rows in self._nests for k in rows.tolist()):
            raise NotCertified("k-norm noise leaves no count without noise", hints=['method="optimal"'])


class _Distribution:
    """A hierarchy and its scales, equal to any other with the same distribution."""

    def __init__(self, nest: Nest, scales: tuple[float, ...]) -> None:
        self.nest, self.scales = nest, scales
        self._key = (nest.row.tobytes(), nest.divided.tobytes(), scales)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Distribution) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=32)
def _family(distribution: _Distribution) -> Family:
    """Cached, because the sampler's tables depend on the distribution alone."""
    return family_of(distribution.nest, distribution.scales)


def part_of(whole: Measured, part: Component) -> KNormPart:
    """Classify a component: stars of tables, a hierarchy of counts, or independent rows."""
    asked, counted = whole.asked, whole.workload
    mine, theirs = [asked.blocks[b] for b in part.asked], [counted.blocks[b] for b in part.counted]
    numbers = rows_of(asked, part.asked), rows_of(counted, part.counted)
    if not theirs:
        raise NotCertified("no measured row belongs to these queries", hints=['method="optimal"'])
    try:
        if any(b.unit != 1 for b in theirs):
            raise NotCertified("k-norm noise is that of counts")
        tables = tables_in(mine, theirs) if len(part.axes) > 1 else None
        if tables is not None:
            return Starred(numbers, part.axes, [*mine, *theirs], *tables)
        return NestedSums(numbers, part.axes, mine, theirs)
    except NotCertified as why:
        return Alone(numbers, whole, part, why)
