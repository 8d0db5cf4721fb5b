"""Sampling (Jorgensen, Yu and Cormode 2015): records are kept at random by their budgets, then standard DP of budget t.

A record of value i is kept with probability pi_i = (e^eps_i - 1) / (e^t - 1), at most 1, and what was kept gets Laplace
noise of scale S / t, S = max_i ||Q_i||_1.  Adding or removing i then loses ln(1 + pi_i (e^t - 1)) = min(eps_i, t), and
replacing i by j at most eps_i + eps_j: it keeps `per_element(budgets)`.  What is certified is the sharper loss of
`KeptLoss`, and the scale used is the least one at which that keeps the metric.

*Whose budget?*  Here budgets belong to values: whoever replaces i by j changes the probability of being kept, too.  In
the authors' setting they belong to people and are public.  That is a universe of (group, value) with the group public,
`d = inf` between groups and eps_g inside: give that as `metric`, with the budgets of the groups.

On the grid: probabilities are whole numbers over 2^62, rounded down; each record draws its own bits, exactly.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import NotCertified, TooLarge, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact, exact
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.kept_records import BITS, kept
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.metrics import Metric
from dxprivacy.paper.baselines.baseline import LARGEST_SCALE, Baseline, least_scale, used_by
from dxprivacy.paper.baselines.given import Given, read
from dxprivacy.paper.baselines.kept_loss import MOST_LOSS, KeptLoss, exp_down, exp_up
from dxprivacy.privacy.budget_fraction import parse_share

_MOST_RECORDS = 1 << 30  # each is drawn for by itself


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sampled(Baseline):
    """Records kept at random, and noise of one scale; `parts` are the probabilities, `threshold` is t.

    >>> import dxprivacy as dx
    >>> found = dx.baselines.sampling([[1, 1, 1]], ["0.1", 1, 1])
    >>> found.bias([100, 100, 100]).round(), found.release([100, 100, 100]).shape  # 94 of the first 100 are lost
    (array([-94.]), (1,))
    """

    threshold: Fraction

    @cached_property
    def cost(self) -> KeptLoss:
        """That of `KeptLoss`, for these probabilities and scales."""
        return KeptLoss(self.metric.universe, self.given.rows, self.scales, self._chances)

    @cached_property
    def scales(self) -> tuple[float, ...]:
        return self.given.scales(self.scale)

    @property
    def units(self) -> tuple[Fraction, ...]:
        return self.given.units

    @cached_property
    def varies(self) -> Floats:
        """Of a coin."""
        return np.array([float(p * (1 - p)) for p in self.parts])

    @cached_property
    def _chances(self) -> Ints:
        return np.array([int(p * (1 << BITS)) for p in self.parts], dtype=np.int64)

    def noisy_rows(self, histogram: Histogram, noise: Noise) -> Ints:
        self.certificate.require(at_most=self.share)  # the theorem of `KeptLoss`, for these scales and probabilities
        if histogram.public_records > _MOST_RECORDS:
            raise TooLarge(f"{histogram.public_records:,} records are too many to draw for each", where="release")
        self._require_room(histogram, self.given.workload.largest)
        sample = Histogram.of(histogram.universe, kept(histogram.counts, self._chances, noise.entropy))
        return noise.laplace(np.array(self.scales)) + self.given.workload.answer(sample)


def sampling(
    questions: Any,
    budgets: Iterable[Any],
    *,
    threshold: Any = None,
    metric: Metric | None = None,
    share: object = 1,
) -> Sampled:
    """Sampling for linear questions: a record of value i is kept with probability (e^eps_i - 1) / (e^t - 1).

    `budgets` has one number for each cell; `threshold` is t, the largest finite budget unless given (the authors also
    try their mean).  It keeps eps_i + eps_j (`per_element`); with another `metric` the same probabilities get the
    least noise that keeps that one.

    >>> found = sampling([[1, 1, 0]], ["0.1", 1, 1])
    >>> [round(float(p), 4) for p in found.parts], round(float(found.scale), 4)
    ([0.0612, 1.0, 1.0], 0.8752)
    >>> found.certificate.ratio <= 1, found.bias([50, 50, 50]).round(1), found.rmse([50, 50, 50]).round(1)
    (True, array([-46.9]), array([47.]))
    """
    granted = parse_share(share)
    given = read(questions, budgets, metric)
    t = _threshold(threshold, given)
    chances = np.array([_chance(e, t) for e in given.budgets], dtype=np.int64)
    printed = given.reach / t

    def used(scale: Fraction) -> Exact:
        if given.reach / scale > MOST_LOSS:
            return math.inf
        return used_by(KeptLoss(given.metric.universe, given.rows, given.scales(scale), chances), given)

    found = Sampled(
        given=given,
        share=granted,
        scale=least_scale(printed, granted, used),
        printed=printed,
        parts=tuple(Fraction(p, 1 << BITS) for p in chances.tolist()),
        threshold=t,
    )
    if max(found.scales) >= LARGEST_SCALE:
        raise NotCertified("the noise would be larger than any answer", hints=["the metric is too strict for this"])
    found.certificate.require(at_most=granted)
    return found


def _threshold(threshold: Any, given: Given) -> Fraction:
    t = given.top if threshold is None else Fraction(exact(threshold, what="threshold"))
    if not 0 < t <= MOST_LOSS:
        raise UsageError(f"the threshold is {float(t):g}; it is above 0 and at most {MOST_LOSS}")
    return t


def _chance(epsilon: Exact, t: Fraction) -> int:
    """(e^eps - 1) / (e^t - 1) in parts of 2^62, rounded down; all for budgets of t and more."""
    if epsilon >= t:
        return 1 << BITS
    e = Fraction(epsilon)
    # Divided by e^t on both sides, which no budget makes large: e^(eps - t) (1 - e^-eps) / (1 - e^-t).
    part = exp_down(e - t) * (1 - exp_up(-e)) / (1 - exp_down(-t))
    return max(0, math.floor(part * (1 << BITS)))
