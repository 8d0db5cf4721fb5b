"""The SQL of counting: entries are placed, listed texts by a join, and rows are grouped by their cell.

Grouping by what is written would be faster where few entries differ, and many times slower where all do: the time would
tell how many different entries there are.  It is done for numbers and dates written as text alone, whose patterns take
far longer than anything else.
"""

import re
from collections.abc import Sequence

import numpy as np

from dxprivacy.attributes.base import as_text
from dxprivacy.attributes.codecs import ListedTexts
from dxprivacy.engines.duck_dialect import quoted, shown_moment, sql
from dxprivacy.engines.entries import FRACTION, is_fraction
from dxprivacy.engines.packing import Packing
from dxprivacy.engines.placement import TEXTS, Read, inside, parsed, place, short, text_of
from dxprivacy.engines.source import Column, Kind

Reads = Sequence[Read]
_FEW = 4  # attributes that are faster grouped by as they are than as one number


def count_sql(rows: str, packing: Packing, reads: Sequence[Reads], by: Sequence[str] = ()) -> str:
    """How many rows fall into each cell, as (c0, c1, ..., n) in packed numbers; joins the domains of `domains`.

    Also by further columns of the rows, where some are named.
    """
    universe = packing.universe
    strides = {axis: stride for held in packing.numbers for axis, stride in held}
    terms = [
        f"{strides[axis]} * coalesce({_index(mine)}, {attribute.listed})"
        for axis, (attribute, mine) in enumerate(zip(universe.attributes, reads, strict=True))
    ]
    packed = [[axis for axis, _ in held] for held in packing.numbers]
    late = [any(read.is_grouped_raw for read in mine) for mine in reads]
    placed = [read for mine, later in zip(reads, late, strict=True) if not later for read in mine]
    raw = [read for mine, later in zip(reads, late, strict=True) if later for read in mine]
    known = [" + ".join(terms[axis] for axis in axes if not late[axis]) or "0" for axes in packed]
    names = [*by, *(read.raw for read in raw)]
    places = [f"p{k}" for k in range(len(packed))]
    begun = ", ".join(f"CAST({sum_} AS BIGINT) AS {p}" for sum_, p in zip(known, places, strict=True))
    groups = f"""
        SELECT {begun}, {"".join(f"{name}, " for name in names)}count(*) AS n
        FROM ({_steps(_shortened(rows, raw, placed, by), placed, names)}) {_joins(placed)} GROUP BY ALL"""
    if not raw and len(reads) <= _FEW:
        return _by_places(rows, packing, reads, by)
    if not raw:
        return f"SELECT {', '.join([*by, *(f'p{k} AS c{k}' for k in range(len(packed)))])}, n FROM ({groups})"
    sums = [" + ".join([p, *(terms[a] for a in axes if late[a])]) for p, axes in zip(places, packed, strict=True)]
    cells = [f"c{k}" for k in range(len(packed))]
    return f"""
        WITH groups AS MATERIALIZED ({groups})
        SELECT {", ".join([*by, *(f"CAST({sum_} AS BIGINT) AS {c}" for sum_, c in zip(sums, cells, strict=True))])},
            CAST(sum(n) AS BIGINT) AS n
        FROM ({_steps("FROM groups", raw, [*by, *places, "n"])}) {_joins(raw)} GROUP BY {", ".join([*by, *cells])}"""


def _by_places(rows: str, packing: Packing, reads: Sequence[Reads], by: Sequence[str]) -> str:
    """The same for few attributes: grouped by the place in each, and packed afterwards, a sum for a cell and not a row.

    The groups are the cells, as before: NULL is `other`, and no place is called that otherwise.
    """
    attributes = packing.universe.attributes
    flat = [read for mine in reads for read in mine]
    at = [f"{_domain(mine[0])}.position" if mine[0].is_joined else f"({_index(mine)})" for mine in reads]
    groups = ", ".join([*by, *(f"{index} AS i{axis}" for axis, index in enumerate(at))])
    cells = [
        " + ".join(f"{stride} * coalesce(CAST(i{axis} AS BIGINT), {attributes[axis].listed})" for axis, stride in held)
        for held in packing.numbers
    ]
    return f"""
        SELECT {", ".join([*by, *(f"CAST({sum_} AS BIGINT) AS c{k}" for k, sum_ in enumerate(cells))])}, n
        FROM (SELECT {groups}, count(*) AS n FROM ({_steps(rows, flat, by)}) {_joins(flat)} GROUP BY ALL)"""


def _shortened(rows: str, raw: Reads, others: Reads, by: Sequence[str]) -> str:
    """The rows without text that is too long to be anything but `other`: not even its groups are made."""
    columns = [
        f"{sql(short(read.column), read.raw)} AS {read.raw}" if read.column.kind in TEXTS else read.raw for read in raw
    ]
    return f"SELECT {', '.join([*columns, *(read.raw for read in others), *by])} FROM ({rows})" if raw else rows


