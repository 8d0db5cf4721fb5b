"""Decide exactly whether a cost fits the budget, and find the most used pairs.

The invariant is `sum of costs <= d` on every pair.  Each entry has a certified fraction of the policy, so most
decisions are one sum of fractions.  If the sum exceeds 1, the costs are added pair by pair: budget that one query did
not use on a pair is available to the next.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from operator import is_
from weakref import WeakKeyDictionary

import numpy as np

from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.exact.arrays import numbers_only
from dxprivacy.ledger.history import Entry
from dxprivacy.ledger.leftover import Leftover
from dxprivacy.metrics import Extreme, Metric
from dxprivacy.metrics.metric import Pairs
from dxprivacy.metrics.with_other import present, public_pair
from dxprivacy.privacy import Bound, Cover, cover, largest_loss, largest_pairs, max_ratio, ratios
from dxprivacy.privacy.costs import RowsCost, SumCost
from dxprivacy.privacy.search.worst_case import WorstCase
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import digits, percent

# -- The worst-case ε of everything in a ledger ------------------------------------------------------------------------
# Updated incrementally: one more entry takes the same time after a thousand entries.


_ROUNDINGS = 1 + 2.0**-40


class SoFar:
    """The worst-case ε of a sequence of costs."""

    def __init__(
        self, worst: WorstCase, costs: tuple[RowsCost, ...] = (), alone: float = 0.0, people: float = 0.0
    ) -> None:
        self._worst, self._costs, self._alone, self._people = worst, costs, alone, people

    @classmethod
    def nothing(cls, universe: Universe) -> "SoFar":
        """Return the value of an empty ledger."""
        return cls(WorstCase(universe))

    def plus(self, cost: RowsCost) -> "SoFar":
        """Return the value with one more cost."""
        with numbers_only():
            together = self._worst.plus(cost.terms)
        return SoFar(together, (*self._costs, cost), self._alone + _alone(cost), self._people + cost.of_proportional)

    def up_to(self, costs: Sequence[RowsCost]) -> "SoFar":
        """Return the value for `costs`: add those that are new, or start again if earlier ones differ."""
        known = len(self._costs)
        grown = len(costs) >= known and all(map(is_, self._costs, costs))
        out = self if grown else SoFar.nothing(self._worst.universe)
        for cost in costs[known if grown else 0 :]:
            out = out.plus(cost)
        return out

    @cached_property
    def value(self) -> float:
        """The largest loss over all pairs, or a bound: the sum of the costs' own worst cases may be smaller."""
        together, pair = self._worst.found
        together = (together + self._people) * _ROUNDINGS
        return min(together, self._alone) if pair is None and self._costs else together


def worst_of(spent: SumCost) -> float:
    """Return the worst-case ε of several costs, or an upper bound."""
    return SoFar.nothing(spent.universe).up_to(spent.costs).value


def _alone(cost: RowsCost) -> float:
    # The worst-case ε of one cost, cached: adaptive mechanisms reserve the same cost many times.
    if cost not in _KNOWN:
        _KNOWN[cost] = largest_loss(cost)[0]
    return _KNOWN[cost]


_KNOWN: WeakKeyDictionary[RowsCost, float] = WeakKeyDictionary()


# -- Does a cost fit? --------------------------------------------------------------------------------------------------


BUDGET_GRID = 1 << 60
_BUDGET_ROOM = Fraction(1, 1 << 20)  # tolerance for rounding on other machines, as in the verifier
_WORK = 4_000_000  # pairs times blocks to compare along an attribute, for terminal output
_FEWEST = 20_000
_SHOWN = 100  # pairs along an attribute of many points


def round_budget(budget: Fraction) -> Fraction:
    """Round up to a grid that contains 1, so that sums of many fractions stay short and a full plan stays full.

    >>> round_budget(Fraction(1)), round_budget(Fraction(1, 3)) >= Fraction(1, 3)
    (Fraction(1, 1), True)
    """
    return Fraction(math.ceil(budget * BUDGET_GRID), BUDGET_GRID)


def certified_budget(cost: RowsCost, metric: Metric) -> Fraction:
    """Return the fraction of the policy that a cost uses on its most used pair, rounded up."""
    bound = max_ratio(cost, metric)
    if bound.upper == math.inf:
        a, b = metric.universe.describe(*(bound.witness or (0, 0)))
        raise BudgetExceeded(
            "nothing spent, no data read",
            where="budget exceeded",
            details=[f"{a} – {b} would be distinguishable without limit."],
            hints=["give the pair an ε above 0, or more noise"],
        )
    return round_budget(Fraction(bound.upper))


