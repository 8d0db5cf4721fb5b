"""`dx.exponential`: select by integer scores whose sensitivity is declared, without a ledger (for researchers).

Every call spends again, and no call is recorded.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import NotCertified, QueryError, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.exact.answer_grid import LARGEST_SCORE, fits_scores
from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.sampling.exact_selection import MOST_CANDIDATES
from dxprivacy.mechanisms.sampling.system_noise import Noise, SystemNoise
from dxprivacy.mechanisms.selection.plan import certified_scale
from dxprivacy.mechanisms.selection.run import pick
from dxprivacy.mechanisms.selection.selection_facts import shortfall
from dxprivacy.metrics import Metric
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.certificate import Certificate
from dxprivacy.privacy.declared_sensitivity import ScaledLoss, declared
from dxprivacy.privacy.repair import parse_budget
from dxprivacy.wording import repr_of_half_built


@repr_of_half_built
@dataclass(frozen=True)
class Chosen:
    """The selected index, its scale c, the certificate, and a bound on its distance from the best.

    With probability at least 95 %, its score is less than `bound` below the best one (Theorem 4, corrected).

    >>> import dxprivacy as dx
    >>> dx.exponential([0, 5000], 1, dx.metrics.constant(2, 1)).index  # 5,000 records are beyond doubt
    1
    """

    index: int
    scale: float
    certificate: Certificate
    bound: float


def exponential(
    scores: Any, sensitivity: Any, d: Metric, *, budget: object = "100%", flip: bool = False, noise: Noise | None = None
) -> Chosen:
    """Select index r with probability proportional to exp(scores[r] / (2c)), exactly; with `flip`, by permute-and-flip.

    `scores` are integers computed from the data. `sensitivity` declares how far any of them changes if one record is
    replaced by another: a number for all pairs, rows Q (then max_k |Q_ki - Q_kj|), or a pseudometric over the records.
    c is the least scale at which the loss stays within the budget.

    Invalid scores are refused: NaN, fractions, and numbers of at least 2^52 or 2^50 c. That depends on the scores, and
    so on the data: clip them to a public range first, if that could happen.

    >>> from dxprivacy import metrics
    >>> result = exponential([0, 0, 5000], 1, metrics.constant(3, 1))
    >>> result.index, result.scale, result.certificate.ratio
    (2, 1.0, Fraction(1, 1))
    """
    if not isinstance(d, Metric):
        raise UsageError(f"a metric is needed, not {type(d).__name__}", hints=["dx.metrics.constant(n, 1)"])
    granted = parse_budget(budget)
    loss = declared(sensitivity, d)
    whole = _whole(scores)
    if len(whole) == 1:  # nothing depends on the data
        return Chosen(0, 0.0, Certificate(Fraction(0), None, "one candidate", d.digest, "linf"), 0.0)
    scale, certificate = _certified(loss, d, granted)
    if not fits_scores(int(np.abs(whole).max()), scale):
        raise TooLarge("the scores are too large for their scale", hints=["larger units"])
    index = pick(whole, scale, noise or SystemNoise(), flip=flip)
    return Chosen(index, scale, certificate, shortfall(scale, len(whole), 0.05))


def _certified(loss: Any, d: Metric, budget: Fraction) -> tuple[float, Certificate]:
    """Return the scale, and the certificate computed from exactly that scale."""
    unit = ScaledLoss(loss, Fraction(1))
    bound = max_ratio(unit, d)
    if bound.upper == math.inf:
        a, b = d.universe.describe(*(bound.witness or (0, 0)))
        raise SeparatesIdentical(
            "the scores may separate records the policy calls identical",
            details=[f"{a} and {b} have ε 0: no noise is enough."],
            hints=["declare a sensitivity of 0 there, if it is"],
        )
    scale = certified_scale(Fraction(bound.upper), budget)
    if scale == 0:
        return 0.0, Certificate(Fraction(0), bound.witness, bound.rule, d.digest, "linf")
    again = max_ratio(ScaledLoss(loss, Fraction(scale)), d)
    certificate = Certificate(again.upper, again.witness, again.rule, d.digest, "linf")
    if not certificate.ratio <= budget:
        raise NotCertified("no scale could be certified", hints=["this is a bug: please report it"])
    return scale, certificate


def _whole(scores: Any) -> Ints:
    """Return scores as 64-bit integers; no error message contains a score."""
    try:
        array = np.asarray(scores)
    except (ValueError, TypeError, OverflowError):
        raise QueryError("scores are a list of whole numbers") from None
    if array.ndim != 1:
        raise QueryError("scores are a list of whole numbers, one for each candidate")
    if not array.size:
        raise QueryError("no candidates: there is nothing to choose", hints=["give at least one score"])
    if array.size > MOST_CANDIDATES:
        raise TooLarge(f"{array.size:,} candidates are more than {MOST_CANDIDATES:,}")
    if array.dtype.kind == "O" and all(type(x) is int for x in array):
        raise TooLarge("scores are beyond 64-bit whole numbers")
    if array.dtype.kind not in "iuf":
        raise QueryError("scores are whole numbers")
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.trunc(array)).all()):
        raise QueryError(
            "scores are whole numbers: no fractions, no NaN, no infinity",
            hints=[("round them to a grid", "and declare the sensitivity of the rounded ones")],
        )
    if float(np.abs(array.astype(np.float64)).max()) >= LARGEST_SCORE:
        raise TooLarge(f"scores must stay below {LARGEST_SCORE:,}", hints=["larger units"])
    return array.astype(np.int64)
