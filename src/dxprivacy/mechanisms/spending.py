"""Spending step by step, for adaptive mechanisms that use the data more than once.

An adaptive mechanism passes every step to a `Spending`. The cost is reserved first; only then is anything drawn from
the data, and the outcome is stored. The costs of all steps add up, whatever was decided in between (adaptive
composition). So a filter that stops before the sum exceeds the policy on any pair is sound.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, TypeAlias, TypeVar

from dxprivacy.errors import BudgetExceeded, LedgerError, UsageError
from dxprivacy.metrics import Metric
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost
from dxprivacy.privacy.proportional_costs import ProportionalCost
from dxprivacy.queries.asked import Stack
from dxprivacy.releases.guarantee import NOWHERE, LedgerReference
from dxprivacy.wording import digits

T = TypeVar("T")
StepCost: TypeAlias = LaplaceCost | SelectionCost | ProportionalCost
"""The cost of one step: rows with noise, or a selection by scores that follow rows."""


Act: TypeAlias = Callable[[LedgerReference], str]
"""The action after a cost is reserved: draws from the data, and returns the outcome to store (JSON text)."""


class Spending(Protocol):
    """Reserves the cost of every step."""

    def step(self, cost: StepCost, queries: Stack, name: str, act: Act, *, asked: Stack | None = None) -> str:
        """Reserve the cost durably, then act, store the outcome (JSON text) and return it.

        `queries` are those whose rows the cost is about; `asked` are the user's queries, if they differ. If a step of
        the same `name` was answered before, its stored outcome is returned: nothing is spent and nothing drawn.
        """


def read_kept(text: str, read: Callable[[str], T]) -> T:
    """Parse the stored outcome of a step; raises `LedgerError` if it is damaged."""
    try:
        return read(text)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise LedgerError("the stored outcome of a step is damaged") from None


class Unrecorded:
    """Spending without a ledger (for researchers): costs are bounded by the budget within one object, not across
    objects.

    >>> from dxprivacy import metrics
    >>> from dxprivacy.queries.asking import gather
    >>> asked, d = gather([[1, 0]]), metrics.constant(2, 1)
    >>> spend = Unrecorded(d, Fraction(1, 2))
    >>> spend.step(LaplaceCost(asked.on(d.universe), [2.0]), asked, "first", lambda _: "7")
    '7'
    >>> spend.spent, spend.left
    (Fraction(1, 2), Fraction(0, 1))
    """

    def __init__(self, metric: Metric, budget: Fraction | int = 1) -> None:
        if not 0 < budget <= 1:
            raise UsageError(f"budget is {budget}; it must be more than 0 and at most 1")
        self.metric, self.budget = metric, Fraction(budget)
        self.spent = Fraction(0)
        self._certified: dict[StepCost, Fraction | float] = {}  # cost objects are immutable, so each is certified once
        self._kept: dict[str, tuple[StepCost, str]] = {}

    @property
    def left(self) -> Fraction:
        """The unused budget."""
        return self.budget - self.spent

    def step(self, cost: StepCost, queries: Stack, name: str, act: Act, *, asked: Stack | None = None) -> str:  # noqa: ARG002
        """Certify the cost, add it, then act; raises before acting if the sum would exceed the budget."""
        if name in self._kept:
            before, text = self._kept[name]
            if before is not cost:
                raise UsageError(f"step “{name}” was taken before, at another cost")
            return text
        if cost not in self._certified:
            self._certified[cost] = max_ratio(cost, self.metric).upper
        part = self._certified[cost]
        if not self.spent + part <= self.budget:  # also refuses an infinite part
            raise BudgetExceeded(
                "nothing spent on this step, no data read",
                where="budget exceeded",
                details=[
                    f"step “{name}” takes {digits(float(part))} of the policy, and {digits(float(self.left))} is left"
                ],
                hints=["more noise, or fewer steps"],
            )
        self.spent += Fraction(part)
        text = act(NOWHERE)
        self._kept[name] = (cost, text)
        return text
