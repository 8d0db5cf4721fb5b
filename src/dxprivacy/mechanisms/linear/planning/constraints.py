"""Linear constraints on the noise scales, and how to divide the budget among rows. A certificate decides in the end.

With precisions `w = 1/s` the policy requires `sum_k w_k |A_ki - A_kj| <= limit(i, j)` on the generating pairs, which is
linear in w. The limit is the granted fraction of d(i, j), or the rest that earlier releases left of d(i, j), if less.
The generating pairs are then those of old and new costs together, because the lemma on generators is about their sum.

*equal split*  (strategy 1) every row gets 1/K of the budget: s_k = K c'_k, where c'_k is the row's own sensitivity;
*same scale*   (strategy 2) one scale for all rows, the joint sensitivity;
*fill*         progressive filling: raise the precision of all rows in rounds until a pair is used up; freeze the rows
               that change along it and continue with the others. With fixed proportions, all rows rise together; in
               the proportions of a strategy the result is at least as good as the strategy on every row. Or each row
               rises as far as its own pairs allow, in proportion to what it could have alone of the rest: that is
               strategy 3 of the paper (PSA). A row with a target stops there, and its unused budget is kept.
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
# Cutting planes: the system starts with a pool of pairs, each of them a constraint like any other. The solver asks for
# the pairs that its solution violates, and solves again with these. A lower bound on the error objective under some
# constraints also holds under all of them, so the optimality gap is valid at every step. The result is certified
# against all pairs, as always.


ENOUGH = 1 + 1e-9  # of a pair's limit: a smaller violation is not worth another round
_SAMPLE = 4_000_000  # differences of nearest neighbors in the initial pool
_AT_ONCE = 1 << 14

Pool = tuple[Ints, Ints]


@dataclass(frozen=True, eq=False)
class ConstraintSearch:
    """Searches for the pairs whose constraint given scales violate."""

    workload: Workload
    metric: Metric
    budget: Fraction
    spent: Cost | None

    def cover_of(self, scales: Floats) -> Cover:
        """The candidate pairs that decide whether answers with these scales fit next to what was spent."""
        return cover(together(LaplaceCost(self.workload, scales), self.spent), self.metric, tree_searches=True)

    def first(self, plan: Cover) -> Pool:
        """The initial pool: per row a pair with its two extreme values, and the nearest neighbors between which it
        changes most.
        """
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
        for walk in plan.tree_searches:
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
        """Return up to 2 `many` most violated pairs, in falling order, and the largest ratio of load to limit (0 if
        none).
        """
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
        alone = cover(cost, self.metric, tree_searches=True) if self.spent is not None else plan
        for walk in alone.tree_searches:
            for i, j in walk.largest(many, above=float(self.budget)):
                look(i, j)
        if self.spent is not None:
            for walk in plan.tree_searches:
                for i, j in walk.largest(many, above=1.0):
                    look(i, j)
        if not found:
            nothing = self.metric.universe.numbered([])
            return (nothing, nothing), 0.0
        i, j, used = (np.concatenate([f[c] for f in found]) for c in range(3))
        order = np.argsort(-used, kind="stable")[: 2 * many]
        return _distinct([(i[order], j[order])]), float(used.max())


def _distinct(pairs: list[Pool]) -> Pool:
    """Return each unordered pair once, in order of first occurrence."""
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
    """A pool of pairs as a cover."""
    return Cover("searched", (CandidatePairs(0, 1, (pool,), np.zeros(1, dtype=np.int64)),))


def joined(pool: Pool, more: Pool) -> Pool:
    """The union of two pools, each pair once."""
    return _distinct([pool, more])


# -- Proposals for the scales ------------------------------------------------------------------------------------------


MAX_ENTRIES = 10_000_000  # stored loads
MAX_PAIRS = 2_500_000
MAX_LINES = 30_000_000  # stored columns of the dense pairs
MAX_PASS = 500_000_000  # loads in one pass over dense pairs
MAX_WORK = 5_000_000_000  # loads in all rounds of one filling
MAX_ROUNDS = 200  # of joint filling


@dataclass(frozen=True, eq=False)
class Constraints:
    """Generating pairs as linear constraints on variables, and the variable of each row.

    A row has a variable of its own, or shares one with its whole block.
    """

    pairs: Pairs
    variable: Ints
    # Whether sharing loses nothing: each row has its own variable, or those that share play the same role.
    by_row: bool = True
    searched: "Searched | None" = None  # set if the pairs are only those found so far

    @property
    def count(self) -> int:
        """The number of variables."""
        return self.pairs.count

    def reduced(self, alike: Ints) -> "Constraints":
        """The same system with one variable per role; `alike` numbers rows with equal coefficients in the error
        objective.
        """
        if not isinstance(self.pairs, SparsePairs):
            return self
        kind = np.full(self.count, -1, dtype=np.int64)
        kind[self.variable] = alike
        if (kind[self.variable] != alike).any():  # rows of different roles share a variable
            return self
        found = reduced(self.pairs, kind)
        return self if found is None else replace(self, pairs=found.pairs, variable=found.variable[self.variable])


def constraints(workload: Workload, metric: Metric, budget: Fraction, spent: Cost | None = None) -> Constraints | None:
    """Build the constraints of a workload; None if there are too many, or if only an upper bound of the loss is known.

    If there are few enough generating pairs, every row has a variable of its own. Otherwise a structured block over
    several attributes has one variable, so that its generating pairs need not distinguish its rows.
    """
    rows = np.arange(workload.rows, dtype=np.int64)
    # Distinct scales, so that contexts distinguish all rows.
    different = LaplaceCost(workload, np.arange(1.0, workload.rows + 1.0))
    plan = cover(together(different, spent), metric, tree_searches=True)
    build = _Building(workload, metric, budget, spent)
    if plan.tree_searches and replace(plan, tree_searches=()).tight:
        search = ConstraintSearch(workload, metric, budget, spent)
        return build.searched(search, search.first(plan))
    if plan.tight and not plan.symmetric and (found := build.dense(plan) or build.sparse(plan, rows)) is not None:
        return found
    return _by_block(build, plan.size if plan.tight and not plan.symmetric else None)


def constraints_by_block(workload: Workload, metric: Metric, budget: Fraction) -> Constraints | None:
    """Build the constraints with one scale for each structured block; None if there are too many."""
    return _by_block(_Building(workload, metric, budget, None), None)


def _by_block(build: "_Building", tried: int | None) -> Constraints | None:
    """One variable for the rows of each block; None if that would be the system of `tried` pairs again."""
    workload = build.workload
    plan = cover(together(LaplaceCost(workload, np.ones(workload.rows)), build.spent), build.metric, tree_searches=True)
    shared = _shared(workload, plan.symmetric, alike=plan.presence is not None)
    if not plan.tight or (plan.size == tried and len(np.unique(shared)) == workload.rows):
        return None
    return build.sparse(plan, shared)


def constraints_by_direction(workload: Workload, metric: Metric, budget: Fraction) -> Constraints:
    """Build a stricter system that is always small: along each attribute, the sum of what every block needs
    by itself.
    """
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
    """Yield each attribute with the metric in which all others are public; all attributes at once if distances do not
    add up.
    """
    base = present(metric)
    if base.axes is None:
        yield set(range(len(metric.universe.shape))), metric
        return
    public = [Constant(along.universe, math.inf) for along in base.axes]
    for axis, along in enumerate(base.axes):
        alone = AttributeSum(base.universe, [*public[:axis], along, *public[axis + 1 :]])
        yield {axis}, WithAbsent(metric.universe, alone, metric.radius) if isinstance(metric, WithAbsent) else alone


def _shared(workload: Workload, symmetric: Sequence[int], *, alike: bool) -> Ints:
    """One variable for all rows of a structured block over several attributes, otherwise one per row.

    Contexts that differ only in which rows of the block change then give the same constraint. Sharing is also used
    along attributes where one pair stands for many rows (value symmetry), and for all blocks if records may be absent,
    where one absence stands for all that have the same weights.
    """
    labels: list[int] = []
    for block in workload.blocks:
        first = labels[-1] + 1 if labels else 0
        several = alike or len(block.axes) > 1 or not {*block.axes}.isdisjoint(symmetric)
        as_one = isinstance(block, (OneHot, SoftTable)) and several
        labels += [first] * block.rows if as_one else range(first, first + block.rows)
    return np.array(labels, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Searched:
    """The pairs found so far, and the search for more."""

    build: "_Building"
    search: ConstraintSearch
    pool: Pool

    def more(self, precision: Floats) -> tuple[Constraints | None, float]:
        """Add the pairs that this precision violates.

        Returns the larger system, None if no pair is violated, and the largest ratio of load to limit.
        """
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
        """Constraints for the pairs of a pool, which may grow."""
        rows = np.arange(self.workload.rows, dtype=np.int64)
        found = self.dense(pooled(pool)) or self.sparse(pooled(pool), rows)
        return None if found is None else replace(found, searched=Searched(self, search, pool))

    def dense(self, plan: Cover) -> Constraints | None:
        """Constraints in dense form, used if at least half of the rows may change along a pair and all columns fit in
        memory.
        """
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
        limits[used_up] = np.inf  # no row separates the two: the pair sets no constraint
        found = DensePairs(lines, places[: len(i)], places[len(i) :], limits)
        return Constraints(found, np.arange(rows, dtype=np.int64))

    def sparse(self, plan: Cover, variable: Ints) -> Constraints | None:
        """Constraints in sparse form, from all nonzero differences; None if there are too many."""
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
"""How fast each variable is raised in a round, given the unused fraction of each pair's limit."""


