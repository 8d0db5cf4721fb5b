"""Proposals for the scales: how the rows share the budget.  Optimisers propose; a certificate decides.

With `w = 1/s` the policy asks for `sum_k w_k |A_ki - A_kj| <= share * d(i, j)` on the covering pairs: linear in w.

*equal split*  (strategy 1) every row gets 1/K of the budget: s_k = K c'_k, c'_k the row's own sensitivity;
*same scale*   (strategy 2) one scale for all rows, the joint sensitivity;
*fill*         raise all rows' precision together, in given proportions, until a pair is used up; freeze the rows that
               touch it and go on with the rest.  In the proportions of a strategy it is never worse than that strategy,
               on any row.  A row with a target stops there and leaves the rest of the budget unspent.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.bounds import Cover, cover
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.model.blocks import OneHot
from dxprivacy.model.costs import LaplaceCost
from dxprivacy.model.metrics import Metric
from dxprivacy.model.workload import Workload

MAX_ENTRIES = 10_000_000
MAX_PAIRS = 2_500_000
MAX_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Constraints:
    """The covering pairs as a sparse system `loads @ w <= limits`; variables are rows, or whole blocks."""

    loads: Any
    limits: Floats
    pairs: tuple[Ints, Ints]
    variable: Ints

    @property
    def count(self) -> int:
        """How many variables."""
        return int(self.variable.max()) + 1


def constraints(workload: Workload, metric: Metric, share: Fraction) -> Constraints | None:
    """The system for a workload, or None where it would be too large (or can only be bounded).

    Where few enough covering pairs allow it, every row may get a scale of its own; otherwise a structured block over
    several attributes gets one, because its covering pairs then need not tell its rows apart.
    """
    rows = np.arange(workload.rows, dtype=np.int64)
    plan = cover(
        LaplaceCost(workload, np.arange(1.0, workload.rows + 1.0)), metric
    )  # scales that differ: contexts tell all rows apart
    if not plan.tight or plan.size > MAX_PAIRS:
        plan = cover(LaplaceCost(workload, np.ones(workload.rows)), metric)
        rows = _shared(workload)
    if not plan.tight or plan.size > MAX_PAIRS:
        return None
    return _system(plan, workload, metric, share, rows)


def _shared(workload: Workload) -> Ints:
    """One variable for all rows of a structured block over several attributes, otherwise one per row."""
    labels: list[int] = []
    for block in workload.blocks:
        first = labels[-1] + 1 if labels else 0
        together = isinstance(block, OneHot) and len(block.axes) > 1
        labels += [first] * block.rows if together else range(first, first + block.rows)
    return np.array(labels, dtype=np.int64)


def _system(plan: Cover, workload: Workload, metric: Metric, share: Fraction, variable: Ints) -> Constraints | None:
    from scipy.sparse import csr_array

    nothing = np.zeros(0, dtype=np.int64)
    parts: list[tuple[Ints, Ints, Ints]] = [(nothing, nothing, nothing)]
    pairs: list[tuple[Ints, Ints]] = [(nothing, nothing)]
    limits: list[Floats] = [np.zeros(0)]
    entries = seen = 0
    for i, j in plan.pairs(1 << 13):
        d = metric.pairwise(i, j)
        asks = np.isfinite(d)
        i, j, d = i[asks], j[asks], d[asks]
        pair, row, amount = workload.differences(i, j)
        entries += len(pair)
        if entries > MAX_ENTRIES:
            return None
        parts.append((pair + seen, variable[row], amount))
        pairs.append((i, j))
        limits.append(d * float(share))
        seen += len(i)
    pair, var, amount = (np.concatenate([p[c] for p in parts]) for c in range(3))
    loads = csr_array((amount.astype(np.float64), (pair, var)), shape=(seen, int(variable.max()) + 1))
    loads.sum_duplicates()
    i, j = (np.concatenate([p[c] for p in pairs]) for c in range(2))
    return Constraints(loads, np.concatenate(limits), (i, j), variable)


def own_precision(system: Constraints) -> Floats:
    """1/c'_k: what each variable could have alone; infinite where nothing limits it."""
    coo = system.loads.tocoo()
    with np.errstate(divide="ignore"):
        room = system.limits[coo.row] / coo.data
    best = np.full(system.count, np.inf)
    np.minimum.at(best, coo.col, room)
    return best


def fill(system: Constraints, proportions: Floats, caps: Floats, start: Floats | None = None) -> Floats:
    """Raise w from `start` along `proportions` until every variable meets its cap or a pair that is used up."""
    loads, limits = system.loads, system.limits
    by_column = loads.tocsc()
    w = np.zeros(system.count) if start is None else start
    used = loads @ w
    active = (proportions > 0) & (caps > w)
    for _ in range(MAX_ROUNDS):  # each round leaves a valid w; stopping early only leaves budget unused
        if not active.any():
            break
        direction = np.where(active, proportions, 0.0)
        rate = loads @ direction
        moving = rate > 0
        room = np.where(moving, (limits - used) / np.where(moving, rate, 1.0), np.inf)
        to_cap = np.where(active, (caps - w) / np.where(active, direction, 1.0), np.inf)
        step = max(0.0, float(min(room.min(initial=np.inf), to_cap.min())))
        if not np.isfinite(step):
            break  # nothing limits what is left: such rows are answered exactly
        w = w + step * direction
        used = used + step * rate
        full = moving & (limits - used <= 1e-12 * limits)
        frozen = active & (to_cap <= step * (1 + 1e-12))
        w = np.where(frozen, caps, w)
        touched = np.flatnonzero(active)
        hits = (by_column[:, touched].T @ full.astype(np.float64)) > 0 if full.any() else np.zeros(len(touched), bool)
        frozen[touched[hits]] = True
        if not frozen.any():
            break
        active = active & ~frozen
    return w
