"""Count a frame of Spark: the count is one job, and only groups reach the driver.

A frame is whatever its session computes: a given DataFrame is its author's definition of the data.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.engines.contribution_bounding import KeptRows, KeyedRows, people_in_all, required
from dxprivacy.engines.fields import Packing
from dxprivacy.engines.nearest_places import Locator
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Column, ColumnKind, Entry, Others
from dxprivacy.engines.sql.counting_sql import Counting, domain, fitted, key_columns, selected
from dxprivacy.engines.sql.people_sql import PERSON, Keeping
from dxprivacy.engines.sql.spark.spark_dialect import SPARK
from dxprivacy.engines.sql.spark.spark_session import Files, quietly, require_settings
from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.people import People
from dxprivacy.universe.reading.codecs import Surroundings
from dxprivacy.universe.universe import Universe

# -- The schema of a frame: its columns and their types; reads no row --------------------------------------------------


_KINDS = {
    "tinyint": ColumnKind.WHOLE,
    "smallint": ColumnKind.WHOLE,
    "int": ColumnKind.WHOLE,
    "bigint": ColumnKind.WHOLE,
    "float": ColumnKind.FLOAT,
    "double": ColumnKind.FLOAT,
    "decimal": ColumnKind.DECIMAL,
    "boolean": ColumnKind.TRUTH,
    "string": ColumnKind.TEXT,
    "char": ColumnKind.TEXT,
    "varchar": ColumnKind.TEXT,
    "void": ColumnKind.NOTHING,
    "date": ColumnKind.DATE,
    "timestamp": ColumnKind.INSTANT,
    "timestamp_ntz": ColumnKind.CLOCK,
}
_WORDS = {
    "binary": "binary data",
    "array": "lists",
    "map": "nested maps",
    "struct": "nested records",
    "variant": "documents of any shape",
    "interval": "time spans",
    "time": "times of day, which must be stored as text or points in time here",
}
_PADDED = "__CHAR_VARCHAR_TYPE_STRING"  # the key under which a table stores that its text is char(n)


@dataclass(frozen=True)
class FrameColumn:
    """One column, and the SQL of its entries in the type that is read; named by its position."""

    column: Column
    entry: str


def described(schema: Any) -> list[FrameColumn]:
    """Return the columns of a frame's schema, in their order."""
    return [_described(field, f"c{k}") for k, field in enumerate(schema.fields)]


def _described(field: Any, at: str) -> FrameColumn:
    declared = str(field.dataType.simpleString())
    named = re.split(r"[ (<]", declared, maxsplit=1)[0]
    kind = _KINDS.get(named)
    if kind is None:
        return FrameColumn(Column(field.name, None, _WORDS.get(named, f"of type {named[:60]}")), at)
    if kind is not ColumnKind.TEXT:
        return FrameColumn(Column(field.name, kind, native=named), at)
    entry = f"(CAST({at} AS STRING) COLLATE UTF8_BINARY)"  # equal texts are equal bytes, whatever the collation
    stored = str((field.metadata or {}).get(_PADDED, declared))
    if re.match(r"char\(", stored):  # padding blanks are not part of an entry
        entry = f"rtrim(' ', {entry})"
    return FrameColumn(Column(field.name, kind, native="string"), entry)


# -- A frame of Spark --------------------------------------------------------------------------------------------------


_COUNTING, _KEEPING = Counting(SPARK), Keeping(SPARK)
_MOST_JOINS = 8  # each is a job or two; a cluster failed on more than a hundred
_LONGEST_LIST = 1_000  # longest list that is written into the query instead


