"""What standard differential privacy would give for the same queries: always two baselines, side by side.

*as strict*      query by query, one epsilon for all pairs: the least finite distance *that the query tells
                 apart*.  Nothing that the query does not touch can change it.
*at our worst*   standard DP at the worst case of our release: it often answers better, and protects close pairs far
less.

Both are made by the same planner, for each query alone; large queries as they are asked, with the best scale for
each table.  Standard DP has to divide its epsilon among the queries as our plan does: of its least distance a query
gets the part that our plan spends on it, the largest `L_q(i, j) / d(i, j)`; a query that reached its target, and so
took no more than it needed, is granted the whole budget.  Our worst case is shared out as is best for standard DP
beside our plan: errors go with 1 / epsilon, so that the sum of squares of theirs relative to ours is least where a
query of n answers that err r times as much at the whole of it gets a part in proportion to (n r^2)^(1/3).  Quantiles
are not planned so: standard DP chooses them, which errs far less than noise
on ramps that all change at once, and takes no time.

Why the first gain of a query is not below 1.  Let e be the least distance that query q tells apart.  Whatever
keeps `L_q(i, j) <= part * e` wherever q differs keeps `L_q(i, j) <= part * d(i, j)`, because e <= d(i, j) there:
standard DP's plan is one of those that our planner may choose from, at the same part of the policy.  So the best
under d errs no more, in the loss that is minimized.  Two things can hide that.  Our plan may have kept to the rows
that were asked for where others err less (for whole numbers, or for the sake of targets): then standard DP keeps to
them too.  And beside other queries ours may have less than `part` on some pairs, so that standard DP was granted
more than our plan had: then it is granted just so much that both err alike.  Single answers of a query may get
more noise than standard DP gives them, for the sake of the others; their own errors say so.
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
from dxprivacy.mechanisms.linear.planning.methods import MAKERS, best_of_all, best_of_own_rows, simplest, try_maker
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Noisy, Task
from dxprivacy.mechanisms.linear.planning.standard_quantiles import chosen_quantile, standard_metric
from dxprivacy.metrics import Metric
from dxprivacy.privacy import largest_loss, max_ratio, strictest_pair
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.proportional_costs import ProportionalCost, laplace_cost, whole_of
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Distribution, ErrorOf, Inverse, Spread
from dxprivacy.universe.blocks import SoftTable
from dxprivacy.universe.workload import Workload

MOST_ROWS = 400  # of one query, to look for the best plan of standard DP; beyond that each table has one scale
MOST_TOGETHER = 1_500  # rows of all queries that are planned so; of more, each table has one scale
MOST_QUERIES = 40  # likewise
_MOST = 1e300
MOST_RECORDS = 300  # different ones, of a spread or with soft borders, any two of which standard DP tells apart


_ErrorsAt = Callable[[float], Sequence[ErrorOf]]  # of the answers to a query, by the epsilon of standard DP


@dataclass(frozen=True)
class PlainQuery:
    """One query under standard DP: its strictest epsilon, the pair that sets it, the noise ratio, and its noise.

    `epsilon` is infinite where every difference that the query tells is public: then nothing is compared.
    """

    epsilon: float
    pair: tuple[int, int] | None
    gain: float
    rows: tuple[int, ...] = ()  # of the workload
    scales: tuple[float, ...] = ()  # of the rows asked for, as strict; empty where standard DP counts others
    by_table: bool = False  # too large to be planned like ours: as it was asked, with one scale for each table


@dataclass(frozen=True)
class Baselines:
    """Both, answer by answer; None where there is nothing to compare."""

    queries: tuple[PlainQuery, ...]
    strict: tuple[ErrorOf | None, ...]
    worst: tuple[ErrorOf | None, ...]


@dataclass(frozen=True, kw_only=True)
class Ours:
    """The plan that is compared: what it asks, counts and gets."""

    queries: Stack
    workload: Workload
    metric: Metric
    budget: Fraction
    records: int | None
    scales: Sequence[float]
    measured: Measured
    distributions: Sequence[Distribution]
    errors: Sequence[ErrorOf]
    ratio: float  # of the policy, all queries together
    worst_epsilon: float
    method: str = "auto"  # by which it was planned

    def reached(self, k: int) -> bool:
        """Whether an answer has a target and keeps it."""
        within = self.workload.answers[k].within
        return within is not None and self.errors[k].good_enough(within)


@dataclass(frozen=True)
class _Alone:
    """One query by itself, in its place among the others."""

    number: int
    workload: Workload
    start: int  # its first row
    answers: tuple[int, ...]  # their places in the plan

    @property
    def rows(self) -> range:
        return range(self.start, self.start + self.workload.rows)


def baselines(ours: Ours) -> Baselines:
    """Both baselines of a plan; it costs nothing but time, about that of planning once more."""
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
        if all(isinstance(answer.recipe, Inverse) for answer in a.workload.answers):
            plain: _Chosen | _Plain = _Chosen(ours, a, epsilon)
        else:
            plain = _Plain(ours, a, epsilon, quick=quick)
        on_rows = plain.errors(1.0)
        best = _cut(ours, a, on_rows)
        for k, error in zip(a.answers, best, strict=True):
            mine = ours.errors[k]
            # Good enough is good enough for standard DP too.
            strict[k] = mine if ours.reached(k) and error.half_width < mine.half_width else error
        at[a.number] = partial(_cut_at, ours, a, plain)
        gain = min(plain.gain, _gain(ours, a, on_rows, best))
        found[a.number] = PlainQuery(plain.epsilon, near.pair, gain, tuple(a.rows), plain.scales, plain.large)
    if 0 < ours.worst_epsilon < math.inf:  # with no end to its epsilon standard DP needs no noise: nothing is compared
        for a, errors in _at_our_worst(ours, [a for a in noisy if a.number in at], at):
            for k, error in zip(a.answers, errors, strict=True):
                worst[k] = error
    nothing = PlainQuery(math.inf, None, math.inf)
    return Baselines(tuple(found.get(a.number, nothing) for a in alone), tuple(strict), tuple(worst))


def _at_our_worst(
    ours: Ours, queries: Sequence[_Alone], at: "dict[int, _ErrorsAt]"
) -> Iterator[tuple[_Alone, Sequence[ErrorOf]]]:
    """The errors of every query at its part of our worst case, shared out as is best for standard DP (see above)."""
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
    """Nobody needs to err more than a constant, nor more than we do.

    Quantiles and spreads have ends, whose middle errs by half their distance at most.
    """
    out = []
    for k, answer, error in zip(alone.answers, alone.workload.answers, errors, strict=True):
        recipe, mine = answer.recipe, ours.errors[k].half_width
        match recipe:
            case Inverse():  # of numbers as they are counted, from which records may differ
                out.append(_at_most(error, max(recipe.guess((), ours.records) + error.hidden, mine)))
            case Spread():
                out.append(_at_most(error, max(recipe.guess((), ours.records), mine)))
            case _:
                out.append(error)
    return out


def _at_most(error: ErrorOf, most: float) -> ErrorOf:
    return ErrorOf(*(min(x, most) for x in (error.rmse, error.typical, error.half_width, error.hidden)))


def _gain(ours: Ours, alone: _Alone, noisy: Sequence[ErrorOf], best: Sequence[ErrorOf]) -> float:
    """How many times more standard DP errs in a query's answers, where that is not what its noisy rows say."""
    if list(noisy) == list(best):
        return math.inf
    mine = math.hypot(*(ours.errors[k].rmse for k in alone.answers))
    return max(math.hypot(*(error.rmse for error in best)) / mine, 1.0) if mine else math.inf


