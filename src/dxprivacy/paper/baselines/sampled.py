"""Sampling (Jorgensen, Yu and Cormode 2015): keep records at random by their budgets, then apply standard DP with ε t.

A record of value i is kept with probability pi_i = (e^eps_i - 1) / (e^t - 1), at most 1.  The answers on the kept
records get Laplace noise of scale S / t, S = max_i ||Q_i||_1.  The loss of adding or removing i is then
ln(1 + pi_i (e^t - 1)) = min(eps_i, t), that of replacing i by j at most eps_i + eps_j: it keeps `per_element(budgets)`.
The certificate uses the sharper loss of `KeptLoss`, and the scale is the least one at which that keeps the metric.

Budgets belong to values here: replacing i by j also changes the probability that the record is kept.  In the authors'
setting they belong to people and are public.  To model that, use a universe of (group, value) with a public group,
`d = inf` between groups and eps_g inside a group: pass it as `metric`, with the budgets of the groups.

Probabilities are integers over 2^62, rounded down; each record draws its own random bits, exactly.
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
# |A_ki| / s_k for the weight of a record relative to the noise, and b for sum_k |A_ki - A_kj| / s_k.
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
# first end decides if e^b >= (odds of pi_j) / (odds of pi_i), so whenever pi_i >= pi_j.  The outcome z = A_i of a data
# set of that record alone attains it; z = 0 attains the second if A_i lies between 0 and A_j in every row.  So the
# bound is tight for one row of numbers >= 0 that do not decrease with pi.
#
# With `absent` for j it is 1 + pi_i (e^(a_i) - 1): with a_i <= t and pi_i = (e^eps_i - 1) / (e^t - 1), e^eps_i.
#
# These numbers are irrational: `exact` is the least float64 above an upper bound with 60 decimal places.


MOST_LOSS = 500  # largest a_i: e^a must stay within the range of floats
_PLACES = 60
_BLOCK = 1 << 20  # entries of rows for a block of pairs


class KeptLoss:
    """The privacy loss of sampling and noise together for two records, rounded up.

    >>> from dxprivacy import metrics
    >>> half = np.array([1 << 61, 1 << 62])  # kept with probability 1/2 and 1
    >>> loss = KeptLoss(metrics.constant(2, 1).universe, np.array([[1, 0]]), (1.0,), half)
    >>> round(float(loss.exact(0, 1)), 6)  # ln(1/2 + e/2): what is kept half of the time tells less than 1
    0.620115
    """

    error: ClassVar[float] = 2.0**-20
    slack: ClassVar[Fraction] = Fraction(0)  # `exact` is already an upper bound
    terms: ClassVar[Terms] = ()
    alternatives: ClassVar[None] = None  # no known structure: all generating pairs are searched

    def __init__(self, universe: Universe, rows: Ints, scales: tuple[float, ...], chances: Ints) -> None:
        self._universe, self._rows, self._chances = universe, rows, read_only(chances.copy())
        self._scales = tuple(Fraction(s) for s in scales)
        self._weights: Floats = 1.0 / np.array(scales)
        self._against: Floats = self._weights @ np.abs(rows)
        if float(self._against.max()) > MOST_LOSS:
            raise TooLarge(f"the loss of a kept record would exceed ε {MOST_LOSS}", hints=["smaller budgets"])

    @property
    def universe(self) -> Universe:
        """The universe of the possible records."""
        return self._universe

    @cached_property
    def _alike(self) -> Ints:
        """A class number for each possible record: equal for equal columns and probabilities."""
        columns = np.vstack([self._rows, self._chances[None, :]])
        return np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return the pair of class numbers of each pair of records."""
        a, b = self._alike[i], self._alike[j]
        return np.column_stack([np.minimum(a, b), np.maximum(a, b)])

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Return approximate losses; exact ones if a difference of floats would lose too many digits."""
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
        # Each logarithm has a relative error of 2^-50 (rows + 8) (1 + a): smaller differences are computed exactly.
        off = 2.0**-48 * (len(self._rows) + 8) * (1 + float(self._against.max()))
        for k in np.flatnonzero(~same & (best * self.error < off * size)).tolist():
            best[k] = float(self.exact(int(i[k]), int(j[k])))
        return best

    def exact(self, i: int, j: int) -> Exact:
        """Return an upper bound on the loss of one pair, within one part in 2^52."""
        if self._alike[i] == self._alike[j]:
            return Fraction(0)
        ratio = max(_largest(*self._numbers(x, y)) for x, y in ((i, j), (j, i)))
        return Fraction(round_up(_log_up(ratio))) if ratio > 1 else Fraction(0)

    def _numbers(self, x: int, y: int) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
        """Return the probabilities of both records, their weights a, and b."""
        columns = [[int(a) for a in self._rows[:, record]] for record in (x, y)]
        a, other = (sum((abs(q) / s for q, s in zip(c, self._scales, strict=True)), Fraction(0)) for c in columns)
        b = sum((abs(q - r) / s for q, r, s in zip(*columns, self._scales, strict=True)), Fraction(0))
        kept, others = (Fraction(int(self._chances[record]), 1 << BITS) for record in (x, y))
        return kept, others, a, other, b


def _log_mixed(p: Floats, left: Floats, x: Floats) -> Floats:
    """Return ln(left + p e^x), left = 1 - p: by log1p if the argument is near 1, otherwise by logaddexp."""
    moved = p * np.expm1(x)
    far = moved < -0.5
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(np.log(left), np.log(p) + x)
    return np.where(far, logs, np.log1p(np.where(far, 0.0, moved)))


def _largest(p: Fraction, other: Fraction, a: Fraction, a_other: Fraction, b: Fraction) -> Fraction:
    """Return an upper bound on the larger ratio of the theorem's two ends."""
    ends = ((a, a - b), (b - a_other, -a_other))
    return max((1 - p + p * exp_up(u)) / (1 - other + other * exp_down(v)) for u, v in ends)


