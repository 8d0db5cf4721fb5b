"""`dx.mwem`: a synthetic histogram from counts, without a ledger (for researchers)."""

from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.mwem.run import run_mwem
from dxprivacy.mechanisms.planned import Progress, target
from dxprivacy.mechanisms.sampling import Noise, SystemNoise
from dxprivacy.mechanisms.spending import Unrecorded
from dxprivacy.mechanisms.synthesis.synthetic_data import Synthetic
from dxprivacy.metrics import Metric
from dxprivacy.policy import Policy


def mwem(
    queries: Any,
    policy: Policy | Metric,
    counts: object,
    *,
    rounds: int | str | None = None,
    budget: object = "100%",
    passes: int | None = None,
    averaged: bool = False,
    again: bool = False,
    start: object = None,
    noise: Noise | None = None,
    progress: Progress | None = None,
) -> Synthetic:
    """Make a synthetic histogram that answers many queries at once, by MWEM.

    There is no ledger: every call spends again, and no call is recorded. One call spends at most the budget. For small
    universes `dx.direct` is usually far better.

    >>> from dxprivacy import metrics
    >>> d = metrics.constant(4, 1)
    >>> synth = mwem([[1, 1, 0, 0], [0, 1, 1, 0]], d, [400, 300, 200, 100], rounds=2)
    >>> synth.histogram.shape, round(synth.histogram.sum())
    ((4,), 1000)
    """
    metric = target(policy).metric
    histogram = counts if isinstance(counts, Histogram) else None
    if metric.universe.absent is None:
        histogram = histogram or Histogram.of(metric.universe, counts)
        records = histogram.total
    else:
        records = 0  # refused below, before any count is used
    plan = plan_mwem(
        queries, metric, n_records=records, rounds=rounds, budget=budget, passes=passes, averaged=averaged, again=again,
        start=start,
    )  # fmt: skip
    if histogram is None or histogram.universe != metric.universe:
        raise UsageError("the counts are over another universe than the metric")
    counted = histogram
    return run_mwem(plan, lambda: counted, Unrecorded(metric, plan.budget), noise or SystemNoise(), progress=progress)
