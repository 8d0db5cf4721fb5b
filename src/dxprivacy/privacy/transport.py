"""Group privacy: the privacy loss between two data sets, as an optimal transport cost (Fact 1.3).

Replacing one record after the other turns one data set into another and adds up the losses of the replacements.  So the
optimal transport cost under the loss bounds the privacy loss between the data sets.  Records that both have in common
stay, because a loss obeys the triangle inequality.

Invariant: `upper` is the exact cost of a transport plan, so it is sound however the plan was found.  `lower` is the
exact value of a feasible dual (Kantorovich).  Floats only find both.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import TooLarge, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact, is_whole, round_up
from dxprivacy.metrics import PseudoMetric
from dxprivacy.privacy.search.max_ratio import largest_among
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import repr_of_half_built

MOST_UNITS = 1_500  # replaced records for which the assignment problem is solved
MOST_ROUTES = 250_000  # pairs of a possible record with too many records and one with too few
_ROUNDS = 200
_MOST_RECORDS = 1 << 53
_NEEDED = ("universe", "pairwise", "exact", "keys", "error", "slack", "terms", "alternatives")


@repr_of_half_built
@dataclass(frozen=True)
class GroupLoss:
    """How distinguishable two data sets are: by a factor of at most e^upper; no bound of this kind is below lower.

    `moves` is an optimal transport plan: (from possible record, to possible record, number of records).

    >>> import dxprivacy as dx
    >>> loss = dx.group_loss(dx.metrics.line(4, 1), [2, 0, 0, 0], [0, 1, 0, 1])  # two records move by 1 and by 3
    >>> loss.upper, loss.replacements, loss.moves
    (Fraction(4, 1), 2, ((0, 1, 1), (0, 3, 1)))
    """

    upper: Exact
    lower: Exact
    replacements: int
    largest: Exact  # the largest loss between any two possible records whose counts differ
    moves: tuple[tuple[int, int, int], ...] = field(repr=False)

    @property
    def exact(self) -> bool:
        """Whether upper and lower agree to 2^-40."""
        return self.upper == self.lower or self.lower >= self.upper * (1 - Fraction(1, 1 << 40))

    @property
    def simple(self) -> Exact:
        """The paper's bound, corrected: number of replacements times the largest loss.

        Data sets at L1 distance k differ by k/2 replacements, not by k.
        """
        return self.replacements * self.largest if self.replacements else Fraction(0)

    @property
    def factor(self) -> float:
        """The largest factor by which the probability of an outcome can change: e^upper, rounded up."""
        try:
            return math.exp(round_up(self.upper)) * (1 + 2.0**-50)
        except OverflowError:
            return math.inf


def group_loss(loss: PseudoMetric, x: object, x2: object) -> GroupLoss:
    """Return the cost of turning data set x into x2, record by record, under a loss such as `plan.cost` or a metric.

    Both are counts per possible record: a list of integers, or {record: count}.  Privacy: they are hypothetical data
    sets, not the data; the result is not private.  Under add-remove neighbors the totals may differ.

    >>> from dxprivacy import metrics
    >>> found = group_loss(metrics.line(4, 1), [2, 0, 0, 0], [0, 1, 0, 1])
    >>> found.upper, found.simple, found.moves
    (Fraction(4, 1), Fraction(6, 1), ((0, 1, 1), (0, 3, 1)))
    """
    universe = _universe(loss)
    change = _counts(x2, universe) - _counts(x, universe)
    missing = int(change.sum())
    if missing:
        if universe.absent is None:
            raise UsageError(
                "the two data sets have different numbers of records, and the policy only lets records be replaced",
                hints=[('neighbors = "add-remove"', "in a policy"), "dx.metrics.with_absent(…)"],
            )
        change[universe.absent] -= missing
    sources, sinks = np.flatnonzero(change < 0), np.flatnonzero(change > 0)
    supply, demand = -change[sources], change[sinks]
    if not len(sources):
        return GroupLoss(Fraction(0), Fraction(0), 0, Fraction(0), ())
    units = int(supply.sum())
    if units > MOST_UNITS and len(sources) * len(sinks) > MOST_ROUTES:
        raise TooLarge(
            "the data sets differ in too many possible records to find the optimal transport",
            hints=["compare data sets that differ in fewer records"],
        )
    prices = _prices(loss, sources, sinks)
    flow = _cheapest(prices, supply, demand)
    differ = np.sort(np.concatenate([sources, sinks]))
    largest = _not_below(loss, largest_among(loss, differ))
    if flow is None:  # some record can only move at infinite loss
        return GroupLoss(math.inf, math.inf, units, largest, ())
    at, to = np.nonzero(flow)
    moves = tuple(zip(sources[at].tolist(), sinks[to].tolist(), flow[at, to].tolist(), strict=True))
    upper = _not_below(loss, sum((loss.exact(i, j) * count for i, j, count in moves), Fraction(0)))
    lower = max(_dual(prices * (1 - 2 * loss.error - 2.0**-50), flow, supply, demand), Fraction(0))
    return GroupLoss(upper, min(lower, upper), units, largest, moves)


def _not_below(loss: PseudoMetric, value: Exact) -> Exact:
    # Costs round up already; a metric rounds down, by at most its slack.
    return value * (1 + loss.slack)


def _universe(loss: object) -> Universe:
    if not all(hasattr(loss, name) for name in _NEEDED):
        raise UsageError(f"a loss is needed, not {type(loss).__name__}", hints=["plan.cost", "dx.metrics.line(10, 1)"])
    universe = loss.universe  # type: ignore[attr-defined]
    if not isinstance(universe, Universe):
        raise UsageError("the loss must be over a universe")
    return universe


def _counts(given: object, universe: Universe) -> Ints:
    # One integer for each possible record; error messages show none of them.
    counts = np.zeros(universe.size, dtype=np.int64)
    if isinstance(given, Mapping):
        for cell, count in given.items():
            if not _is_whole(cell) or not 0 <= cell < universe.size:
                raise UsageError(f"a data set names a record outside of 0 … {universe.size - 1:,}")
            counts[cell] = _whole(count)
    else:
        values = _listed(given)
        if len(values) not in (universe.size, universe.cells):
            raise UsageError(f"a data set has {len(values):,} counts for {universe.cells:,} possible records")
        counts[: len(values)] = [_whole(count) for count in values]
    if universe.absent is not None and counts[universe.absent]:
        raise UsageError("absent records are not counted", hints=["leave the last count at 0"])
    if float(counts.sum(dtype=np.float64)) >= _MOST_RECORDS:
        raise TooLarge("the counts are too large")
    return counts


def _listed(given: object) -> list[Any]:
    try:
        array = np.asarray(given)
    except (ValueError, TypeError, OverflowError):
        array = np.zeros((0, 0))
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise UsageError("a data set is a list with one integer for each possible record, or {record: count}")
    listed: list[Any] = array.tolist()
    return listed


def _is_whole(value: object) -> bool:
    return is_whole(value)


def _whole(count: Any) -> int:
    fine = isinstance(count, (int, float, np.number)) and not isinstance(count, bool)
    if not fine or not 0 <= count < _MOST_RECORDS or count != int(count):
        raise UsageError("counts of records are whole numbers of at least 0, below 2^53")
    return int(count)


def _prices(loss: PseudoMetric, sources: Ints, sinks: Ints) -> Floats:
    i, j = np.repeat(sources, len(sinks)), np.tile(sinks, len(sources))
    blocks = [loss.pairwise(i[k : k + (1 << 16)], j[k : k + (1 << 16)]) for k in range(0, len(i), 1 << 16)]
    return np.concatenate(blocks).reshape(len(sources), len(sinks))


def _cheapest(prices: Floats, supply: Ints, demand: Ints) -> Ints | None:
    # The number of records that move along each route; None if every transport plan has infinite cost.
    if supply.sum() <= MOST_UNITS:
        from scipy.optimize import linear_sum_assignment

        at, to = np.repeat(np.arange(len(supply)), supply), np.repeat(np.arange(len(demand)), demand)
        try:
            row, column = linear_sum_assignment(prices[np.ix_(at, to)])
        except ValueError:
            return None
        flow = np.zeros(prices.shape, dtype=np.int64)
        np.add.at(flow, (at[row], to[column]), 1)
        return flow
    return _by_programme(prices, supply, demand)


def _by_programme(prices: Floats, supply: Ints, demand: Ints) -> Ints | None:
    # The transport problem as a linear program: its vertices are integral, and rounding errors are repaired.
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    at, to = np.nonzero(np.isfinite(prices))
    if not len(at):
        return None
    each, ones = np.arange(len(at)), np.ones(2 * len(at))
    rows = np.concatenate([at, len(supply) + to])
    equal = coo_array((ones, (rows, np.tile(each, 2))), shape=(len(supply) + len(demand), len(at))).tocsr()
    size = float(prices[at, to].max(initial=0.0)) or 1.0
    amounts = np.concatenate([supply, demand]).astype(np.float64)
    answer = linprog(prices[at, to] / size, A_eq=equal, b_eq=amounts, method="highs")
    if answer.status == 2:  # infeasible
        return None
    flow = np.zeros(prices.shape, dtype=np.int64)
    if answer.x is not None:
        flow[at, to] = np.maximum(np.rint(answer.x), 0).astype(np.int64)
    return _repaired(flow, supply, demand)


def _repaired(flow: Ints, supply: Ints, demand: Ints) -> Ints:
    # Adjust the flow so that every supply is used and every demand is met exactly.
    flow = flow.copy()
    for total, line in ((supply, flow), (demand, flow.T)):
        for k in np.flatnonzero(line.sum(axis=1) > total):
            over = int(line[k].sum() - total[k])
            for m in np.flatnonzero(line[k]):
                take = min(over, int(line[k, m]))
                line[k, m] -= take
                over -= take
    left, open_ = supply - flow.sum(axis=1), demand - flow.sum(axis=0)
    for k in np.flatnonzero(left):
        for m in np.flatnonzero(open_):
            more = min(int(left[k]), int(open_[m]))
            flow[k, m] += more
            left[k] -= more
            open_[m] -= more
    return flow


def _dual(prices: Floats, flow: Ints, supply: Ints, demand: Ints) -> Fraction:
    """Return the value of a feasible dual: prices u, v with u + v <= the cost of every route.

    The prices are shortest path lengths in the residual graph (Bellman-Ford).  Each v is rounded down, so the
    constraints hold exactly even if the iteration stopped early.
    """
    used = flow > 0
    length = np.zeros(len(supply))
    for _ in range(min(_ROUNDS, len(supply) + 1)):
        reach = (length[:, None] + prices).min(axis=0)
        back = np.where(used, reach[None, :] - np.where(used, prices, 0.0), np.inf).min(axis=1)
        shorter = np.minimum(length, back)
        if (shorter == length).all():
            break
        length = shorter
    reach = np.nextafter((length[:, None] + prices).min(axis=0), -np.inf)
    return _worth(reach, demand) - _worth(length, supply)


def _worth(prices: Floats, amounts: Ints) -> Fraction:
    return sum((Fraction(p) * m for p, m in zip(prices.tolist(), amounts.tolist(), strict=True)), Fraction(0))
