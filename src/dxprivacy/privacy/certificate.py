"""Certificates: the proof that a plan keeps the policy, computed independently of whoever proposed the plan."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import BudgetExceeded, NotCertified, SeparatesIdentical
from dxprivacy.exact.rounding import Exact, shortened_up
from dxprivacy.metrics import Metric
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import Cost, RowsCost
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import digits, repr_of_half_built


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
        """Refuse unless the ratio is at most the fraction of the policy that was granted."""
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


# -- Why some queries get no plan: a pair of records that no noise, or no noise any more, would keep apart -------------


def separates(workload: Workload, metric: Metric, pair: tuple[int, int] | None) -> SeparatesIdentical:
    """A query tells apart what the policy calls identical."""
    what = "separates records the policy calls identical"
    hints = ["group them together, or give the pair an ε above 0"]
    if pair is None:  # it could only be bounded
        return SeparatesIdentical(f"a query {what}", details=["Some have ε 0: no noise is enough."], hints=hints)
    a, b = metric.universe.tell(*pair)
    details = [f"{a} and {b} have ε 0: no noise is enough."]
    return SeparatesIdentical(what, where=f"query “{_query(workload, pair)}”", details=details, hints=hints)


def nothing_left(workload: Workload, metric: Metric, pair: tuple[int, int]) -> BudgetExceeded:
    """A query tells apart two records whose budget is used up."""
    a, b = metric.universe.tell(*pair)
    allowed = float(metric.exact(*pair))
    return BudgetExceeded(
        "nothing spent, no data read",
        where="budget exceeded",
        details=[
            f"{a} – {b} has nothing left of {digits(allowed)}, and query “{_query(workload, pair)}” tells the "
            "two apart."
        ],
        hints=[
            ("leave that query out", "or group so that no answer tells the two apart"),
            ("dxp ledger FILE", "shows what is left"),
        ],
    )


def _query(workload: Workload, pair: tuple[int, int]) -> str:
    """The first query that tells two records apart."""
    rows = set(workload.touched(np.array([pair[0]]), np.array([pair[1]]))[1].tolist())
    # Counts of people and maps are accounted as a whole: no single pair touches their rows.
    rows = rows or set(np.flatnonzero(workload.in_proportional).tolist())
    return next((workload.titles[a.query] for a in workload.answers if rows & set(a.rows)), "")
