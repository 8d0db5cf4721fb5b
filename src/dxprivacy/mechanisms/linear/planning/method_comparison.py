"""All methods side by side for the same questions: what each would give, and what it would take to find out.

Every line is a certified plan; `auto` takes the first of the best.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from dxprivacy.errors import NotCertified, UsageError
from dxprivacy.mechanisms.linear.planning.methods import MAKERS, preferred, try_maker
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Task
from dxprivacy.privacy import largest_loss
from dxprivacy.wording import columns, digits, percent, tag, wrap


@dataclass(frozen=True)
class Compared:
    """One method's plan in figures; `refused` says why it has none."""

    method: str
    seconds: float
    median_95: float = math.nan  # the median answer's 95 % half-width
    worst_95: float = math.nan
    missed: int = 0  # answers that miss their target
    relative: float = math.nan  # error of all answers together, relative to the best method
    worst_case: float = math.nan  # in standard-DP terms
    gap: float | None = None
    best: bool = False
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; null where there is no such number."""
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


def compare_methods(task: Task) -> list[Compared]:
    """One line for each method, in the order of the list.

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
    for maker in MAKERS:
        start = time.perf_counter()
        if (
            maker.propose is not None
            and maker.name != "equal-split"
            and maker.applies(task)
            and not maker.in_auto(task)
        ):
            refused[maker.name] = (f"too many rows to try beside the others; --method {maker.name} does", 0.0)
            continue
        own = None if maker.instead is None else found.get("optimal", next(iter(found.values())))[0]
        try:
            candidate, bound = try_maker(task, maker, own)
        except (NotCertified, UsageError) as error:
            refused[maker.name] = (error.what, time.perf_counter() - start)
            continue
        found[maker.name] = (candidate, time.perf_counter() - start)
        floor = bound if floor is None else floor
    direct = [c for c, _ in found.values() if c.measured.as_asked]
    simplest = direct[0]
    for candidate in direct[1:]:
        if task.better(task.merit(candidate), task.merit(simplest)):
            simplest = candidate
    best = preferred(task, simplest, [c for c, _ in found.values() if not c.measured.as_asked]).method
    least = min(task.loss_of(task.effective(candidate)) for candidate, _ in found.values())
    lines = [_line(task, c, seconds, floor, least, best=name == best) for name, (c, seconds) in found.items()]
    return lines + [Compared(name, seconds, refused=why) for name, (why, seconds) in refused.items()]


def _require_methods(task: Task) -> None:
    """What is accounted as a whole is counted in one way only."""
    firsts = {start for _, start in task.workload.wholes}
    asked = [answer.question for answer in task.workload.answers if firsts & set(answer.rows)]
    if asked:
        title = task.workload.titles[asked[0]]
        raise UsageError(
            "people and maps are counted in one way only: there are no methods to compare",
            where=f"question “{title}”",
            hints=[("dxp plan …", "without --compare plans it"), ("--compare", "of the other questions alone")],
        )


def _line(task: Task, found: Candidate, seconds: float, floor: float | None, least: float, *, best: bool) -> Compared:
    widths = [e.half_width for e in task.errors(found)]
    misses, loss = task.merit(found)
    return Compared(
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
    """The error, not its square; of a geometric mean the ratio of the means."""
    weight = float(sum(w for w, s in zip(task.weights.tolist(), task.effective(found).tolist(), strict=True) if s))
    return task.loss.times(loss, least, weight)


def compare_lines(lines: Sequence[Compared]) -> list[str]:
    """The table on the screen, the best method marked."""
    targets = any(line.missed for line in lines)
    head = ["", "method", "median ± 95 %", "worst ± 95 %", "missed", "error", "worst case", "gap", "seconds"]
    table = [[tag("dim", cell) for cell in head]]
    for line in lines:
        if line.refused:
            continue
        mark = tag("good", "✓") if line.best else ""
        gap = "?" if line.gap is None else percent(line.gap) if line.gap >= 1e-6 else "0 %"
        worst = "no limit" if math.isinf(line.worst_case) else f"ε {digits(line.worst_case)}"
        row = [mark, line.method, digits(line.median_95), digits(line.worst_95), str(line.missed)]
        table.append([*row, f"{line.relative:.3f}×", worst, gap, f"{line.seconds:.2f}"])
    if not targets:
        table = [row[:4] + row[5:] for row in table]
    out = columns(table, "llrrrrrrr" if targets else "llrrrrrr")
    for line in lines:
        if line.refused:
            out.append(tag("dim", f"  {line.method}: {line.refused}"))
    text = (
        "error: of all answers together, each measured by its target or by standard DP, relative to the least. gap: "
        "how far above the best Laplace plan for these rows, at most; ? where nobody knows. Marked is what auto takes: "
        "other rows than those asked for only where the error is a tenth less."
    )
    return out + [tag("dim", part) for part in wrap(text, 96)]
