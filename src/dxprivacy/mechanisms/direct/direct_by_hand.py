"""`dx.direct`: a synthetic histogram from counts, without a ledger (for researchers)."""

from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.direct.plan import plan_direct
from dxprivacy.mechanisms.direct.run import fit_histogram, require_room_to_fit
from dxprivacy.mechanisms.linear.run import noisy_rows
from dxprivacy.mechanisms.planned import target
from dxprivacy.mechanisms.sampling import Noise, SystemNoise
from dxprivacy.mechanisms.synthesis.histogram_answers import asked_universe
from dxprivacy.mechanisms.synthesis.synthetic_data import Synthetic
from dxprivacy.metrics import Metric
from dxprivacy.policy import Policy
from dxprivacy.queries.asking import gather


def direct(
    queries: Any,
    policy: Policy | Metric,
    counts: object,
    *,
    budget: object = "100%",
    noise: Noise | None = None,
    seconds: float | None = None,
) -> Synthetic:
    """Make a synthetic histogram from the best certified plan for the queries and a fit to its noisy counts.

    There is no ledger: every call spends again, and no call is recorded.

    >>> from dxprivacy import metrics
    >>> synth = direct([[1, 0, 0], [0, 1, 0]], metrics.constant(3, 1), [70, 0, 30])
    >>> round(synth.histogram.sum()), bool((synth.histogram >= 0).all())
    (100, True)
    """
    metric = target(policy).metric
    require_room_to_fit(metric.universe, asked_universe(gather(queries).on(metric.universe)))
    histogram = counts if isinstance(counts, Histogram) else Histogram.of(metric.universe, counts)
    records = histogram.total if metric.universe.absent is None else None
    if records == 0:
        raise UsageError("there are no records: nothing to fit a histogram to")
    plan = plan_direct(queries, metric, budget=budget, n_records=records, seconds=seconds)
    return fit_histogram(plan, noisy_rows(plan, histogram, noise or SystemNoise()), n_records=records)
