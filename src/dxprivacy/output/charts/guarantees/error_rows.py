"""A plan's errors as the rows of a picture: one row for an answer, or for many that share a fate.

However many answers a plan has, the rows are few: answers with equal errors are one row, and where that is not enough,
all but the hardest become one row with the least, the median and the largest of their errors.  Nothing is averaged.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.output.charts.chart_style import clean, distinct
from dxprivacy.releases.answer_names import names
from dxprivacy.universe.answers import ErrorOf

ROWS = 36
_ALONE = 24  # so many single answers of a question stand for themselves
_QUESTIONS = 6  # more questions with several answers: one row each
PANELS = 10


@dataclass(frozen=True)
class ErrorRow:
    """95 % half-widths of one answer or several, and those of standard DP; None where there is nothing to compare."""

    label: str
    least: float
    middle: float
    most: float
    strict: float | None
    loose: float | None
    target: float | None
    least_gain: float
    most_gain: float
    silent: bool  # no noise: exact, or so much allowed that no noise is to be expected
    count: int = 1


@dataclass(frozen=True)
class Panel:
    """Rows on one axis: of one question, or of several that ask for one number each."""

    kind: str
    unit: str
    name: str
    rows: tuple[ErrorRow, ...]


def answer_rows(plan: Plan) -> list[ErrorRow]:
    """One row for each answer, in the plan's order."""
    strict, loose = (_half_widths(errors) for errors in (plan.baselines.strict, plan.baselines.worst))
    gains = plan.improvement.tolist()
    called = names(plan.workload.answers)
    return [
        ErrorRow(
            clean(called[k]),
            error.half_width,
            error.half_width,
            error.half_width,
            strict[k],
            loose[k],
            None if answer.within is None else float(answer.within),
            gains[k],
            gains[k],
            silent=error.rmse == 0,
        )
        for k, (answer, error) in enumerate(zip(plan.workload.answers, plan.errors, strict=True))
    ]


def panels(plan: Plan, rows: Sequence[ErrorRow]) -> list[Panel]:
    """The rows of all answers, in panels of few; those of one kind and unit stand together."""
    members: dict[int, list[ErrorRow]] = {}
    units: dict[int, str] = {}
    for answer, row in zip(plan.workload.answers, rows, strict=True):
        members.setdefault(answer.question, []).append(row)
        units.setdefault(answer.question, answer.unit)
    families: dict[tuple[str, str], list[int]] = {}
    for question in members:
        families.setdefault((_kind(plan, question), units[question]), []).append(question)
    titles = {q: clean(plan.questions.questions[q].name, 60) for q in members}
    several = [q for q in members if len(members[q]) > 1]
    out: list[Panel] = []
    for (kind, unit), questions in families.items():
        single = [q for q in questions if q not in several or len(several) > _QUESTIONS]
        ones = [r for q in single for r in ([_together(members[q], titles[q])] if q in several else members[q])]
        if ones:
            out.append(Panel(kind, unit, "", tuple(ones)))
        out += [Panel(kind, unit, titles[q], tuple(members[q])) for q in questions if q not in single]
    room = max(6, ROWS // len(out))
    return [replace(panel, rows=_fitted(panel.rows, room if len(out) > 1 else _ALONE)) for panel in out]


def _half_widths(errors: Sequence[ErrorOf | None]) -> list[float | None]:
    """Of standard DP; None where it has no finite noise, or none at all."""
    return [e.half_width if e is not None and 0 < e.half_width < math.inf else None for e in errors]


def _kind(plan: Plan, question: int) -> str:
    """What the numbers are: sums and means have axes of their own; everything else counts records."""
    return plan.questions.questions[question].measure


def _fitted(rows: Sequence[ErrorRow], room: int) -> tuple[ErrorRow, ...]:
    """At most `room` rows, by rising error."""
    ordered = sorted(rows, key=lambda r: r.middle)
    if len(ordered) > room:
        alike: dict[tuple[object, ...], list[ErrorRow]] = {}
        for row in ordered:
            alike.setdefault((row.middle, row.strict, row.loose, row.target, row.silent), []).append(row)
        ordered = [_together(group, _several(group, len(rows))) for group in alike.values()]
    if len(ordered) > room:
        easy, hard = ordered[: len(ordered) - room + 1], ordered[len(ordered) - room + 1 :]
        ordered = [_together(easy, f"the other {sum(r.count for r in easy):,}"), *hard]
    labels = distinct(r.label for r in ordered)
    return tuple(replace(row, label=label) for row, label in zip(ordered, labels, strict=True))


def _several(group: Sequence[ErrorRow], whole: int) -> str:
    count = sum(r.count for r in group)
    if count == 1:
        return group[0].label
    return f"all {count:,}" if len(group) == whole else f"{clean(group[0].label, 26)} and {count - 1:,} more"


def _together(group: Sequence[ErrorRow], label: str) -> ErrorRow:
    """One row for several: the median is that of a real answer."""
    if len(group) == 1:
        return replace(group[0], label=label)
    finite = [r for r in group if math.isfinite(r.least_gain)] or list(group)
    return ErrorRow(
        label,
        min(r.least for r in group),
        median_low(r.middle for r in group for _ in range(r.count)),
        max(r.most for r in group),
        _middle([r.strict for r in group]),
        _middle([r.loose for r in group]),
        _middle([r.target for r in group]),
        min(r.least_gain for r in finite),
        max(r.most_gain for r in finite),
        all(r.silent for r in group),
        sum(r.count for r in group),
    )


def _middle(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return median_low(known) if known else None
