"""Draw a small database: reserve the cost, count the data, and sample by one of three exact routes."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.planned import Count
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.mechanisms.smalldb.database_samplers import (
    Draw,
    by_answer_table,
    by_enumeration,
    by_rejection,
    uniform_multiset,
)
from dxprivacy.mechanisms.smalldb.smalldb_facts import SmallDbFacts
from dxprivacy.mechanisms.spending import Spending, read_kept
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.wording import OneLine, plural

ROUTES: dict[str, Callable[[Draw], Ints]] = {
    "enumeration": by_enumeration,
    "answer table": by_answer_table,
    "rejection": by_rejection,
}


@dataclass(frozen=True, eq=False)
class SmallDb(OneLine):
    """A small database: the counts of its m records, and its answers rescaled to the n records of the data.

    >>> import dxprivacy as dx
    >>> small = dx.smalldb([[1, 1, 0], [0, 1, 1]], dx.metrics.constant(3, 1), [100, 200, 300], alpha=0.4)
    >>> int(small.counts.sum()) == small.plan.size, round(float(small.weights.sum()))
    (True, 600)
    """

    plan: SmallDbFacts = field(repr=False)
    counts: Ints

    def in_short(self) -> str:
        return f"{plural(self.plan.size, 'record')} in {plural(len(self.counts), 'possible record')}"

    @property
    def weights(self) -> Floats:
        """The database rescaled to n records."""
        return np.asarray(self.counts * (self.plan.records / self.plan.size), dtype=np.float64)

    @property
    def answers(self) -> Floats:
        """The workload's answers, rescaled to n, in their own units; all are within `plan.bounds` with probability 1 -
        beta.
        """
        return self.plan.answers(self.counts)


def small_database(
    plan: SmallDbFacts, count: Count, noise: Noise, spend: Spending, name: str = "small database"
) -> SmallDb:
    """Reserve the plan's cost, count and draw; if no row separates records, nothing is reserved or counted."""
    plan.certificate.require(at_most=plan.budget)  # Thm 5: needs max_k |A_ki - A_kj| / (s / w_k) <= d(i, j).

    def act(_: LedgerReference) -> str:
        members = _drawn(plan, count(), noise)
        cells = np.flatnonzero(members)
        return json.dumps({"cells": cells.tolist(), "counts": members[cells].tolist()})

    if plan.free:
        drawn = uniform_multiset(plan.metric.universe.cells, plan.size, noise.entropy)
        return SmallDb(plan, np.bincount(drawn, minlength=plan.metric.universe.cells).astype(np.int64))
    cells = plan.metric.universe.cells
    return SmallDb(plan, read_kept(spend.step(plan.cost, plan.counted_queries, name, act), partial(_counts, cells)))


def _counts(cells: int, text: str) -> Ints:
    """Parse the count of each possible record from the stored outcome."""
    kept = json.loads(text)
    counts: Ints = np.zeros(cells, dtype=np.int64)
    counts[kept["cells"]] = kept["counts"]
    return counts


def _drawn(plan: SmallDbFacts, histogram: Histogram, noise: Noise) -> Ints:
    """Draw from the plan's distribution, which is the same for every route."""
    if histogram.universe != plan.metric.universe:
        raise UsageError("the histogram is over another universe than the plan")
    if histogram.total != plan.records:  # both are public
        raise UsageError(f"the plan is for {plan.records:,} records, and there are {histogram.total:,}")
    targets = plan.size * plan.rows.workload.answer(histogram)
    weights: Ints = np.array(plan.rows.weights, dtype=np.int64)
    draw = Draw(plan.rows.workload, weights, plan.size, plan.records, plan.rate, targets, noise.entropy)
    return ROUTES[plan.route.name](draw)
