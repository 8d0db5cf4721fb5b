"""Tables for Markdown and LaTeX: releases, selections, plans and processed answers, rounded as in the terminal.

They show all answers, also where the terminal shows only the first ones.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.plan_notes import notes
from dxprivacy.mechanisms.selection.selection_release import SelectionRelease
from dxprivacy.output.text.release_text import HEAD, interval_words, release_remarks, value_words
from dxprivacy.output.text.selection_text import how_far
from dxprivacy.releases.answer_tables import AnswerTable, tables_of
from dxprivacy.releases.processed_answers import Processed
from dxprivacy.releases.release import Release, Row
from dxprivacy.tabular import Printed, PrintedTable
from dxprivacy.universe.answers import ErrorOf
from dxprivacy.universe.workload import Answer
from dxprivacy.wording import digits


def release_printed(release: Release) -> Printed:
    """Return a table for each grouped query; queries for one number share a table."""
    return Printed(_answers(release.answers), tuple(release_remarks(release)), release.guarantee)


def processed_printed(processed: Processed) -> Printed:
    """Return tables as for a release, with the post-processing steps; plain numbers in one column."""
    if processed.release is None:
        rows = [[f"{value:,.6g}"] for value in processed.values.tolist()]
        return Printed((PrintedTable("", ("value",), "r", rows),), (processed.note,))
    return Printed(_answers(processed.answers), (processed.note,), processed.release.guarantee)


def selection_printed(release: SelectionRelease) -> Printed:
    """Return one row: the selected candidate, and how far from the best it may be."""
    head = ("query", "chosen", "how far from the best")
    row = [release.title, release.chosen, how_far(release)]
    return Printed((PrintedTable("", head, "lll", [row]),), (), release.guarantee)


def plan_printed(plan: Plan) -> Printed:
    """Return the planned error of each answer, next to both comparisons with standard DP."""
    answers, titles = plan.workload.answers, plan.workload.titles
    tables: list[PrintedTable] = []
    for lone, run in groupby(tables_of(answers), key=lambda table: table.lone):
        found = [(titles[table.answers[0].query], table) for table in run]
        tables += [_planned(plan, found)] if lone else [_planned(plan, [one]) for one in found]
    told = (
        f"Plan {plan.name}: nothing spent, no data read. In standard differential-privacy terms it is "
        f"ε = {digits(plan.worst_epsilon)}."
    )
    return Printed(tuple(tables), (told, *notes(plan)))


def _answers(answers: Sequence[Row]) -> tuple[PrintedTable, ...]:
    out: list[PrintedTable] = []
    for lone, run in groupby(tables_of(answers), key=lambda table: table.lone):
        tables = list(run)
        out += [_numbers(tables)] if lone else map(_grouped, tables)
    return tuple(out)


def _numbers(tables: Sequence[AnswerTable[Row]]) -> PrintedTable:
    # Named by their labels, or by their titles if labels repeat.
    labels = Counter(table.answers[0].label for table in tables)
    rows = []
    for table in tables:
        (row,) = table.answers
        name = row.label if row.label.strip() and labels[row.label] == 1 else table.query
        rows.append([name, value_words(row), interval_words(row)])
    return PrintedTable("", ("query", *HEAD), "lrl", rows)


def _grouped(table: AnswerTable[Row]) -> PrintedTable:
    pairs = zip(table.groups, table.answers, strict=True)
    rows = [[*groups, value_words(row), interval_words(row)] for groups, row in pairs]
    return PrintedTable(table.query, (*table.columns, *HEAD), "l" * len(table.columns) + "rl", rows)


_ERROR_HEAD = (
    "typical error",
    "± 95 %",
    "target",
    "± of standard DP at the strictest ε",
    "± of standard DP at our worst-case ε",
)


def _planned(plan: Plan, tables: Sequence[tuple[str, AnswerTable[Answer]]]) -> PrintedTable:
    # The errors of one table by its groups, or of several queries for one number by their titles.
    title, first = tables[0]
    by, title = (first.columns, title) if not first.lone else (("query",), "")
    told: list[list[str]] = []
    for words, table in tables:
        for groups, answer, k in zip(table.groups, table.answers, table.places, strict=True):
            told.append([*(groups if not table.lone else (words,)), *_errors(plan, answer, k)])
    head = (*by, *_ERROR_HEAD)
    kept = [k for k in range(len(head)) if k < len(by) or any(row[k] for row in told)]  # no empty columns
    rows = [[row[k] for k in kept] for row in told]
    align = "".join("l" if k < len(by) else "r" for k in kept)
    return PrintedTable(title, tuple(head[k] for k in kept), align, rows)


def _errors(plan: Plan, answer: Answer, k: int) -> list[str]:
    error, unit = plan.errors[k], answer.unit
    ours = "exact" if plan.is_exact(answer) else _with_unit(error.half_width, unit)
    asked = "" if answer.within is None else _with_unit(float(answer.within), unit)
    plain = [_width(plan.baselines.strict[k], unit), _width(plan.baselines.worst[k], unit)]
    return [_with_unit(error.typical, unit), ours, asked, *plain]


def _width(error: ErrorOf | None, unit: str) -> str:
    return "" if error is None else _with_unit(error.half_width, unit)


def _with_unit(x: float, unit: str) -> str:
    return f"{digits(x)} {unit}".rstrip()