def _of_whole(ours: Ours, a: _Alone, strict: list[ErrorOf | None], at: "dict[int, _ErrorsAt]") -> dict[int, PlainQuery]:
    """People or a map under standard DP: one scale, by which all that a person or record can change is hidden alike."""
    ((block, _),) = a.workload.proportional
    whole = whole_of(block)
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
    """Each query by itself: its rows stand together, in the order of the queries."""
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
    """What a query costs by itself; None where other rows are counted, which serve all queries."""
    if not ours.measured.as_asked or len(ours.queries.queries) == 1:
        return None
    return laplace_cost(alone.workload, [ours.scales[r] for r in alone.rows], ours.metric)


def _part(ours: Ours, alone: _Alone, *, quick: bool) -> float:
    """The largest part of a pair's distance that our plan spends on a query.

    Where other rows are counted that serve all queries, the part at which the query, planned alone, would err as
    much as it does in our plan; for large ones all that the plan spends.
    """
    cost = _own_cost(ours, alone)
    if cost is not None:
        return min(float(max_ratio(cost, ours.metric).upper), float(ours.budget))
    if quick or len(ours.queries.queries) == 1 or alone.workload.rows > MOST_ROWS:
        return ours.ratio
    task = Task(alone.workload, ours.metric, ours.budget, ours.records)
    least = task.loss_of(task.effective(_planned(task, "auto")))
    mine = task.loss_of([math.sqrt(ours.distributions[r].variance / 2) for r in alone.rows])
    return float(ours.budget) * min(math.sqrt(least / mine), 1.0) if mine else ours.ratio


def _planned(task: Task, method: str) -> Candidate:
    """What the same planner finds."""
    if method == "auto":
        return best_of_all(task)
    return try_maker(task, next(maker for maker in MAKERS if maker.name == method))[0]


