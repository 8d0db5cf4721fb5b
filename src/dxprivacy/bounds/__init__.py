"""Bounds: how much a loss can take of a metric, certified in integers."""

from fractions import Fraction
from typing import Any

from dxprivacy.bounds.covering import Cover, contexts_of, cover
from dxprivacy.bounds.ratio import Bound, largest_loss, max_ratio, ratios
from dxprivacy.errors import UsageError
from dxprivacy.model.costs import LaplaceCost, RowsCost, SelectionCost
from dxprivacy.model.metrics import Metric
from dxprivacy.model.numbers import round_down
from dxprivacy.model.questions import gather
from dxprivacy.model.workload import Workload

__all__ = ["Bound", "Cover", "contexts_of", "cover", "largest_loss", "max_ratio", "ratios", "sensitivity"]


def sensitivity(questions: Any, metric: Metric, *, norm: str = "sum") -> Bound:
    """The generalised sensitivity: the largest ||Q_i - Q_j|| / d(i, j), in the questions' own units.

    `norm="sum"` adds the rows up (the 1-norm: noise on all answers), `norm="max"` takes the largest (a choice of one).

    >>> from dxprivacy.model import metrics
    >>> b = sensitivity([[1, 1, 0, 0]], metrics.constant(4, 0.1))
    >>> b.upper, b.witness
    (Fraction(10, 1), (0, 2))
    >>> q = [[1, 0, 0, 0], [0, 1, 0, 0]]
    >>> sensitivity(q, metrics.constant(4, 1)).upper, sensitivity(q, metrics.constant(4, 1), norm="max").upper
    (Fraction(2, 1), Fraction(1, 1))
    """
    kinds: dict[str, type[RowsCost]] = {"sum": LaplaceCost, "max": SelectionCost}
    if norm not in kinds:
        raise UsageError(f"no norm “{norm}”", hints=[('norm="sum"', "all answers"), ('norm="max"', "the largest")])
    workload = questions if isinstance(questions, Workload) else gather(questions).on(metric.universe)
    unit = min(workload.units)
    # A row with k times the unit counts k times: it gets 1/k of the scale, rounded towards the larger loss.
    scales = [round_down(unit / u) for u in workload.units]
    bound = max_ratio(kinds[norm](workload, scales), metric)
    off = min(Fraction(s) * u / unit for s, u in zip(scales, workload.units, strict=True))
    return Bound(bound.upper * unit, bound.lower * unit * off, bound.witness, bound.rule)
