"""Read Excel workbooks (`.xlsx`), cell by cell.

Each cell has a type of its own and is read by itself. The first row of the sheet that is not empty names the columns,
unless the policy does. A row without entries is never a record, wherever it is: so whether a row counts depends on that
row alone, and not on the rows behind it.
"""

import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers import expat

import numpy as np

from dxprivacy.engines.entries import UNREADABLE, clean_text
from dxprivacy.engines.fit import find_columns, find_keys
from dxprivacy.engines.placing import PlacedBlock, PlacedSource
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.errors import DataError, did_you_mean
from dxprivacy.universe.file_format import PLAIN, FileFormat
from dxprivacy.universe.universe import Universe

# -- Workbooks (`.xlsx`) as they are stored: a ZIP archive of XML parts, read as streams, cell by cell -----------------
# A cell is read by itself and can be anything.  An unknown form (an error value, an invalid number, a text that is
# missing) is `UNREADABLE`.  No cell can stop the rows behind it or need much memory.


Row = dict[int, object]
_CHUNK = 1 << 16
_LONGEST_TAG = 1 << 26  # bytes of a tag or a comment
_LONGEST = 1 << 15  # characters of a cell; the format allows no more
_MOST_COLUMNS = 1 << 14
_NO_COLUMN = -1  # the key of cells whose reference names no column: no attribute reads them, but their row is a record
_PARTS = ("f", "v", "is")  # what a cell can hold: a formula, a stored value, a text of its own
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')  # literal text in a number format
_DAYS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # built-in number formats of dates and times
_LAST_DAY = 2_958_466  # 9999-12-31 and a day, from 1899-12-30


class Damaged(Exception):
    """The archive, or a part of it, is not what a workbook is made of."""


