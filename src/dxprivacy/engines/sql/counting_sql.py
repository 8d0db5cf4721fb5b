"""The SQL of counting: entries are placed, listed texts by a join, and rows are grouped by their cell.

What is *late* is grouped as it is written, and placed afterwards, a group at a time; everything else is placed row by
row, in plain arithmetic.  Which is which the dialect says, by types alone: grouping by what is written is faster where
few entries differ and slower where all do, and then the time tells something of how many there are.
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

# -- Which columns of a table to select as r0, r1, ..., and how the attributes of a universe read them -----------------


class Described(Protocol):
    """A column of an engine, with whatever that engine knows of it besides."""

    @property
    def column(self) -> Column:
        """As the schema has it."""

    @property
    def entry(self) -> str:
        """The SQL of its entries, in the type that we read them in."""


D = TypeVar("D", bound=Described)


def fitted(
    where: str, columns: Sequence[D], universe: Universe, most_joins: int, longest: int
) -> tuple[list[D], list[list[Read]]]:
    """The wanted columns, one after the other, and the reads of each attribute; refuses a schema that does not fit.

    Of more listed attributes than an engine joins, those with the fewest values, up to `longest`, are looked up alone.
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
    """The columns that tell whose row it is."""
    keys = [columns[position] for position in find_keys(where, [found.column.name for found in columns], people)]
    check_keys(where, [found.column for found in keys])
    return keys


def selected(wanted: Sequence[Described], rows: str) -> str:
    """SELECT of the wanted columns as r0, r1, ..."""
    return f"SELECT {', '.join(f'{found.entry} AS r{k}' for k, found in enumerate(wanted))} FROM {rows}"


def is_text(text: str) -> bool:
    """Whether a listed text can be written in UTF-8: what cannot stands in no table.

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
        """How many rows fall into each cell, as (c0, c1, ..., n) in packed numbers; joins the tables of `domains`.

        Also by further columns of the rows, where some are named.
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
        """The entries of an attribute that count as `other`, as (t0, t1, ..., n); `texts` are further names of `rows`.

        As the bytes of their texts: they need not be Unicode.
        """
        names = [f"t{k}" for k in range(len(reads))]
        written = [text or self.dialect.shown(read.column, read.raw) for text, read in zip(texts, reads, strict=True)]
        shown = [f"{self.dialect.as_shown(text)} AS {name}" for text, name in zip(written, names, strict=True)]
        source = f"SELECT *, {', '.join(shown)} FROM ({rows}) AS all_rows"
        return f"""SELECT {", ".join(names)}, count(*) AS n
            FROM ({self._steps(source, reads, names)}) AS placed {self._joins(reads)}
            WHERE ({self._index(reads)}) IS NULL GROUP BY {", ".join(names)}"""

    def distinct(self, rows: str, column: Column, max_rows: int) -> str:
        """The different texts of the one column of `rows`, as `values` are compared with them; a few too many."""
        untyped = Column(column.name, ColumnKind.UNTYPED) if column.kind is ColumnKind.OBJECT else column
        text = self.dialect.sql(text_of(untyped), "r0")
        return f"SELECT DISTINCT {text} AS listed FROM ({rows}) AS all_rows LIMIT {max_rows + 2}"

    def domains(self, reads: Sequence[Reads]) -> list[tuple[str, str, dict[str, int]]]:
        """The tables (listed, position) of what is looked up: the name of each, the SQL of a text's key, its texts."""
        joined = [read for mine in reads for read in mine if self.is_joined(read)]
        return [
            (domain(read), self.dialect.listed_key(read), _reachable(read, read.codec))
            for read in joined
            if isinstance(read.codec, ListedTexts) and not (read.alone and self.dialect.writes_lists)
        ]

    def pairs(self, rows: str, first: Read, second: Read) -> str:
        """The different pairs of coordinates that are numbers, as (first, second)."""
        steps = self._steps(rows, [first, second], [])
        return f"SELECT DISTINCT {_name('x', first)} AS first, {_name('x', second)} AS second FROM ({steps}) AS placed"

    def is_joined(self, read: Read) -> bool:
        """Whether what was parsed is looked up in a table of listed texts."""
        return read.is_joined

    def stepped(self, step: Step, read: Read, name: str) -> str:
        """One step of placing what stands in a column."""
        return self.dialect.sql(step(read.codec, read.column), name)

    def _bounded(self, rows: str, raw: Reads, others: Reads, by: Sequence[str]) -> str:
        """The rows without text that is too long to be anything but `other`: not even its groups are made."""
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
        """The attribute's index from the places of its entries, NULL where one of them has none."""
        if self.is_joined(reads[0]) or reads[0].beside is not None:
            return self._position(reads[0])
        index = self.placed(reads[0])
        for read in reads[1:]:  # of a series, or of a grid
            index = f"CAST({index} AS BIGINT) * {read.codec.listed} + {self.placed(read)}"
        return index

    def _position(self, read: Read) -> str:
        """Where what was parsed stands among listed texts, or listed places."""
        if not (read.alone and isinstance(read.codec, ListedTexts)):
            return f"{domain(read)}.position"
        return self.dialect.looked_up(_name("x", read), domain(read), read, _reachable(read, read.codec))

    def placed(self, read: Read) -> str:
        """The place of an entry, NULL where it has none, from what all steps made of it."""
        return _name("x", read)

    def _steps(self, source: str, reads: Reads, keep: Sequence[str]) -> str:
        """The steps of placing, one SELECT each: what stands in r3 is parsed into v3, bounded in w3, placed in x3."""
        fence = self.dialect.fence(reads)
        for before, after, step in (("r", "v", parsed), ("v", "w", inside), ("w", "x", place)):
            columns = [f"{self.stepped(step, read, _name(before, read))} AS {_name(after, read)}" for read in reads]
            if columns:
                source = f"SELECT {', '.join([*columns, *keep])} FROM ({source}{fence}) AS before_{after}"
        return source + fence


def domain(read: Read) -> str:
    """The table in which an entry, or a pair of them, is looked up: (listed, position) or (first, second, position)."""
    return f"domain_{read.raw}"


def _bounded(read: Read) -> Value:
    """A text that is short enough to be looked at by a pattern; everything else as it is."""
    return short(read.column) if read.is_grouped_raw else Input(read.column.native)


def _reachable(read: Read, codec: ListedTexts) -> dict[str, int]:
    """What can stand in some table at all: no half of a pair of UTF-16.

    Of floats only texts of numbers, in the fewest digits: longer ones would be rounded to what others are.
    """
    if read.column.kind is not ColumnKind.FLOAT:
        return {text: k for text, k in codec.places.items() if is_text(text)}
    number = np.float32 if read.column.native.lower() in ("float", "float4") else float

    def is_own(text: str) -> bool:
        if not is_fraction(text):
            return re.fullmatch("-?[0-9]+", text) is not None
        with np.errstate(over="ignore"):  # what overflows is infinite, and no text
            return as_text(number(text)) == text

    return {text: k for text, k in codec.places.items() if is_own(text)}


def _name(letter: str, read: Read) -> str:
    return f"{letter}{read.raw[1:]}"
