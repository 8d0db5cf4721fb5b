"""Spending step by step: how mechanisms pay that look at the data more than once, each time wiser.

An adaptive mechanism hands every step to a `Spending`: the cost is reserved first, only then is anything drawn from
the data, and the outcome is kept.  The costs of all steps add up, whatever was decided in between, so
that a filter that stops before the sum exceeds the policy on any pair is sound.
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
"""What one step costs: rows with noise, or a selection by scores that follow rows."""


Act: TypeAlias = Callable[[LedgerReference], str]
"""What is done once a cost is reserved: draws from the data, and gives what is kept (JSON text)."""


class Spending(Protocol):
    """Who is asked before every step."""

    def step(self, cost: StepCost, queries: Stack, name: str, act: Act, *, asked: Stack | None = None) -> str:
        """Reserve the cost durably, then act, keep the outcome (JSON text) and return it.

        `queries` are those whose rows the cost is about, `asked` those of people where they are others.  A step that
        was answered before, under the same `name`, returns what was kept: nothing is spent, nothing drawn.
        """


def read_kept(text: str, read: Callable[[str], T]) -> T:
    """What a step kept, read back; a text that is no such thing is refused, whoever wrote it."""
    try:
        return read(text)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise LedgerError("what was kept of a step is damaged") from None


class Unrecorded:
    """The researcher's view: no ledger, so that nobody counts across calls; within one, never more than the budget.

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
        self._certified: dict[StepCost, Fraction | float] = {}  # a cost object never changes: certified once
        self._kept: dict[str, tuple[StepCost, str]] = {}

    @property
    def left(self) -> Fraction:
        """What is left of the budget."""
        return self.budget - self.spent

    def step(self, cost: StepCost, queries: Stack, name: str, act: Act, *, asked: Stack | None = None) -> str:  # noqa: ARG002
        """Certify the cost, count it, then act; refuses before acting if the sum would exceed the budget."""
        if name in self._kept:
            before, text = self._kept[name]
            if before is not cost:
                raise UsageError(f"step “{name}” was taken before, at another cost")
            return text
        if cost not in self._certified:
            self._certified[cost] = max_ratio(cost, self.metric).upper
        part = self._certified[cost]
        if not self.spent + part <= self.budget:  # also where it is infinite
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
