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
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dxprivacy.errors import NotCertified, TooLarge, UsageError
from dxprivacy.exact.arrays import Floats, Ints, read_only
from dxprivacy.exact.rounding import Exact, exact, round_up
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.discrete_laplace import BITS, kept
from dxprivacy.mechanisms.sampling.exact_selection import exp_bounds
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.metrics import Metric
from dxprivacy.paper.baselines.baseline import LARGEST_SCALE, Baseline, Given, least_scale, read, used_by
from dxprivacy.privacy.repair import parse_budget
from dxprivacy.universe.loss_terms import Terms
from dxprivacy.universe.universe import Universe

# -- The loss of sampling, pair by pair: records are kept at random, then Laplace noise is added -----------------------
# A record of value i is kept with probability pi_i; rows A get discrete Laplace noise of scales s_k.  Write a_i = sum_k
# |A_ki| / s_k for what a record counts against the noise, and b for sum_k |A_ki - A_kj| / s_k.
#
# *Theorem.*  Replacing i by j changes the probability of any outcome by a factor of at most the largest of
#
#     (1 - pi_i + pi_i e^u) / (1 - pi_j + pi_j e^v),    (u, v) = (a_i, a_i - b) or (b - a_j, -a_j),
#
# and the same with i and j exchanged.  *Proof.*  Fix what is kept of the other n - 1 records; a mixture of pairs of
# probabilities whose ratios are bounded has that bound.  Let M, M e^u and M e^v be the probabilities of the outcome
# without the record, with i and with j: triangle inequality, u <= a_i, v >= -a_j and u - v <= b.  The ratio is the one
# above; it rises with u and falls with v, so that it is largest on the edge u - v = b between its two ends (b <= a_i +
# a_j), where as a function of e^v it is a quotient of two linear functions, hence monotone: largest at an end. The
# first end decides where e^b >= (odds of pi_j) / (odds of pi_i), so wherever pi_i >= pi_j.  The outcome z = A_i of a
# data set of that record alone attains it; z = 0 attains the second where A_i lies between 0 and A_j in every row.  So
# for one row of numbers >= 0 with the same or larger numbers for larger pi nothing is given away.
#
# With `absent` for j it is 1 + pi_i (e^(a_i) - 1): with a_i <= t and pi_i = (e^eps_i - 1) / (e^t - 1), e^eps_i.
#
# Irrational, so rounded up: `exact` is the least float64 above an upper bound from 60 decimal places.


MOST_LOSS = 500  # of one record against the noise: beyond it floats of e^a end
_PLACES = 60
_BLOCK = 1 << 20  # entries of rows for a block of pairs


