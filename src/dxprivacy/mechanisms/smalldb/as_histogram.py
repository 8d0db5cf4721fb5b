"""A small database as a synthetic histogram, where each of its records stands for many."""

from dxprivacy.mechanisms.smalldb.run import SmallDb
from dxprivacy.mechanisms.synthesis.synthetic_data import Synthetic
from dxprivacy.privacy.costs import SumCost
from dxprivacy.wording import digits, percent, plural


def small_histogram(small: SmallDb) -> Synthetic:
    """Return the database rescaled to all records; the result contains nothing of the data it was drawn from.

    >>> from dxprivacy.mechanisms.smalldb.smalldb_by_hand import smalldb
    >>> from dxprivacy import metrics
    >>> small = smalldb([[1, 1, 0, 0]], metrics.constant(4, 1), [100, 200, 300, 400], alpha=0.3)
    >>> round(small_histogram(small).histogram.sum())
    1000
    """
    plan = small.plan
    costs = [] if plan.free else [plan.cost]
    words = (
        f"{plural(plan.size, 'record')} stand for {plan.records:,}; every answer within "
        f"{digits(float(plan.bounds.max()))}, {percent(1 - plan.beta)} of the time",
    )
    return Synthetic(
        universe=plan.metric.universe,
        histogram=small.weights,
        queries=plan.queries,
        workload=plan.workload,
        records=plan.records,
        method="smalldb",
        measurements=(),
        cost=SumCost(plan.metric.universe, costs),
        words=words,
    )
