"""Drawing a small database: the cost is reserved, then the data is counted, then one of three exact routes is taken."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.noise.source import Noise, SystemNoise
from dxprivacy.mechanisms.smalldb.answer_table import by_answer_table
from dxprivacy.mechanisms.smalldb.enumeration import by_enumeration
from dxprivacy.mechanisms.smalldb.plan import SmallDbPlan, make_smalldb
from dxprivacy.mechanisms.smalldb.problem import Draw, uniform_multiset
from dxprivacy.mechanisms.smalldb.rejection import by_rejection
from dxprivacy.mechanisms.spending import Spending, Unrecorded
from dxprivacy.metrics import Metric

ROUTES: dict[str, Callable[[Draw], Ints]] = {
    "enumeration": by_enumeration,
    "answer table": by_answer_table,
    "rejection": by_rejection,
}


@dataclass(frozen=True, eq=False)
class SmallDb:
    """A small database: how many of its m records lie in each cell, and what it says about the n of the data."""

    plan: SmallDbPlan = field(repr=False)
    counts: Ints

    @property
    def weights(self) -> Floats:
        """The database rescaled to n records."""
        return np.asarray(self.counts * (self.plan.records / self.plan.size), dtype=np.float64)

    @property
    def answers(self) -> Floats:
        """The rows that were asked, rescaled to n, in their own units; each within `plan.bounds`, most likely."""
        return self.plan.answers(self.counts)


def small_database(
    plan: SmallDbPlan, count: Callable[[], Histogram], noise: Noise, spend: Spending, name: str = "small database"
) -> SmallDb:
    """Reserve the plan's cost, then count, then draw; neither, where no row tells records apart."""
    plan.certificate.require(at_most=plan.share)  # Thm 5: needs max_k |A_ki - A_kj| / (s / w_k) <= d(i, j).

    def act() -> str:
        members = _drawn(plan, count(), noise)
        cells = np.flatnonzero(members)
        return json.dumps({"cells": cells.tolist(), "counts": members[cells].tolist()})

    if plan.free:
        drawn = uniform_multiset(plan.metric.universe.cells, plan.size, noise.entropy)
        return SmallDb(plan, np.bincount(drawn, minlength=plan.metric.universe.cells).astype(np.int64))
    kept = json.loads(spend.step(plan.cost, plan.counted_questions, name, act))
    counts: Ints = np.zeros(plan.metric.universe.cells, dtype=np.int64)
    counts[kept["cells"]] = kept["counts"]
    return SmallDb(plan, counts)


def _drawn(plan: SmallDbPlan, histogram: Histogram, noise: Noise) -> Ints:
    """The draw itself: its law is that of the plan, whichever route is taken."""
    if histogram.universe != plan.metric.universe:
        raise UsageError("the histogram is over another universe than the plan")
    if histogram.total != plan.records:  # both are public
        raise UsageError(f"the plan is for {plan.records:,} records, and there are {histogram.total:,}")
    targets = plan.size * plan.rows.workload.answer(histogram.counts)
    weights: Ints = np.array(plan.rows.weights, dtype=np.int64)
    draw = Draw(plan.rows.workload, weights, plan.size, plan.records, plan.rate, targets, noise.entropy)
    return ROUTES[plan.route.name](draw)


def smalldb(
    questions: Any,
    d: Metric,
    counts: Any,
    *,
    alpha: float | None = 0.5,
    beta: float = 0.05,
    share: object = 1,
    flatten: bool | None = None,
    noise: Noise | None = None,
) -> SmallDb:
    """A small database that answers the questions almost as the data does: the researcher's view, without a ledger.

    `alpha` is how well some database of its size answers, in parts of n; None takes the size with the least bound.

    >>> from dxprivacy import metrics
    >>> small = smalldb([[1, 1, 0, 0], [0, 1, 1, 0]], metrics.constant(4, 1), [100, 200, 300, 400], alpha=0.3)
    >>> int(small.counts.sum()), round(float(small.weights.sum())), len(small.answers)
    (8, 1000, 2)
    """
    if not isinstance(d, Metric):
        raise UsageError(f"a metric is needed, not {type(d).__name__}", hints=["dx.metrics.constant(n, 1)"])
    histogram = counts if isinstance(counts, Histogram) else Histogram.of(d.universe, counts)
    rows = 0 if d.universe.absent is not None else histogram.total
    plan = make_smalldb(questions, d, rows=rows, alpha=alpha, beta=beta, share=share, flatten=flatten)
    return small_database(plan, lambda: histogram, noise or SystemNoise(), Unrecorded(d, Fraction(plan.share)))