class KeptLoss:
    """What sampling and noise together may tell about any two records; not below the truth.

    >>> from dxprivacy import metrics
    >>> half = np.array([1 << 61, 1 << 62])  # kept with probability 1/2 and 1
    >>> loss = KeptLoss(metrics.constant(2, 1).universe, np.array([[1, 0]]), (1.0,), half)
    >>> round(float(loss.exact(0, 1)), 6)  # ln(1/2 + e/2): what is kept half of the time tells less than 1
    0.620115
    """

    error: ClassVar[float] = 2.0**-20
    slack: ClassVar[Fraction] = Fraction(0)  # it is added already
    terms: ClassVar[Terms] = ()
    alternatives: ClassVar[None] = None  # nothing is known of it but its values: all generators count

    def __init__(self, universe: Universe, rows: Ints, scales: tuple[float, ...], chances: Ints) -> None:
        self._universe, self._rows, self._chances = universe, rows, read_only(chances.copy())
        self._scales = tuple(Fraction(s) for s in scales)
        self._weights: Floats = 1.0 / np.array(scales)
        self._against: Floats = self._weights @ np.abs(rows)
        if float(self._against.max()) > MOST_LOSS:
            raise TooLarge(f"a record would be told by more than ε {MOST_LOSS}", hints=["smaller budgets"])

    @property
    def universe(self) -> Universe:
        """The records it speaks about."""
        return self._universe

    @cached_property
    def _alike(self) -> Ints:
        """Numbers for cells, the same for those that count alike in every row and are kept alike."""
        columns = np.vstack([self._rows, self._chances[None, :]])
        return np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Which two kinds of cells."""
        a, b = self._alike[i], self._alike[j]
        return np.column_stack([np.minimum(a, b), np.maximum(a, b)])

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Approximate losses; where differences of floats would lose too many digits, those that count."""
        out = np.empty(len(i))
        step = max(1, _BLOCK // len(self._rows))
        for at in range(0, len(i), step):
            out[at : at + step] = self._some(i[at : at + step], j[at : at + step])
        return out

    def _some(self, i: Ints, j: Ints) -> Floats:
        b = self._weights @ np.abs(self._rows[:, i] - self._rows[:, j])
        p, left = self._chances / 2.0**BITS, ((1 << BITS) - self._chances) / 2.0**BITS
        best, size = np.zeros(len(i)), np.zeros(len(i))
        for x, y in ((i, j), (j, i)):
            for u, v in ((self._against[x], self._against[x] - b), (b - self._against[y], -self._against[y])):
                top, bottom = _log_mixed(p[x], left[x], u), _log_mixed(p[y], left[y], v)
                best = np.maximum(best, top - bottom)
                size = np.maximum(size, np.abs(top) + np.abs(bottom))
        same = self._alike[i] == self._alike[j]
        best[same] = 0.0
        # Each logarithm is off by a relative 2^-50 (rows + 8) (1 + a): a difference must not be much smaller than that.
        off = 2.0**-48 * (len(self._rows) + 8) * (1 + float(self._against.max()))
        for k in np.flatnonzero(~same & (best * self.error < off * size)).tolist():
            best[k] = float(self.exact(int(i[k]), int(j[k])))
        return best

    def exact(self, i: int, j: int) -> Exact:
        """Not below the loss of one pair, by less than one part in 2^52."""
        if self._alike[i] == self._alike[j]:
            return Fraction(0)
        ratio = max(_largest(*self._numbers(x, y)) for x, y in ((i, j), (j, i)))
        return Fraction(round_up(_log_up(ratio))) if ratio > 1 else Fraction(0)

    def _numbers(self, x: int, y: int) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
        """Both probabilities, a of both, and b."""
        columns = [[int(a) for a in self._rows[:, cell]] for cell in (x, y)]
        a, other = (sum((abs(q) / s for q, s in zip(c, self._scales, strict=True)), Fraction(0)) for c in columns)
        b = sum((abs(q - r) / s for q, r, s in zip(*columns, self._scales, strict=True)), Fraction(0))
        kept, others = (Fraction(int(self._chances[cell]), 1 << BITS) for cell in (x, y))
        return kept, others, a, other, b


def _log_mixed(p: Floats, left: Floats, x: Floats) -> Floats:
    """ln(left + p e^x), left = 1 - p: near 0 by what it differs from 1, and far from it without ever reaching ln 0."""
    moved = p * np.expm1(x)
    far = moved < -0.5
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(np.log(left), np.log(p) + x)
    return np.where(far, logs, np.log1p(np.where(far, 0.0, moved)))


def _largest(p: Fraction, other: Fraction, a: Fraction, a_other: Fraction, b: Fraction) -> Fraction:
    """Not below the larger of the two ends."""
    ends = ((a, a - b), (b - a_other, -a_other))
    return max((1 - p + p * exp_up(u)) / (1 - other + other * exp_down(v)) for u, v in ends)


def exp_up(x: Fraction) -> Fraction:
    """Not below e^x.

    >>> float(exp_up(Fraction(1))), exp_up(Fraction(0))
    (2.718281828459045, Fraction(1, 1))
    """
    return _bounds(x)[1]


def exp_down(x: Fraction) -> Fraction:
    """Not above e^x."""
    return _bounds(x)[0]


def _bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    if x == 0:
        return Fraction(1), Fraction(1)
    bits = 256 + 2 * int(abs(x))
    low, high = exp_bounds(abs(x), bits)
    if x < 0:
        return Fraction(low, 1 << bits), Fraction(high, 1 << bits)
    return Fraction(1 << bits, high), Fraction(1 << bits, low)


def _log_up(ratio: Fraction) -> Fraction:
    """Not below ln(ratio), ratio > 1: quotient and logarithm are right to 60 places, and some of them are given up."""
    up = Context(prec=_PLACES, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    near = Context(prec=_PLACES, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    log = near.ln(up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    return Fraction(log) * (1 + Fraction(1, 10 ** (_PLACES - 5))) + Fraction(1, 10 ** (_PLACES - 2))


# -- Sampling (Jorgensen, Yu and Cormode 2015) -------------------------------------------------------------------------


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
        self.certificate.require(at_most=self.budget)  # the theorem of `KeptLoss`, for these scales and probabilities
        if histogram.public_records > _MOST_RECORDS:
            raise TooLarge(f"{histogram.public_records:,} records are too many to draw for each", where="release")
        self._require_room(histogram, self.given.workload.largest)
        sample = Histogram.of(histogram.universe, kept(histogram.counts, self._chances, noise.entropy))
        return noise.laplace(np.array(self.scales)) + self.given.workload.answer(sample)


def sampling(
    queries: Any,
    budgets: Iterable[Any],
    *,
    threshold: Any = None,
    metric: Metric | None = None,
    budget: object = "100%",
) -> Sampled:
    """Sampling for linear queries: a record of value i is kept with probability (e^eps_i - 1) / (e^t - 1).

    `budgets` has one number for each cell; `threshold` is t, the largest finite budget unless given (the authors also
    try their mean).  It keeps eps_i + eps_j (`per_element`); with another `metric` the same probabilities get the
    least noise that keeps that one.

    >>> found = sampling([[1, 1, 0]], ["0.1", 1, 1])
    >>> [round(float(p), 4) for p in found.parts], round(float(found.scale), 4)
    ([0.0612, 1.0, 1.0], 0.8752)
    >>> found.certificate.ratio <= 1, found.bias([50, 50, 50]).round(1), found.rmse([50, 50, 50]).round(1)
    (True, array([-46.9]), array([47.]))
    """
    granted = parse_budget(budget)
    given = read(queries, budgets, metric)
    t = _threshold(threshold, given)
    chances = np.array([_chance(e, t) for e in given.budgets], dtype=np.int64)
    printed = given.reach / t

    def used(scale: Fraction) -> Exact:
        if given.reach / scale > MOST_LOSS:
            return math.inf
        return used_by(KeptLoss(given.metric.universe, given.rows, given.scales(scale), chances), given)

    found = Sampled(
        given=given,
        budget=granted,
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
