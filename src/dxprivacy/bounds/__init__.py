"""Bounds: how much a loss can take of a metric, certified in integers."""

from fractions import Fraction
from typing import Any

from dxprivacy.bounds.covering import Cover, contexts_of, cover
from dxprivacy.bounds.ratio import Bound, largest_loss, max_ratio, ratios
from dxprivacy.bounds.transport import GroupLoss, group_loss
from dxprivacy.model.costs import LaplaceCost
from dxprivacy.model.metrics import Metric
from dxprivacy.model.numbers import round_down
from dxprivacy.model.questions import gather
from dxprivacy.model.workload import Workload

__all__ = [
    "Bound",
    "Cover",
    "GroupLoss",
    "contexts_of",
    "cover",
    "group_loss",
    "largest_loss",
    "max_ratio",
    "ratios",
    "sensitivity",
]


def sensitivity(questions: Any, metric: Metric) -> Bound:
    """The generalised sensitivity: the largest ||Q_i - Q_j||_1 / d(i, j), in the questions' own units.

    >>> from dxprivacy.model import metrics
    >>> b = sensitivity([[1, 1, 0, 0]], metrics.constant(4, 0.1))
    >>> b.upper, b.witness
    (Fraction(10, 1), (0, 2))
    """
    workload = questions if isinstance(questions, Workload) else gather(questions).on(metric.universe)
    unit = min(workload.units)
    # A row with k times the unit counts k times: it gets 1/k of the scale, rounded towards the larger loss.
    scales = [round_down(unit / u) for u in workload.units]
    bound = max_ratio(LaplaceCost(workload, scales), metric)
    off = min(Fraction(s) * u / unit for s, u in zip(scales, workload.units, strict=True))
    return Bound(bound.upper * unit, bound.lower * unit * off, bound.witness, bound.rule)
