"""Certificates: the proof that a plan keeps the policy, computed independently of the optimizer that proposed it."""

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
    """`L(i, j) <= ratio * d(i, j)` on every pair.

    The ratio is attained at `witness`, unless the rule says “upper bound” or distances are irrational.

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
    # Quality of the plan, if planning computed it: not part of the proof, and not stored in files.
    lower_bound: float | None = field(default=None, compare=False)  # of the error objective, over all scales
    gap: float | None = field(default=None, compare=False)  # upper bound on the plan's relative excess over it

    def require(self, at_most: Fraction) -> "Certificate":
        """Raise `NotCertified` unless the ratio is at most the granted fraction of the policy."""
        if not self.ratio <= at_most:
            raise NotCertified(
                f"the plan would use {float(self.ratio):.6g} of the policy, but only {float(at_most):.6g} is granted",
                hints=["plan again: the scales were changed after planning"],
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON; the ratio is an exact fraction, rounded up if it has very many digits."""
        return {
            "norm": self.norm,
            "ratio": str(shortened_up(self.ratio)),
            "witness": list(self.witness) if self.witness else None,
            "rule": self.rule,
            "metric": self.metric,
        }


def certify(cost: Cost, metric: Metric) -> Certificate:
    """Bound the fraction of the policy that a cost uses, over all pairs.

    Theorem 1 of the paper: the Laplace mechanism is d_X-private if ||Q'_i - Q'_j||_1 <= d(i, j) for all i, j; here
    Q' = A / s, and fractions are compared.  Costs that are the largest loss of a row use the maximum norm.
    """
    bound = max_ratio(cost, metric)
    norm = "linf" if isinstance(cost, RowsCost) and cost.largest else "l1"
    return Certificate(bound.upper, bound.witness, bound.rule, metric.digest, norm)


# -- Errors for queries without a plan: a pair of records for which no noise, or no remaining budget, is enough --------


def separates(workload: Workload, metric: Metric, pair: tuple[int, int] | None) -> SeparatesIdentical:
    """Build the error for a query that separates records at distance 0."""
    what = "separates records the policy calls identical"
    hints = ["group them together, or give the pair an ε above 0"]
    if pair is None:  # the loss was only bounded, so no pair is known
        return SeparatesIdentical(f"a query {what}", details=["Some have ε 0: no noise is enough."], hints=hints)
    a, b = metric.universe.describe(*pair)
    details = [f"{a} and {b} have ε 0: no noise is enough."]
    return SeparatesIdentical(what, where=f"query “{_query(workload, pair)}”", details=details, hints=hints)


def nothing_left(workload: Workload, metric: Metric, pair: tuple[int, int]) -> BudgetExceeded:
    """Build the error for a query that separates two records without remaining budget."""
    a, b = metric.universe.describe(*pair)
    allowed = float(metric.exact(*pair))
    return BudgetExceeded(
        "nothing spent, no data read",
        where="budget exceeded",
        details=[
            f"{a} – {b} has nothing left of {digits(allowed)}, and query “{_query(workload, pair)}” separates the two."
        ],
        hints=[
            ("leave that query out", "or group so that no answer separates the two"),
            ("dxp ledger FILE", "shows what is left"),
        ],
    )


def _query(workload: Workload, pair: tuple[int, int]) -> str:
    # The title of the first query that separates two records.
    rows = set(workload.touched(np.array([pair[0]]), np.array([pair[1]]))[1].tolist())
    # Counts of people and maps have proportional costs: no single pair of records changes their rows.
    rows = rows or set(np.flatnonzero(workload.in_proportional).tolist())
    return next((workload.titles[a.query] for a in workload.answers if rows & set(a.rows)), "")
