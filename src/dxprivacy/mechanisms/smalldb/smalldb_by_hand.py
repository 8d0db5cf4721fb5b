"""`dx.smalldb`: a small database from counts, without a ledger (for researchers)."""

from fractions import Fraction
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling import Noise, SystemNoise
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.mechanisms.smalldb.run import SmallDb, small_database
from dxprivacy.mechanisms.spending import Unrecorded
from dxprivacy.metrics import Metric


def smalldb(
    queries: Any,
    d: Metric,
    counts: Any,
    *,
    alpha: float | None = 0.5,
    beta: float = 0.05,
    budget: object = "100%",
    flatten: bool | None = None,
    noise: Noise | None = None,
) -> SmallDb:
    """Draw a small database that answers the queries almost like the data, without a ledger.

    `alpha` bounds the error of the best database of its size, as a fraction of n; None takes the size with the least
    bound.

    >>> from dxprivacy import metrics
    >>> small = smalldb([[1, 1, 0, 0], [0, 1, 1, 0]], metrics.constant(4, 1), [100, 200, 300, 400], alpha=0.3)
    >>> int(small.counts.sum()), round(float(small.weights.sum())), len(small.answers)
    (8, 1000, 2)
    """
    if not isinstance(d, Metric):
        raise UsageError(f"a metric is needed, not {type(d).__name__}", hints=["dx.metrics.constant(n, 1)"])
    histogram = counts if isinstance(counts, Histogram) else Histogram.of(d.universe, counts)
    rows = 0 if d.universe.absent is not None else histogram.total
    plan = make_smalldb(queries, d, n_records=rows, alpha=alpha, beta=beta, budget=budget, flatten=flatten)
    return small_database(plan, lambda: histogram, noise or SystemNoise(), Unrecorded(d, Fraction(plan.budget)))