def checked_budget(entry: Entry, certified: Callable[[RowsCost], Fraction], where: str) -> Fraction:
    """Return the fraction of an entry, at least that of its cost; refuse a stored fraction that is too small.

    A larger stored fraction is kept: it is safe, and was written by a search with smaller limits.
    """
    try:
        budget = certified(entry.cost)
    except BudgetExceeded:
        found = "without limit"
    else:
        if entry.budget >= budget * (1 - _BUDGET_ROOM):
            return max(entry.budget, budget)
        found = f"{float(budget):.6g}"
    raise LedgerError(
        f"entry {entry.number} (row {entry.row}): the stored budget does not follow from the entry (stored "
        f"{float(entry.budget):.6g}, computed from its queries and scales: {found}); nothing was spent",
        where=where,
        details=["The entry was not written by this program, or it was changed and the hashes were computed again."],
        hints=["restore the ledger and its witness from a copy that `dxp ledger` accepts"],
    )


def require_budget(
    spent: Sequence[RowsCost], budgets: Fraction, new: RowsCost, budget: Fraction, metric: Metric
) -> None:
    """Raise BudgetExceeded unless the sum of all costs stays within the policy on every pair."""
    if budgets + budget <= 1:
        return
    total = SumCost(metric.universe, [*spent, new])
    bound = max_ratio(total, metric)
    if bound.upper <= 1:
        return
    before = SumCost(metric.universe, spent)
    hints = []
    fits = _fitting_factor(before, new, metric)
    if fits > 0 and max_ratio(_together(before, new, fits), metric).upper > 1:  # a bound, or a proportional cost
        fits = float(max(1 - budgets, Fraction(0)) / budget)
    smaller = math.floor(fits * min(float(budget), 1.0) * 1000 + 1e-5) / 10  # per cent
    if smaller > 0:
        hints.append((f"dxp plan … --budget {smaller:g}%", f"fits; every error grows {digits(1 / fits)} times"))
        hints.append(("dxp plan … --ledger LEDGER", "plans again inside what is left, pair by pair"))
    if "per query" in bound.rule:
        hints.append(("ask for fewer attributes at once", "the budget could only be bounded, not computed, for these"))
    raise BudgetExceeded(
        "nothing spent, no data read",
        where="budget exceeded",
        details=[_shortage(before, new, bound, metric)],
        hints=hints or [("a new dataset", "this ledger has nothing left for these queries")],
    )


def _shortage(before: SumCost, new: RowsCost, bound: Bound, metric: Metric) -> str:
    # The pair that lacks budget, and how much, for whole people; or the bound, if no single pair shows it.
    pair = bound.witness or (0, 1)
    left, each = Leftover(before, metric), metric.universe.rows_each
    allowed, needs = (each * float(x.exact(*pair)) for x in (metric, new))
    rest = min(each * left.spendable(*pair)[0], max(allowed - each * float(before.exact(*pair)), 0.0))
    if needs <= rest * (1 - 1e-9):
        return (
            "The costs can only be bounded from above, each query by itself: "
            f"{percent(float(left.bound.upper))} of every pair counts as used, "
            f"{percent(float(bound.upper))} with this plan."
        )
    rest = rest if rest > 1e-9 * allowed else 0.0
    a, b = metric.universe.describe(*pair)
    others = _short_pairs(SumCost(metric.universe, [*before.costs, new]), metric) - 1
    more = f" {others:,} other pairs are short." if others > 0 else ""
    return f"{a} – {b} has {digits(rest)} left of {digits(allowed)}; this plan needs {digits(needs)}.{more}"


def _short_pairs(total: SumCost, metric: Metric) -> int:
    pairs = largest_pairs(total, metric, _SHOWN)
    return sum(int((ratios(total, metric, i, j) > 1 + 1e-9).sum()) for i, j in pairs)


def _fitting_factor(before: SumCost, new: RowsCost, metric: Metric) -> float:
    # The factor by which the new cost must shrink to fit, on the generating pairs.
    factor = 1.0
    covering = cover(SumCost(metric.universe, [*before.costs, new]), metric, tree_searches=True)
    if covering.tree_searches or new.proportional_loss:  # tree searches and proportional costs have no list of pairs
        return _fitting_by_search(before, new, metric)
    for i, j in covering.pairs():
        d, used, wanted = metric.pairwise(i, j), before.pairwise(i, j), new.pairwise(i, j)
        asks = np.isfinite(d) & (wanted > 0)
        if asks.any():
            factor = min(factor, float(((d - used)[asks] / wanted[asks]).min()))
    return max(factor * (1 - 1e-9), 0.0)


