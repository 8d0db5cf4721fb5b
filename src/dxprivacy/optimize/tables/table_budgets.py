"""What tables may cost: a budget for each attribute, one for all records alike, and one for a record's presence.

A table whose rows have noise of scale 1/w changes, when a record is replaced, by at most 2 w along each of its
attributes (see `measured_table`).  Three kinds of linear constraints follow, and any of them may hold together:

    attribute a   sum over tables with a of 2 w <= budget_a        distances add up over attributes
    together      sum over tables of 2 w <= budget                 one distance for every two records (standard DP)
    presence      sum over tables of w <= budget                   a record comes or goes: it counts once in each table

The first is exact.  So is the third.  The second is exact for whole tables: two records that differ in every attribute
are in different cells of all of them; where tables consist of halved attributes only, records may differ by less.

Without presence the number of records is public, and the table of no attributes, the total, is known.  With presence
it is one more table that has to be measured, and no attribute is public.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dxprivacy.errors import UsageError
from dxprivacy.optimize.tables.measured_table import Table


@dataclass(frozen=True)
class Budgets:
    """Per attribute its budget, infinite where only others limit it; for all records alike; and for presence.

    >>> plain = Budgets((math.inf, math.inf), together=1.0)
    >>> plain.of(0), plain.total_is_private, [limit for _, limit in plain.constraints((0, 1))]
    (1.0, False, [1.0])
    """

    attributes: tuple[float, ...]
    together: float = math.inf
    presence: float = math.inf

    @classmethod
    def checked(cls, given: "Sequence[float] | Budgets", sizes: Sequence[int]) -> "Budgets":
        """Numbers of at least 0, one for each attribute; those for everything above 0."""
        if not isinstance(given, Budgets):
            given = cls(_numbers(given))
        if len(given.attributes) != len(sizes):
            raise UsageError(f"{len(sizes)} budgets are needed, {len(given.attributes)} were given")
        found = cls(_numbers(given.attributes), *_numbers((given.together, given.presence)))
        if not all(b >= 0 for b in found.attributes):
            raise UsageError("budgets must be at least 0")
        if not (found.together > 0 and found.presence > 0):
            raise UsageError("a budget for all tables must be above 0")
        return found

    @property
    def total_is_private(self) -> bool:
        """Whether records may come and go, so that their number has to be measured like anything else."""
        return math.isfinite(self.presence)

    @property
    def jointly(self) -> bool:
        """Whether some budget is shared by all tables, whatever their attributes."""
        return math.isfinite(min(self.together, self.presence))

    @property
    def least(self) -> int:
        """The least number of attributes of a table that has to be measured."""
        return 0 if self.total_is_private else 1

    def of(self, attribute: int) -> float:
        """What all tables with an attribute may show of it together; infinite for a public one."""
        return min(self.attributes[attribute], self.together, 2 * self.presence)

    def constraints(self, used: Sequence[int]) -> Iterator["tuple[Constraint, float]"]:
        """Those that are finite, among tables of some attributes."""
        for a in used:
            if math.isfinite(self.attributes[a]):
                yield Constraint(a), self.attributes[a]
        if math.isfinite(self.together):
            yield Constraint(TOGETHER), self.together
        if self.total_is_private:
            yield Constraint(PRESENCE), self.presence


TOGETHER = -1
PRESENCE = -2


@dataclass(frozen=True)
class Constraint:
    """Which tables share a budget: those with an attribute, all with any attribute, or all."""

    about: int

    def cost(self, table: Table) -> float:
        """What a unit of a table's precision takes of it."""
        if self.about == PRESENCE:
            return 1.0
        if self.about == TOGETHER:
            return 2.0 if table.attributes else 0.0
        return 2.0 if self.about in table.attributes else 0.0


def _numbers(given: Sequence[float]) -> tuple[float, ...]:
    try:
        return tuple(float(b) for b in given)
    except (TypeError, ValueError):
        raise UsageError("budgets must be numbers") from None