class Workbook:
    """An open workbook: its sheets by name, and their rows."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)
        targets = self._targets()
        self._sheets: dict[str, str] = {}
        self._epoch_1904 = False

        def opened(name: str, given: Mapping[str, str]) -> None:
            if name == "sheet":
                link = next((value for key, value in given.items() if key.endswith(" id")), "")
                self._sheets[given.get("name", "")] = targets.get(link, "")
            elif name == "workbookPr":
                self._epoch_1904 = given.get("date1904", "") in ("1", "true")

        self._each(self._main, opened)
        if not self._sheets:
            raise Damaged

    @property
    def sheets(self) -> list[str]:
        """The names of the sheets, in order."""
        return list(self._sheets)

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet, each as its cells by column, without those that have neither formula nor value."""
        cells = _SheetCells(self._texts(), self._dates(), epoch_1904=self._epoch_1904)
        for _ in self._events(self._sheets[sheet], cells.opened, cells.closed, cells.said):
            yield from cells.taken()
        yield from cells.taken()

    def _targets(self) -> dict[str, str]:
        """Return the locations of the parts that the main one names."""
        self._main = "xl/workbook.xml"
        links = self._links("_rels/.rels", "")
        self._main = next((at for kind, at in links.values() if kind == "officeDocument"), self._main)
        folder = str(PurePosixPath(self._main).parent)
        links = self._links(f"{folder}/_rels/{PurePosixPath(self._main).name}.rels", folder)
        # The usual locations, if the links do not name them.
        usual = {"sharedStrings": f"{folder}/sharedStrings.xml", "styles": f"{folder}/styles.xml"}
        self._parts = usual | {kind: at for kind, at in links.values() if kind in usual}
        return {name: at for name, (_, at) in links.items()}

    def _links(self, part: str, folder: str) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}

        def opened(name: str, given: Mapping[str, str]) -> None:
            if name == "Relationship":
                target = given.get("Target", "")
                at = target.lstrip("/") if target.startswith("/") else str(PurePosixPath(folder, target))
                found[given.get("Id", "")] = (given.get("Type", "").rpartition("/")[2], at)

        if part in self._archive.namelist():
            self._each(part, opened)
        return found

    def _texts(self) -> list[object]:
        """Return the shared texts, which cells name by their number."""
        part = self._parts["sharedStrings"]
        texts: list[object] = []
        if part not in self._archive.namelist():
            return texts
        text, state = _Text(), {"aside": 0}

        def opened(name: str, _: Mapping[str, str]) -> None:
            if name == "si":
                text.begin()
            state["aside"] += name == "rPh"  # its pronunciation
            text.listening = name == "t" and not state["aside"]

        def closed(name: str) -> None:
            text.listening = False
            state["aside"] -= name == "rPh"
            if name == "si":
                texts.append(text.taken())

        self._each(part, opened, closed, text.said)
        return texts

    def _dates(self) -> set[int]:
        """Return the numbers of the cell styles that show a number as a day or a time."""
        part = self._parts["styles"]
        codes: dict[str, str] = {}
        styles: list[str] = []
        state = {"inside": False}

        def opened(name: str, given: Mapping[str, str]) -> None:
            if name == "numFmt":
                codes[given.get("numFmtId", "")] = given.get("formatCode", "")
            elif name == "cellXfs":
                state["inside"] = True
            elif name == "xf" and state["inside"]:
                styles.append(given.get("numFmtId", "0"))

        def closed(name: str) -> None:
            if name == "cellXfs":
                state["inside"] = False

        if part in self._archive.namelist():
            self._each(part, opened, closed)
        return {k for k, number in enumerate(styles) if _shows_days(number, codes.get(number))}

    def _each(self, *handlers: Any) -> None:
        for _ in self._events(*handlers):
            pass

    def _events(
        self,
        part: str,
        opened: Callable[[str, Mapping[str, str]], None],
        closed: Callable[[str], None] | None = None,
        said: Callable[[str], None] | None = None,
    ) -> Iterator[None]:
        """Call the handlers while a part is read; yield after each chunk."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = lambda name, given: opened(name.rpartition(" ")[2], given)
        if closed is not None:
            parser.EndElementHandler = lambda name: closed(name.rpartition(" ")[2])
        if said is not None:
            parser.CharacterDataHandler = said
        parser.StartDoctypeDeclHandler = _refuse  # custom entities could expand without bound
        with self._archive.open(part) as stream:
            size, at = _CHUNK, -1
            while chunk := stream.read(size):
                parser.Parse(chunk, False)
                # A tag or a comment without an end is read again from its beginning, each time with twice as much, so
                # that the time stays linear.  Text is not read again: a cell can be of any length.
                size = _CHUNK if parser.CurrentByteIndex > at else 2 * size
                at = parser.CurrentByteIndex
                if size > _LONGEST_TAG:
                    raise Damaged
                yield
            parser.Parse(b"", True)


def _refuse(*_: object) -> None:
    raise Damaged


def _shows_days(number: str, code: str | None) -> bool:
    """Whether a number format shows days or times.

    >>> [_shows_days("164", code) for code in ("yyyy-mm-dd", '0.0" days"', "[Red]0", "General")]
    [True, False, False, False]
    """
    if code is None:
        return number.isdecimal() and len(number) < 4 and int(number) in _DAYS
    return code != "General" and re.search("[dmyhs]", _LITERAL.sub("", code), re.IGNORECASE) is not None


class _Text:
    """Text that arrives in pieces, up to the longest that a cell can hold."""

    def __init__(self) -> None:
        self.listening = False
        self.begin()

    def begin(self) -> None:
        self._pieces: list[str] = []
        self._room = _LONGEST

    def said(self, piece: str) -> None:
        if self.listening and self._room >= 0:
            self._pieces.append(piece[: self._room + 1])
            self._room -= len(piece)

    def taken(self) -> object:
        return "".join(self._pieces) if self._room >= 0 else UNREADABLE


class _SheetCells:
    """The rows of a sheet, built from the events of its XML."""

    def __init__(self, texts: list[object], dates: set[int], *, epoch_1904: bool) -> None:
        self._texts, self._dates, self._epoch_1904 = texts, dates, epoch_1904
        self._rows: list[Row] = []
        self._row: Row | None = None
        self._text = _Text()
        self.said = self._text.said
        self._at, self._kind, self._style, self._aside = -1, "n", "", 0
        self._parts: set[str] = set()

    def taken(self) -> list[Row]:
        """Return the rows that are complete."""
        rows, self._rows = self._rows, []
        return rows

    def opened(self, name: str, given: Mapping[str, str]) -> None:
        if name == "c" and self._row is not None:
            self._at = _column(given.get("r", ""), self._at + 1)
            self._kind, self._style = given.get("t", "n"), given.get("s", "")
            self._parts = set()
            self._text.begin()
        elif name == "row":
            self._row, self._at = {}, -1
        elif name in _PARTS:
            self._parts.add(name)
        self._aside += name == "rPh"
        self._text.listening = name == "v" or (name == "t" and not self._aside)

    def closed(self, name: str) -> None:
        self._text.listening = False
        self._aside -= name == "rPh"
        if name == "c" and self._row is not None:
            entry = self._entry(self._text.taken())
            if entry != "":
                self._row[self._at if 0 <= self._at < _MOST_COLUMNS else _NO_COLUMN] = entry
        elif name == "row" and self._row is not None:
            self._rows.append(self._row)
            self._row = None

    def _entry(self, text: object) -> object:
        if not isinstance(text, str):
            return text
        if text == "":
            return "" if self._is_empty() else UNREADABLE
        match self._kind:
            case "n":
                return self._number(text)
            case "s":
                known = text.isascii() and text.isdecimal() and len(text) < 10 and int(text) < len(self._texts)
                return self._texts[int(text)] if known else UNREADABLE
            case "str" | "inlineStr" | "d":
                return text
            case "b":
                return {"1": "true", "0": "false", "true": "true", "false": "false"}.get(text, UNREADABLE)
        return UNREADABLE  # an error value, or an unknown type

    def _is_empty(self) -> bool:
        """Whether a cell without text holds nothing, or stores the empty text; a formula without a value is neither."""
        if self._kind in ("str", "inlineStr"):
            return "v" in self._parts or "f" not in self._parts
        return self._kind != "e" and not self._parts

    def _number(self, text: str) -> object:
        text = text.strip(" \t\r\n")
        number = float(text) if _NUMBER.fullmatch(text) else math.nan
        style = int(self._style) if self._style.isascii() and self._style.isdecimal() and len(self._style) < 9 else 0
        if not math.isfinite(number):
            return UNREADABLE
        return number if style not in self._dates else _day(number, epoch_1904=self._epoch_1904)


def _column(reference: str, following: int) -> int:
    """Return the column of a cell: A1 is 0; without a reference, the column behind the one before.

    >>> _column("B7", 0), _column("XFD1048576", 0), _column("", 5), _column("?", 5)
    (1, 16383, 5, -1)
    """
    letters = re.match("[A-Z]{1,3}(?=[0-9])", reference[:16])
    if letters is None:
        return following if not reference else -1
    at = 0
    for letter in letters[0]:
        at = 26 * at + ord(letter) - 64
    return at - 1


def _day(number: float, *, epoch_1904: bool) -> object:
    """Return a number of days as the day, or the point in time; outside of the calendar, the number.

    >>> _day(46023.0, epoch_1904=False), _day(1.5, epoch_1904=False), _day(60.0, epoch_1904=False)
    (datetime.date(2026, 1, 1), datetime.datetime(1900, 1, 1, 12, 0), UNREADABLE)
    """
    days = number + 1462 if epoch_1904 else number
    if not 0 <= days < _LAST_DAY:
        return number
    if 60 <= days < 61:
        return UNREADABLE  # 29 February 1900, which the format has but not the calendar
    first = date(1899, 12, 31) if days < 60 else date(1899, 12, 30)
    day = first + timedelta(days=math.floor(days))
    seconds = round((days - math.floor(days)) * 86_400)
    return day if not seconds else datetime.combine(day, datetime.min.time()) + timedelta(seconds=seconds)


# -- Excel workbooks (`.xlsx`), cell by cell ---------------------------------------------------------------------------


ENDINGS = (".xlsx",)
_ROWS = 65_536  # at a time


class Sheet(PlacedSource):
    """One sheet of a workbook: the first, or the one that is named."""

    def __init__(self, path: Path, sheet: str = "", file: FileFormat = PLAIN) -> None:
        self.name = f"{path.name}::{sheet}" if sheet else path.name
        self._path = path
        self._sheet = sheet
        self._has_header = file.has_header
        self._columns = list(file.columns)
        header = next(self._read(), None)
        if not self._has_header:
            return
        if header is None:
            raise DataError("the sheet is empty", where=self.name, hints=["the first row must name the columns"])
        self._columns = [clean_text(header.get(k)) or "" for k in range(max(header) + 1)]

    def columns(self) -> list[Column]:
        """Return the names in the first row; each cell has its own type."""
        return [Column(name, ColumnKind.OBJECT) for name in self._columns]

    def check(self, universe: Universe) -> None:
        """Refuse a header without the policy's columns."""
        self._positions(universe)
        if universe.people is not None:
            find_keys(self.name, self._columns, universe.people)

    def rows(self) -> int:
        """Return the number of rows below the header."""
        return sum(1 for _ in self._read()) - self._has_header

    def blocks(self, universe: Universe) -> Iterator[PlacedBlock]:
        """Yield the rows below the header, some thousands at a time."""
        positions = [position for read in self._positions(universe) for position in read]
        rows = self._read()
        if self._has_header:
            next(rows)
        columns: list[list[object]] = [[] for _ in positions]
        for row in rows:
            for column, position in zip(columns, positions, strict=True):
                column.append(row.get(position, ""))
            if len(columns[0]) == _ROWS:
                yield PlacedBlock(np.ones(_ROWS, dtype=np.int64), columns)
                columns = [[] for _ in positions]
        yield PlacedBlock(np.ones(len(columns[0]), dtype=np.int64), columns)

    def _positions(self, universe: Universe) -> list[list[int]]:
        # If no column of the policy is there, the first row may be a record: then it must not be shown.
        is_header = any(column in self._columns for attribute in universe.attributes for column in attribute.reads)
        hints = [] if is_header else ["the first row must name the columns"]
        return find_columns(self.name, self._columns, universe, list_names=is_header, hints=hints)

    def _read(self) -> Iterator[dict[int, object]]:
        """Yield the rows of the sheet that are not empty."""
        names: list[str] = []
        try:
            book = Workbook(self._path)
            try:
                names = book.sheets
                if not self._sheet or self._sheet in names:
                    yield from filter(None, book.rows(self._sheet or names[0]))
                    return
            finally:
                book.close()
        except Exception:  # damaged archives raise errors of many classes
            names = []
        if names:
            raise DataError(
                f"no sheet “{self._sheet}”",
                where=self._path.name,
                details=[f"{self._path.name} has: {', '.join(names[:30])}"],
                hints=did_you_mean(self._sheet, names),
            )
        raise DataError(
            "cannot be read: it is not an .xlsx workbook, or it is damaged",
            where=self._path.name,
            hints=[("save the sheet as CSV in UTF-8", "")],
        )
