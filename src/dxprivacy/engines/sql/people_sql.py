"""Generate the SQL for people with several rows: the key of a row, the number of people, contribution bounding.

The rule is that of `contribution_bounding`; tests compare both. Rows are grouped by person and possible record. Only
rows of people with more than `max_rows` rows are numbered.
"""

from collections.abc import Sequence

from dxprivacy.engines.contribution_bounding import DIGITS, EACH_THEIR_OWN, LONGEST_KEY, MISSING_KEY, unusable_key
from dxprivacy.engines.fields import Packing
from dxprivacy.engines.placement import TEXTS, key_text
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.engines.sql.dialect import Dialect
from dxprivacy.universe.people import ONE, People

PERSON = "person"


class Keeping:
    """Contribution bounding in SQL: the queries of one dialect about people."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def with_person(self, rows: str, columns: Sequence[Column], names: Sequence[str], people: People) -> str:
        """Write the query for the rows with the canonical text of their key; `names` are the key columns."""
        parts, unusable = [], []
        for column, name in zip(columns, names, strict=True):
            read = Column(column.name, ColumnKind.UNTYPED) if column.kind is ColumnKind.OBJECT else column
            text = self.dialect.sql(key_text(read), name)
            usable = f"{self.dialect.length(text)} BETWEEN 1 AND {LONGEST_KEY}"
            is_text = read.kind in TEXTS
            if is_text:
                usable = f"({usable} AND NOT {self.dialect.is_damaged(text)})"
            parts.append(f"(CASE WHEN {usable} THEN {text} END)")
            present = f"{self.dialect.length(text)} > 0" if is_text else self.dialect.is_number(read.kind, name)
            unusable.append(f"CASE WHEN {usable} THEN 0 WHEN {present} THEN 1 END")
        if len(parts) > 1:
            parts = [self.dialect.measured(part) for part in parts]
        # A sum: NULL where an entry is missing, and then the row has no key, whatever its other entries are.
        one = f"CASE WHEN {' + '.join(f'({each})' for each in unusable)} > 0 THEN {self._unusable(people)} END"
        key = f"coalesce({' || '.join(parts)}, {one}, {self._without_key})"
        return f"SELECT *, {key} AS {PERSON} FROM ({rows}) AS rows_of_people"

    def people(self, rows: str, people: People) -> str:
        """Write the query for the number of usable keys, and of rows without a key."""
        without = f"{PERSON} = {self._without_key}"
        usable = f"NOT {without} AND {PERSON} <> {self._unusable(people)}"
        return f"""SELECT count(DISTINCT CASE WHEN {usable} THEN {PERSON} END) AS keys,
            count(CASE WHEN {without} THEN 1 END) AS without_key FROM ({rows}) AS of_people"""

    @property
    def _without_key(self) -> str:
        return self.dialect.key(MISSING_KEY)

    def _unusable(self, people: People) -> str:
        return self.dialect.key(unusable_key(people))

    def keyed(self, groups: str, packing: Packing) -> str:
        """Write the query for all rows by person and possible record, as (digest, c0, c1, ..., n)."""
        digest = self.dialect.digest(PERSON)
        return f"SELECT {digest} AS digest, {', '.join(_cells(packing))}, n FROM ({groups}) AS by_person"

    def kept(
        self, groups: str, people: People, whole: Packing, asked: Packing, axes: Sequence[int], by_person: bool
    ) -> str:
        """Write the query for the kept rows by the values of some attributes, as (c0, c1, ..., n).

        `groups` selects rows by person and possible record of all attributes. With `by_person`, a first column `number`
        identifies each person.
        """
        without, stored, cells = self._without_key, self.dialect.stored, _cells(whole)
        here = ", ".join(cells)
        limited = "" if people.no_key == ONE else f" AND {PERSON} <> {without}"
        numbers = ", ',', ".join(cells)
        told = f"concat(digest, '|', {numbers}, '|', nth)"
        own = "1 = 0" if people.no_key == ONE else f"{PERSON} = {without}"
        number = f"CASE WHEN {own} THEN {EACH_THEIR_OWN} ELSE dense_rank() OVER (ORDER BY {PERSON}) END AS number, "
        number = number if by_person else ""
        grouped = ", ".join(["number"] * by_person + [f"c{k}" for k in range(len(asked.numbers))])
        return f"""
            WITH by_person {stored} ({groups}),
            beyond {stored} (
                SELECT {PERSON}, left({self.dialect.digest(PERSON)}, {DIGITS}) AS digest FROM by_person
                GROUP BY {PERSON} HAVING sum(n) > {people.max_rows}{limited}),
            theirs {stored} (
                SELECT by_person.{PERSON}, digest, {here}, n
                FROM by_person JOIN beyond ON by_person.{PERSON} = beyond.{PERSON}),
            numbered AS ({self.dialect.numbered("theirs", cells)}),
            chosen AS ({self.dialect.chosen(told, cells, people.max_rows)}),
            kept AS (
                SELECT by_person.{PERSON}, {here}, n
                FROM by_person LEFT JOIN beyond ON by_person.{PERSON} = beyond.{PERSON}
                WHERE beyond.{PERSON} IS NULL
                UNION ALL SELECT {PERSON}, {here}, n FROM chosen)
            SELECT {grouped}, CAST(sum(n) AS BIGINT) AS n
            FROM (SELECT {number}{self._projected(whole, asked, axes)}, n FROM kept) AS projected GROUP BY {grouped}"""

    def _projected(self, whole: Packing, asked: Packing, axes: Sequence[int]) -> str:
        """Return the SQL of the packed numbers of some attributes, from those of all."""
        shape, divided = whole.universe.shape, self.dialect.divided
        at = {
            axis: f"{divided(f'c{k}', stride)} % {shape[axis]}"
            for k, held in enumerate(whole.numbers)
            for axis, stride in held
        }
        sums = [" + ".join(f"{stride} * ({at[axes[k]]})" for k, stride in held) for held in asked.numbers]
        return ", ".join(f"CAST({total} AS BIGINT) AS c{k}" for k, total in enumerate(sums))


def _cells(packing: Packing) -> list[str]:
    return [f"c{k}" for k in range(len(packing.numbers))]
