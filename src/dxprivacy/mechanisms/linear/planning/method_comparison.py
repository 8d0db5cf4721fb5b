"""Compare all planning methods on the same queries: the errors of each, and the time to plan it.

Every line is a certified plan; `auto` takes the first of the best.
"""

import math
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from dxprivacy.errors import NotCertified, SeparatesIdentical, UsageError
from dxprivacy.mechanisms.linear.planning.methods import PLANNING_METHODS, best_of_own_rows, preferred, try_method
from dxprivacy.mechanisms.linear.planning.planner import finish, prepare
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Task
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import along
from dxprivacy.privacy import largest_loss
from dxprivacy.queries.asking import table
from dxprivacy.wording import digits


@dataclass(frozen=True)
class ComparedMethod:
    """The figures of one method's plan; `refused` gives the reason if it has none."""

    method: str
    seconds: float
    median_95: float = math.nan  # the median answer's 95 % half-width
    worst_95: float = math.nan
    missed: int = 0  # answers that miss their target
    relative: float = math.nan  # error of all answers together, relative to the best method
    worst_case: float = math.nan  # worst-case ε
    gap: float | None = None
    best: bool = False
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; null marks figures that do not exist."""
        figures = {"median_95": self.median_95, "worst_95": self.worst_95, "relative_error": self.relative}
        figures["worst_case_epsilon"] = self.worst_case
        return {
            "method": self.method,
            "best": self.best,
            "refused": self.refused or None,
            **{name: x if math.isfinite(x) else None for name, x in figures.items()},
            "missed_targets": self.missed,
            "gap": self.gap,
            "seconds": round(self.seconds, 3),
        }


def compare_methods(task: Task) -> list[ComparedMethod]:
    """Return one line per method, in the order of `PLANNING_METHODS`.

    >>> from fractions import Fraction
    >>> from dxprivacy import metrics
    >>> from dxprivacy.mechanisms.linear.planning.planner import prepare
    >>> _, task = prepare([[1, 0, 0], [0, 3, 1]], metrics.constant(3, 1))
    >>> [line.method for line in compare_methods(task)]  # doctest: +ELLIPSIS
    ['same-scale', 'optimal', ...]
    """
    _require_methods(task)
    found: dict[str, tuple[Candidate, float]] = {}
    refused: dict[str, tuple[str, float]] = {}
    floor: float | None = None
    for method_ in PLANNING_METHODS:
        start = time.perf_counter()
        if (
            method_.propose_scales is not None
            and method_.name != "equal-split"
            and method_.applies(task)
            and not method_.in_auto(task)
        ):
            refused[method_.name] = (
                f"not part of auto for this problem; --method {method_.name} tries it",
                0.0,
            )
            continue
        own = None if method_.propose_strategy is None else found.get("optimal", next(iter(found.values())))[0]
        try:
            candidate, bound = try_method(task, method_, own)
        except (NotCertified, UsageError) as error:
            refused[method_.name] = (error.what, time.perf_counter() - start)
            continue
        found[method_.name] = (candidate, time.perf_counter() - start)
        floor = bound if floor is None else floor
    direct = [c for c, _ in found.values() if c.measured.as_asked]
    simplest = direct[0]
    for candidate in direct[1:]:
        if task.better(task.merit(candidate), task.merit(simplest)):
            simplest = candidate
    best = preferred(task, simplest, [c for c, _ in found.values() if not c.measured.as_asked]).method
    least = min(task.objective_of(task.effective(candidate)) for candidate, _ in found.values())
    lines = [_line(task, c, seconds, floor, least, best=name == best) for name, (c, seconds) in found.items()]
    return lines + [ComparedMethod(name, seconds, refused=why) for name, (why, seconds) in refused.items()]


def _require_methods(task: Task) -> None:
    """Refuse queries with proportional cost, for which there is only one method."""
    firsts = {start for _, start in task.workload.proportional}
    asked = [answer.query for answer in task.workload.answers if firsts & set(answer.rows)]
    if asked:
        title = task.workload.titles[asked[0]]
        raise UsageError(
            "people and maps are counted in one way only: there are no methods to compare",
            where=f"query “{title}”",
            hints=[("dxp plan …", "without --compare plans it"), ("--compare", "of the other queries alone")],
        )


def _line(
    task: Task, found: Candidate, seconds: float, floor: float | None, least: float, *, best: bool
) -> ComparedMethod:
    widths = [e.half_width for e in task.errors(found)]
    misses, loss = task.merit(found)
    return ComparedMethod(
        found.method,
        seconds,
        float(median(widths)),
        float(max(widths)),
        misses,
        _relative(task, found, loss, least),
        largest_loss(found.measured.cost(found.scales, task.metric))[0],
        task.rated(found, floor).certificate.gap,
        best,
    )


def _relative(task: Task, found: Candidate, loss: float, least: float) -> float:
    """The error ratio to the best method: a root for squared errors, a ratio of means for the geometric objective."""
    weight = float(sum(w for w, s in zip(task.weights.tolist(), task.effective(found).tolist(), strict=True) if s))
    return task.objective.times(loss, least, weight)


# -- The effect of a policy change: the error of each attribute's table of counts, before and after --------------------
# A table by one attribute changes only along that attribute, so its error follows from that attribute's own metric.
# This holds if attributes are combined by sum or by maximum. If records may be absent, they may be absent along the
# attribute.


MAX_VALUES = 5_000


@dataclass(frozen=True)
class TableError:
    """The 95 % half-width of the counts by one attribute: smallest and largest; 0 means noise-free."""

    least: float
    most: float

    def __str__(self) -> str:
        if self.most == 0:
            return "exact"
        low, high = digits(self.least), digits(self.most)
        return f"± {high}" if low == high else f"± {low} – {high}"


@dataclass(frozen=True)
class Gained:
    """The error of `count by NAME` under two policies; None if a policy does not allow the table."""

    query: str
    before: TableError | None
    after: TableError | None

    def __str__(self) -> str:
        return f"{self.before or 'no table'} → {self.after or 'no table'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: smallest and largest half-width, or null."""
        sides = {"before": self.before, "after": self.after}
        widths = {side: [error.least, error.most] if error else None for side, error in sides.items()}
        return {"query": self.query, "half_width_95": widths}


def errors_gained(before: Metric, after: Metric) -> dict[str, Gained]:
    """Return the error of each shared attribute's table under both policies; very large tables are left out.

    >>> from dxprivacy import metrics
    >>> print(*errors_gained(metrics.constant(3, 1), metrics.constant(3, 2)).values())
    ± 6 → ± 3
    """
    old, new = ({m.universe.names[0]: m for m in along(d) or ()} for d in (before, after))
    shared = [n for n in old if n in new and max(m[n].universe.size for m in (old, new)) <= MAX_VALUES]
    return {n: Gained(str(table(n)), table_error(old[n]), table_error(new[n])) for n in shared}


def table_error(metric: Metric) -> TableError | None:
    """Return the error of the counts of all values of one attribute, at the whole budget."""
    try:
        asked, task = prepare(table(*metric.universe.names), metric)
        plan = finish(asked, task, best_of_own_rows(task)[0])
    except (SeparatesIdentical, NotCertified):
        return None
    widths = [error.half_width for error in plan.errors]
    return TableError(min(widths), max(widths))