class SparkSource:
    """A frame of Spark."""

    has_schema = True

    def __init__(self, frame: Any, name: str) -> None:
        self.name = name
        self._is_pinned = isinstance(frame, Files)
        frame = frame.frame if isinstance(frame, Files) else frame
        self._session = quietly(name, lambda: frame.sparkSession)
        self._require_settings()
        self._columns = quietly(name, lambda: described(frame.schema))
        # By position, so that names may be anything.
        self._frame = quietly(name, lambda: frame.toDF(*(f"c{k}" for k in range(len(self._columns)))))

    def columns(self) -> list[Column]:
        """Return the schema; reads no row."""
        return [found.column for found in self._columns]

    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit, and settings under which a row could affect others; reads no row."""
        self._require_settings()
        self._fit(universe)
        if universe.people is not None:
            self._keys(universe.people)

    def rows(self) -> int:
        """Return the number of rows."""
        return quietly(self.name, lambda: int(self._frame.count()), self._session)

    def count(self, universe: Universe) -> Histogram:
        """Count the rows of each possible record."""
        wanted, reads = self._fit(universe)
        packing, rows = Packing(universe), _select(wanted)

        def counted() -> list[Ints]:
            given = self._given(universe, rows, reads)
            return self._numbers(_COUNTING.cells(rows, packing, reads), given)

        *numbers, counts = quietly(self.name, counted, self._session)
        return packing.histogram(numbers, counts)

    def people(self, universe: Universe) -> int:
        """Return the number of people."""
        people = required(universe)
        keys = self._keys(people)
        names = [f"r{k}" for k in range(len(keys))]
        sql = _KEEPING.people(_KEEPING.with_person(_select(keys), [k.column for k in keys], names, people), people)
        named, without = quietly(self.name, lambda: self._numbers(sql, {}), self._session)
        return people_in_all(int(named[0]), int(without[0]), people)

    def keyed(self, universe: Universe) -> KeyedRows:
        """Count the rows by person and possible record."""
        packing = Packing(universe)

        def counted() -> KeyedRows:
            groups, given = self._by_person(universe)
            found = self._answer(_KEEPING.keyed(groups, packing), given)
            digests, person = np.unique(np.asarray(found.pop(0).to_pylist(), dtype="U64"), return_inverse=True)
            *cells, counts = [_whole(column) for column in found]
            return KeyedRows(tuple(digests.tolist()), person.reshape(-1).astype(np.int64), tuple(cells), counts)

        return quietly(self.name, counted, self._session)

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:
        """Count the kept rows by the values of some attributes."""
        people, asked = required(universe), Packing(universe.onto(axes))

        def counted() -> list[Ints]:
            groups, given = self._by_person(universe)
            sql = _KEEPING.kept(groups, people, Packing(universe), asked, axes, by_person)
            return self._numbers(sql, given)

        *numbers, counts = quietly(self.name, counted, self._session)
        return KeptRows(numbers.pop(0) if by_person else None, tuple(numbers), counts)

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """Return the distinct texts of one column (not private); None if there are more than `max_rows`."""
        found = self._columns[[c.name for c in self.columns()].index(column)]
        sql = _COUNTING.distinct(_select([found]), found.column, max_rows)
        (entries,) = quietly(self.name, lambda: self._answer(sql, {}), self._session)
        texts = {text.decode("utf-8", errors="replace") for text in entries.to_pylist() if text is not None}
        return texts if len(texts) <= max_rows else None

    def others(self, universe: Universe, max_rows: int | None) -> list[Others]:
        """List the entries that count as `other`."""
        return quietly(self.name, lambda: [self._others(a, max_rows) for a in universe.attributes], self._session)

    def _others(self, attribute: Attribute, max_rows: int | None) -> Others:
        universe = Universe([attribute])
        wanted, reads = self._fit(universe)
        rows = _select(wanted)
        sql = _COUNTING.others(rows, reads[0], [""] * len(reads[0]))
        *texts, many = (column.to_pylist() for column in self._answer(sql, self._given(universe, rows, reads)))
        found: Counter[Entry] = Counter()
        for entry, rows_of in zip(zip(*texts, strict=True), many, strict=True):
            found[tuple(None if text is None else text.decode("utf-8", errors="replace") for text in entry)] += rows_of
        return Others.of(attribute.name, attribute.reads, found, max_rows)

    def _require_settings(self) -> None:
        """Check the settings of the session, which may have changed; the reader of files has its own."""
        if not self._is_pinned:
            quietly(self.name, lambda: require_settings(self._session, self.name))

    def _fit(self, universe: Universe) -> tuple[list[FrameColumn], list[list[Read]]]:
        return fitted(self.name, self._columns, universe, _MOST_JOINS, _LONGEST_LIST)

    def _keys(self, people: People) -> list[FrameColumn]:
        return key_columns(self.name, self._columns, people)

    def _by_person(self, universe: Universe) -> tuple[str, dict[str, Any]]:
        """Return the SQL that counts all rows by person and possible record, and the frames that it uses."""
        wanted, reads = self._fit(universe)
        people = required(universe)
        keys = self._keys(people)
        rows = _select([*wanted, *keys])
        given = self._given(universe, rows, reads)
        names = [f"r{len(wanted) + k}" for k in range(len(keys))]
        rows = _KEEPING.with_person(rows, [found.column for found in keys], names, people)
        return _COUNTING.cells(rows, Packing(universe), reads, [PERSON]), given

    def _given(self, universe: Universe, rows: str, reads: Sequence[Sequence[Read]]) -> dict[str, Any]:
        """Return the lookup tables of a query, as frames."""
        given: dict[str, Any] = {}
        for name, key, listed in _COUNTING.domains(reads):
            texts = self._session.createDataFrame(list(listed.items()), "text STRING, position INT")
            given[name] = texts.selectExpr(f"{key} AS listed", "position")
        for attribute, mine in zip(universe.attributes, reads, strict=True):
            if attribute.surroundings is not None:
                given[domain(mine[0])] = self._places(attribute.surroundings, rows, mine[0], mine[1])
        return given

    def _places(self, surroundings: Surroundings, rows: str, first: Read, second: Read) -> Any:
        """List the distinct pairs of coordinates, place them here, and return them with their places to the query."""
        import pyarrow

        pairs = f"SELECT * FROM ({_COUNTING.pairs(rows, first, second)}) WHERE first IS NOT NULL AND second IS NOT NULL"
        at = [np.asarray(column.to_numpy(), dtype=np.float64) for column in self._answer(pairs, {})]
        locator = Locator(surroundings)
        places = locator.places(*at)
        here = places < locator.nowhere
        columns = {"first": at[0][here], "second": at[1][here], "position": places[here]}
        return self._session.createDataFrame(pyarrow.table(columns), "first DOUBLE, second DOUBLE, position BIGINT")

    def _answer(self, sql: str, given: dict[str, Any]) -> list[Any]:
        """Return the columns of an answer."""
        return list(self._session.sql(sql, **({"all_rows": self._frame} | given)).toArrow().columns)

    def _numbers(self, sql: str, given: dict[str, Any]) -> list[Ints]:
        return [_whole(column) for column in self._answer(sql, given)]


def _select(wanted: Sequence[FrameColumn]) -> str:
    return selected(wanted, "{all_rows}")


def _whole(column: Any) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)
