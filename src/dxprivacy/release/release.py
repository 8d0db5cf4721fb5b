"""A release: what leaves the house.  Answers with intervals and the promise; never a true answer."""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.files.formats import RELEASE
from dxprivacy.files.writing import ANSWERS, write_file
from dxprivacy.files.writing import RELEASE as RELEASE_FILE
from dxprivacy.release.answers_text import AnswersText
from dxprivacy.release.released import Released, common_of
from dxprivacy.wording import LONG_LIST

TOO_FEW = "too few to say"
KEPT = "The release is kept in the ledger; the same plan returns it again, at no cost."
_WITHOUT_CELLS = ("dxprivacy-release/1", "dxprivacy-release/2")  # their intervals leave out what cells hide
_NUMBERS = ("value", "low", "high", "unit", "question")
_OURS = ("label", *_NUMBERS, "note")  # columns of a table; everything grouped by stands behind the label
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)  # there may be hundreds of thousands
class Row:
    """One released answer with its 95 % interval; `Release.covered` says what of."""

    label: str
    question: str
    value: float
    low: float
    high: float
    unit: str
    exact: bool
    vague: bool = False  # the interval is the whole range: too few records to say anything
    groups: tuple[tuple[str, str], ...] = ()  # by what it is grouped, and its label there

    @property
    def note(self) -> str:
        """What its numbers alone do not tell: `too few to say`, `exact`, or nothing."""
        return TOO_FEW if self.vague else "exact" if self.exact else ""


@dataclass(frozen=True, kw_only=True)
class Release(Released):
    """All answers of a plan, the promise that goes with them, and what is needed to check both.

    `format` is that of an older version where it was made by one: its numbers mean what they meant.
    """

    answers: tuple[Row, ...]
    format: str = RELEASE.written

    @property
    def covered(self) -> str:
        """What the intervals cover and what not: releases of earlier versions are repeated as they were."""
        if self.format in _WITHOUT_CELLS:
            return "privacy noise only, neither cells nor sampling error"
        return "privacy noise and cells, not sampling error"

    def rows(self) -> list[dict[str, Any]]:
        """The answers as plain dictionaries; `groups` maps what they are grouped by to their label there."""
        return [{"label": r.label, "groups": dict(r.groups), **_numbers(r)} for r in self.answers]

    def table(self) -> list[dict[str, Any]]:
        """The answers as rows of one table: label, a column for everything that any is grouped by, numbers, note.

        The label says what was counted, where that is more than the question says.  Where an answer is not grouped by
        something, its field is empty.  The note is “too few to say”, “exact” or empty.
        """
        columns = _columns(self._names())
        empty = dict.fromkeys(columns.values(), "")
        out = []
        for r in self.answers:
            groups = empty | {columns[name]: text for name, text in r.groups}
            out.append({"label": r.label, **groups, **_numbers(r), "note": r.note})
        return out

    def _names(self) -> list[str]:
        """Everything that any answer is grouped by."""
        return list(dict.fromkeys(name for r in self.answers for name, _ in r.groups))

    def to_pandas(self) -> Any:
        """The answers as a DataFrame, with a column for each attribute that they are grouped by (needs pandas)."""
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise UsageError("pandas is not installed", hints=["pip install pandas", "release.rows()"]) from None
        return pandas.DataFrame(self.table())

    def content(self) -> dict[str, Any]:
        """The answers with their intervals."""
        answers = zip(self.rows(), self.answers, strict=True)
        return {
            "records": self.records,
            "answers": [row | {"exact": r.exact, "vague": r.vague} for row, r in answers],
        }

    def written_content(self) -> dict[str, Any]:
        """Of very many answers no dictionary is made."""
        if len(self.answers) <= LONG_LIST:
            return self.content()
        return {"records": self.records, "answers": AnswersText(self.answers)}

    def to_csv(self) -> str:
        """The answers as CSV text; labels that a spreadsheet would take for formulas begin with an apostrophe."""
        names = self._names()
        place = {name: k for k, name in enumerate(names, 1)}
        defused = cache(_defused)  # but for labels, the same few texts again and again
        empty = ["", *([""] * len(names))]

        def line(r: Row) -> list[Any]:
            cells = empty.copy()
            cells[0] = _defused(r.label)
            for name, text in r.groups:
                cells[place[name]] = defused(text)
            return [*cells, r.value, r.low, r.high, defused(r.unit), defused(r.question), r.note]

        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        columns = _columns(names)
        writer.writerow(map(_defused, ("label", *columns.values(), *_OURS[1:])))
        writer.writerows(map(line, self.answers))
        return out.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write to a .json or .csv file; one that is there is replaced only if it is such a file that we wrote."""
        target = Path(path)
        if target.suffix not in (".json", ".csv"):
            raise UsageError(f"cannot write {target.name}", hints=["use a name that ends in .json or .csv"])
        as_table = target.suffix == ".csv"
        text, kind = (self.to_csv(), ANSWERS) if as_table else (self.to_json(), RELEASE_FILE)
        return write_file(target, text, kind, note=KEPT)


def _defused(cell: Any) -> Any:
    """A cell that stays what it is in a spreadsheet: a number a number, and a label a label.

    >>> [_defused(cell) for cell in ("=1+1", "-5", "-5 – -1", "@sum", -2.5, "Ohio")]
    ["'=1+1", '-5', "'-5 – -1", "'@sum", -2.5, 'Ohio']
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def _numbers(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _NUMBERS}


def _columns(names: Sequence[str]) -> dict[str, str]:
    """The column of everything grouped by: its own name, unless one of ours is called so, which scripts rely on.

    >>> _columns(["sex", "value"])
    {'sex': 'sex', 'value': 'by value'}
    """
    taken = [*_OURS, *names]
    return {name: _free(f"by {name}", taken) if name in _OURS else name for name in names}


def _free(name: str, taken: Sequence[str]) -> str:
    """A name that no other column has."""
    while name in taken:
        name = f"by {name}"
    return name


def from_json(text: str) -> Release:
    """A release back from its JSON text."""
    data = json.loads(text)
    given = data["answers"]
    answers = []
    for k, r in enumerate(given):
        groups = tuple(r.get("groups", {}).items())  # releases of earlier versions have none
        answers.append(Row(**{name: r[name] for name in ("label", *_NUMBERS, "exact", "vague")}, groups=groups))
        given[k] = None  # there may be very many: each is let go of as soon as it was read
    release = Release(answers=tuple(answers), **common_of(data, "records", "answers"))
    release.remember(text)
    return release
