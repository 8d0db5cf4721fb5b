"""What plain differential privacy would give for the same questions: always two baselines.

*strict*  plain DP as strict as our closest pair (epsilon = share * min d): it keeps every promise we make, at a price;
*loose*   plain DP at our worst case (epsilon = the largest loss of the plan): it answers well, but protects close pairs
          far less.

Plain DP splits its epsilon evenly over the questions and answers each with its own sensitivity.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.bounds import largest_loss, max_ratio
from dxprivacy.model.costs import LaplaceCost
from dxprivacy.model.metrics import Constant, Extreme, Metric, WithAbsent
from dxprivacy.model.workload import Workload


@dataclass(frozen=True)
class Baselines:
    """Epsilons and scales of both baselines, and the pairs that set them."""

    strict_epsilon: float
    strict_pair: tuple[int, int] | None
    strict_scales: tuple[float, ...]
    worst_epsilon: float
    worst_pair: tuple[int, int] | None
    worst_scales: tuple[float, ...]


def baselines(workload: Workload, metric: Metric, cost: LaplaceCost, share: Fraction) -> Baselines:
    """Both baselines for a planned workload; plain DP gets the same share of its epsilon."""
    sensitivities = plain_sensitivities(workload)
    near = _strictest(metric)
    strict = near.distance * float(share) if near else float("inf")
    loosest, worst_pair = largest_loss(cost)
    return Baselines(
        strict,
        near.pair if near else None,
        plain_scales(workload, sensitivities, strict),
        loosest,
        worst_pair,
        plain_scales(workload, sensitivities, loosest),
    )


def _strictest(metric: Metric) -> Extreme | None:
    """The pair that plain DP would have to protect all pairs like.

    Where records may be absent, plain DP is about adding or removing one, and replacing one is twice that.
    """
    if not isinstance(metric, WithAbsent):
        return metric.closest
    near, presence = metric.base.closest, metric.closest
    return Extreme(near.distance / 2, near.pair) if near and near.distance < 2 * float(metric.radius) else presence


def plain_sensitivities(workload: Workload) -> tuple[float, ...]:
    """Each block's ordinary l1 sensitivity: the largest change by replacing, or else by adding or removing a record."""
    universe = workload.universe
    plain: Metric = Constant(universe, Fraction(1))
    if universe.absent is not None:
        plain = WithAbsent(universe, Constant(universe.present, float("inf")), Fraction(1))
    out = []
    for block in workload.blocks:
        alone = Workload(workload.universe, (block,), ())
        ones = LaplaceCost(alone, np.ones(block.rows))
        out.append(float(max_ratio(ones, plain).upper))
    return tuple(out)


def plain_scales(workload: Workload, sensitivities: tuple[float, ...], epsilon: float) -> tuple[float, ...]:
    """Scales per row if epsilon is split evenly over the questions that need noise."""
    noisy = sum(s > 0 for s in sensitivities)
    per_block = [
        0.0 if not s or np.isinf(epsilon) else noisy * s / epsilon if epsilon else np.inf for s in sensitivities
    ]
    return tuple(float(per_block[b]) for b in workload.block_of)
