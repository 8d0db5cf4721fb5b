"""A release: noisy answers with intervals and the guarantee; never a true answer."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.formats.canonical import RELEASE
from dxprivacy.formats.file_access import ANSWERS, GEOJSON, LATEX, MARKDOWN, write_file
from dxprivacy.formats.file_access import RELEASE as RELEASE_FILE
from dxprivacy.releases.answer_tables import AnswerTable, columns_of, free_name, names, own_columns, tables_of
from dxprivacy.releases.deployment import DeploymentFacts
from dxprivacy.releases.geojson import edge_columns, edges_of, geojson
from dxprivacy.releases.release_base import AnswersText, Released, common_of
from dxprivacy.tabular import NUMBER, TEXT, Columns, Printable, Tabular
from dxprivacy.wording import LONG_LIST, digits, percent, plural

TOO_FEW = "too few to say"
MISSED = "target missed"
KEPT = "The release is kept in the ledger; the same plan returns it again, at no cost."
_NUMBERS = ("value", "low", "high", "unit", "query")
_BEHIND = ("value", "low", "high", "unit", "note", "label")  # columns of a table after those of the groups
_OURS = ("query", *_BEHIND)
_MEASURED = ("value", "low", "high")
_WITHOUT_NOISE = "public, or the same for all records"
_LARGEST = 2.0**53
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)  # there may be hundreds of thousands
class Row:
    """One released answer with its 95 % interval; `Release.covered` states what the interval covers."""

    label: str
    query: str
    value: float
    low: float
    high: float
    unit: str
    exact: bool
    vague: bool = False  # the interval is the whole range: too few records to say anything
    groups: tuple[tuple[str, str], ...] = ()  # pairs of column and label
    missed: bool = False  # the interval is wider than the target
    blur_bias: float = 0.0  # the largest fraction of one record that a soft border moves to its other side

    @property
    def note(self) -> str:
        """Remarks about the numbers: `too few to say`, `exact`, a missed target, the bias of a blur."""
        notes = [TOO_FEW] if self.vague else ["exact"] if self.exact else []
        notes += [MISSED] if self.missed else []
        if self.blur_bias:
            part = percent(self.blur_bias)
            notes.append(f"blurred: up to {part} of a record counts across a border, which the interval leaves out")
        return "; ".join(notes)

    @property
    def marks(self) -> dict[str, Any]:
        """For JSON: the members that only some answers have."""
        missed: dict[str, Any] = {"missed": True} if self.missed else {}
        return missed | ({"blur_bias": self.blur_bias} if self.blur_bias else {})


@dataclass(frozen=True, kw_only=True)
class Release(Released, Tabular, Printable):
    """All answers of a plan, their guarantee, and the facts that are needed to check both.

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"] * 100})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     release = session.release(session.plan("count by sex", budget="25%"))
    >>> [(row.label, row.low <= row.value <= row.high) for row in release.answers]
    [('F', True), ('M', True)]
    """

    answers: tuple[Row, ...]
    format: str = RELEASE.written

    @property
    def covered(self) -> str:
        """What the intervals cover, and what they do not cover."""
        left_out = "" if "people" not in self.facts else ", nor rows beyond those that count of each person"
        return f"privacy noise and binning, not sampling error{left_out}"

    def in_short(self) -> str:
        of = "" if self.records is None else f", {plural(self.records, 'record')}"
        return f"{self.name!r}, {plural(len(self.answers), 'answer')}{of}"

    def rows(self) -> list[dict[str, Any]]:
        """Return the answers as plain dictionaries; `groups` maps columns to labels."""
        return [{"label": r.label, "groups": dict(r.groups), **_numbers(r)} for r in self.answers]

    def table(self) -> list[dict[str, Any]]:
        """Return the answers as rows of one table: query, a column for each grouping, numbers, note, label.

        Rows and columns are in the order of the queries.  If an answer is not grouped by a column, its field is empty.
        Bins of densities and grid cells of maps also have their edges as numbers; None for other answers.  The note is
        “too few to say”, “exact”, “target missed”, or how much a blur moves records.  The label names what was counted,
        and is unique within a query.  Integers are `int`.
        """
        head, lines = self._lines()
        names = [name for name, _ in head]
        return [dict(zip(names, line, strict=True)) for line in lines]

    def _columns(self) -> Columns:
        return Columns.of(*self._lines())

    def _lines(self, safe: Callable[[str], str] = str) -> tuple[list[tuple[str, str]], Iterator[list[Any]]]:
        """Return the head (names and types) and the rows of the table; `safe` is applied to every text."""
        columns = columns_of(self.answers)
        place = {column: k for k, column in enumerate(columns)}
        called = names(self.answers)
        once = cache(safe)  # few different texts, except labels

        def lines(table: AnswerTable[Row]) -> Iterator[list[Any]]:
            at = [place[column] for column in table.columns if column in place]  # labels have a column already
            empty = [""] * len(columns)
            found = edges_of(table, self.facts)
            for groups, r, k, ends in zip(table.groups, table.answers, table.places, found, strict=True):
                cells = empty.copy()
                for where, text in zip(at, groups, strict=False):
                    cells[where] = once(text)
                numbers = [int(x) if is_whole(x) else x for x in (r.value, r.low, r.high)]
                yield [once(r.query), *cells, *map(ends.get, edges), *numbers, once(r.unit), r.note, safe(called[k])]

        tables = tables_of(self.answers)
        edges = edge_columns(tables, self.facts)
        rows = (line for table in tables for line in lines(table))
        named = own_columns(columns, _OURS)
        numeric = [free_name(name, [*_OURS, *columns]) for name in edges]
        head = [(name, TEXT) for name in ("query", *named)] + [(name, NUMBER) for name in numeric]
        head += [(name, NUMBER if name in _MEASURED else TEXT) for name in _BEHIND]
        return [(safe(name), kind) for name, kind in head], rows

    def content(self) -> dict[str, Any]:
        """Return the answers with their intervals."""
        answers = zip(self.rows(), self.answers, strict=True)
        return {
            "records": self.records,
            "answers": [row | {"exact": r.exact, "vague": r.vague} | r.marks for row, r in answers],
        }

    def written_content(self) -> dict[str, Any]:
        """Return the content for writing; very many answers write themselves, without dictionaries."""
        if len(self.answers) <= LONG_LIST:
            return self.content()
        return {"records": self.records, "answers": AnswersText(self.answers)}

    def to_csv(self) -> str:
        """Return the table as CSV text; texts that a spreadsheet would read as formulas get an apostrophe in front."""
        head, lines = self._lines(_defused)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([name for name, _ in head])
        writer.writerows(lines)
        return out.getvalue()

    def made(self) -> DeploymentFacts:
        """Describe the mechanism (discrete Laplace noise) and the widths of the intervals."""
        scales = [float.fromhex(text) for text in self.facts.get("scales", ())]
        noisy = [scale for scale in scales if scale]
        least = f", of scales from {digits(min(noisy))} to {digits(max(noisy))}" if noisy else ""
        exact = sum(row.exact for row in self.answers)
        wide = [(row.high - row.low) / 2 for row in self.answers if not row.exact and not row.vague]
        reach = f"; they reach from {digits(min(wide))} to {digits(max(wide))} to either side" if wide else ""
        worked_out = ["Answers are worked out from the noisy counts", *self.facts.get("notes", ())]
        return DeploymentFacts(
            mechanism=f"Discrete Laplace noise on {plural(len(scales), 'count')} and sums{least}",
            utility=f"Every answer has a 95 % interval, which covers {self.covered}{reach}.",
            unprotected=(f"{plural(exact, 'answer')} without noise: {_WITHOUT_NOISE}.",) if exact else (),
            post_processing="; ".join(worked_out) + ".",
        )

    def to_geojson(self) -> str:
        """Return the answers on the Earth as GeoJSON: a polygon for each grid cell, a point for each place."""
        return geojson(self, self.answers)

    def save(self, path: str | Path) -> Path:
        """Write a .json, .csv, .md, .tex or .geojson file; an existing file is replaced only if dxprivacy wrote it."""
        target = Path(path)
        made = {
            ".json": (self.to_json, RELEASE_FILE),
            ".csv": (self.to_csv, ANSWERS),
            ".md": (self.to_markdown, MARKDOWN),
            ".tex": (self.to_latex, LATEX),
            ".geojson": (self.to_geojson, GEOJSON),
        }
        if target.suffix not in made:
            raise UsageError(f"cannot write {target.name}", hints=[f"use a name that ends in {', '.join(made)}"])
        text, kind = made[target.suffix]
        return write_file(target, text(), kind, note=KEPT)


def reached(within: Fraction, value: float, low: float, high: float) -> bool:
    """Whether both ends of an interval are within the target of its value."""
    return max(high - value, value - low) <= float(within) * (1 + 1e-9)


def _defused(cell: Any) -> Any:
    """Prefix a text with an apostrophe if a spreadsheet would read it as a formula; numbers stay numbers.

    >>> [_defused(cell) for cell in ("=1+1", "-5", "-5 – -1", "@sum", -2.5, "Ohio")]
    ["'=1+1", '-5', "'-5 – -1", "'@sum", -2.5, 'Ohio']
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def is_whole(x: float) -> bool:
    """Whether a number is written without a point: `12`, not `12.0`; beyond 2^53, floats do not hold all integers."""
    return x == x // 1 and -_LARGEST <= x <= _LARGEST


def _numbers(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _NUMBERS}


def from_json(text: str) -> Release:
    """Read a release from its JSON text."""
    data = json.loads(text)
    given = data["answers"]
    answers = []
    for k, r in enumerate(given):
        groups = tuple(r["groups"].items())
        known = {name: r[name] for name in ("label", *_NUMBERS, "exact", "vague")}
        marks = {name: r[name] for name in ("missed", "blur_bias") if name in r}
        answers.append(Row(**known, groups=groups, **marks))
        given[k] = None  # there may be very many: free each after reading it
    release = Release(answers=tuple(answers), **common_of(data, "records", "answers"))
    release.remember(text)
    return release
