"""Make a certified plan from queries and a policy. No data is read."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dxprivacy.errors import Hint, QueryError, UsageError
from dxprivacy.exact.answer_grid import require_room
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import is_whole
from dxprivacy.mechanisms.linear.estimators.measured import target_scales
from dxprivacy.mechanisms.linear.plan import Plan, require_few
from dxprivacy.mechanisms.linear.plan_facts import Proof
from dxprivacy.mechanisms.linear.planning.methods import PLANNING_METHODS, best_of_all, best_of_own_rows, try_method
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Task
from dxprivacy.mechanisms.linear.planning.smoothing_widths import with_widths
from dxprivacy.mechanisms.planned import target
from dxprivacy.metrics import Metric
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.objectives import OBJECTIVES
from dxprivacy.optimize.strategies import Effort
from dxprivacy.policy import Policy
from dxprivacy.privacy.certificate import separates
from dxprivacy.privacy.costs import Cost
from dxprivacy.privacy.proportional_costs import laplace_cost, proportional_block
from dxprivacy.privacy.proportional_loss import ProportionalLoss
from dxprivacy.privacy.repair import Allowance, parse_budget, repaired, require_spent
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.queries.query import placed
from dxprivacy.queries.strategy_rows import recognized
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.workload import Workload

# -- Plans of proportional costs (people, maps) next to other rows: the part of the policy of each ---------------------
# Rows with the part x of the policy have squared error A / x^2; a proportional cost with the part y has B / y^2. Under
# x + y + ... = budget, the sum is least for parts proportional to the cube roots of A, B, ... If a proportional cost
# has reached its target, the rest goes to the rows. A map uses distances between places only, so rows about other
# attributes may have the whole budget next to it: both ways are tried. All parts are proposals, and the result is
# certified as one.


AS_A_WHOLE = "as a whole"
_LEAST = Fraction(1, 1 << 40)


def planned_with_proportional(task: Task, choose: Callable[[Task], Candidate]) -> Candidate:
    """Certified scales for rows, planned by some method, and for blocks with proportional cost."""
    workload = task.workload
    proportional = [_Proportional(task, block, start) for block, start in workload.proportional]
    rows = None if workload.by_pairs is None else replace(task, workload=workload.by_pairs)
    if rows is None:
        return _certified(task, _scales(task, proportional, 0.0), AS_A_WHOLE)
    _ = rows.even_bound  # raises if no noise could keep the policy
    first = _as_asked(rows, choose)
    apart = _scales(task, proportional, 0.0)
    apart[~workload.in_proportional] = first.scales
    shared = _scales(task, proportional, math.cbrt(rows.objective_of(first.scales) * float(task.budget) ** 2))
    left = task.budget - _taken(task, shared)
    rest = _as_asked(replace(rows, budget=max(left, task.budget * _LEAST)), choose)
    shared[~workload.in_proportional] = rest.scales
    found = [_certified(task, shared, rest.method, rest.about), _certified(task, apart, first.method, first.about)]

    def loss(one: Candidate) -> float:
        scales = np.array(one.scales)
        return rows.objective_of(scales[~workload.in_proportional]) + math.fsum(
            whole.objective_of(scales) for whole in proportional
        )

    return min(found, key=loss)


def _scales(task: Task, proportional: "list[_Proportional]", beside: float) -> Floats:
    """Scales of proportional costs: parts of the budget as cube roots of their errors; `beside` is the root of the
    rows.
    """
    scales, together = np.zeros(task.workload.rows), beside + math.fsum(whole.root for whole in proportional)
    for whole in proportional:
        part = max(float(task.budget) * whole.root / together, 2.0**-40) if whole.root else 1.0
        scales[whole.places] = np.maximum(whole.scales / part, whole.targets)
    return scales


def _taken(task: Task, scales: Floats) -> Fraction:
    """An upper bound on the part of the policy that all proportional costs use together."""
    parts = [
        proportional_block(b).part(scales[start : start + b.rows], task.metric)
        for b, start in task.workload.proportional
    ]
    return Fraction(sum(parts, ProportionalLoss()).most)


def _certified(task: Task, scales: Floats, method: str, about: str = "") -> Candidate:
    allowance, workload = Allowance(task.metric, task.budget, task.spent), task.workload
    found, certificate = repaired(scales, lambda s: laplace_cost(workload, s, task.metric), allowance, workload)
    return Candidate(method, tuple(found.tolist()), certificate, task.as_asked, about)


def _as_asked(task: Task, choose: Callable[[Task], Candidate]) -> Candidate:
    """Plan the workload's own rows: next to proportional costs, no strategy is used."""
    found = choose(task)
    return found if found.measured.as_asked else best_of_own_rows(task)[0]