def exp_up(x: Fraction) -> Fraction:
    """Return an upper bound on e^x.

    >>> float(exp_up(Fraction(1))), exp_up(Fraction(0))
    (2.718281828459045, Fraction(1, 1))
    """
    return _bounds(x)[1]


def exp_down(x: Fraction) -> Fraction:
    """Return a lower bound on e^x."""
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
    """Return an upper bound on ln(ratio), ratio > 1: computed to 60 places, and raised by more than their error."""
    up = Context(prec=_PLACES, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    near = Context(prec=_PLACES, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    log = near.ln(up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    return Fraction(log) * (1 + Fraction(1, 10 ** (_PLACES - 5))) + Fraction(1, 10 ** (_PLACES - 2))


# -- Sampling (Jorgensen, Yu and Cormode 2015) -------------------------------------------------------------------------


_MOST_RECORDS = 1 << 30  # each record is sampled separately


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
        """The loss `KeptLoss` for these probabilities and scales."""
        return KeptLoss(self.metric.universe, self.given.rows, self.scales, self._chances)

    @cached_property
    def scales(self) -> tuple[float, ...]:
        return self.given.scales(self.scale)

    @property
    def units(self) -> tuple[Fraction, ...]:
        return self.given.units

    @cached_property
    def varies(self) -> Floats:
        """The variance p (1 - p) of a Bernoulli variable, for each possible record."""
        return np.array([float(p * (1 - p)) for p in self.parts])

    @cached_property
    def _chances(self) -> Ints:
        return np.array([int(p * (1 << BITS)) for p in self.parts], dtype=np.int64)

    def noisy_rows(self, histogram: Histogram, noise: Noise) -> Ints:
        self.certificate.require(at_most=self.budget)  # the theorem of `KeptLoss`, for these scales and probabilities
        if histogram.public_records > _MOST_RECORDS:
            raise TooLarge(f"{histogram.public_records:,} records are too many to sample one by one", where="release")
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
    """Plan sampling for linear queries: a record of value i is kept with probability (e^eps_i - 1) / (e^t - 1).

    `budgets` has one number for each possible record; `threshold` is t, by default the largest finite budget (the
    authors also use the mean).  It keeps eps_i + eps_j (`per_element`); with another `metric`, the same probabilities
    get the least noise that keeps that metric.

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
    """Return (e^eps - 1) / (e^t - 1) in units of 2^-62, rounded down; 1 for budgets of at least t."""
    if epsilon >= t:
        return 1 << BITS
    e = Fraction(epsilon)
    # Numerator and denominator are divided by e^t to avoid large numbers: e^(eps - t) (1 - e^-eps) / (1 - e^-t).
    part = exp_down(e - t) * (1 - exp_up(-e)) / (1 - exp_down(-t))
    return max(0, math.floor(part * (1 << BITS)))
