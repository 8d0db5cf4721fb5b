"""Counting queries of DuckDB, where they can be faster than the shared ones.

Listed texts are the names of an ENUM. A cast finds them by hashing, once for each distinct text in the dictionary of a
Parquet file, whereas a join processes every row.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dxprivacy.engines.fields import Packing
from dxprivacy.engines.nearest_places import BLOCK, Locator
from dxprivacy.engines.placement import TEXTS, Read, parsed, place
from dxprivacy.engines.source import ColumnKind
from dxprivacy.engines.sql.counting_sql import Counting, Reads, Step, domain, is_text
from dxprivacy.engines.sql.duckdb.duckdb_dialect import DUCKDB
from dxprivacy.universe.reading.codecs import ListedTexts, Surroundings, WholeNumbers

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_SHORT = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_MOST_CELLS = 1 << 22
_FEW = 4  # up to this many attributes are grouped faster as separate columns than as one packed number


class DuckCounting(Counting):
    """The queries of DuckDB."""

    def __init__(self) -> None:
        super().__init__(DUCKDB)

    def is_named(self, read: Read) -> bool:
        """Return whether listed texts are the names of an ENUM, in the order of their places."""
        codec = read.codec
        if not (isinstance(codec, ListedTexts) and read.column.kind in TEXTS) or codec.spelling.changes_entries:
            return False
        is_in_order = list(codec.places.values()) == list(range(len(codec.places)))
        return is_in_order and all(is_text(text) and "\0" not in text for text in codec.places)

    def is_joined(self, read: Read) -> bool:
        return read.is_joined and not self.is_named(read)

    def enums(self, reads: Sequence[Reads]) -> list[tuple[str, list[str]]]:
        """Return the ENUM types that a query needs, with their names in order."""
        named = [read for mine in reads for read in mine if self.is_named(read)]
        return [(domain(read), list(read.codec.places)) for read in named if isinstance(read.codec, ListedTexts)]

    def stepped(self, step: Step, read: Read, name: str) -> str:
        ends = _beyond(read)
        if ends is not None:
            return f"least(greatest({name}, {ends[0]}), {ends[1]})" if step is parsed else name
        if not self.is_named(read):
            return super().stepped(step, read, name)
        return f"enum_code(TRY_CAST({name} AS {domain(read)}))" if step is place else name

    def placed(self, read: Read) -> str:
        return _place_of(super().placed(read), read)

    def cells(self, rows: str, packing: Packing, reads: Sequence[Reads], by: Sequence[str] = ()) -> str:
        is_late = any(self.dialect.is_late(read) for mine in reads for read in mine)
        if is_late or len(reads) > _FEW:
            return super().cells(rows, packing, reads, by)
        return self._by_places(rows, packing, reads, by)

    def _by_places(self, rows: str, packing: Packing, reads: Sequence[Reads], by: Sequence[str]) -> str:
        """Group by the places of few attributes and pack afterwards: one sum per group instead of one per row.

        The groups are the same as before: NULL stands for `other`, and for nothing else.
        """
        attributes = packing.universe.attributes
        flat = [read for mine in reads for read in mine]
        # Group by the whole number itself, and compute its place from the group.  This needs a second grouping, so it
        # is used only if there are few groups, and not by person, where each possible record must be one group.
        is_small = not by and packing.universe.size <= _MOST_CELLS
        late = [is_small and len(mine) == 1 and _beyond(mine[0]) is not None for mine in reads]
        at = [super(DuckCounting, self).placed(m[0]) if x else self._index(m) for x, m in zip(late, reads, strict=True)]
        groups = ", ".join([*by, *(f"({index}) AS i{axis}" for axis, index in enumerate(at))])
        places = [_place_of(f"i{k}", reads[k][0]) if x else f"i{k}" for k, x in enumerate(late)]
        cells = [
            " + ".join(
                f"{stride} * coalesce(CAST({places[axis]} AS BIGINT), {attributes[axis].listed})"
                for axis, stride in held
            )
            for held in packing.numbers
        ]
        placed = f"""
            SELECT {", ".join([*by, *(f"CAST({sum_} AS BIGINT) AS c{k}" for k, sum_ in enumerate(cells))])}, n
            FROM (SELECT {groups}, count(*) AS n FROM ({self._steps(rows, flat, by)}) {self._joins(flat)} GROUP BY ALL)
        """
        # Numbers below the range and above it are both `other`, so their groups are merged.
        return (
            f"SELECT * EXCLUDE (n), CAST(sum(n) AS BIGINT) AS n FROM ({placed}) GROUP BY ALL" if any(late) else placed
        )


def _beyond(read: Read) -> tuple[int, int] | None:
    """Return the numbers next to the range on both sides, which stand for all outside it; None for other columns.

    So there are few groups, whatever the column holds, and the numbers stay as short as in the column. This takes half
    the time of computing places row by row. Missing entries become the lower number.
    """
    codec = read.codec
    if not isinstance(codec, WholeNumbers) or codec.clamp or read.column.native not in _SHORT:
        return None
    return codec.low - 1, codec.high + 1


def _place_of(value: str, read: Read) -> str:
    """Return the SQL of a place where a whole number stands for it."""
    if _beyond(read) is None or not isinstance(read.codec, WholeNumbers):
        return value
    low, high = read.codec.low, read.codec.high
    return f"(CASE WHEN {value} BETWEEN {low} AND {high} THEN CAST({value} AS BIGINT) - ({low}) END)"


# -- Nearest places in DuckDB: the distinct pairs of coordinates are listed once, placed in Python, and joined ---------
# DuckDB has no arithmetic for this that is the same on every machine, and one query per place would read every row once
# per place.  Pairs are processed in blocks, so that millions of distinct ones need little memory here.


def make_places(
    con: "Connection", surroundings: Surroundings, rows: str, first: Read, second: Read, parameters: dict[str, Any]
) -> None:
    """Create the table (first, second, position) of all pairs in the rows that have a place."""
    locator, table = Locator(surroundings), domain(first)
    pairs = f"pairs_of_{table}"
    # NULL is filtered out of the stored pairs only: DuckDB would push a condition here down into the file, before the
    # steps that guard the casts.
    con.execute(f"CREATE OR REPLACE TEMP TABLE {pairs} AS {DuckCounting().pairs(rows, first, second)}", parameters)
    kinds = [_stored(read) for read in (first, second)]
    con.execute(f"CREATE OR REPLACE TEMP TABLE {table} (first {kinds[0]}, second {kinds[1]}, position UINTEGER)")
    row = con.execute(f"SELECT count(*) FROM {pairs}").fetchone()
    for start in range(0, int(row[0]) if row else 0, BLOCK):
        part = f"rowid >= {start} AND rowid < {start + BLOCK} AND first IS NOT NULL AND second IS NOT NULL"
        found = con.execute(f"SELECT first, second FROM {pairs} WHERE {part}").fetchnumpy()
        given = [np.ascontiguousarray(np.asarray(found[name])) for name in ("first", "second")]
        places = locator.places(*(x.view(np.float64) if x.dtype == np.int64 else x for x in given))
        here = places < locator.nowhere
        con.register("placed_pairs", {"a": given[0][here], "b": given[1][here], "p": places[here]})
        con.execute(f"INSERT INTO {table} SELECT a, b, p FROM placed_pairs")
        con.unregister("placed_pairs")
    con.execute(f"DROP TABLE {pairs}")


def _stored(read: Read) -> str:
    """Return the stored type; objects were read before, as the bits of their numbers."""
    return "BIGINT" if read.column.kind is ColumnKind.OBJECT else "DOUBLE"
