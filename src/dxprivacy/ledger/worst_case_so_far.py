"""The worst case of everything in a ledger, kept up to date: a further entry takes the same time after a thousand."""

from collections.abc import Sequence
from functools import cached_property
from operator import is_
from weakref import WeakKeyDictionary

from dxprivacy.exact.checked import numbers_only
from dxprivacy.privacy import largest_loss
from dxprivacy.privacy.costs import RowsCost, SumCost
from dxprivacy.privacy.search.worst_case import WorstCase
from dxprivacy.universe.universe import Universe

_ROUNDINGS = 1 + 2.0**-40


class SoFar:
    """The largest loss of some costs together, in the order in which they came."""

    def __init__(
        self, worst: WorstCase, costs: tuple[RowsCost, ...] = (), alone: float = 0.0, people: float = 0.0
    ) -> None:
        self._worst, self._costs, self._alone, self._people = worst, costs, alone, people

    @classmethod
    def nothing(cls, universe: Universe) -> "SoFar":
        """Of a ledger that is empty."""
        return cls(WorstCase(universe))

    def plus(self, cost: RowsCost) -> "SoFar":
        """With one cost more."""
        with numbers_only():
            together = self._worst.plus(cost.terms)
        return SoFar(together, (*self._costs, cost), self._alone + _alone(cost), self._people + cost.of_wholes)

    def up_to(self, costs: Sequence[RowsCost]) -> "SoFar":
        """With the costs that have come since; from the start where these are others."""
        known = len(self._costs)
        grown = len(costs) >= known and all(map(is_, self._costs, costs))
        out = self if grown else SoFar.nothing(self._worst.universe)
        for cost in costs[known if grown else 0 :]:
            out = out.plus(cost)
        return out

    @cached_property
    def value(self) -> float:
        """The largest loss over all pairs; where it is only bounded, each cost by itself may tell more."""
        together, pair = self._worst.found
        together = (together + self._people) * _ROUNDINGS
        return min(together, self._alone) if pair is None and self._costs else together


def worst_of(spent: SumCost) -> float:
    """The largest loss over all pairs of several costs, or a bound of it."""
    return SoFar.nothing(spent.universe).up_to(spent.costs).value


def _alone(cost: RowsCost) -> float:
    """The largest loss of one cost, worked out once: adaptive mechanisms reserve the same again and again."""
    if cost not in _KNOWN:
        _KNOWN[cost] = largest_loss(cost)[0]
    return _KNOWN[cost]


_KNOWN: WeakKeyDictionary[RowsCost, float] = WeakKeyDictionary()
