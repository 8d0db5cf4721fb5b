"""The SQL of people with several rows: whose row it is, how many people there are, and which of their rows are kept.

The rule is that of `keeping`, which the tests compare it with.  Rows are grouped by person and cell, as they would be
anyway; only people with more rows than count have theirs numbered.
"""

from collections.abc import Sequence

from dxprivacy.engines.duck_dialect import sql
from dxprivacy.engines.keeping import DIGITS, EACH_THEIR_OWN, LONGEST_KEY
from dxprivacy.engines.packing import Packing
from dxprivacy.engines.placement import text_of
from dxprivacy.engines.source import Column, Kind
from dxprivacy.model.people import ONE, People

PERSON = "person"
_PIECE = 100_000  # numbers at a time, of rows of one person that are alike
_NOBODY = "''::BLOB"


def with_person(rows: str, columns: Sequence[Column], names: Sequence[str]) -> str:
    """The rows with the canonical bytes of their key, empty where there is none; `names` are its columns in them."""
    parts = []
    for column, name in zip(columns, names, strict=True):
        told = Column(column.name, Kind.UNTYPED) if column.kind is Kind.OBJECT else column
        text = sql(text_of(told), name)
        parts.append(f"CASE WHEN octet_length({text}) BETWEEN 1 AND {LONGEST_KEY} THEN {text} END")
    if len(parts) > 1:
        parts = [f"encode(concat(octet_length({part}), ':')) || ({part})" for part in parts]
    return f"SELECT *, coalesce({' || '.join(parts)}, {_NOBODY}) AS {PERSON} FROM ({rows})"


def people_sql(rows: str, people: People) -> str:
    """How many people there are; the one whose rows have no key is counted even if there is none."""
    named = f"count(DISTINCT {PERSON}) FILTER (WHERE {PERSON} <> {_NOBODY})"
    others = "1" if people.no_key == ONE else f"count(*) FILTER (WHERE {PERSON} = {_NOBODY})"
    return f"SELECT {named} + {others} FROM ({rows})"


def keyed_sql(groups: str, packing: Packing) -> str:
    """All rows by person and cell, as (digest, c0, c1, ..., n)."""
    return f"SELECT sha256({PERSON}) AS digest, {', '.join(_cells(packing))}, n FROM ({groups})"


def kept_sql(groups: str, people: People, whole: Packing, asked: Packing, axes: Sequence[int], by_person: bool) -> str:
    """The kept rows by cell of some attributes, as (c0, c1, ..., n), and by a `number` of each person if so wanted.

    `groups` are rows by person and cell of all attributes.
    """
    cells = _cells(whole)
    here = ", ".join(cells)
    limited = "" if people.no_key == ONE else f" AND {PERSON} <> {_NOBODY}"
    cell = here if len(cells) == 1 else f"struct_pack({', '.join(f'{c} := {c}' for c in cells)})"
    numbers = ", ',', ".join(cells)
    told = f"concat(digest, '|', {numbers}, '|', time)"
    out = [f"cell AS {c}" if len(cells) == 1 else f"cell.{c} AS {c}" for c in cells]
    who = f"{PERSON}, " if by_person else ""
    own = "false" if people.no_key == ONE else f"{PERSON} = {_NOBODY}"
    number = f"CASE WHEN {own} THEN {EACH_THEIR_OWN} ELSE dense_rank() OVER (ORDER BY {PERSON}) END AS number, "
    number = number if by_person else ""
    grouped = ", ".join(["number"] * by_person + [f"c{k}" for k in range(len(asked.numbers))])
    return f"""
        WITH groups AS MATERIALIZED ({groups}),
        over AS MATERIALIZED (
            SELECT {PERSON}, left(sha256({PERSON}), {DIGITS}) AS digest FROM groups
            GROUP BY {PERSON} HAVING sum(n) > {people.at_most}{limited}),
        theirs AS MATERIALIZED (SELECT * FROM groups JOIN over USING ({PERSON})),
        numbered AS (
            SELECT {PERSON}, digest, {here}, 1 AS time FROM theirs
            UNION ALL SELECT {PERSON}, digest, {here}, unnest(range(first, least(first + {_PIECE}, n + 1))) FROM
                (SELECT *, unnest(range(2, n + 1, {_PIECE})) AS first FROM theirs WHERE n > 1)),
        chosen AS (
            SELECT {PERSON}, unnest(arg_min({cell}, md5({told}), {people.at_most})) AS cell
            FROM numbered GROUP BY {PERSON}),
        kept AS (
            SELECT {who}{here}, n FROM groups ANTI JOIN over USING ({PERSON})
            UNION ALL SELECT {who}{", ".join(out)}, 1 AS n FROM chosen)
        SELECT {grouped}, CAST(sum(n) AS BIGINT) AS n
        FROM (SELECT {number}{_projected(whole, asked, axes)}, n FROM kept) GROUP BY {grouped}"""


def _projected(whole: Packing, asked: Packing, axes: Sequence[int]) -> str:
    """The packed numbers of some attributes, from those of all."""
    shape = whole.universe.shape
    at = {axis: f"c{k} // {stride} % {shape[axis]}" for k, held in enumerate(whole.numbers) for axis, stride in held}
    sums = [" + ".join(f"{stride} * ({at[axes[k]]})" for k, stride in held) for held in asked.numbers]
    return ", ".join(f"CAST({total} AS BIGINT) AS c{k}" for k, total in enumerate(sums))


def _cells(packing: Packing) -> list[str]:
    return [f"c{k}" for k in range(len(packing.numbers))]