def others_sql(rows: str, reads: Reads, texts: Sequence[str]) -> str:
    """The entries of an attribute that count as `other`, as (t0, t1, ..., n); `texts` are further names of `rows`."""
    names = [f"t{k}" for k in range(len(reads))]
    written = [text or _shown(read) for text, read in zip(texts, reads, strict=True)]
    as_bytes = [f"encode(CAST({text} AS VARCHAR)) AS {name}" for text, name in zip(written, names, strict=True)]
    source = f"SELECT *, {', '.join(as_bytes)} FROM ({rows})"
    return f"""
        SELECT {", ".join(names)}, count(*) AS n FROM ({_steps(source, reads, names)}) {_joins(reads)}
        WHERE ({_index(reads)}) IS NULL GROUP BY ALL"""


def distinct_sql(rows: str, column: Column, at_most: int) -> str:
    """The different texts of the one column of `rows`, as `values` are compared with them; a few more than wanted."""
    untyped = Column(column.name, Kind.UNTYPED) if column.kind is Kind.OBJECT else column
    return f"SELECT DISTINCT {sql(text_of(untyped), 'r0')} FROM ({rows}) LIMIT {at_most + 2}"


def domains(reads: Sequence[Reads]) -> list[tuple[str, str, dict[str, int]]]:
    """The tables (listed BLOB, position) of what is looked up: the name of each, the SQL of a text's key, its texts."""
    joined = [read for mine in reads for read in mine if read.is_joined]
    return [(_domain(r), _key(r), _reachable(r, r.codec)) for r in joined if isinstance(r.codec, ListedTexts)]


def pairs_sql(rows: str, first: Read, second: Read) -> str:
    """The different pairs of coordinates that are numbers, as (first, second)."""
    steps = _steps(rows, [first, second], [])
    return f"SELECT DISTINCT {_name('x', first)} AS first, {_name('x', second)} AS second FROM ({steps})"


def places_table(first: Read) -> str:
    """The name of the table (first, second, position) in which the pairs are looked up."""
    return _domain(first)


def _reachable(read: Read, codec: ListedTexts) -> dict[str, int]:
    """Of floats only texts of numbers, in the fewest digits: longer ones would be rounded to what others are."""
    if read.column.kind is not Kind.FLOAT:
        return codec.places
    number = np.float32 if read.column.native == "FLOAT" else float

    def is_own(text: str) -> bool:
        if not is_fraction(text):
            return re.fullmatch("-?[0-9]+", text) is not None
        with np.errstate(over="ignore"):  # what overflows is infinite, and no text
            return as_text(number(text)) == text

    return {text: k for text, k in codec.places.items() if is_own(text)}


def _key(read: Read) -> str:
    """As bytes; where numbers with decimals are floats, as the engine itself writes them."""
    if read.column.kind is not Kind.FLOAT or not isinstance(read.codec, ListedTexts):
        return "encode(text)"
    fraction = f"regexp_full_match(text, {quoted(FRACTION)})"
    return f"encode(CASE WHEN {fraction} THEN CAST(TRY_CAST(text AS {read.column.native}) AS VARCHAR) ELSE text END)"


def _domain(read: Read) -> str:
    return f"domain_{read.raw}"


def _joins(reads: Reads) -> str:
    on = {_domain(r): f"{_domain(r)}.listed = {_name('x', r)}" for r in reads if r.is_joined}
    pairs = [(_domain(r), r, r.beside) for r in reads if r.beside is not None]
    on |= {d: f"{d}.first = {_name('x', a)} AND {d}.second = {_name('x', b)}" for d, a, b in pairs}
    return " ".join(f"LEFT JOIN {domain} ON {equal}" for domain, equal in on.items())


def _index(reads: Reads) -> str:
    """The attribute's index from the places of its entries, NULL where one of them has none."""
    if reads[0].is_joined or reads[0].beside is not None:
        return f"CAST({_domain(reads[0])}.position AS BIGINT)"
    index = _name("x", reads[0])
    for read in reads[1:]:  # of a series, or of a grid
        index = f"({index}) * {read.codec.listed} + {_name('x', read)}"
    return index


def _steps(source: str, reads: Reads, keep: Sequence[str]) -> str:
    """The steps of placing, one SELECT each: what stands in r3 is parsed into v3, bounded in w3, placed in x3."""
    for before, after, step in (("r", "v", parsed), ("v", "w", inside), ("w", "x", place)):
        columns = [
            f"{sql(step(read.codec, read.column), _name(before, read))} AS {_name(after, read)}" for read in reads
        ]
        source = f"SELECT {', '.join([*columns, *keep])} FROM ({source})" if columns else source
    return source


def _shown(read: Read) -> str:
    is_moment = read.column.kind in (Kind.CLOCK, Kind.INSTANT)
    return shown_moment(read.raw, read.column.native) if is_moment else read.raw


def _name(letter: str, read: Read) -> str:
    return f"{letter}{read.raw[1:]}"
