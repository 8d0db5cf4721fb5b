"""What is granted: a share of the policy, and beside what was spent before."""

from fractions import Fraction

from dxprivacy.errors import UsageError
from dxprivacy.exact.rounding import exact
from dxprivacy.metrics import Metric
from dxprivacy.privacy.costs import Cost, RowsCost, SumCost

USUAL_SHARE = "10%"  # of a policy, for whoever has a ledger and does not say: the first plan leaves room for others


def parse_share(share: object) -> Fraction:
    """`"25%"`, 0.25 or a fraction, in (0, 1].

    >>> parse_share("25%")
    Fraction(1, 4)
    """
    text = str(share).strip()
    value = exact(text[:-1], what="share") / 100 if text.endswith("%") else exact(share, what="share")
    if not 0 < value <= 1:
        hints = [f"{text}%"] if 1 < value <= 100 and not text.endswith("%") else []
        raise UsageError(f"share is {share}; it must be more than 0 and at most 100 %", hints=hints)
    return Fraction(value)


def require_spent(spent: Cost | None, metric: Metric) -> Cost | None:
    """A cost over the policy's own records, or nothing."""
    if spent is None or (isinstance(spent, SumCost) and not spent.costs):
        return None
    if not isinstance(spent, (RowsCost, SumCost)):
        raise UsageError(f"what was spent is a cost, not {type(spent).__name__}", hints=["spent=ledger.spent"])
    if spent.universe != metric.universe:
        raise UsageError("what was spent is about the records of another policy")
    return spent