def fixed(proportions: Floats) -> Proportions:
    """The same proportions in every round."""
    return lambda room: proportions  # noqa: ARG005


def of_what_is_left(pairs: Pairs, pull: Floats) -> Proportions:
    """The precision that each variable could have alone within the rest, times its pull: the rounds of strategy 3."""

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

    If `jointly`, all variables stop at the first pair that is used up in a round. Otherwise each goes as far as the
    pairs along which it changes allow if all variables did the same. In both cases each round freezes at least one
    variable: at its cap, or at the tightest pair. So there are at most as many rounds as variables, and w is valid
    after each. Stopping early only leaves budget unused. The fraction `part` of every limit is distributed.
    """
    w = np.zeros(pairs.count) if start is None else start
    used = pairs.used(w)
    active = (caps > w) & ~pairs.touched(np.flatnonzero(used >= part * (1 - 1e-12)))
    most = min(pairs.count, max(2, MAX_WORK // max(pairs.entries, 1)))
    for turn in range(min(most, MAX_ROUNDS) if jointly else most):
        if not active.any() or (turn and watch is not None and watch.over):  # after one round every row has some budget
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
    """The step of each variable, such that no pair is used beyond what is left of it, in exact arithmetic."""
    rate = pairs.used(direction)
    strain = np.zeros(len(rate))
    np.divide(rate, room, out=strain, where=room > 0)
    most = np.full(pairs.count, strain.max(initial=0.0)) if jointly else pairs.worst(strain)
    out = np.zeros(pairs.count)
    np.divide(direction, most, out=out, where=(direction > 0) & (most > 0))
    return out
