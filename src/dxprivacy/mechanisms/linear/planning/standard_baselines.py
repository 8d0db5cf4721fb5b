"""The errors of standard differential privacy for the same queries. There are always two baselines:

*at the strictest ε*  query by query, one epsilon for all pairs: the least finite distance of two records that the query
                     separates. It does not depend on anything that the query does not touch.
*at the worst case*  standard DP at the worst-case ε of our release. It often answers better, and protects close pairs
                     far less.

Both are planned by the same method, for each query alone; large queries are planned as they are asked, with the best
scale for each table. Standard DP has to divide its epsilon among the queries, as our plan does. At the strictest ε, a
query gets the part that our plan spends on it: the largest `L_q(i, j) / d(i, j)`. A query that reached its target, and
so used no more than it needed, gets the whole budget. At the worst case, epsilon is divided in the best way for
standard DP relative to our plan. Errors are proportional to 1 / epsilon. So the sum of squared error ratios is least if
a query of n answers, whose errors at the whole epsilon are r times ours, gets a part proportional to (n r^2)^(1/3).
Quantiles are an exception: standard DP selects them by the exponential mechanism. That has far smaller errors than
noise on ramps that all change at once, and takes no time.

Why the noise ratio of a query at the strictest ε is not below 1. Let e be the least distance that query q separates. A
mechanism with `L_q(i, j) <= part * e` wherever q differs also keeps `L_q(i, j) <= part * d(i, j)`, because e <= d(i, j)
there. So standard DP's plan is one that our planner may choose, at the same part of the policy, and the best plan under
d has no larger error objective. Two effects can hide that. First, our plan may measure the workload's own rows although
a strategy has smaller errors (for integer answers, or because of targets). Then standard DP uses the workload's own
rows, too. Second, next to other queries our plan may have less than `part` on some pairs, so that standard DP was
granted more than our plan had. Then its epsilon is reduced until both have the same error. Single answers of a query
may still get more noise than standard DP gives them, in favor of the others; their own errors show it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.mechanisms.linear.estimators.measured import Measured, all_expected
from dxprivacy.mechanisms.linear.planning.constraints import constraints_by_block
from dxprivacy.mechanisms.linear.planning.methods import (
    PLANNING_METHODS,
    best_of_all,
    best_of_own_rows,
    simplest,
    try_method,
)
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Noisy, Task
from dxprivacy.mechanisms.linear.planning.standard_quantiles import chosen_quantile, standard_metric
from dxprivacy.metrics import Metric
from dxprivacy.privacy import largest_loss, max_ratio, strictest_pair
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.proportional_costs import ProportionalCost, laplace_cost, proportional_block
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Distribution, ErrorOf, QuantileRecipe, Spread
from dxprivacy.universe.blocks import SoftTable
from dxprivacy.universe.workload import Workload

MOST_ROWS = 400  # of one query, to search for the best plan of standard DP; with more, each table has one scale
MOST_TOGETHER = 1_500  # rows of all queries in that search; with more, each table has one scale
MOST_QUERIES = 40  # queries in that search; with more, each table has one scale
_MOST = 1e300
MOST_RECORDS = 300  # distinct records for spreads and soft borders: standard DP separates any two of them


_ErrorsAt = Callable[[float], Sequence[ErrorOf]]  # epsilon of standard DP -> errors of a query's answers


@dataclass(frozen=True)
class PlainQuery:
    """One query under standard DP: its strictest epsilon, the pair that sets it, the noise ratio, and its noise.

    `epsilon` is infinite if every difference that the query separates is public; then nothing is compared.
    """

    epsilon: float
    pair: tuple[int, int] | None
    gain: float
    rows: tuple[int, ...] = ()  # of the workload
    scales: tuple[float, ...] = ()  # of the workload's rows at the strictest ε; empty if standard DP uses a strategy
    by_table: bool = False  # too large to be planned like ours: measured as asked, with one scale for each table


@dataclass(frozen=True)
class Baselines:
    """Both baselines, per answer; None where there is nothing to compare."""

    queries: tuple[PlainQuery, ...]
    strict: tuple[ErrorOf | None, ...]
    worst: tuple[ErrorOf | None, ...]


@dataclass(frozen=True, kw_only=True)
class Ours:
    """The plan that is compared with standard DP."""

    queries: Stack
    workload: Workload
    metric: Metric
    budget: Fraction
    records: int | None
    scales: Sequence[float]
    measured: Measured
    distributions: Sequence[Distribution]
    errors: Sequence[ErrorOf]
    ratio: float  # largest loss / distance of all queries together
    worst_epsilon: float
    method: str = "auto"  # the planning method

    def reached(self, k: int) -> bool:
        """Whether an answer has a target and meets it."""
        within = self.workload.answers[k].within
        return within is not None and self.errors[k].good_enough(within)


@dataclass(frozen=True)
class _Alone:
    """One query by itself, with its position among the others."""

    number: int
    workload: Workload
    start: int  # its first row
    answers: tuple[int, ...]  # their numbers in the plan

    @property
    def rows(self) -> range:
        return range(self.start, self.start + self.workload.rows)


def baselines(ours: Ours) -> Baselines:
    """Compute both baselines of a plan. It charges nothing, and takes about as long as planning again."""
    count = len(ours.workload.answers)
    strict: list[ErrorOf | None] = [None] * count
    worst: list[ErrorOf | None] = [None] * count
    alone = _queries(ours)
    noisy = [a for a in alone if any(ours.distributions[r].variance for r in a.rows)]
    at: dict[int, _ErrorsAt] = {}
    looked_for = sum(a.workload.rows for a in noisy if a.workload.rows <= MOST_ROWS)
    quick = len(noisy) > MOST_QUERIES or looked_for > MOST_TOGETHER
    found: dict[int, PlainQuery] = {}
    for a in noisy:
        if a.workload.proportional:
            found |= _of_whole(ours, a, strict, at)
            continue
        near = strictest_pair(a.workload, ours.metric)
        if near is None:
            continue
        part = float(ours.budget) if all(ours.reached(k) for k in a.answers) else _part(ours, a, quick=quick)
        epsilon = near.distance * part * ours.metric.universe.rows_each
        if not 0 < epsilon < math.inf:
            continue
        if all(isinstance(answer.recipe, QuantileRecipe) for answer in a.workload.answers):
            plain: _Chosen | _Plain = _Chosen(ours, a, epsilon)
        else:
            plain = _Plain(ours, a, epsilon, quick=quick)
        on_rows = plain.errors(1.0)
        best = _cut(ours, a, on_rows)
        for k, error in zip(a.answers, best, strict=True):
            mine = ours.errors[k]
            # A met target is enough for standard DP, too.
            strict[k] = mine if ours.reached(k) and error.half_width < mine.half_width else error
        at[a.number] = partial(_cut_at, ours, a, plain)
        gain = min(plain.gain, _gain(ours, a, on_rows, best))
        found[a.number] = PlainQuery(plain.epsilon, near.pair, gain, tuple(a.rows), plain.scales, plain.large)
    if 0 < ours.worst_epsilon < math.inf:  # at infinite epsilon standard DP needs no noise: nothing is compared
        for a, errors in _at_worst_case(ours, [a for a in noisy if a.number in at], at):
            for k, error in zip(a.answers, errors, strict=True):
                worst[k] = error
    nothing = PlainQuery(math.inf, None, math.inf)
    return Baselines(tuple(found.get(a.number, nothing) for a in alone), tuple(strict), tuple(worst))


def _at_worst_case(
    ours: Ours, queries: Sequence[_Alone], at: "dict[int, _ErrorsAt]"
) -> Iterator[tuple[_Alone, Sequence[ErrorOf]]]:
    """Yield the errors of every query at its part of the worst-case ε, divided in the best way for standard DP (see
    above).
    """
    parts = []
    for a in queries:
        theirs, mine = at[a.number](ours.worst_epsilon), [ours.errors[k] for k in a.answers]
        squares = [(x.rmse / y.rmse) ** 2 for x, y in zip(theirs, mine, strict=True) if 0 < y.rmse < math.inf]
        parts.append(min(sum(squares), _MOST) ** (1 / 3))
    for a, part in zip(queries, parts, strict=True):
        yield a, at[a.number](ours.worst_epsilon * (part / sum(parts) if part else 1.0))


def _cut_at(ours: Ours, alone: _Alone, plain: "_Chosen | _Plain", epsilon: float) -> list[ErrorOf]:
    return _cut(ours, alone, plain.errors(epsilon / plain.epsilon))


def _cut(ours: Ours, alone: _Alone, errors: Sequence[ErrorOf]) -> list[ErrorOf]:
    """Cap errors: no answer errs more than a constant guess does, or more than our answer does.

    Quantiles and spreads lie between two known ends, so the middle errs by at most half their difference.
    """
    out = []
    for k, answer, error in zip(alone.answers, alone.workload.answers, errors, strict=True):
        recipe, mine = answer.recipe, ours.errors[k].half_width
        match recipe:
            case QuantileRecipe():  # the guess is about binned numbers, from which records may differ
                out.append(_at_most(error, max(recipe.guess((), ours.records) + error.hidden, mine)))
            case Spread():
                out.append(_at_most(error, max(recipe.guess((), ours.records), mine)))
            case _:
                out.append(error)
    return out


def _at_most(error: ErrorOf, most: float) -> ErrorOf:
    return ErrorOf(*(min(x, most) for x in (error.rmse, error.typical, error.half_width, error.hidden)))


def _gain(ours: Ours, alone: _Alone, noisy: Sequence[ErrorOf], best: Sequence[ErrorOf]) -> float:
    """The ratio of root mean square errors over all answers, for queries whose errors were capped; inf if none was."""
    if list(noisy) == list(best):
        return math.inf
    mine = math.hypot(*(ours.errors[k].rmse for k in alone.answers))
    return max(math.hypot(*(error.rmse for error in best)) / mine, 1.0) if mine else math.inf


def _of_whole(ours: Ours, a: _Alone, strict: list[ErrorOf | None], at: "dict[int, _ErrorsAt]") -> dict[int, PlainQuery]:
    """Baselines of a query with proportional cost (people or a map): one scale hides every change of a person or
    record.
    """
    ((block, _),) = a.workload.proportional
    whole = proportional_block(block)
    near = whole.closest(ours.metric)
    mine = np.array([ours.scales[r] for r in a.rows])
    part = whole.part(mine, ours.metric).most
    each = ours.metric.universe.rows_each
    if near is None or not 0 < part < math.inf:
        return {}
    granted = float(ours.budget) if all(ours.reached(k) for k in a.answers) else float(part)
    epsilon, changed = near.distance * each * granted, whole.changed
    plain = np.where(mine > 0, changed / epsilon, 0.0)
    gain = math.sqrt(float((plain**2).sum()) / float((mine**2).sum()))
    epsilon, plain = (epsilon, plain) if gain >= 1 else (epsilon * gain, plain / gain)
    for k, error in zip(a.answers, all_expected(a.workload, plain.tolist(), ours.records, None), strict=True):
        strict[k] = ours.errors[k] if ours.reached(k) and error.half_width < ours.errors[k].half_width else error

    def errors_at(epsilon: float) -> Sequence[ErrorOf]:
        loose = np.where(mine > 0, changed / epsilon, 0.0)
        return all_expected(a.workload, loose.tolist(), ours.records, None)

    at[a.number] = errors_at
    return {a.number: PlainQuery(epsilon, near.pair, max(gain, 1.0), tuple(a.rows), tuple(plain.tolist()))}


def _queries(ours: Ours) -> list[_Alone]:
    """Each query by itself. Its rows are consecutive, in the order of the queries."""
    out, start = [], 0
    for number, asked in enumerate(ours.queries.queries):
        workload = ours.workload if len(ours.queries.queries) == 1 else asked.on(ours.workload.universe)
        members = tuple(k for k, a in enumerate(ours.workload.answers) if a.query == number)
        if any(a.within is not None or a.weight != 1 for a in workload.answers):
            untargeted = tuple(replace(a, within=None, weight=Fraction(1)) for a in workload.answers)
            workload = Workload(workload.universe, workload.blocks, untargeted, workload.titles)
        out.append(_Alone(number, workload, start, members))
        start += workload.rows
    return out


def _own_cost(ours: Ours, alone: _Alone) -> LaplaceCost | ProportionalCost | None:
    """The cost of one query by itself; None if a strategy is measured, which serves all queries."""
    if not ours.measured.as_asked or len(ours.queries.queries) == 1:
        return None
    return laplace_cost(alone.workload, [ours.scales[r] for r in alone.rows], ours.metric)


def _part(ours: Ours, alone: _Alone, *, quick: bool) -> float:
    """The largest fraction of a pair's distance that our plan spends on a query.

    If a strategy serves all queries, it is the fraction at which the query, planned alone, has the same error as in our
    plan. For large queries it is all that the plan spends.
    """
    cost = _own_cost(ours, alone)
    if cost is not None:
        return min(float(max_ratio(cost, ours.metric).upper), float(ours.budget))
    if quick or len(ours.queries.queries) == 1 or alone.workload.rows > MOST_ROWS:
        return ours.ratio
    task = Task(alone.workload, ours.metric, ours.budget, ours.records)
    least = task.objective_of(task.effective(_planned(task, "auto")))
    mine = task.objective_of([math.sqrt(ours.distributions[r].variance / 2) for r in alone.rows])
    return float(ours.budget) * min(math.sqrt(least / mine), 1.0) if mine else ours.ratio


def _planned(task: Task, method: str) -> Candidate:
    """The plan of the same method."""
    if method == "auto":
        return best_of_all(task)
    return try_method(
        task, next(candidate_method for candidate_method in PLANNING_METHODS if candidate_method.name == method)
    )[0]


@dataclass(frozen=True)
class _CountedBaseline:
    """The measured rows and scales of standard DP."""

    scales: tuple[float, ...]
    measured: Measured

    def times(self, factor: float) -> "_CountedBaseline":
        """The same with all noise multiplied by `factor`."""
        return _CountedBaseline(tuple(s * factor for s in self.scales), self.measured)


@dataclass(frozen=True)
class _Chosen:
    """Quantiles under standard DP: selected one by one, with epsilon divided among them (`standard_quantiles`)."""

    ours: Ours
    alone: _Alone
    epsilon: float
    scales: tuple[float, ...] = ()
    large: bool = False

    def errors(self, times: float) -> tuple[ErrorOf, ...]:
        """The errors of the answers at `times` the epsilon."""
        recipes = [answer.recipe for answer in self.alone.workload.answers]
        several = len({recipe.which for recipe in recipes})
        each, grouped = self.epsilon * times / several, len(recipes) > several
        known = {
            recipe.which: chosen_quantile(recipe, each, self.ours.records, grouped=grouped)
            for recipe in recipes
            if isinstance(recipe, QuantileRecipe)
        }
        return tuple(known[recipe.which] for recipe in recipes)

    @property
    def gain(self) -> float:
        """The ratio of root mean square errors, standard DP to ours; at least 1."""
        mine = math.hypot(*(self.ours.errors[k].rmse for k in self.alone.answers))
        return max(math.hypot(*(error.rmse for error in self.errors(1.0))) / mine, 1.0) if mine else math.inf


def _has_many_pairs(workload: Workload) -> bool:
    """Whether a spread, or a count with soft borders, separates too many pairs to search for a comparison."""
    soft = any(isinstance(block, SoftTable) for block in workload.blocks)
    if not soft and not any(isinstance(answer.recipe, Spread) for answer in workload.answers):
        return False
    used = {axis for block in workload.blocks for axis in block.axes}
    return math.prod(workload.universe.shape[axis] for axis in used) > MOST_RECORDS


class _Plain:
    """A query alone, planned under one epsilon for all pairs.

    `epsilon` is the distance of the closest pair, reduced if standard DP would otherwise beat our plan (see above).
    """

    def __init__(self, ours: Ours, alone: _Alone, epsilon: float, *, quick: bool) -> None:
        self.ours, self.alone = ours, alone
        metric = standard_metric(alone.workload.universe, Fraction(epsilon))
        self.task = Task(alone.workload, metric, Fraction(1), ours.records)
        self.large = quick or alone.workload.rows > MOST_ROWS or _has_many_pairs(alone.workload)
        found = self._table_by_table(epsilon) if self.large else self._planned()
        ratio = math.sqrt(self._loss(found) / self._our_loss) if self._our_loss else math.inf
        self.gain, fair = max(ratio, 1.0), min(ratio, 1.0) or self._as_little(found)
        self.found, self.epsilon = found.times(1 / fair), epsilon * fair

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales of the workload's rows; empty if standard DP measures a strategy."""
        return self.found.scales if self.found.measured.as_asked else ()

    def _as_little(self, found: _CountedBaseline) -> float:
        """The fraction of epsilon at which both err alike, for noise that is too small to have a measurable error."""
        times = 2.0
        while times < 2.0**60 and self._loss(found.times(times)) < self._our_loss:
            times *= 2
        return 1 / times

    def _planned(self) -> _CountedBaseline:
        """The best plan; if only standard DP would use a strategy and win by it, the best plan of the workload's own
        rows.
        """
        try:
            found = _planned(self.task, self.ours.method)
            if self._other_way(found) and self._loss(found) < self._our_loss:
                # Our planner could have done the same, and did not because of other queries: standard DP does not
                # either.
                found = best_of_own_rows(self.task)[0]
        except NotCertified:
            found = simplest(self.task)
        return _CountedBaseline(found.scales, found.measured)

    def _other_way(self, found: Candidate) -> bool:
        """Whether standard DP uses a strategy or bias, and our plan does not."""
        theirs, ours = found.measured, self.ours.measured
        if theirs.as_asked:
            return False
        return ours.as_asked or (theirs.shifts is not None and ours.shifts is None)

    def _table_by_table(self, epsilon: float) -> _CountedBaseline:
        """The workload's own rows; if our plan measures a strategy for this query alone, the better of both."""
        ours = self.ours
        few = not _has_many_pairs(self.alone.workload)
        system = constraints_by_block(self.alone.workload, self.task.metric, self.task.budget) if few else None
        self.task.keep(None if system is None or system.count > MOST_ROWS else system)
        best = best_of_own_rows(self.task)[0]
        own = _CountedBaseline(best.scales, best.measured)
        if ours.measured.as_asked or len(ours.queries.queries) > 1:
            return own
        one = np.ones(ours.measured.workload.rows)
        most = largest_loss(ours.measured.cost(one, self.task.metric))[0] / epsilon
        other = _CountedBaseline(tuple((one * most).tolist()), ours.measured)
        return other if most and self._loss(other) < self._loss(own) else own

    def _simplest(self) -> _CountedBaseline:
        return _CountedBaseline(simplest(self.task).scales, self.task.as_asked)

    def _loss(self, found: Noisy) -> float:
        return self.task.objective_of(self.task.effective(found))

    def errors(self, times: float) -> tuple[ErrorOf, ...]:
        """The errors of the answers at `times` the epsilon."""
        if not 0 < times < math.inf:
            return tuple(ErrorOf(math.inf, math.inf, math.inf) for _ in self.alone.answers)
        found = self.found
        if times != 1 and found.measured.shifts is not None:
            found = self._simplest()  # bias is optimized for one epsilon only
        with suppress(NotCertified):
            return self.task.errors(found.times(1 / times))
        # K-norm noise may be too wide for its distribution to be computed; errors that wide grow with the scales.
        with suppress(NotCertified):
            known = self.task.errors(found)
            return tuple(
                replace(e, rmse=e.rmse / times, typical=e.typical / times, half_width=e.half_width / times)
                for e in known
            )
        return self.task.errors(self._simplest().times(1 / times))

    @cached_property
    def _our_loss(self) -> float:
        """The error objective of our plan's answers to this query."""
        return self.task.objective_of([self._size(r) for r in self.alone.rows])

    def _size(self, row: int) -> float:
        """The Laplace scale whose noise has the same mean square error as a row of our plan."""
        ours = self.ours
        if ours.measured.as_asked:
            return ours.scales[row]
        moved = 0.0 if ours.measured.shifts is None else ours.measured.shifts[row] * (ours.records or 0)
        return math.sqrt((ours.distributions[row].variance + moved**2) / 2)
