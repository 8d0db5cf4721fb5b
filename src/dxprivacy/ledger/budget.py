"""Whether a cost fits: exact decisions on the budget, and the pairs with the most of it used.

The invariant is `sum of costs <= d` on every pair.  Each entry carries its certified share of the policy, so most
decisions are one sum of fractions; where that sum exceeds 1, the costs are added pair by pair: budget that one question
did not use on a pair is still there for the next.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np

from dxprivacy.accounting import Cover, cover, largest_pairs, max_ratio, ratios
from dxprivacy.accounting.costs import RowsCost, SumCost
from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.ledger.history import Entry
from dxprivacy.metrics import Metric
from dxprivacy.metrics.base import Pairs
from dxprivacy.metrics.other import along, present
from dxprivacy.wording import digits

SHARE_GRID = 1 << 60
_SHARE_ROOM = Fraction(1, 1 << 20)  # for roundings of other machines, as in the verifier
_WORK = 4_000_000  # pairs times blocks to look at along an attribute, for a screen
_FEWEST = 20_000
_SHOWN = 100  # pairs along an attribute of many points


def round_share(share: Fraction) -> Fraction:
    """Up to a grid on which 1 lies, so that sums of many shares stay short and a full plan stays full.

    >>> round_share(Fraction(1)), round_share(Fraction(1, 3)) >= Fraction(1, 3)
    (Fraction(1, 1), True)
    """
    return Fraction(math.ceil(share * SHARE_GRID), SHARE_GRID)


def certified_share(cost: RowsCost, metric: Metric) -> Fraction:
    """The part of the policy that a cost takes on its most used pair, rounded up."""
    bound = max_ratio(cost, metric)
    if bound.upper == math.inf:
        a, b = metric.universe.tell(*(bound.witness or (0, 0)))
        raise BudgetExceeded(
            "nothing spent, no data read",
            where="budget exceeded",
            details=[f"{a} – {b} would be told apart without limit."],
            hints=["give the pair an ε above 0, or more noise"],
        )
    return round_share(Fraction(bound.upper))


def checked_share(entry: Entry, certified: Callable[[RowsCost], Fraction], where: str) -> Fraction:
    """Return the share of an entry, never less than its cost takes; refuse a stored one that is too small.

    A stored share that is larger is kept: it spends more than the cost, and a search with smaller limits wrote it.
    """
    try:
        share = certified(entry.cost)
    except BudgetExceeded:
        found = "without limit"
    else:
        if entry.share >= share * (1 - _SHARE_ROOM):
            return max(entry.share, share)
        found = f"{float(share):.6g}"
    raise LedgerError(
        f"entry {entry.number} (row {entry.row}): the stored share does not follow from the entry (stored "
        f"{float(entry.share):.6g}, computed from its queries and scales: {found}); nothing was spent",
        where=where,
        details=["The entry was not written by this program, or it was changed and the hashes were computed again."],
        hints=["restore the ledger and its witness from a copy that `dxp ledger` accepts"],
    )


def require_budget(spent: Sequence[RowsCost], shares: Fraction, new: RowsCost, share: Fraction, metric: Metric) -> None:
    """Raise BudgetExceeded unless everything together stays within the policy on every pair."""
    if shares + share <= 1:
        return
    total = SumCost(metric.universe, [*spent, new])
    bound = max_ratio(total, metric)
    if bound.upper <= 1:
        return
    before = SumCost(metric.universe, spent)
    i, j = bound.witness or (0, 1)
    a, b = metric.universe.tell(i, j)
    each = metric.universe.rows_each
    allowed, used, needs = (each * float(x.exact(i, j)) for x in (metric, before, new))
    left = max(allowed - used, 0.0) if allowed - used > 1e-9 * allowed else 0.0
    others = _short_pairs(total, metric) - 1
    more = f" {others:,} other pairs are short." if others > 0 else ""
    hints = []
    fits = _fitting_factor(before, new, metric)
    if fits > 0.0005:
        percent = math.floor(fits * min(float(share), 1.0) * 1000 + 1e-5) / 10
        hints.append((f"dxp plan … --share {percent:g}%", f"fits; every error grows {digits(1 / fits)} times"))
        hints.append(("dxp plan … --ledger LEDGER", "plans again inside what is left, pair by pair"))
    if "per question" in bound.rule:
        hints.append(("ask for fewer attributes at once", "the budget could only be bounded, not computed, for these"))
    raise BudgetExceeded(
        "nothing spent, no data read",
        where="budget exceeded",
        details=[f"{a} – {b} has {digits(left)} left of {digits(allowed)}; this plan needs {digits(needs)}.{more}"],
        hints=hints or [("a new dataset", "this ledger has nothing left for these questions")],
    )


def _short_pairs(total: SumCost, metric: Metric) -> int:
    pairs = largest_pairs(total, metric, _SHOWN)
    return sum(int((ratios(total, metric, i, j) > 1 + 1e-9).sum()) for i, j in pairs)


def _fitting_factor(before: SumCost, new: RowsCost, metric: Metric) -> float:
    """By how much the new cost would have to shrink to fit, on the covering pairs."""
    factor = 1.0
    plan = cover(SumCost(metric.universe, [*before.costs, new]), metric, walks=True)
    if plan.walks or new.flat:  # what takes the same part of all distances has no pairs of its own
        return _fitting_by_walks(before, new, metric)
    for i, j in plan.pairs():
        d, used, wanted = metric.pairwise(i, j), before.pairwise(i, j), new.pairwise(i, j)
        asks = np.isfinite(d) & (wanted > 0)
        if asks.any():
            factor = min(factor, float(((d - used)[asks] / wanted[asks]).min()))
    return max(factor * (1 - 1e-9), 0.0)


def _fitting_by_walks(before: SumCost, new: RowsCost, metric: Metric) -> float:
    """The same where pairs are searched for: the pair that is short of most says how much less would do for it."""
    factor = 1.0
    for _ in range(_SHOWN):
        total = SumCost(metric.universe, [*before.costs, new.with_scales(new.scales / factor)])
        pair = max_ratio(total, metric).witness
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
    """What is left for the tightest of some pairs, at least and at most, without searching for detours.

    On every step of every way at least (1 - used) d is left, `used` the largest part of any pair's budget: so on the
    whole way (1 - used) d(i, j), by the triangle inequality.  The direct way has d - spent.
    """
    rest = max(1.0 - float(max_ratio(spent, metric).upper), 0.0)
    allowed = [float(metric.exact(i, j)) for i, j in pairs]
    direct = [d - float(spent.exact(i, j)) if math.isfinite(d) else d for d, (i, j) in zip(allowed, pairs, strict=True)]
    return min(rest * d if math.isfinite(d) else d for d in allowed), max(min(direct), 0.0)


@dataclass(frozen=True)
class Used:
    """A pair and how much of its budget is used."""

    pair: tuple[int, int]
    share: float
    spent: float
    allowed: float


def most_used(spent: SumCost, metric: Metric, count: int) -> list[Used]:
    """The pairs with the largest part of their budget used, largest first."""
    if not spent.costs:
        return []
    plan = _for_screens(spent, metric)
    walked = (walk.largest(max(count, _SHOWN)) for walk in plan.walks)
    return _top(spent, metric, chain(plan.pairs(), *(part.pairs() for part in plan.loose), *walked), count)


def _for_screens(spent: SumCost, metric: Metric) -> Cover:
    """A cover that many costs together do not make too large to be waited for; no decision rests on it."""
    parts = sum(len(term.parts) for term in spent.terms)
    return cover(spent, metric, most=max(_WORK // max(parts, 1), _FEWEST), walks=True)


def _top(spent: SumCost, metric: Metric, pairs: Iterator[Pairs], count: int) -> list[Used]:
    found: list[tuple[float, int, int]] = []
    for i, j in pairs:
        r = ratios(spent, metric, i, j)
        top = np.argsort(-r, kind="stable")[:count]
        found += [(float(r[k]), int(i[k]), int(j[k])) for k in top if r[k] > 0]
        found = sorted(found, key=lambda one: (-one[0], *one[1:]))[:count]  # of equally used ones the first
    return [Used((i, j), share, float(spent.exact(i, j)), float(metric.exact(i, j))) for share, i, j in found]


def used_by_attribute(spent: SumCost, metric: Metric) -> dict[str, list[Used]]:
    """Per attribute, the two most used pairs that differ only there; for other metrics one line for all."""
    names = metric.universe.names
    if present(metric).axes is None:
        return {"all": most_used(spent, metric, 2) or _flatly_used(spent, metric)}
    out: dict[str, list[Used]] = {name: [] for name in names}
    if not spent.costs:
        return out
    plan = _for_screens(spent, metric)
    if plan.plain is not None:
        out[names[0]] = _top(spent, metric, plan.plain.generators(), 2)
    for move in plan.moves:
        out[names[move.axis]] = _top(spent, metric, move.pairs(), 2)
    for part in plan.loose:  # too many contexts to look at all: the worst of each question
        out[names[part.axis]] = _top(spent, metric, part.pairs(), 2)
    for walk in plan.walks:
        out[names[walk.axis]] = _top(spent, metric, walk.largest(_SHOWN), 2)
    if plan.presence is not None:
        out["presence"] = _top(spent, metric, plan.presence.pairs(), 2)
    for axis, name in enumerate(names):
        out[name] = out[name] or _flatly_used(spent, metric, axis)
    return out


def _flatly_used(spent: SumCost, metric: Metric, axis: int | None = None) -> list[Used]:
    """Some pair (along an attribute) that only counts of people or maps use, by the same part of every distance."""
    axes = along(metric)
    near = metric.closest if axis is None or axes is None else axes[axis].closest
    if near is None or not spent.flat:
        return []
    stride = 1 if axis is None or axes is None else metric.universe.strides[axis]
    flat = spent.flat_under(metric)
    share = float(flat.most if axis is None or axes is None else flat.along_axis(axis))
    if not share:
        return []
    return [Used((near.pair[0] * stride, near.pair[1] * stride), share, share * near.distance, near.distance)]
