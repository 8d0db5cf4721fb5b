"""Constraints along attributes of many points: too many pairs to list, so those that matter are searched for.

The system starts with a pool of pairs, each of them a constraint like any other; whoever has solved it asks which pairs
its solution is short on, and solves again with these.  A lower bound on the loss under some constraints holds under
all of them, so the gap is honest at every step; and whatever comes of it is certified against all pairs as always.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.planning.pair_limits import limits_of
from dxprivacy.metrics import Metric
from dxprivacy.privacy import Cover, cover
from dxprivacy.privacy.costs import Cost, LaplaceCost
from dxprivacy.privacy.repair import together
from dxprivacy.privacy.search.candidate_pairs import Move
from dxprivacy.universe.workload import Workload

ENOUGH = 1 + 1e-9  # of a pair's limit: nothing is to be gained beyond
_SAMPLE = 4_000_000  # differences of nearest neighbors that are looked at to begin with
_AT_ONCE = 1 << 14

Pool = tuple[Ints, Ints]


@dataclass(frozen=True, eq=False)
class Search:
    """Looks for pairs on which scales are short."""

    workload: Workload
    metric: Metric
    share: Fraction
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
            limits = limits_of(self.metric, self.share, self.spent, *near)
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
            limits, load = limits_of(self.metric, self.share, self.spent, i, j), cost.pairwise(i, j)
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
            for i, j in walk.largest(many, above=float(self.share)):
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
    return Cover("searched", (Move(0, 1, (pool,), np.zeros(1, dtype=np.int64)),))


def joined(pool: Pool, more: Pool) -> Pool:
    """Both, each pair once."""
    return _distinct([pool, more])
