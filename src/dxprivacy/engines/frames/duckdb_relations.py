"""Relations of DuckDB in Python: the results of `duckdb.sql(…)`.

A relation is a query. If it reads text or a pandas frame, the engine guesses types from the rows, so that one row could
change how all others are read. Its plan shows what it scans; a scan is refused unless its types are known to be
declared. Whatever the query computes is the curator's definition of the data, as with a lazy frame.
"""

import json
from collections.abc import Iterator
from typing import Any

from dxprivacy.engines.frames.arrow_data import ArrowTable, table_of
from dxprivacy.engines.frames.frame import guessed
from dxprivacy.errors import DataError

NAME = "a DuckDB relation"
# Tables, Parquet and Arrow declare their types; the rest are values written in the query, and parts of it read again.
_DECLARED = {
    "SEQ_SCAN", "TABLE_SCAN", "INDEX_SCAN", "PARQUET_SCAN", "READ_PARQUET", "PYTHON_ARROW_SCAN", "ARROW_SCAN",
    "COLUMN_DATA_SCAN", "DUMMY_SCAN", "EMPTY_RESULT", "RANGE", "CTE_SCAN", "REC_CTE_SCAN", "RECURSIVE_CTE_SCAN",
    "DELIM_SCAN",
}  # fmt: skip


def relation_table(relation: Any) -> ArrowTable:
    """Read the rows of a relation into memory; refuse scans without declared types."""
    for scan in _scans(relation):
        _require_declared(scan)
    frame = table_of(relation)
    frame.name = NAME
    return frame


def _scans(relation: Any) -> list[str]:
    """Return what a relation scans, from the plan that the engine would run; reads no row."""
    try:
        plans = json.loads(relation.explain(format="json"))
        return [name for plan in plans for name in _leaves(plan)]
    except Exception:  # of another version, or a connection that was closed
        pass
    raise DataError(
        "does not show what it reads",
        where=NAME,
        hints=[("relation.to_arrow_table()", "give its rows, if their types are declared")],
    )


def _leaves(plan: dict[str, Any]) -> Iterator[str]:
    if not plan["children"]:
        yield str(plan["name"]).strip().upper()
    for part in plan["children"]:
        yield from _leaves(part)


def _require_declared(scan: str) -> None:
    if scan in _DECLARED:
        return
    if "CSV" in scan:
        raise guessed(NAME, "CSV")
    if "JSON" in scan:
        raise guessed(NAME, "JSON")
    if "PANDAS" in scan:
        raise DataError(
            "reads a pandas DataFrame with types guessed from its entries, so that one may change how others are read",
            where=NAME,
            hints=[("Session(policy, frame, …)", "give the frame itself: each entry is read alone")],
        )
    raise DataError(
        f"reads rows in a way whose types may not be declared ({scan[:40]})",
        where=NAME,
        hints=[
            ("CREATE TABLE people AS …", "in a .duckdb file, given as survey.duckdb::people"),
            "or store as Parquet",
        ],
    )