@dataclass(frozen=True)
class _CountedBaseline:
    """What standard DP counts, with which noise."""

    scales: tuple[float, ...]
    measured: Measured

    def times(self, factor: float) -> "_CountedBaseline":
        """With so many times the noise."""
        return _CountedBaseline(tuple(s * factor for s in self.scales), self.measured)


@dataclass(frozen=True)
class _Chosen:
    """Quantiles under standard DP: numbers chosen one by one, which share the epsilon (`standard_quantiles`)."""

    ours: Ours
    alone: _Alone
    epsilon: float
    scales: tuple[float, ...] = ()
    large: bool = False

    def errors(self, times: float) -> tuple[ErrorOf, ...]:
        """Of its answers, with so many times the epsilon."""
        recipes = [answer.recipe for answer in self.alone.workload.answers]
        several = len({recipe.which for recipe in recipes})
        each, grouped = self.epsilon * times / several, len(recipes) > several
        known = {
            recipe.which: chosen_quantile(recipe, each, self.ours.records, grouped=grouped)
            for recipe in recipes
            if isinstance(recipe, Inverse)
        }
        return tuple(known[recipe.which] for recipe in recipes)

    @property
    def gain(self) -> float:
        """How many times more standard DP errs."""
        mine = math.hypot(*(self.ours.errors[k].rmse for k in self.alone.answers))
        return max(math.hypot(*(error.rmse for error in self.errors(1.0))) / mine, 1.0) if mine else math.inf


def _has_many_pairs(workload: Workload) -> bool:
    """Whether a spread, or a count with soft borders, tells more pairs apart than can be looked at for a comparison."""
    soft = any(isinstance(block, SoftTable) for block in workload.blocks)
    if not soft and not any(isinstance(answer.recipe, Spread) for answer in workload.answers):
        return False
    used = {axis for block in workload.blocks for axis in block.axes}
    return math.prod(workload.universe.shape[axis] for axis in used) > MOST_RECORDS


class _Plain:
    """A query alone, planned under one epsilon for all pairs.

    `epsilon` is that of the closest pair, less where standard DP would otherwise beat our plan as a whole (see above).
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
        """Of the rows asked for; none where standard DP counts others."""
        return self.found.scales if self.found.measured.as_asked else ()

    def _as_little(self, found: _CountedBaseline) -> float:
        """The part of the epsilon at which both err alike, where noise so small is never there to be measured."""
        times = 2.0
        while times < 2.0**60 and self._loss(found.times(times)) < self._our_loss:
            times *= 2
        return 1 / times

    def _planned(self) -> _CountedBaseline:
        """The best plan."""
        try:
            found = _planned(self.task, self.ours.method)
            if self._other_way(found) and self._loss(found) < self._our_loss:
                # Our plan could have done likewise, and did not for the sake of other queries: so does standard DP.
                found = best_of_own_rows(self.task)[0]
        except NotCertified:
            found = simplest(self.task)
        return _CountedBaseline(found.scales, found.measured)

    def _other_way(self, found: Candidate) -> bool:
        """Whether it counts rows that were not asked for, or moves answers on purpose, where our plan does not."""
        theirs, ours = found.measured, self.ours.measured
        if theirs.as_asked:
            return False
        return ours.as_asked or (theirs.shifts is not None and ours.shifts is None)

    def _table_by_table(self, epsilon: float) -> _CountedBaseline:
        """The asked rows, or where our plan counts others for this query alone, the better of both."""
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
        return self.task.loss_of(self.task.effective(found))

    def errors(self, times: float) -> tuple[ErrorOf, ...]:
        """Of its answers, with so many times the epsilon."""
        if not 0 < times < math.inf:
            return tuple(ErrorOf(math.inf, math.inf, math.inf) for _ in self.alone.answers)
        found = self.found
        if times != 1 and found.measured.shifts is not None:
            found = self._simplest()  # a bias is for one epsilon only
        with suppress(NotCertified):
            return self.task.errors(found.times(1 / times))
        # K-norm noise that is too wide to compute its distribution: noise that wide grows with its scales.
        with suppress(NotCertified):
            known = self.task.errors(found)
            return tuple(
                replace(e, rmse=e.rmse / times, typical=e.typical / times, half_width=e.half_width / times)
                for e in known
            )
        return self.task.errors(self._simplest().times(1 / times))

    @cached_property
    def _our_loss(self) -> float:
        """Of our plan's answers to this query."""
        return self.task.loss_of([self._size(r) for r in self.alone.rows])

    def _size(self, row: int) -> float:
        """The scale whose noise would err as much as what a row of ours gets."""
        ours = self.ours
        if ours.measured.as_asked:
            return ours.scales[row]
        moved = 0.0 if ours.measured.shifts is None else ours.measured.shifts[row] * (ours.records or 0)
        return math.sqrt((ours.distributions[row].variance + moved**2) / 2)