def _title(task: Task, row: int) -> str:
    """The title of the query that a row belongs to."""
    asked = next(answer.query for answer in task.workload.answers if row in answer.rows)
    return task.workload.titles[asked]


class _Proportional:
    """A block with proportional cost: scales that use the whole policy, their error, and the target scales."""

    def __init__(self, task: Task, block: Block, start: int) -> None:
        whole, self.places = proportional_block(block), slice(start, start + block.rows)
        with placed(_title(task, start)):
            proposed = whole.proposed(task.metric)
            part = whole.part(proposed, task.metric).most
        if part == math.inf:
            near = whole.closest(task.metric)
            raise separates(task.workload, task.metric, None if near is None else near.pair)
        self.scales: Floats = proposed * float(part)
        self._weights, self.targets = np.ones(block.rows), np.zeros(block.rows)
        for answer in task.workload.answers:
            (row, *_) = answer.rows
            if start <= row < start + block.rows:
                self._weights[row - start] = float(answer.weight)
                self.targets[row - start] = target_scales(answer, task.records).get(row, 0.0)
        self._reference = float(whole.changed or 1)
        self.root = math.cbrt(self._loss(self.scales))

    def objective_of(self, scales: Floats) -> float:
        """The error objective of this block, given the scales of the whole workload."""
        return self._loss(scales[self.places])

    def _loss(self, scales: Floats) -> float:
        return float(self._weights @ (scales / self._reference) ** 2)


# -- From queries and a policy to a certified plan ---------------------------------------------------------------------


METHODS = ("auto", *(candidate_method.name for candidate_method in PLANNING_METHODS))
_KNOWN_OBJECTIVES = {"auto": tuple(OBJECTIVES), "optimal": tuple(OBJECTIVES), "biased": ("squared", "absolute")}


