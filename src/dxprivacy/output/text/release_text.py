"""A release in the terminal."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.soft_regions import counted_elsewhere
from dxprivacy.releases.answer_tables import AnswerTable, names, tables_of
from dxprivacy.releases.geojson import clear_cells, fullest_first, is_map
from dxprivacy.releases.processed_answers import Processed
from dxprivacy.releases.release import MISSED, TOO_FEW, Release, Row
from dxprivacy.universe.blocks import Blurred
from dxprivacy.wording import columns, digits, percent, plural, short, tag, wrap

# -- The bias of counts of regions with soft borders -------------------------------------------------------------------
# Blur adds bias on purpose.  Intervals do not include it, because it depends on where people live.  The fraction of a
# record that counts on the other side of a border follows from the policy, for every place.


_SOME, _MOST = 0.1, 0.5


def soft_border_notes(plan: PlanFacts) -> list[str]:
    """Return, for each blurred count of regions, how many places count elsewhere in part, and the largest fraction."""
    out = []
    for k, asked in enumerate(plan.queries.queries):
        first = next(answer.rows[0] for answer in plan.workload.answers if answer.query == k)
        block = plan.workload.blocks[int(plan.workload.block_of[first])]
        if isinstance(asked, Count) and isinstance(block, Blurred):
            out.append(_note(asked, block))
    return out


def _note(asked: Count, block: Blurred) -> str:
    groups = Grouped.of(asked, block.universe).groups[block.axis]
    parts, places = counted_elsewhere(block, groups), block.universe.attributes[block.axis]
    largest = int(np.argmax(parts))
    if not parts[largest]:
        return f"{asked.name}: no place counts elsewhere in part, so soft and hard borders give the same counts"
    own = "outside its own group" if groups[largest] >= 0 else "though the conditions leave it out"
    return (
        f"{asked.name}: blur is bias, which intervals do not include: of {plural(len(parts), 'place')} "
        f"{int((parts > _SOME).sum()):,} count by more than {percent(_SOME)} on the other side of a border, "
        f"{int((parts > _MOST).sum()):,} by more than half; a record at {places.label(largest)} counts by "
        f"{percent(float(parts[largest]))} {own}, and none by more. A narrower blur moves less and has more noise"
    )


# -- A release in the terminal -----------------------------------------------------------------------------------------


SHOWN = 12
NUMBERS = 100  # queries for one number each
TABLES = 6  # of one query
_ACROSS = 12  # columns of a crosstab before it is transposed
HEAD = ("released", "95 % interval")
_HEADING, _NAME, _GROUP = 94, 60, 40
_SHADES = " ░▒▓█"


def number(value: float, low: float, high: float) -> str:
    """Format a value with the digits that are meaningful for the width of its interval.

    >>> number(-4.0, -14.0, 6.0), number(201.5361, 199.6, 203.4), number(0.12345, 0.1234, 0.1235), number(50.0, 49, 51)
    ('−4', '201.5', '0.12345', '50')
    """
    width = high - low
    if all(x == int(x) for x in (value, low, high)):
        text = f"{value:,.0f}"
    elif width <= 0:
        text = f"{value:,.10g}"
    else:
        places = max(0, 1 - math.floor(math.log10(width) + 1e-9))
        text = f"{value:,.{places}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-")


def release_lines(release: Release, *, everything: bool = False, wide: bool = False, file: str = "") -> list[str]:
    """Return each query with its first answers and their intervals, then the guarantee.

    `file` names the file with all answers; `wide` shows two-way tables as crosstabs of any width.
    """
    tables = tables_of(release.answers)
    lines, hidden = answer_lines(tables, everything=everything, wide=wide)
    more = f"{hidden:,} more in {file or 'release.rows()'}. " if hidden else ""
    covered, *remarks = release_remarks(release)
    lines.append(tag("dim", f"  {more}{covered}"))
    for note in remarks:
        lines += [tag("dim", f"  {line}") for line in wrap(note, 94)]
    return [*lines, "", *guarantee_lines(release.guarantee)]


def release_remarks(release: Release) -> list[str]:
    """Return remarks on the numbers; the first states what the intervals cover."""
    remarks = [note for note in release.facts.get("notes", ()) if not note.startswith("means by")]
    planned = release.facts.get("rows")
    if planned and release.records is not None and planned != release.records:
        remarks.append(
            f"the plan was made for {planned:,} records, there are {release.records:,}: errors of means differ"
        )
    return [f"Intervals cover {release.covered}.", *remarks]


def answer_lines(tables: Sequence[AnswerTable[Row]], *, everything: bool, wide: bool) -> tuple[list[str], int]:
    """Return the lines of all queries, and the number of hidden answers; queries for one number share a table."""
    most = rows_shown(tables, everything=everything)
    lines: list[str] = []
    hidden = 0
    for lone, run in groupby(tables, key=lambda table: table.lone):
        if lone:
            made, left = _numbers(list(run), everything=everything)
            lines, hidden = [*lines, *made, ""], hidden + left
            continue
        for query, parts in groupby(run, key=lambda table: table.query):
            found = list(parts)
            shown = found if everything else found[:TABLES]
            lines.append(f"  {tag('bold', short(query, _HEADING))}")
            for table in shown:
                made, left = _crosstab(table) if wide and table.crosstab else _listed(table, most)
                lines, hidden = [*lines, *made, ""], hidden + left
            if len(found) > len(shown):
                rest = found[len(shown) :]
                lines += [tag("dim", f"    … {plural(len(rest), 'more table')}"), ""]
                hidden += sum(map(len, rest))
    return lines, hidden


def rows_shown(tables: Sequence[AnswerTable[Any]], *, everything: bool) -> int:
    """Return how many answers of a table are shown: fewer if there are more tables; all if the total is small."""
    if everything or sum(map(len, tables)) <= SHOWN + 3:
        return max(map(len, tables), default=0)
    several = sum(not table.lone for table in tables)
    return SHOWN if several < 2 else SHOWN // 2 if several < 5 else SHOWN // 4


def _numbers(tables: Sequence[AnswerTable[Row]], *, everything: bool) -> tuple[list[str], int]:
    # Queries for one number each, named by their labels, or by their titles if labels repeat.
    labels = Counter(table.answers[0].label for table in tables)
    shown = tables if everything else tables[:NUMBERS]
    rows = [[tag("dim", text) for text in ("", *HEAD)]]
    for table in shown:
        (row,) = table.answers
        name = row.label if row.label.strip() and labels[row.label] == 1 else table.query
        rows.append([short(name, _NAME), tag("accent", value_words(row)), interval_words(row)])
    left = len(tables) - len(shown)
    return columns(rows, "lrl") + ([tag("dim", f"  … {left:,} more")] if left else []), left


def _listed(table: AnswerTable[Row], most: int) -> tuple[list[str], int]:
    # One line for each of the first answers (for a map, the fullest), groups in columns; and the number left out.
    some_are_left = len(table) > most + 2
    if some_are_left and is_map(table):
        table = fullest_first(table)
        most = min(most, clear_cells(table))
        if not most:
            return [tag("dim", f"    no grid cell stands out of the noise of all {len(table):,}")], len(table)
    pairs = list(zip(table.groups, table.answers, strict=True))
    if len(pairs) <= most + 2:  # one or two more lines are shorter than a remark about them
        most = len(pairs)
    else:
        pairs.sort(key=lambda pair: _is_empty_group(pair[1]))
    rows = [[tag("dim", short(text, _GROUP)) for text in table.columns] + [tag("dim", text) for text in HEAD]]
    for groups, row in pairs[:most]:
        rows.append([*(short(text, _GROUP) for text in groups), tag("accent", value_words(row)), interval_words(row)])
    left = len(pairs) - most
    less = ", with less" if left and is_map(table) else ""
    more = [tag("dim", f"    … {left:,} more{less}")] if left else []
    return columns(rows, "l" * len(table.columns) + "rl", indent=4) + more, left


def _crosstab(table: AnswerTable[Row]) -> tuple[list[str], int]:
    # A two-way table as a crosstab, with darker marks next to larger numbers.
    crosstab = table.crosstab
    if crosstab is None:
        return _listed(table, len(table))
    names_of = table.columns
    if len(crosstab.across) > max(len(crosstab.down), _ACROSS):
        crosstab, names_of = crosstab.turned, names_of[::-1]
    marked = shades([row for line in crosstab.cells for row in line])
    across = [f"{tag('dim', short(text, _GROUP))}  " for text in crosstab.across]  # marks follow the numbers
    rows = [[tag("dim", short(" × ".join(names_of), _NAME)), *across]]
    for k, (text, line) in enumerate(zip(crosstab.down, crosstab.cells, strict=True)):
        marks = marked[k * len(line) : (k + 1) * len(line)]
        cells = [f"{tag('accent', value_words(row))} {mark}" for row, mark in zip(line, marks, strict=True)]
        rows.append([tag("dim", short(text, _GROUP)), *cells])
    made = columns(rows, "l" + "r" * len(crosstab.across), indent=4)
    return [*made, tag("dim", f"    {widths(table.answers)}")], 0


def shades(rows: Sequence[Row]) -> list[str]:
    """Return a mark for each answer, darker for larger released numbers."""
    known = [row.value for row in rows if not row.vague]
    low, high = min(known, default=0.0), max(known, default=0.0)
    step = (high - low) / len(_SHADES) or 1.0
    return [" " if row.vague else _SHADES[min(int((row.value - low) / step), len(_SHADES) - 1)] for row in rows]


def widths(rows: Sequence[Row]) -> str:
    """Return the half-widths of the intervals of several answers as text."""
    noisy = [row for row in rows if not row.exact and not row.vague]
    if not noisy:
        return "exact" if rows and all(row.exact for row in rows) else TOO_FEW
    sides = [max(row.high - row.value, row.value - row.low) for row in noisy]
    unit = f" {noisy[0].unit}" if noisy[0].unit else ""
    low, high = digits(min(sides)), digits(max(sides))
    return f"each ± {low}{unit}" if low == high else f"± {low} to {high}{unit}"


def guarantee_lines(guarantee: Sequence[str]) -> list[str]:
    """Return the numbered sentences of the guarantee."""
    lines = [tag("bold", "Guarantee")]
    for k, sentence in enumerate(guarantee, 1):
        lines += [f"  {line}" for line in wrap(f"{k}. {sentence}", 94, "   ")]
    return lines


def _is_empty_group(row: Row) -> bool:
    # A mean over a group that is publicly empty: otherwise it would have noise.
    return row.exact and row.vague


def value_words(row: Row) -> str:
    """Return an answer with its unit, or why there is none."""
    if _is_empty_group(row):
        return "–"
    if row.vague:
        return TOO_FEW
    return number(row.value, row.low, row.high) + (f" {row.unit}" if row.unit else "")


def interval_words(row: Row) -> str:
    """Return the ends of an interval, or why there are none."""
    if _is_empty_group(row):
        return "this group is empty"
    if row.exact:
        return "noise-free: public under the policy, or the same for all records"
    missed = f" ({MISSED})" if row.missed else ""
    return f"{number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)}{missed}"


def processed_lines(processed: Processed) -> list[str]:
    """Return answers after post-processing, and the steps."""
    answers = processed.answers
    table = [
        [name, number(r.value, r.low, r.high), f"{number(r.low, r.low, r.high)} – {number(r.high, r.low, r.high)}"]
        for r, name in zip(answers, names(answers), strict=True)
    ] or [[f"{value:,.6g}"] for value in processed.values.tolist()]
    return columns(table, "lrl" if answers else "r") + [f"  {line}" for line in wrap(processed.note, 94)]
