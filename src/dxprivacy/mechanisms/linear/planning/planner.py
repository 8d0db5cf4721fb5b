"""From questions and a policy to a certified plan.  Never sees data."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dxprivacy.errors import Hint, QuestionError, UsageError
from dxprivacy.exact.answer_grid import require_room
from dxprivacy.exact.rounding import is_whole
from dxprivacy.mechanisms.linear.plan import Plan, require_few
from dxprivacy.mechanisms.linear.plan_facts import Proof
from dxprivacy.mechanisms.linear.planning.methods import MAKERS, best_of_all, try_maker
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Task
from dxprivacy.mechanisms.linear.planning.proportional_shares import planned_with_wholes
from dxprivacy.mechanisms.linear.planning.smoothing_widths import with_widths
from dxprivacy.mechanisms.planning_target import target
from dxprivacy.metrics import Metric
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.objectives import LOSSES
from dxprivacy.optimize.strategies import Effort
from dxprivacy.policy import Policy
from dxprivacy.privacy.budget_fraction import parse_share, require_spent
from dxprivacy.privacy.costs import Cost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.queries.recognized_tables import recognized
from dxprivacy.universe.workload import Workload

METHODS = ("auto", *(maker.name for maker in MAKERS))
_KNOWN_LOSSES = {"auto": tuple(LOSSES), "optimal": tuple(LOSSES), "biased": ("l2", "l1")}


def make_plan(
    questions: Any,
    policy: Policy | Metric,
    *,
    method: str = "auto",
    loss: str = "l2",
    share: object = 1,
    rows: int | None = None,
    title: str = "",
    dataset: str = "",
    spent: Cost | None = None,
    seconds: float | None = None,
    thorough: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """The least noise we know that keeps the policy, or a metric of one's own.

    `loss` is what `method="auto"` and `"optimal"` make least: squared errors, absolute errors, the largest one, or the
    geometric mean, each row measured by its target or by standard DP.  `spent` is what was released before (such as
    `ledger.spent`): the plan then fits beside it on every pair.  All work is counted, so that the same question has
    the same plan, with the same numpy and scipy, on a machine that is busy, too; `seconds` may stop it earlier with the
    best certified plan so far, and the plan says so.  `thorough` searches longer for other rows to count.  `progress`
    is told how far the error is above the best plan's, at most.

    >>> import dxprivacy as dx
    >>> plan = dx.plan([[1, 1, 0, 0]], dx.metrics.constant(4, 0.1))
    >>> plan.scales, plan.certificate.ratio
    ((10.0,), Fraction(1, 1))
    """
    _require_method(method, loss)
    metric, title, dataset = target(policy, title, dataset)
    watch = Watch(seconds, progress)
    asked, task = prepare(
        questions, metric, loss=loss, share=share, rows=rows, spent=spent, watch=watch, effort=_effort(method, thorough)
    )
    found = planned_with_wholes(task, partial(chosen, method=method)) if task.workload.wholes else chosen(task, method)
    return finish(asked, task, found, title=title, dataset=dataset, planner=method)


def prepare(
    questions: Any,
    metric: Metric,
    *,
    loss: str = "l2",
    share: object = 1,
    rows: int | None = None,
    spent: Cost | None = None,
    watch: Watch | None = None,
    effort: Effort = "quick",
) -> tuple[Stack, Task]:
    """What is asked, bound to the policy and checked: everything that can be wrong with it is found here."""
    granted = parse_share(share)
    before = require_spent(spent, metric)
    asked = gather(questions)
    require_few(asked.questions)
    asked.require_honest(metric.universe)
    asked = recognized(asked, metric.universe)
    rows = metric.universe.max_records if rows is None else rows  # where n is private: errors for that many
    asked = with_widths(asked, metric, granted, rows if is_whole(rows) else None)
    workload = asked.on(metric.universe)
    _require_rows(workload, rows)
    rows = None if rows is None else int(rows)
    if rows is not None:
        require_room(workload.largest, workload.universe.max_records or rows, where="plan")
    task = Task(workload, metric, granted, rows, LOSSES[loss], before, watch or Watch(), effort)
    if not workload.wholes:
        _ = task.even_bound  # refuses what no noise could make private
    return asked, task


def chosen(task: Task, method: str) -> Candidate:
    """The certified scales of one method, or the best of all."""
    if method == "auto":
        return best_of_all(task)
    found, floor = try_maker(task, next(maker for maker in MAKERS if maker.name == method))
    return task.rated(found, floor)


def finish(
    asked: Stack, task: Task, found: Candidate, *, title: str = "", dataset: str = "", planner: str = "auto"
) -> Plan:
    """Certified scales as a plan."""
    plan = Plan(
        questions=asked,
        workload=task.workload,
        metric=task.metric,
        scales=found.scales,
        share=task.share,
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
        _ = plan.errors  # refuses what does not follow from the counted rows
    return plan


def _said(about: str, watch: Watch) -> str:
    if not watch.cut_short:
        return about
    stopped = f"stopped looking for less noise after {watch.seconds:g} s: with more time it may find some"
    return f"{about}; {stopped}" if about else stopped


def _effort(method: str, thorough: bool) -> Effort:
    """Whoever asks for the matrix mechanism by name waits for a search; `auto` is content with closed forms."""
    return "thorough" if thorough else "search" if method == "matrix" else "quick"


def _require_method(method: str, loss: str) -> None:
    if method not in METHODS:
        raise UsageError(f"no method “{method}”", hints=[f"one of {', '.join(METHODS)}"])
    if loss not in _KNOWN_LOSSES.get(method, ("l2",)):
        hints: list[Hint | str] = [f"one of {', '.join(LOSSES)}", ('method="optimal"', "knows losses")]
        raise UsageError(f"no loss “{loss}” for method “{method}”", hints=hints)


def _require_rows(workload: Workload, rows: int | None) -> None:
    if rows is not None and (not is_whole(rows) or rows < 0):
        raise UsageError(f"rows is {rows!r}; the number of records is a whole number")
    needs = any(a.recipe.is_mean for a in workload.answers)
    if needs and not rows:
        if workload.universe.people is not None:
            raise QuestionError(
                "the error of a mean depends on how many rows there are, which is private: say how many people",
                hints=[("--people 1000", "of people: in Python rows=…, how many rows of theirs count at most")],
            )
        raise QuestionError(
            "the error of a mean depends on the number of records, which is public",
            hints=[("--rows 20000", "in Python: rows=20000")],
        )
