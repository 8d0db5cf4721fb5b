"""Generate the SQL of counting: place entries (listed texts by a join), and group rows by possible record.

A *late* column is grouped by its raw entries, and placed afterwards, once per group. All other columns are placed row
by row, in plain arithmetic. The dialect decides which columns are late, by types alone. Grouping by raw entries is
faster if few entries differ and slower if all do, so its running time reveals something about the number of different
entries.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from dxprivacy.engines.entries import is_fraction
from dxprivacy.engines.expressions import Input, Value
from dxprivacy.engines.fields import Packing
from dxprivacy.engines.fit import check_keys, check_kinds, find_columns, find_keys
from dxprivacy.engines.placement import Read, inside, parsed, place, short, text_of
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.engines.sql.dialect import Dialect
from dxprivacy.universe.attributes.attribute import as_text
from dxprivacy.universe.people import People
from dxprivacy.universe.reading.codecs import Codec, ListedTexts
from dxprivacy.universe.universe import Universe

# -- The columns of a table to select as r0, r1, ..., and how the attributes of a universe read them -------------------


class Described(Protocol):
    """A column of an engine, with any further facts that the engine needs."""

    @property
    def column(self) -> Column:
        """The column in the schema."""

    @property
    def entry(self) -> str:
        """The SQL of its entries, in the type that is read."""


D = TypeVar("D", bound=Described)


def fitted(
    where: str, columns: Sequence[D], universe: Universe, most_joins: int, longest: int
) -> tuple[list[D], list[list[Read]]]:
    """Return the wanted columns, and the reads of each attribute; refuse a schema that does not fit.

    If there are more than `most_joins` listed attributes, those with the fewest values are looked up without a join, if
    they have at most `longest` values.
    """
    positions = find_columns(where, [found.column.name for found in columns], universe)
    read = [[columns[position] for position in mine] for mine in positions]
    check_kinds(where, universe, [[found.column for found in mine] for mine in read])
    wanted: list[D] = []
    reads: list[list[Read]] = []
    for attribute, mine in zip(universe.attributes, read, strict=True):
        placed = []
        for found, entry in zip(mine, attribute.entries_read, strict=True):
            placed.append(Read(entry.codec, found.column, f"r{len(wanted)}"))
            wanted.append(found)
        if attribute.surroundings is not None:
            placed[0] = replace(placed[0], beside=placed[1])
        reads.append(placed)
    joined = [mine for mine in reads if mine[0].is_joined]
    for placed in sorted(joined, key=lambda mine: mine[0].codec.listed)[: max(len(joined) - most_joins, 0)]:
        placed[0] = replace(placed[0], alone=placed[0].codec.listed <= longest)
    return wanted, reads


def key_columns(where: str, columns: Sequence[D], people: People) -> list[D]:
    """Return the key columns."""
    keys = [columns[position] for position in find_keys(where, [found.column.name for found in columns], people)]
    check_keys(where, [found.column for found in keys])
    return keys


def selected(wanted: Sequence[Described], rows: str) -> str:
    """Write the SELECT of the wanted columns as r0, r1, ..."""
    return f"SELECT {', '.join(f'{found.entry} AS r{k}' for k, found in enumerate(wanted))} FROM {rows}"


def is_text(text: str) -> bool:
    """Test whether a listed text can be written in UTF-8; any other cannot occur in a table.

    >>> is_text("été"), is_text(chr(0xD800))
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# -- The SQL of counting -----------------------------------------------------------------------------------------------


Reads = Sequence[Read]
Step = Callable[[Codec, Column], Value]


