"""The d_X-private Laplace mechanism on the integer grid (Definition and Theorem 1 of the paper).

Z = A x + Y, where A, x and Y are integers and Y_k is discrete Laplace noise of scale s_k. Replacing a record i by j
moves A x by A_j - A_i. So the probability of any output changes by at most exp(sum_k |A_ki - A_kj| / s_k) = exp(L(i,
j)), and the plan's certificate proves L <= budget * d. Nothing is rounded after the data enters.
"""

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.answer_grid import require_room
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.mechanisms.sampling.system_noise import Noise, SystemNoise


def noisy_rows(plan: PlanFacts, histogram: Histogram, noise: Noise) -> Ints:
    """Return the noisy integer measurements of a plan, after its certificate was checked.

    Every release of linear queries gets its noise in the last line of this function. (The demo also draws standard-DP
    noise on simulated data, for comparison.)
    """
    plan.certificate.require(at_most=plan.budget)  # Thm 1: ||Q'_i - Q'_j||_1 <= budget * d(i, j), Q' = A / s
    if histogram.universe != plan.metric.universe:
        raise UsageError("the histogram is over another universe than the plan")
    cost = plan.cost  # the cost that was certified above and reserved in the ledger
    require_room(cost.workload.largest, histogram.public_records, where="release")
    return plan.measured.drawn(cost.scales, noise) + cost.workload.answer(histogram)  # the true answers stay unnamed


def laplace(plan: PlanFacts, counts: object, *, noise: Noise | None = None) -> Floats:
    """Return the answers of a plan with exactly sampled discrete Laplace noise, in the queries' units.

    This is a researcher's interface without a ledger: every call spends the budget again, and no call is recorded.
    `counts` is a histogram over the plan's universe.

    >>> from dxprivacy import metrics
    >>> from dxprivacy.mechanisms.linear.planning.planner import make_plan
    >>> plan = make_plan([[1, 1, 0, 0]], metrics.constant(4, 1))
    >>> laplace(plan, [10, 20, 30, 40]).shape
    (1,)
    """
    if not isinstance(plan, PlanFacts):
        raise UsageError(f"a plan is needed, not {type(plan).__name__}", hints=["dx.plan(Q, d)"])
    histogram = counts if isinstance(counts, Histogram) else Histogram.of(plan.metric.universe, counts)
    records = histogram.public_records
    rows = plan.estimate(noisy_rows(plan, histogram, noise or SystemNoise()), records)
    return np.array([plan.interval(a, rows, records)[0] for a in plan.workload.answers])