def make_plan(
    queries: Any,
    policy: Policy | Metric,
    *,
    method: str = "auto",
    objective: str = "squared",
    budget: object = "100%",
    n_records: int | None = None,
    title: str = "",
    dataset: str = "",
    spent: Cost | None = None,
    seconds: float | None = None,
    thorough: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """Plan the least noise known to keep a policy, or a metric.

    `objective` is what `method="auto"` and `"optimal"` minimize: squared errors, absolute errors, the largest one, or
    the geometric mean. Each row is measured relative to its target or to standard DP. `spent` is what was released
    before (such as `ledger.spent`); the plan then fits next to it on every pair. Work is limited by counting
    operations, not time. So the same query has the same plan on a busy machine, too, given the same numpy and scipy.
    `seconds` may stop planning earlier, with the best certified plan so far, and the plan states that. `thorough`
    searches longer for a strategy. `progress` is called with an upper bound on the gap to the best plan's error.

    >>> import dxprivacy as dx
    >>> plan = dx.plan([[1, 1, 0, 0]], dx.metrics.constant(4, 0.1))
    >>> plan.scales, plan.certificate.ratio
    ((10.0,), Fraction(1, 1))
    """
    _require_method(method, objective)
    metric, title, dataset = target(policy, title, dataset)
    watch = Watch(seconds, progress)
    asked, task = prepare(
        queries,
        metric,
        objective=objective,
        budget=budget,
        n_records=n_records,
        spent=spent,
        watch=watch,
        effort=_effort(method, thorough),
    )
    found = (
        planned_with_proportional(task, partial(chosen, method=method))
        if task.workload.proportional
        else chosen(task, method)
    )
    return finish(asked, task, found, title=title, dataset=dataset, planner=method)


def prepare(
    queries: Any,
    metric: Metric,
    *,
    objective: str = "squared",
    budget: object = "100%",
    n_records: int | None = None,
    spent: Cost | None = None,
    watch: Watch | None = None,
    effort: Effort = "quick",
) -> tuple[Stack, Task]:
    """Bind queries to the policy and check them; every input error is raised here."""
    granted = parse_budget(budget)
    before = require_spent(spent, metric)
    asked = gather(queries)
    require_few(asked.queries)
    asked.require_honest(metric.universe)
    asked = recognized(asked, metric.universe)
    if n_records is None:
        n_records = metric.universe.max_records  # if n is private, errors are computed for this number
    asked = with_widths(asked, metric, granted, n_records if is_whole(n_records) else None)
    workload = asked.on(metric.universe)
    _require_rows(workload, n_records)
    n_records = None if n_records is None else int(n_records)
    if n_records is not None:
        require_room(workload.largest, workload.universe.max_records or n_records, where="plan")
    task = Task(workload, metric, granted, n_records, OBJECTIVES[objective], before, watch or Watch(), effort)
    if not workload.proportional:
        _ = task.even_bound  # raises if no noise could keep the policy
    return asked, task


def chosen(task: Task, method: str) -> Candidate:
    """Return the certified scales of one method, or the best of all methods."""
    if method == "auto":
        return best_of_all(task)
    found, floor = try_method(
        task, next(candidate_method for candidate_method in PLANNING_METHODS if candidate_method.name == method)
    )
    return task.rated(found, floor)


def finish(
    asked: Stack, task: Task, found: Candidate, *, title: str = "", dataset: str = "", planner: str = "auto"
) -> Plan:
    """Build a plan from certified scales."""
    plan = Plan(
        queries=asked,
        workload=task.workload,
        metric=task.metric,
        scales=found.scales,
        budget=task.budget,
        method=found.method,
        records=task.records,
        title=title,
        dataset=dataset,
        measured=found.measured,
        about=_said(found.about, task.watch),
        planner=planner,
        proof=Proof(found.measured.cost(found.scales, task.metric), found.certificate),
    )
    if not plan.measured.as_asked:
        _ = plan.errors  # raises if the workload cannot be estimated from the measured rows
    return plan


def _said(about: str, watch: Watch) -> str:
    if not watch.cut_short:
        return about
    stopped = f"stopped looking for less noise after {watch.seconds:g} s: with more time it may find some"
    return f"{about}; {stopped}" if about else stopped


def _effort(method: str, thorough: bool) -> Effort:
    """A user who names the matrix mechanism waits for a search; `auto` uses closed forms only."""
    return "thorough" if thorough else "search" if method == "matrix" else "quick"


def _require_method(method: str, objective: str) -> None:
    if method not in METHODS:
        raise UsageError(f"no method “{method}”", hints=[f"one of {', '.join(METHODS)}"])
    if objective not in _KNOWN_OBJECTIVES.get(method, ("squared",)):
        hints: list[Hint | str] = [f"one of {', '.join(OBJECTIVES)}", ('method="optimal"', "accepts every objective")]
        raise UsageError(f"no objective “{objective}” for method “{method}”", hints=hints)


def _require_rows(workload: Workload, n_records: int | None) -> None:
    if n_records is not None and (not is_whole(n_records) or n_records < 0):
        raise UsageError(f"n_records is {n_records!r}; the number of records is a whole number")
    needs = any(a.recipe.is_mean for a in workload.answers)
    if needs and not n_records:
        if workload.universe.people is not None:
            raise QueryError(
                "the error of a mean depends on how many rows there are, which is private: say how many people",
                hints=[
                    ("--people 1000", "the number of people; in Python n_records=…, the largest number of their rows")
                ],
            )
        raise QueryError(
            "the error of a mean depends on the number of records, which is public",
            hints=[("--n-records 20000", "in Python: n_records=20000")],
        )
