"""Nearest places in DuckDB: the different pairs of coordinates are listed once, placed in Python, and joined.

The engine has no arithmetic that is the same on every machine for this, and a query per place would look at every row
as often as there are places.  Pairs are taken by blocks, so that millions of different ones need little memory here.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from dxprivacy.engines.nearest_places import BLOCK, Locator
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Kind
from dxprivacy.engines.sql.counting_sql import domain
from dxprivacy.engines.sql.duckdb.duckdb_query import DuckCounting
from dxprivacy.universe.reading.codecs import Surroundings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def make_places(
    con: "Connection", surroundings: Surroundings, rows: str, first: Read, second: Read, parameters: dict[str, Any]
) -> None:
    """The table (first, second, position) of all pairs in the rows that have a place."""
    locator, table = Locator(surroundings), domain(first)
    pairs = f"pairs_of_{table}"
    # What is nothing is left out of the stored pairs only: a condition here would reach into the file, before the steps
    # that keep the engine from casting what cannot be cast.
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
    """Objects were read before they came here, as the bits of their numbers."""
    return "BIGINT" if read.column.kind is Kind.OBJECT else "DOUBLE"
