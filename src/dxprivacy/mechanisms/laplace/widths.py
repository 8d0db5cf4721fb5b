"""How far to smooth a question that leaves it open: from public numbers alone, so that it is known before spending.

A wider ramp has less noise and more bias.  Of widths 1, 2, 5, 10, … the one is taken whose noise, as if numbers lay
evenly over half of their range, and a twelfth of whose width together are least.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dxprivacy.accounting import max_ratio
from dxprivacy.accounting.costs import LaplaceCost
from dxprivacy.mechanisms.laplace.laws import laplace_laws
from dxprivacy.metrics import Metric
from dxprivacy.questions.asked import Asked, Stack
from dxprivacy.questions.quantiles import MOST_RAMPS, Quantiles

_BIAS = 12  # a ramp moves a quantile by less than this part of its width, where numbers lie smoothly
_FEW = 1_000  # records that it is chosen for, where nobody says how many there are


def with_widths(asked: Stack, metric: Metric, share: Fraction, records: int | None) -> Stack:
    """The same questions, each with its width."""
    mine = share / len(asked.questions)
    return Stack(tuple(_with_width(question, metric, mine, records or _FEW) for question in asked.questions))


def _with_width(question: Asked, metric: Metric, share: Fraction, records: int) -> Asked:
    if not isinstance(question, Quantiles) or question.width is not None:
        return question
    line = question.line(metric.universe)
    best, least = question, math.inf
    for steps in _widths(line.steps):
        tried = replace(question, width=steps * line.tick)
        error = _error(tried, metric, share, records)
        if error < least:
            best, least = tried, error
    return best


def _widths(steps: int) -> list[int]:
    """1, 2, 5, 10, … ticks, of which not too many fit into the range."""
    series = (f * 10**e for e in range(len(str(max(steps, 1)))) for f in (1, 2, 5))
    return [width for width in series if width <= max(steps // 2, 1) and -(-steps // width) <= MOST_RAMPS]


def _error(question: Quantiles, metric: Metric, share: Fraction, records: int) -> float:
    """The squared error of noise and bias; infinite where no noise is enough."""
    workload = question.on(metric.universe)
    scales = np.array([1 / float(unit) for unit in workload.units])  # alike in records
    bound = max_ratio(LaplaceCost(workload, scales), metric).upper
    if bound == math.inf:
        return math.inf
    noisy = laplace_laws((scales * float(bound / share)).tolist())
    worst = max(answer.recipe.expected(noisy, records, 0.0).rmse for answer in workload.answers)
    return worst**2 + (float(question.width or 0) / _BIAS) ** 2
