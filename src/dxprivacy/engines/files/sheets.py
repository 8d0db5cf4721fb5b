"""Excel workbooks (`.xlsx`), cell by cell.

Each cell has a type of its own and is read by itself; the first row of the sheet that is not empty names the columns,
unless the policy does.
A row with nothing in it is never a record, wherever it stands: so whether a row counts depends on that row alone, and
not on the rows behind it.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dxprivacy.engines.entries import clean_text
from dxprivacy.engines.files.workbook import Workbook
from dxprivacy.engines.fit import find_columns, find_keys
from dxprivacy.engines.placing import Block, PlacedSource
from dxprivacy.engines.source import Column, Kind
from dxprivacy.errors import DataError, did_you_mean
from dxprivacy.universe.file_format import PLAIN, FileFormat
from dxprivacy.universe.universe import Universe

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
        """The names in the first row; types are up to each cell."""
        return [Column(name, Kind.OBJECT) for name in self._columns]

    def check(self, universe: Universe) -> None:
        """Refuse a header without the policy's columns."""
        self._positions(universe)
        if universe.people is not None:
            find_keys(self.name, self._columns, universe.people)

    def rows(self) -> int:
        """The number of rows below the header."""
        return sum(1 for _ in self._read()) - self._has_header

    def blocks(self, universe: Universe) -> Iterator[Block]:
        """The rows below the header, some thousands at a time."""
        positions = [position for read in self._positions(universe) for position in read]
        rows = self._read()
        if self._has_header:
            next(rows)
        columns: list[list[object]] = [[] for _ in positions]
        for row in rows:
            for column, position in zip(columns, positions, strict=True):
                column.append(row.get(position, ""))
            if len(columns[0]) == _ROWS:
                yield Block(np.ones(_ROWS, dtype=np.int64), columns)
                columns = [[] for _ in positions]
        yield Block(np.ones(len(columns[0]), dtype=np.int64), columns)

    def _positions(self, universe: Universe) -> list[list[int]]:
        # If no column of the policy is there, the first row may be a record: then it must not be shown.
        is_header = any(column in self._columns for attribute in universe.attributes for column in attribute.reads)
        hints = [] if is_header else ["the first row must name the columns"]
        return find_columns(self.name, self._columns, universe, list_names=is_header, hints=hints)

    def _read(self) -> Iterator[dict[int, object]]:
        """The rows of the sheet that are not empty."""
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
            "cannot be read: it is no .xlsx workbook, or it is damaged",
            where=self._path.name,
            hints=[("save the sheet as CSV in UTF-8", "")],
        )
