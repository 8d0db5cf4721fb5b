"""Certificates: the proof that a plan keeps the policy, computed independently of whoever proposed the plan."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dxprivacy.errors import NotCertified
from dxprivacy.exact.rounding import Exact, shortened_up
from dxprivacy.metrics import Metric
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import Cost, RowsCost
from dxprivacy.wording import repr_of_half_built


@repr_of_half_built
@dataclass(frozen=True)
class Certificate:
    """`L(i, j) <= ratio * d(i, j)` for every pair, exactly; tightest at `witness`, by the named rule.

    >>> import dxprivacy as dx
    >>> certificate = dx.plan([[1, 1, 0]], dx.metrics.line(3, 1)).certificate
    >>> certificate.ratio, certificate.witness
    (Fraction(1, 1), (1, 2))
    """

    ratio: Exact
    witness: tuple[int, int] | None
    rule: str
    metric: str
    norm: str = "l1"
    # How good the plan is, where planning knew: no part of the proof, and not kept in files.
    lower_bound: float | None = field(default=None, compare=False)  # of the loss, over all scales for the same rows
    gap: float | None = field(default=None, compare=False)  # how far the plan is above it, at most, relatively

    def require(self, at_most: Fraction) -> "Certificate":
        """Refuse unless the ratio is at most the share of the policy that was granted."""
        if not self.ratio <= at_most:
            raise NotCertified(
                f"the plan would use {float(self.ratio):.6g} of the policy, but only {float(at_most):.6g} is granted",
                hints=["plan again: the scales were changed after planning"],
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the ratio as a fraction, exact unless it has very many digits."""
        return {
            "norm": self.norm,
            "ratio": str(shortened_up(self.ratio)),
            "witness": list(self.witness) if self.witness else None,
            "rule": self.rule,
            "metric": self.metric,
        }


def certify(cost: Cost, metric: Metric) -> Certificate:
    """How much of the policy a cost takes, at most, over all pairs.

    Theorem 1 of the paper: the Laplace mechanism is d_X-private if ||Q'_i - Q'_j||_1 <= d(i, j) for all i, j; here
    Q' = A / s and the comparison is made in fractions.  Of costs that are a largest loss the norm is the largest.
    """
    bound = max_ratio(cost, metric)
    norm = "linf" if isinstance(cost, RowsCost) and cost.largest else "l1"
    return Certificate(bound.upper, bound.witness, bound.rule, metric.digest, norm)
