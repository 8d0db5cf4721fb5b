"""`--ledger` without data: what still fits beside everything that was released, and the share to ask for."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dxprivacy.mechanisms.planned import Planned
    from dxprivacy.policy import Policy

T = TypeVar("T")


def fitting(
    make: Callable[[Fraction], T], planned: "Callable[[T], Planned[Any]]", share: str, policy: "Policy", ledger: Path
) -> T:
    """What is planned with the largest share, up to the given one, that fits; no ledger is started for it."""
    from dxprivacy.ledger import Ledger
    from dxprivacy.mechanisms.fit_budget import with_share_that_fits
    from dxprivacy.privacy.budget_fraction import parse_share

    with Ledger.open(ledger, policy) as opened:
        spent = opened.spent
    return with_share_that_fits(make, planned, parse_share(share), spent)


def share_text(share: Fraction) -> str:
    """A share as the command line takes it.

    >>> share_text(Fraction(123, 10000)), share_text(Fraction(1, 10))
    ('1.23%', '10%')
    """
    return f"{float(share * 100):.10g}%"


def fits_line(planned: "Planned[Any]", share: str, ledger: Path) -> str:
    """That it fits, and whether less had to be taken for that."""
    from dxprivacy.privacy.budget_fraction import parse_share
    from dxprivacy.wording import percent, tag

    text = f"fits what {ledger.name} has left on every pair"
    if planned.share < parse_share(share):
        text += f", with a share of {percent(float(planned.share))}: {share} does not"
    return tag("dim", text)
