"""Proposals for the scales: how the rows share the budget.  Optimizers propose; a certificate decides.

With `w = 1/s` the policy asks for `sum_k w_k |A_ki - A_kj| <= limit(i, j)` on the covering pairs: linear in w.  The
limit is the granted fraction of d(i, j), or what earlier releases left of d(i, j) where that is less; the covering
pairs are then those of old and new costs together, because the generator lemma is about their sum.

*equal split*  (strategy 1) every row gets 1/K of the budget: s_k = K c'_k, c'_k the row's own sensitivity;
*same scale*   (strategy 2) one scale for all rows, the joint sensitivity;
*fill*         raise the rows' precision in rounds until a pair is used up; freeze the rows that touch it and go on with
               the rest.  All rows together in fixed proportions: in those of a strategy it is never worse than that
               strategy, on any row.  Or each as far as its own pairs allow, in the proportions of what each could have
               alone of what is left: that is strategy 3 of the paper (PSA).  A row with a target stops there and leaves
               the rest of the budget unspent.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.planning.pair_limits import limits_of
from dxprivacy.metrics import Metric
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import WithAbsent, present
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.pair_constraints import DensePairs, Pairs, SparsePairs
from dxprivacy.optimize.variable_symmetry import reduced
from dxprivacy.privacy import Cover, cover, max_ratio
from dxprivacy.privacy.certificate import nothing_left, separates
from dxprivacy.privacy.costs import Cost, LaplaceCost
from dxprivacy.privacy.repair import together
from dxprivacy.privacy.search.candidate_pairs import CandidatePairs
from dxprivacy.universe.blocks import OneHot, SoftTable
from dxprivacy.universe.blocks.block import ENTRIES_AT_ONCE
from dxprivacy.universe.workload import Workload

# -- Constraints along attributes of many points: too many pairs to list, so those that matter are searched for --------
# The system starts with a pool of pairs, each of them a constraint like any other; whoever has solved it asks which
# pairs its solution is short on, and solves again with these.  A lower bound on the loss under some constraints holds
# under all of them, so the gap is honest at every step; and whatever comes of it is certified against all pairs as
# always.


ENOUGH = 1 + 1e-9  # of a pair's limit: nothing is to be gained beyond
_SAMPLE = 4_000_000  # differences of nearest neighbors that are looked at to begin with
_AT_ONCE = 1 << 14

Pool = tuple[Ints, Ints]


@dataclass(frozen=True, eq=False)
class ConstraintSearch:
    """Looks for pairs on which scales are short."""

    workload: Workload
    metric: Metric
    budget: Fraction
    spent: Cost | None

    def cover_of(self, scales: Floats) -> Cover:
        """What decides about answers with these scales, on top of what was spent."""
        return cover(together(LaplaceCost(self.workload, scales), self.spent), self.metric, walks=True)

    def first(self, plan: Cover) -> Pool:
        """For each row a pair between its ends, and the nearest neighbors between which it changes most."""
        found = [ends for block in self.workload.blocks if (ends := block.ends(absent=True)) is not None]
        near = self._neighbors(plan)
        if len(near[0]):
            pair, row, amount = self.workload.differences(*near)
            limits = limits_of(self.metric, self.budget, self.spent, *near)
            with np.errstate(divide="ignore"):
                part = amount / limits[pair]
            order = np.lexsort((-part, row))
            _, first = np.unique(row[order], return_index=True)
            best = np.unique(pair[order[first]])
            found.append((near[0][best], near[1][best]))
        return _distinct(found)

    def _neighbors(self, plan: Cover) -> Pool:
        first, second = [], []
        width = max(1, self.workload.width)
        for walk in plan.walks:
            tree = walk.space.tree
            i, j, _ = tree.neighbors
            most = max(1, _SAMPLE // (width * len(walk.contexts)))
            some = np.arange(0, len(i), max(1, -(-len(i) // most)))
            u, v = tree.record(i[some]), tree.record(j[some])
            i, j = walk.cells(u, v)
            first.append(i)
            second.append(j)
        return np.concatenate(first), np.concatenate(second)

    def short(self, scales: Floats, many: int) -> tuple[Pool, float]:
        """So many pairs on which these scales are short, most of all first; and by which factor, at least 0."""
        cost = LaplaceCost(self.workload, scales)
        plan = self.cover_of(scales)
        found: list[tuple[Ints, Ints, Floats]] = []

        def look(i: Ints, j: Ints) -> None:
            limits, load = limits_of(self.metric, self.budget, self.spent, i, j), cost.pairwise(i, j)
            asks = np.isfinite(limits) & (load > 0)
            i, j, limits, load = i[asks], j[asks], limits[asks], load[asks]
            with np.errstate(divide="ignore"):
                used = load / limits
            top = np.flatnonzero(used > ENOUGH)
            if len(top) > many:
                top = top[np.argpartition(-used[top], many)[:many]]
            if len(top):
                found.append((i[top], j[top], used[top]))

        for i, j in plan.pairs(_AT_ONCE):
            look(i, j)
        alone = cover(cost, self.metric, walks=True) if self.spent is not None else plan
        for walk in alone.walks:
            for i, j in walk.largest(many, above=float(self.budget)):
                look(i, j)
        if self.spent is not None:
            for walk in plan.walks:
                for i, j in walk.largest(many, above=1.0):
                    look(i, j)
        if not found:
            nothing = self.metric.universe.numbered([])
            return (nothing, nothing), 0.0
        i, j, used = (np.concatenate([f[c] for f in found]) for c in range(3))
        order = np.argsort(-used, kind="stable")[: 2 * many]
        return _distinct([(i[order], j[order])]), float(used.max())


def _distinct(pairs: list[Pool]) -> Pool:
    """Each pair once, the first first."""
    i, j = (np.concatenate([p[side] for p in pairs]) for side in (0, 1)) if pairs else (np.zeros(0, np.int64),) * 2
    low, high = np.minimum(i, j), np.maximum(i, j)
    apart = np.flatnonzero(low != high)
    low, high = low[apart], high[apart]
    order = np.lexsort((high, low))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (low[order[1:]] != low[order[:-1]]) | (high[order[1:]] != high[order[:-1]])
    kept = np.sort(order[new])
    return low[kept], high[kept]


def pooled(pool: Pool) -> Cover:
    """A pool as a cover: these pairs as they are."""
    return Cover("searched", (CandidatePairs(0, 1, (pool,), np.zeros(1, dtype=np.int64)),))


def joined(pool: Pool, more: Pool) -> Pool:
    """Both, each pair once."""
    return _distinct([pool, more])


# -- Proposals for the scales ------------------------------------------------------------------------------------------


MAX_ENTRIES = 10_000_000  # stored loads
MAX_PAIRS = 2_500_000
MAX_LINES = 30_000_000  # stored columns of the dense pairs
MAX_PASS = 500_000_000  # loads looked at in one pass over dense pairs
MAX_WORK = 5_000_000_000  # loads looked at in all rounds of one filling
MAX_ROUNDS = 200  # of filling jointly


@dataclass(frozen=True, eq=False)
class Constraints:
    """The covering pairs for each variable, and the variable of each row: its own, or that of its whole block."""

    pairs: Pairs
    variable: Ints
    by_row: bool = True  # whether nothing is lost by sharing: rows have variables of their own, or play the same role
    searched: "Searched | None" = None  # where the pairs are only those that were found so far

    @property
    def count(self) -> int:
        """How many variables."""
        return self.pairs.count

    def reduced(self, alike: Ints) -> "Constraints":
        """The same with one variable for all of one role; `alike` numbers rows of equal part in the loss."""
        if not isinstance(self.pairs, SparsePairs):
            return self
        kind = np.full(self.count, -1, dtype=np.int64)
        kind[self.variable] = alike
        if (kind[self.variable] != alike).any():  # rows that share a variable differ
            return self
        found = reduced(self.pairs, kind)
        return self if found is None else replace(self, pairs=found.pairs, variable=found.variable[self.variable])


def constraints(workload: Workload, metric: Metric, budget: Fraction, spent: Cost | None = None) -> Constraints | None:
    """The system for a workload, or None where it would be too large (or can only be bounded).

    Where few enough covering pairs allow it, every row may get a scale of its own; otherwise a structured block over
    several attributes gets one, because its covering pairs then need not tell its rows apart.
    """
    rows = np.arange(workload.rows, dtype=np.int64)
    different = LaplaceCost(workload, np.arange(1.0, workload.rows + 1.0))  # then contexts tell all rows apart
    plan = cover(together(different, spent), metric, walks=True)
    build = _Building(workload, metric, budget, spent)
    if plan.walks and replace(plan, walks=()).tight:
        search = ConstraintSearch(workload, metric, budget, spent)
        return build.searched(search, search.first(plan))
    if plan.tight and not plan.exchanged and (found := build.dense(plan) or build.sparse(plan, rows)) is not None:
        return found
    return _by_block(build, plan.size if plan.tight and not plan.exchanged else None)


def constraints_by_block(workload: Workload, metric: Metric, budget: Fraction) -> Constraints | None:
    """The system where each structured block has one scale, or None where it would be too large."""
    return _by_block(_Building(workload, metric, budget, None), None)


def _by_block(build: "_Building", tried: int | None) -> Constraints | None:
    """One variable for the rows of a block; unless each row has its own then too, for as many pairs as were tried."""
    workload = build.workload
    plan = cover(together(LaplaceCost(workload, np.ones(workload.rows)), build.spent), build.metric, walks=True)
    shared = _shared(workload, plan.exchanged, alike=plan.presence is not None)
    if not plan.tight or (plan.size == tried and len(np.unique(shared)) == workload.rows):
        return None
    return build.sparse(plan, shared)


def constraints_by_direction(workload: Workload, metric: Metric, budget: Fraction) -> Constraints:
    """A stricter system that is always small: along each attribute, what every block needs by itself, added up."""
    from scipy.sparse import csr_array

    alone = [Workload(workload.universe, (block,), ()) for block in workload.blocks]
    loads = [[_need(one, along, axes) for one in alone] for axes, along in _directions(metric)]
    pairs = SparsePairs(csr_array(np.array(loads)), np.full(len(loads), float(budget)))
    return Constraints(pairs, workload.block_of, by_row=False)


def _need(alone: Workload, along: Metric, axes: set[int]) -> float:
    """The sensitivity of a block along some attributes."""
    if not axes & {*alone.blocks[0].axes} and along.universe.absent is None:
        return 0.0
    return float(max_ratio(LaplaceCost(alone, np.ones(alone.rows)), along).upper)


def _directions(metric: Metric) -> Iterator[tuple[set[int], Metric]]:
    """Attributes, and the same metric with all others public: if these add up each by itself, otherwise all at once."""
    base = present(metric)
    if base.axes is None:
        yield set(range(len(metric.universe.shape))), metric
        return
    public = [Constant(along.universe, math.inf) for along in base.axes]
    for axis, along in enumerate(base.axes):
        alone = AttributeSum(base.universe, [*public[:axis], along, *public[axis + 1 :]])
        yield {axis}, WithAbsent(metric.universe, alone, metric.radius) if isinstance(metric, WithAbsent) else alone


def _shared(workload: Workload, exchanged: Sequence[int], *, alike: bool) -> Ints:
    """One variable for all rows of a structured block over several attributes, otherwise one per row.

    Contexts that differ in which rows of it change are then one, so that some of its rows are on no pair by themselves.
    Likewise along attributes where one pair stands for many rows; and for all where records may be absent, of whom one
    then stands for all with the same weights.
    """
    labels: list[int] = []
    for block in workload.blocks:
        first = labels[-1] + 1 if labels else 0
        several = alike or len(block.axes) > 1 or not {*block.axes}.isdisjoint(exchanged)
        as_one = isinstance(block, (OneHot, SoftTable)) and several
        labels += [first] * block.rows if as_one else range(first, first + block.rows)
    return np.array(labels, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Searched:
    """The pairs found so far, and where more are found."""

    build: "_Building"
    search: ConstraintSearch
    pool: Pool

    def more(self, precision: Floats) -> tuple[Constraints | None, float]:
        """With the pairs on which this precision is short, None where there are none; and by which factor it is."""
        with np.errstate(divide="ignore"):
            scales = np.where(np.isfinite(precision), 1.0 / precision, 0.0)
        found, factor = self.search.short(scales, 2 * len(precision) + 50)
        pool = joined(self.pool, found)
        if len(pool[0]) == len(self.pool[0]):
            return None, factor
        return self.build.searched(self.search, pool), factor


@dataclass(frozen=True, eq=False)
class _Building:
    workload: Workload
    metric: Metric
    budget: Fraction
    spent: Cost | None

    def searched(self, search: ConstraintSearch, pool: Pool) -> Constraints | None:
        """The pairs of a pool, to which others may be added."""
        rows = np.arange(self.workload.rows, dtype=np.int64)
        found = self.dense(pooled(pool)) or self.sparse(pooled(pool), rows)
        return None if found is None else replace(found, searched=Searched(self, search, pool))

    def dense(self, plan: Cover) -> Constraints | None:
        """Where at least half of the rows may change along a pair, and the columns of all cells can be held."""
        workload = self.workload
        rows = workload.rows
        if 2 * workload.width < rows or rows == 1:
            return None
        if plan.size > 2 * MAX_PAIRS or plan.size * rows > MAX_PASS:
            return None
        pairs = list(plan.pairs())
        if not pairs:
            return None
        i, j = (np.concatenate([p[side] for p in pairs]) for side in (0, 1))
        cells, places = np.unique(np.concatenate([i, j]), return_inverse=True)
        if len(cells) * rows > MAX_LINES:
            return None
        places = places.reshape(-1)
        limits = np.concatenate([limits_of(self.metric, self.budget, self.spent, *pair) for pair in pairs])
        lines = np.ascontiguousarray(workload.columns(cells).T, dtype=np.float64)
        used_up = np.flatnonzero(limits <= 0)
        apart = used_up[workload.differences(i[used_up], j[used_up])[0][:1]]
        if len(apart):
            raise self._refusal((int(i[apart[0]]), int(j[apart[0]])))
        limits[used_up] = np.inf  # no row tells the two apart: such a pair asks for nothing
        found = DensePairs(lines, places[: len(i)], places[len(i) :], limits)
        return Constraints(found, np.arange(rows, dtype=np.int64))

    def sparse(self, plan: Cover, variable: Ints) -> Constraints | None:
        """All differences that are not 0, unless there are too many."""
        from scipy.sparse import csr_array

        if plan.size > MAX_PAIRS:
            return None
        nothing = np.zeros(0, dtype=np.int64)
        parts: list[tuple[Ints, Ints, Ints]] = [(nothing, nothing, nothing)]
        limits: list[Floats] = [np.zeros(0)]
        entries = seen = 0
        for i, j in plan.pairs(max(1, min(1 << 13, ENTRIES_AT_ONCE // self.workload.width))):
            limit = limits_of(self.metric, self.budget, self.spent, i, j)
            asks = np.isfinite(limit)
            i, j, limit = i[asks], j[asks], limit[asks]
            pair, row, amount = self.workload.differences(i, j)
            entries += len(pair)
            if entries > MAX_ENTRIES:
                return None
            moved, pair = np.unique(pair, return_inverse=True)
            if len(used_up := moved[limit[moved] <= 0]):
                raise self._refusal((int(i[used_up[0]]), int(j[used_up[0]])))
            parts.append((pair.reshape(-1) + seen, variable[row], amount))
            limits.append(limit[moved])
            seen += len(moved)
        pair, var, amount = (np.concatenate([p[c] for p in parts]) for c in range(3))
        loads = csr_array((amount.astype(np.float64), (pair, var)), shape=(seen, int(variable.max()) + 1))
        loads.sum_duplicates()
        by_row = len(variable) == loads.shape[1]
        return Constraints(SparsePairs(loads, np.concatenate(limits)), variable, by_row)

    def _refusal(self, pair: tuple[int, int]) -> Exception:
        if self.metric.exact(*pair) == 0:
            return separates(self.workload, self.metric, pair)
        return nothing_left(self.workload, self.metric, pair)


Proportions = Callable[[Floats], Floats]
"""How fast each variable is raised in a round, from what is left of each pair (in parts of its limit)."""


def fixed(proportions: Floats) -> Proportions:
    """The same in every round."""
    return lambda room: proportions  # noqa: ARG005


def of_what_is_left(pairs: Pairs, pull: Floats) -> Proportions:
    """What each variable could have alone of what is left, times its pull: the rounds of strategy 3."""

    def proportions(room: Floats) -> Floats:
        alone = pairs.own(room)[0]
        return np.where(np.isfinite(alone), alone, 0.0) * pull

    return proportions


def fill(
    pairs: Pairs,
    proportions: Proportions,
    caps: Floats,
    start: Floats | None = None,
    *,
    jointly: bool = True,
    part: float = 1.0,
    watch: Watch | None = None,
) -> Floats:
    """Raise w from `start` until every variable meets its cap or a pair that is used up.

    `jointly` all variables stop at the first pair that is used up in a round; otherwise each goes as far as the pairs
    along which it changes allow it if all did.  Either way a round freezes a variable at least: at its cap, or at the
    tightest pair.  So there are at most as many rounds as variables, and each leaves a valid w: stopping early only
    leaves budget unused.  `part` of every limit is given out.
    """
    w = np.zeros(pairs.count) if start is None else start
    used = pairs.used(w)
    active = (caps > w) & ~pairs.touched(np.flatnonzero(used >= part * (1 - 1e-12)))
    most = min(pairs.count, max(2, MAX_WORK // max(pairs.entries, 1)))
    for turn in range(min(most, MAX_ROUNDS) if jointly else most):
        if not active.any() or (turn and watch is not None and watch.over):  # after a round everyone has something
            break
        room = np.maximum(part - used, 0.0)
        step = _step(pairs, np.where(active, proportions(room), 0.0), room, jointly=jointly)
        if not step.any():
            break
        capped = active & (w + step >= caps)
        step = np.where(capped, caps - w, step)
        w = np.where(capped, caps, w + step)
        used = used + pairs.used(step)
        full = np.flatnonzero(used >= part * (1 - 1e-12))
        frozen = capped | (active & pairs.touched(full))
        if not frozen.any():
            break
        active = active & ~frozen
    return w


def _step(pairs: Pairs, direction: Floats, room: Floats, *, jointly: bool) -> Floats:
    """How far to go: no pair is used by more than what is left of it, in exact arithmetic."""
    rate = pairs.used(direction)
    strain = np.zeros(len(rate))
    np.divide(rate, room, out=strain, where=room > 0)
    most = np.full(pairs.count, strain.max(initial=0.0)) if jointly else pairs.worst(strain)
    out = np.zeros(pairs.count)
    np.divide(direction, most, out=out, where=(direction > 0) & (most > 0))
    return out