def _together(before: SumCost, new: RowsCost, factor: float) -> SumCost:
    # The sum of all costs, with the new one multiplied by `factor`.
    return SumCost(before.universe, [*before.costs, new.with_scales(new.scales / factor)])


def _fitting_by_search(before: SumCost, new: RowsCost, metric: Metric) -> float:
    # The same for searched pairs: shrink the cost until the most exceeded pair fits, and repeat.
    factor = 1.0
    for _ in range(_SHOWN):
        pair = max_ratio(_together(before, new, factor), metric).witness
        if pair is None:
            break
        left, wanted = float(metric.exact(*pair) - before.exact(*pair)), float(new.exact(*pair))
        if not wanted or factor * wanted <= left * (1 + 1e-12):
            break
        factor = left / wanted
        if factor <= 0:
            return 0.0
    return max(factor * (1 - 1e-9), 0.0)


def bracket(spent: SumCost, metric: Metric, pairs: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Bound the remaining budget of the tightest of some pairs from below and above, without searching detours.

    Let `used` be the largest used fraction of any pair.  Every step of a path has at least (1 - used) d left, so the
    path has at least (1 - used) d(i, j), by the triangle inequality.  The direct step has d - spent.
    """
    rest = max(1.0 - float(max_ratio(spent, metric).upper), 0.0)
    allowed = [float(metric.exact(i, j)) for i, j in pairs]
    direct = [d - float(spent.exact(i, j)) if math.isfinite(d) else d for d, (i, j) in zip(allowed, pairs, strict=True)]
    return min(rest * d if math.isfinite(d) else d for d in allowed), max(min(direct), 0.0)


@dataclass(frozen=True)
class Used:
    """A pair, the ε that the ledger charged on it, and the fraction that can still be spent.

    Under `[people]` the pair represents two people all of whose rows differ like it; both ε are those of whole people.
    """

    pair: tuple[int, int]
    fraction: float  # charged / allowed
    charged: float
    allowed: float
    left: float  # the fraction of `allowed` that can be spent, including detours over other records


def most_used(spent: SumCost, metric: Metric, count: int) -> list[Used]:
    """Return the pairs with the largest used fraction of their budget, largest first."""
    if not spent.costs:
        return []
    covering = _for_screens(spent, metric)
    walked = (walk.largest(max(count, _SHOWN)) for walk in covering.tree_searches)
    return _top(
        spent, metric, chain(covering.pairs(), *(part.pairs() for part in covering.bounded_contexts), *walked), count
    )


def _for_screens(spent: SumCost, metric: Metric) -> Cover:
    # Generating pairs of bounded size, for terminal output; no decision depends on them.
    parts = sum(len(term.parts) for term in spent.terms)
    return cover(spent, metric, most=max(_WORK // max(parts, 1), _FEWEST), tree_searches=True)


def _top(spent: SumCost, metric: Metric, pairs: Iterator[Pairs], count: int) -> list[Used]:
    found: list[tuple[float, int, int]] = []
    for i, j in pairs:
        r = ratios(spent, metric, i, j)
        top = np.argsort(-r, kind="stable")[:count]
        found += [(float(r[k]), int(i[k]), int(j[k])) for k in top if r[k] > 0]
        found = sorted(found, key=lambda one: (-one[0], *one[1:]))[:count]  # ties: the first pair
    return [_used(spent, metric, (i, j), budget) for budget, i, j in found]


def _used(spent: SumCost, metric: Metric, pair: tuple[int, int], budget: float) -> Used:
    each = metric.universe.rows_each
    charged, allowed = (float(x.exact(*pair)) * each for x in (spent, metric))
    return Used(pair, budget, charged, allowed, max(1.0 - budget, 0.0))


def used_by_attribute(spent: SumCost, metric: Metric) -> dict[str, list[Used]]:
    """Return, per attribute, the pair that differs only in it with the least fraction left; one line for other metrics.

    The second pair, if known, is the most used one.  Under add-remove neighbors there is a line `presence`.
    """
    universe, axes = metric.universe, present(metric).axes
    names = universe.names if axes is not None else ("all",)
    extra = () if universe.absent is None or axes is None else ("presence",)
    if not spent.costs:
        return {name: [] for name in (*names, *extra)}
    covering = _for_screens(spent, metric)
    left = Leftover(spent, metric, bounded=covering.bounded)
    if axes is None:
        found = most_used(spent, metric, 2) or _proportionally_used(spent, metric, metric.closest)
        return {"all": _least_left(_spendable(found, left), left, None, float(left.proportional_loss.most))}
    out: dict[str, list[Used]] = {name: [] for name in (*names, *extra)}
    if covering.all_generators is not None:
        out[names[0]] = _top(spent, metric, covering.all_generators.generators(), 2)
    for move in covering.moves:
        out[names[move.axis]] = _top(spent, metric, move.pairs(), 2)
    for part in covering.bounded_contexts:  # too many contexts to compare: the worst pair of each query
        out[names[part.axis]] = _top(spent, metric, part.pairs(), 2)
    for walk in covering.tree_searches:
        out[names[walk.axis]] = _top(spent, metric, walk.largest(_SHOWN), 2)
    if covering.presence is not None:
        out["presence"] = _top(spent, metric, covering.presence.pairs(), 2)
    elif extra:
        out["presence"] = _proportionally_used(spent, metric, Extreme(left.radius, (0, universe.cells)))
    gone = out["presence"][0].fraction if out.get("presence") else float(left.proportional_loss.most)
    for axis, name in enumerate(names):
        found = out[name] or _proportionally_used(spent, metric, _closest(metric, axis))
        out[name] = _least_left(_spendable(found, left), left, axis, gone)
    for name in extra:
        out[name] = _spendable(out[name], left)
    return out


def _spendable(found: list[Used], left: Leftover) -> list[Used]:
    """Add what can be spent to each pair; the second pair is dropped if that is unknown.

    The most used pair along an attribute has d - charged left: every detour has at least the same fraction of each step
    left.  Only a detour over `absent` can have less; `_least_left` finds those.
    """
    out, each = [], left.universe.rows_each
    for used in found:
        if used is found[0] and not left.bounded and not left.proportional_loss.along:
            out.append(used)
            continue
        rest, exact = left.spendable_in_any_context(*used.pair)
        if exact or used is found[0]:
            part = rest * each / used.allowed if 0 < used.allowed < math.inf else used.left
            out.append(replace(used, left=min(part, used.left)))
    return out


def _least_left(found: list[Used], left: Leftover, axis: int | None, presence: float) -> list[Used]:
    """Return the pairs along an attribute, first the one with less left on a detour over `absent`, if there is one.

    With too many records to compare, the detour has at least the fraction left that presence has, of which the fraction
    `presence` is used; this bound is shown for the farthest pair.
    """
    far = _farthest(left.metric, axis)  # a public attribute has no limit that could be used up
    if far is None or math.isinf(far.distance) or (left.universe.absent is None and not left.bounded):
        return found
    worst: tuple[tuple[int, int], float] | None
    if left.bounded and not left.bound.exact:  # the ledger decides by the bound, for every pair
        worst = (far.pair, max(1.0 - float(left.bound.upper), 0.0))
    elif left.universe.absent is None:
        return found
    else:
        worst = left.least_over_absence(axis)
        worst = worst or (far.pair, 2.0 * (1.0 - presence) * left.radius / float(far.distance))
    pair, part = worst
    if part >= (found[0].left if found else 1.0) * (1.0 - 1e-12):
        return found
    used = _used(left.spent, left.metric, pair, 0.0)
    least = replace(used, fraction=used.charged / used.allowed, left=part)
    return [least, *(one for one in found if one.pair != pair)][:2]


def _farthest(metric: Metric, axis: int | None) -> Extreme | None:
    # The farthest two present records that differ in one attribute, or in any.
    axes = present(metric).axes
    if axis is None or axes is None:
        return metric.farthest
    far = axes[axis].farthest
    if far is None and not axes[axis].has_infinite:
        return None
    one, two = public_pair(axes[axis]) if axes[axis].has_infinite or far is None else far.pair
    pair = (one * metric.universe.strides[axis], two * metric.universe.strides[axis])
    return Extreme(float(metric.exact(*pair)), pair)


def _closest(metric: Metric, axis: int) -> Extreme | None:
    # The closest two present records that differ in one attribute.  Along a public attribute all distances are equal:
    # twice the presence, or infinite.
    axes, stride = present(metric).axes, metric.universe.strides[axis]
    near = None if axes is None else axes[axis].closest
    if near is None:
        far = _farthest(metric, axis)
        return far if far is not None and math.isfinite(far.distance) else None
    return Extreme(near.distance, (near.pair[0] * stride, near.pair[1] * stride))


def _proportionally_used(spent: SumCost, metric: Metric, near: Extreme | None) -> list[Used]:
    # A pair that only proportional costs (counts of people, maps) use.
    if near is None or not spent.proportional_loss or not (charged := float(spent.exact(*near.pair))):
        return []
    return [_used(spent, metric, near.pair, charged / float(metric.exact(*near.pair)))]