class Counting:
    """The queries of one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def cells(self, rows: str, packing: Packing, reads: Sequence[Reads], by: Sequence[str] = ()) -> str:
        """Write the query that counts rows by possible record, as (c0, c1, ..., n) in packed numbers.

        It joins the tables of `domains`. Rows are also grouped by the columns that `by` names.
        """
        terms = [
            f"coalesce(CAST({self._index(mine)} AS BIGINT), {attribute.listed})"  # 32 bits would overflow
            for attribute, mine in zip(packing.universe.attributes, reads, strict=True)
        ]
        late = [any(self.dialect.is_late(read) for read in mine) for mine in reads]
        early = [read for mine, later in zip(reads, late, strict=True) if not later for read in mine]
        raw = [read for mine, later in zip(reads, late, strict=True) if later for read in mine]
        held = [[(axis, stride) for axis, stride in number if not late[axis]] for number in packing.numbers]
        known = [" + ".join(f"{stride} * {terms[axis]}" for axis, stride in number) for number in held]
        places = [f"p{k}" for k, sum_ in enumerate(known) if sum_]
        begun = [f"CAST({sum_} AS BIGINT) AS p{k}" for k, sum_ in enumerate(known) if sum_]
        names = [*by, *(read.raw for read in raw)]
        placed = f"""SELECT {", ".join([*begun, *names])}
            FROM ({self._steps(self._bounded(rows, raw, early, by), early, names)}) AS placed {self._joins(early)}"""
        groups = f"""SELECT {", ".join([*places, *names])}, count(*) AS n FROM ({placed}) AS rows_placed
            GROUP BY {", ".join([*places, *names])}"""
        if not raw:
            return f"SELECT {', '.join([*by, *(f'p{k} AS c{k}' for k in range(len(known)))])}, n FROM ({groups}) AS g"
        sums = [
            " + ".join(
                [*([f"p{k}"] if known[k] else []), *(f"{stride} * {terms[a]}" for a, stride in number if late[a])]
            )
            for k, number in enumerate(packing.numbers)
        ]
        cells = [f"c{k}" for k in range(len(sums))]
        summed = [f"CAST({sum_} AS BIGINT) AS {c}" for sum_, c in zip(sums, cells, strict=True)]
        every = f"""SELECT {", ".join([*by, *summed])}, n
            FROM ({self._steps("SELECT * FROM as_written", raw, [*by, *places, "n"])}) AS placed {self._joins(raw)}"""
        return f"""WITH as_written AS ({groups})
            SELECT {", ".join([*by, *cells])}, CAST(sum(n) AS BIGINT) AS n
            FROM ({every}) AS groups_placed GROUP BY {", ".join([*by, *cells])}"""

    def others(self, rows: str, reads: Reads, texts: Sequence[str]) -> str:
        """Write the query for the entries of an attribute that count as `other`, as (t0, t1, ..., n).

        `texts` names columns of `rows` with the texts of the entries; if empty, the entry itself is shown. Entries are
        returned as the bytes of their texts, which need not be Unicode.
        """
        names = [f"t{k}" for k in range(len(reads))]
        written = [text or self.dialect.shown(read.column, read.raw) for text, read in zip(texts, reads, strict=True)]
        shown = [f"{self.dialect.as_shown(text)} AS {name}" for text, name in zip(written, names, strict=True)]
        source = f"SELECT *, {', '.join(shown)} FROM ({rows}) AS all_rows"
        return f"""SELECT {", ".join(names)}, count(*) AS n
            FROM ({self._steps(source, reads, names)}) AS placed {self._joins(reads)}
            WHERE ({self._index(reads)}) IS NULL GROUP BY {", ".join(names)}"""

    def distinct(self, rows: str, column: Column, max_rows: int) -> str:
        """Write the query for the distinct texts of the only column of `rows`, as `values` are compared with them.

        It returns slightly more than `max_rows` texts if there are too many.
        """
        untyped = Column(column.name, ColumnKind.UNTYPED) if column.kind is ColumnKind.OBJECT else column
        text = self.dialect.sql(text_of(untyped), "r0")
        return f"SELECT DISTINCT {text} AS listed FROM ({rows}) AS all_rows LIMIT {max_rows + 2}"

    def domains(self, reads: Sequence[Reads]) -> list[tuple[str, str, dict[str, int]]]:
        """Return the lookup tables (listed, position): the name of each, the SQL of a text's key, its texts."""
        joined = [read for mine in reads for read in mine if self.is_joined(read)]
        return [
            (domain(read), self.dialect.listed_key(read), _reachable(read, read.codec))
            for read in joined
            if isinstance(read.codec, ListedTexts) and not (read.alone and self.dialect.writes_lists)
        ]

    def pairs(self, rows: str, first: Read, second: Read) -> str:
        """Write the query for the distinct pairs of coordinates that are numbers, as (first, second)."""
        steps = self._steps(rows, [first, second], [])
        return f"SELECT DISTINCT {_name('x', first)} AS first, {_name('x', second)} AS second FROM ({steps}) AS placed"

    def is_joined(self, read: Read) -> bool:
        """Return whether the parsed entry is looked up in a table of listed texts."""
        return read.is_joined

    def stepped(self, step: Step, read: Read, name: str) -> str:
        """Render one step of placing the entry of a column."""
        return self.dialect.sql(step(read.codec, read.column), name)

    def _bounded(self, rows: str, raw: Reads, others: Reads, by: Sequence[str]) -> str:
        """Return the rows with NULL for text too long to be anything but `other`: it is not even grouped."""
        if not raw:
            return rows
        columns = [f"{self.dialect.sql(_bounded(read), read.raw)} AS {read.raw}" for read in raw]
        kept = ", ".join([*columns, *(read.raw for read in others), *by])
        return f"SELECT {kept} FROM ({rows}) AS all_rows"

    def _joins(self, reads: Reads) -> str:
        on = {domain(r): f"{domain(r)}.listed = {_name('x', r)}" for r in reads if self.is_joined(r) and not r.alone}
        pairs = [(domain(r), r, r.beside) for r in reads if r.beside is not None]
        on |= {d: f"{d}.first = {_name('x', a)} AND {d}.second = {_name('x', b)}" for d, a, b in pairs}
        return " ".join(f"LEFT JOIN {self.dialect.relation(name)} AS {name} ON {equal}" for name, equal in on.items())

    def _index(self, reads: Reads) -> str:
        """Return the SQL of the attribute's index from the places of its entries; NULL if one of them has none."""
        if self.is_joined(reads[0]) or reads[0].beside is not None:
            return self._position(reads[0])
        index = self.placed(reads[0])
        for read in reads[1:]:  # of a series, or of a grid
            index = f"CAST({index} AS BIGINT) * {read.codec.listed} + {self.placed(read)}"
        return index

    def _position(self, read: Read) -> str:
        """Return the SQL of the position of the parsed entry among listed texts, or listed places."""
        if not (read.alone and isinstance(read.codec, ListedTexts)):
            return f"{domain(read)}.position"
        return self.dialect.looked_up(_name("x", read), domain(read), read, _reachable(read, read.codec))

    def placed(self, read: Read) -> str:
        """Return the SQL of the place of an entry after all steps; NULL if it has none."""
        return _name("x", read)

    def _steps(self, source: str, reads: Reads, keep: Sequence[str]) -> str:
        """Nest the steps of placing, one SELECT each: r3 is parsed into v3, bounded in w3, placed in x3."""
        fence = self.dialect.fence(reads)
        for before, after, step in (("r", "v", parsed), ("v", "w", inside), ("w", "x", place)):
            columns = [f"{self.stepped(step, read, _name(before, read))} AS {_name(after, read)}" for read in reads]
            if columns:
                source = f"SELECT {', '.join([*columns, *keep])} FROM ({source}{fence}) AS before_{after}"
        return source + fence


def domain(read: Read) -> str:
    """Return the name of the lookup table of an entry or a pair: (listed, position) or (first, second, position)."""
    return f"domain_{read.raw}"


def _bounded(read: Read) -> Value:
    """Return the entry; for text that a pattern reads, NULL if it is too long to be inspected."""
    return short(read.column) if read.is_grouped_raw else Input(read.column.native)


def _reachable(read: Read, codec: ListedTexts) -> dict[str, int]:
    """Return the listed texts that can occur in a table, with their positions: none with half of a surrogate pair.

    For floats, only the shortest text of each number remains: a longer one would be rounded to another number.
    """
    if read.column.kind is not ColumnKind.FLOAT:
        return {text: k for text, k in codec.places.items() if is_text(text)}
    number = np.float32 if read.column.native.lower() in ("float", "float4") else float

    def is_own(text: str) -> bool:
        if not is_fraction(text):
            return re.fullmatch("-?[0-9]+", text) is not None
        with np.errstate(over="ignore"):  # overflow gives infinity, which equals no text
            return as_text(number(text)) == text

    return {text: k for text, k in codec.places.items() if is_own(text)}


def _name(letter: str, read: Read) -> str:
    return f"{letter}{read.raw[1:]}"
