"""Strategy queries, which a plan measures in place of the workload because their estimates have less error.

    Tally     one count per combination of groups of values; along a weighted attribute a difference instead
    Steps     rows along one attribute, given by their jumps: prefixes, ramps, mixtures of bins
    Picked    one row of another query, which an adaptive mechanism measures after selecting it

They are frozen and serializable like all queries, so that ledgers, plans and verifiers treat them alike.  Planners
build them; users do not write them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Ints
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.matrix_query import MatrixQuery
from dxprivacy.universe.blocks import AlongAxis, Block, Factor, OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import RowByRow, Workload

# -- Tables in explicit matrices ---------------------------------------------------------------------------------------
# Rows that count every combination of some attributes become table queries.  A plan uses the structure of tables: it is
# found in a second instead of minutes, and has less noise.  A table replaces rows only if it counts the same records,
# row by row.


_MOST_ENTRIES = 50_000_000


def recognized(asked: Stack, universe: Universe) -> Stack:
    """Return the same rows in the same order; a matrix that consists of tables only becomes table queries.

    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> u = Universe([Values(name="sex", values=("F", "M")), Values(name="job", values=("Y", "N"))])
    >>> by_job = np.tile(np.eye(2, 3, dtype=np.int64), 3)  # the third column of each sex is `other`
    >>> [str(q) for q in recognized(Stack((MatrixQuery(by_job),)), u).queries]
    ['count by job']
    """
    found: list[Asked] = []
    for query in asked.queries:
        found += (isinstance(query, MatrixQuery) and _tables(query, universe)) or [query]
    return Stack(tuple(found), asked.notes)


def _tables(query: MatrixQuery, universe: Universe) -> list[Count] | None:
    """Return tables with all rows of a matrix, or None if some rows do not form a table."""
    whole = query.whole
    if query.labels or query.factor != 1 or query.bias or len(universe.attributes) < 2:
        return None
    if universe.absent is not None or whole.shape[1] != universe.cells:
        return None
    if whole.shape[0] * universe.cells > _MOST_ENTRIES:
        return None
    entries: Ints = np.asarray(whole if isinstance(whole, np.ndarray) else whole.todense(), dtype=np.int64)
    out: list[Count] = []
    start = 0
    while start < len(entries):
        found = _table(entries[start:], query, universe)
        if found is None:
            return None
        table, rows = found
        out.append(table)
        start += rows
    return out


def _table(entries: Ints, query: MatrixQuery, universe: Universe) -> tuple[Count, int] | None:
    """Return the table formed by the first rows, and its number of rows; None if there is none.

    Its attributes are those along which the first row counts only the first value.
    """
    counted = entries[0].reshape(universe.shape) != 0
    axes = [a for a in range(counted.ndim) if universe.shape[a] > 1 and not np.moveaxis(counted, a, 0)[1:].any()]
    if not axes or math.prod(universe.attributes[a].listed for a in axes) > len(entries):
        return None
    names = tuple(universe.names[a] for a in axes)
    table = Count(by=names, within=query.within, weight=query.weight)
    try:
        (block,) = table.on(universe).blocks
    except QueryError:  # a name that is read otherwise in a query, such as `age/2`
        return None
    if not isinstance(block, OneHot) or block.rows > len(entries):
        return None
    cells = np.arange(universe.cells, dtype=np.int64)
    row, value = block.place(cells)
    same = np.zeros((block.rows, universe.cells), dtype=np.int64)
    same[row[value != 0], cells[value != 0]] = value[value != 0]
    return (table, block.rows) if np.array_equal(same, entries[: block.rows]) else None


# -- Strategy queries --------------------------------------------------------------------------------------------------


MOST_ROWS = 2_000_000


@dataclass(frozen=True)
class Groups:
    """One attribute's part in a tally: the group (-1: not counted) and the integer weight of each value."""

    of: str
    groups: tuple[int, ...]
    weights: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of groups."""
        return max(self.groups) + 1


@dataclass(frozen=True)
class Tally(Asked):
    """Weighted counts by groups of the values of several attributes."""

    over: tuple[Groups, ...]

    def on(self, universe: Universe) -> Workload:
        factors: dict[int, Factor] = {}
        sizes: dict[int, int] = {}
        rows = 1
        for part in self.over:
            axis = universe.axis(part.of)
            if axis in factors or not len(part.groups) == len(part.weights) == universe.shape[axis] or part.count < 1:
                raise QueryError(f"a tally does not fit {part.of}")
            rows *= part.count
            if rows > MOST_ROWS:
                raise QueryError(f"a tally of more than {MOST_ROWS:,} rows")
            factors[axis] = Factor(np.array(part.groups, np.int64), np.array(part.weights, np.int64))
            sizes[axis] = part.count
        return _rows(universe, OneHot(universe, factors, sizes), str(self))

    def __str__(self) -> str:
        """Name it as plans do; `±` marks attributes with a contrast."""
        names = [p.of if min(p.weights) >= 0 else f"±{p.of}" for p in self.over]
        return "tally of " + ", ".join(names)

    def to_dict(self) -> dict[str, Any]:
        parts = [{"of": p.of, "groups": list(p.groups), "weights": list(p.weights)} for p in self.over]
        return {"ask": "tally", "over": parts}


@dataclass(frozen=True, eq=False)
class Steps(Asked):
    """Rows along one attribute, in whole multiples of `factor`, given by their jump at each value."""

    of: str
    jumps: Ints  # rows x values; the first value jumps from 0
    factor: Fraction = Fraction(1)

    @classmethod
    def from_rows(cls, of: str, rows: Ints, factor: Fraction = Fraction(1)) -> "Steps":
        """Make steps from the rows themselves."""
        return cls(of, np.diff(rows, axis=1, prepend=0), factor)

    def on(self, universe: Universe) -> Workload:
        rows = np.cumsum(self.jumps, axis=1, dtype=np.int64)
        return _rows(universe, AlongAxis(universe, universe.axis(self.of), rows, unit=self.factor), str(self))

    def __str__(self) -> str:
        return f"{len(self.jumps)} rows along {self.of}"

    def to_dict(self) -> dict[str, Any]:
        """Write the nonzero jumps as JSON data."""
        row, value = np.nonzero(self.jumps)
        return {
            "ask": "steps",
            "of": self.of,
            "shape": list(self.jumps.shape),
            "rows": row.tolist(),
            "values": value.tolist(),
            "jumps": self.jumps[row, value].tolist(),
            "factor": str(self.factor),
        }


@dataclass(frozen=True)
class Picked(Asked):
    """One row of a query, counted from 0, as a query of its own, without target, weight and title.

    >>> from dxprivacy.queries.asking import marginals
    >>> str(Picked(marginals(2), 41))
    'row 42 of marginals 2'
    """

    query: Asked
    row: int

    def __post_init__(self) -> None:
        query = self.query
        of_a_row = isinstance(query, Picked) or not isinstance(query, Asked)
        if of_a_row or type(self.row) is not int or self.row < 0:
            raise QueryError("a row is picked from one query, and counted from 0")
        object.__setattr__(self, "query", query.rows_only())

    def on(self, universe: Universe) -> Workload:
        """Return the row over a universe; it has the label of the answer that consists of this row, if any."""
        return replace(self.query.on(universe).row(self.row), titles=(str(self),))

    def __str__(self) -> str:
        """Name the row, counted from 1."""
        return f"row {self.row + 1} of {self.query}"

    def to_dict(self) -> dict[str, Any]:
        return {"ask": "row", "of": self.query.to_dict(), "row": self.row}


def pick(queries: Stack, row: int, universe: Universe) -> Picked:
    """Return row `row`, counted from 0 over all rows of several queries, as a query of its own.

    >>> from dxprivacy.queries.asking import gather
    >>> from dxprivacy.universe.universe import Universe
    >>> print(pick(gather("count", "count by element"), 2, Universe.listed("ab")))
    row 2 of count by element
    """
    before = 0
    for query in queries.queries:
        rows = query.on(universe).rows
        if before <= row < before + rows:
            return query if isinstance(query, Picked) else Picked(query, row - before)
        before += rows
    raise QueryError(f"there is no row {row + 1} among {before:,}")


def _rows(universe: Universe, block: Block, title: str) -> Workload:
    return Workload(universe, (block,), RowByRow(block.rows, block.unit), (title,))


def tally_from_dict(data: Mapping[str, Any]) -> Tally:
    """Read a tally from JSON."""
    parts = []
    for part in data["over"]:
        whole = (*part["groups"], *part["weights"])
        if not isinstance(part["of"], str) or not all(type(x) is int and abs(x) < 1 << 53 for x in whole):
            raise ValueError("groups")
        parts.append(Groups(part["of"], tuple(part["groups"]), tuple(part["weights"])))
    if not parts or any(min(p.groups) < -1 or not p.groups for p in parts):
        raise ValueError("groups")
    return Tally(tuple(parts))


def _highest(places: list[tuple[int, int]], jumps: list[int]) -> int:
    """Return the largest absolute entry of rows with these jumps, in integers that cannot overflow."""
    at: dict[int, int] = {}
    most = 0
    for (row, _), jump in sorted(zip(places, jumps, strict=True)):
        at[row] = at.get(row, 0) + jump
        most = max(most, abs(at[row]))
    return most


def steps_from_dict(data: Mapping[str, Any], factor: Fraction) -> Steps:
    """Read steps from JSON."""
    places = list(zip(data["rows"], data["values"], strict=True))
    whole = (*data["rows"], *data["values"], *data["jumps"], *data["shape"])
    if not all(type(x) is int and abs(x) < 1 << 54 for x in whole) or not isinstance(data["of"], str):
        raise ValueError("steps")
    rows, values = data["shape"]
    inside = all(0 <= r < rows and 0 <= v < values for r, v in places)
    if not inside or len(set(places)) != len(places) or factor <= 0 or not 0 < rows * values <= 50_000_000:
        raise ValueError("steps")
    if _highest(places, data["jumps"]) >= 1 << 53:
        raise ValueError("steps")
    jumps = np.zeros((rows, values), dtype=np.int64)
    if places:
        jumps[tuple(np.array(places).T)] = data["jumps"]
    return Steps(data["of"], jumps, factor)
