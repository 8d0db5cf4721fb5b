"""Render expressions in the SQL of one engine; all shared SQL is here, in `counting_sql` and in `people_sql`.

A dialect renders every expression so that **nothing fails**: one row must never stop a query. If an engine's cast fails
on some input, a condition in front of the cast lets only valid input through.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import assert_never

from dxprivacy.engines import expressions as ex
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Column, ColumnKind


class Dialect(ABC):
    """The SQL of one engine."""

    # -- queries -------------------------------------------------------------------------------------------------------

    stored = "AS"
    """The keyword that names a subquery which must run only once, however often its rows are used."""

    def relation(self, name: str) -> str:
        """Return how a query names a table that it is given."""
        return name

    def fence(self, reads: Sequence[Read]) -> str:  # noqa: ARG002
        """Return the suffix of a SELECT whose columns must be computed once, however often they are used."""
        return ""

    @abstractmethod
    def is_late(self, read: Read) -> bool:
        """Return whether rows are grouped by the raw entry, and placed afterwards."""

    @abstractmethod
    def quoted(self, text: str) -> str:
        """Return a text literal."""

    @abstractmethod
    def divided(self, number: str, by: int) -> str:
        """Return the SQL of a non-negative whole number divided by a positive one, rounded down."""

    @abstractmethod
    def shown(self, column: Column, name: str) -> str:
        """Return an entry as text for the curator to read; not for counting."""

    @abstractmethod
    def as_shown(self, text: str) -> str:
        """Return such an entry in the form that is sent: text, or its bytes if it need not be Unicode."""

    @abstractmethod
    def listed_key(self, read: Read, text: str = "text") -> str:
        """Return the key that a listed text is compared by; numbers are written as the engine writes them."""

    writes_lists = False
    """Whether a list that is looked up without a join is written into the query instead of a table."""

    def looked_up(self, key: str, table: str, read: Read, listed: Mapping[str, int]) -> str:  # noqa: ARG002
        """Return the position of a key among few listed texts, without a join: an engine plans few joins at once."""
        return f"(SELECT position FROM {table} WHERE listed = {key})"

    # -- people --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def length(self, key: str) -> str:
        """Return the length in bytes of a result of `AsBytes`."""

    @abstractmethod
    def is_damaged(self, key: str) -> str:
        """Return whether a result of `AsBytes` is not UTF-8, or has a U+FFFD in place of invalid bytes."""

    @abstractmethod
    def measured(self, part: str) -> str:
        """Return a part of a key, prefixed with its length in bytes and a colon."""

    @abstractmethod
    def digest(self, person: str) -> str:
        """Return the SHA-256 digest of a key, in hexadecimal digits."""

    @abstractmethod
    def key(self, text: str) -> str:
        """Return the key with this text, which is ASCII."""

    def is_number(self, kind: ColumnKind | None, name: str) -> str:
        """Return whether an entry of a numeric column is neither missing nor NaN."""
        present = f"{name} IS NOT NULL"
        return f"({present} AND NOT isnan({name}))" if kind is ColumnKind.FLOAT else present  # Spark: NULL is not NaN

    @abstractmethod
    def numbered(self, theirs: str, cells: Sequence[str]) -> str:
        """Write the query for each row of people with too many, as (person, digest, cells, nth).

        `theirs` has them as (person, digest, cells, n); nth is 1, 2, ... within each of its groups.
        """

    @abstractmethod
    def md5(self, text: str) -> str:
        """Return the MD5 digest of a text in hexadecimal digits, which sort as bytes do."""

    def chosen(self, told: str, cells: Sequence[str], max_rows: int) -> str:
        """Write the query for the rows of `numbered` with each person's smallest digests, as (person, cells, n)."""
        here = ", ".join(cells)
        order = f"row_number() OVER (PARTITION BY person ORDER BY {self.md5(told)})"
        return f"""SELECT person, {here}, 1 AS n
            FROM (SELECT person, {here}, {order} AS place FROM numbered) AS in_order WHERE place <= {max_rows}"""

    # -- expressions ---------------------------------------------------------------------------------------------------

    def sql(self, value: ex.Value, name: str) -> str:
        """Render a value; its input is the column of that name."""
        match value:
            case ex.Input():
                return name
            case ex.WholeLiteral(number, wide):
                return self.wide(number) if wide else f"{number}" if number >= 0 else f"({number})"
            case ex.Arithmetic():
                return self.arithmetic(value, name)
            case ex.Replaced(text, old, new):
                return f"replace({self.inner(text, name)}, {self.quoted(old)}, {self.quoted(new)})"
            case ex.Folded(text, old, new):
                return f"translate({self.inner(text, name)}, {self.quoted(old)}, {self.quoted(new)})"
            case ex.Quotient(number, by):
                whole = self.inner(number, name)
                return self.divided(f"({whole})" if isinstance(number, ex.Arithmetic) else whole, by)
            case ex.Remainder(number, by):
                return f"(({self.inner(number, name)}) % {by})"
            case ex.Clamped(number, low, high):
                return f"greatest({self.sql(low, name)}, least({self.sql(high, name)}, {self.inner(number, name)}))"
            case ex.OneIf(condition):
                return self.one_if(self.condition(condition, name))
            case ex.OffsetAtSecond(seconds, table):
                return self.offset_at_second(self.inner(seconds, name), table)
            case ex.Unless(number, excluded):
                return f"nullif({self.inner(number, name)}, {excluded})"
            case ex.Otherwise(first, second):
                return f"coalesce({self.inner(first, name)}, {self.inner(second, name)})"
            case ex.When(condition, inner):
                return f"CASE WHEN {self.condition(condition, name)} THEN {self.sql(inner, name)} END"
            case _:
                return self.own(value, name)

    @abstractmethod
    def own(self, value: ex.Value, name: str) -> str:
        """Render the values that every engine writes in its own way; refuse any other."""

    def offset_at_second(self, seconds: str, table: tuple[tuple[int, int], ...]) -> str:
        """Return the offset from a table in seconds, by binary search."""
        if len(table) == 1:
            return f"({table[0][1]})"
        middle = len(table) // 2
        before, after = (self.offset_at_second(seconds, part) for part in (table[:middle], table[middle:]))
        return f"(CASE WHEN {seconds} < {table[middle][0]} THEN {before} ELSE {after} END)"

    def one_if(self, condition: str) -> str:
        """Return 1 if a condition holds, else 0."""
        return f"(CASE WHEN {condition} THEN 1 ELSE 0 END)"

    @abstractmethod
    def wide(self, number: int) -> str:
        """Return a whole number that may need more than 64 bits."""

    def inner(self, value: ex.Value, name: str) -> str:
        """Render an operand."""
        return f"({self.sql(value, name)})" if isinstance(value, ex.When) else self.sql(value, name)

    def arithmetic(self, value: ex.Arithmetic, name: str) -> str:
        """Render a sum, a difference, a product or a quotient."""
        left, right = (
            f"({self.sql(part, name)})" if isinstance(part, (ex.Arithmetic, ex.When)) else self.sql(part, name)
            for part in (value.left, value.right)
        )
        if isinstance(value.left, ex.Day):  # days are added as 32 bits
            right = f"CAST({right} AS INTEGER)"
        return f"{left} {value.sign} {right}"

    def condition(self, condition: ex.Condition, name: str) -> str:
        """Render a condition; its input is the column of that name."""
        match condition:
            case ex.NoLonger(text, most):
                return f"{self.text_length(self.inner(text, name))} <= {most}"
            case ex.ComparedEntry(left, sign, right):
                return f"{self.inner(left, name)} {sign} {self.inner(right, name)}"
            case ex.Between(value, low, high):
                return f"{self.inner(value, name)} BETWEEN {self.sql(low, name)} AND {self.sql(high, name)}"
            case ex.Both(first, second):
                return f"{self.condition(first, name)} AND {self.condition(second, name)}"
            case ex.IsWhole(number):
                return self.is_whole(self.inner(number, name))
            case ex.IsFinite(number):
                return self.is_finite(self.inner(number, name))
            case ex.IsUnicode(text):
                return self.is_unicode(self.inner(text, name))
            case ex.Matches(text, pattern):
                return self.matches(self.inner(text, name), pattern)
            case ex.InDays():
                return self.in_days(condition, name)
            case _:
                assert_never(condition)

    def text_length(self, text: str) -> str:
        """Return the number of bytes that a text has in UTF-8."""
        return f"octet_length({text})"

    def is_whole(self, number: str) -> str:
        """Return whether a real has no fraction."""
        return f"{number} = trunc({number})"

    @abstractmethod
    def is_finite(self, number: str) -> str:
        """Return whether a real is neither infinite nor NaN."""

    @abstractmethod
    def is_unicode(self, text: str) -> str:
        """Return whether a text is valid UTF-8."""

    @abstractmethod
    def matches(self, text: str, pattern: str) -> str:
        """Return whether the whole of a text matches a pattern."""

    @abstractmethod
    def in_days(self, condition: ex.InDays, name: str) -> str:
        """Return whether a point in time lies in some days."""
