"""A release on the screen."""

import math
from collections.abc import Sequence

from dxprivacy.release.processed import Processed
from dxprivacy.release.release import TOO_FEW, Release, Row
from dxprivacy.screens.names import names, under_headings
from dxprivacy.wording import columns, short, tag, wrap

SHOWN = 12


def number(value: float, low: float, high: float) -> str:
    """As many digits as the interval's width makes worth reading.

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


def release_lines(release: Release, *, everything: bool = False, file: str = "") -> list[str]:
    """Answers with intervals, then the promise; `file` is where all answers stand."""
    all_of_them = everything or len(release.answers) <= SHOWN + 3
    ordered = release.answers if all_of_them else sorted(release.answers, key=_is_nobody)
    shown = ordered if all_of_them else ordered[:SHOWN]
    called = [short(name, 48) for name in names(ordered, len(shown))]
    table = [[tag("dim", t) for t in ("", "released", "95 % interval")]]
    table += under_headings(
        [(r.question, name, (tag("accent", _value(r)), _interval(r))) for r, name in zip(shown, called, strict=True)]
    )
    lines = columns(table, "lrl")
    hidden = len(release.answers) - len(shown)
    more = f"{hidden:,} more in {file or 'release.rows()'}. " if hidden else ""
    lines.append(tag("dim", f"  {more}Intervals cover {release.covered}."))
    remarks = [note for note in release.facts.get("notes", ()) if not note.startswith("means by")]
    planned = release.facts.get("rows")
    if planned and release.records is not None and planned != release.records:
        remarks.append(
            f"the plan was made for {planned:,} records, there are {release.records:,}: errors of means differ"
        )
    for note in remarks:
        lines += [tag("dim", f"  {line}") for line in wrap(note, 94)]
    return [*lines, "", *promise_lines(release.promise)]


def promise_lines(promise: Sequence[str]) -> list[str]:
    """The sentences printed on every release, numbered."""
    lines = [tag("bold", "Promise")]
    for k, sentence in enumerate(promise, 1):
        lines += [f"  {line}" for line in wrap(f"{k}. {sentence}", 94, "   ")]
    return lines


def _is_nobody(row: Row) -> bool:
    """Whether it is the mean of a group in which nobody is, or can be: which is public, or would not be exact."""
    return row.exact and row.vague


def _value(row: Row) -> str:
    if _is_nobody(row):
        return "–"
    if row.vague:
        return TOO_FEW
    return number(row.value, row.low, row.high) + (f" {row.unit}" if row.unit else "")


def _interval(row: Row) -> str:
    if _is_nobody(row):
        return "nobody is in this group"
    if row.exact:
        return "exact: the policy calls this public, or it is the same for all records"
    return f"{number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)}"


def processed_lines(processed: Processed) -> list[str]:
    """Answers after post-processing, and what was done to them."""
    answers = processed.answers
    table = [
        [name, number(r.value, r.low, r.high), f"{number(r.low, r.low, r.high)} – {number(r.high, r.low, r.high)}"]
        for r, name in zip(answers, names(answers), strict=True)
    ] or [[f"{value:,.6g}"] for value in processed.values.tolist()]
    return columns(table, "lrl" if answers else "r") + [f"  {line}" for line in wrap(processed.note, 94)]
