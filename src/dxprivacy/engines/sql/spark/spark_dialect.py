"""Render expressions in the SQL of Spark 4, the same in its ANSI and its older mode.

Casts that can fail are `try_cast`, which returns NULL in both modes. Texts are written as bytes, because how a quoted
text is read depends on settings of the session. Points in time are compared and split as microseconds, which no
session's time zone changes.

Patterns are those of Java, which matches a whole text between `\\A` and `\\z` (`$` would overlook a line break).
"""

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise

from dxprivacy.engines import expressions as ex
from dxprivacy.engines.contribution_bounding import DAMAGED
from dxprivacy.engines.entries import FRACTION
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.engines.sql.dialect import Dialect

_EPOCH = date(1970, 1, 1)
_DAY = 86_400 * 10**6  # microseconds
_SHIFT = 10**6  # days; added so that no dividend is negative
_REALS = ("float", "double")
_LONG = "9223372036854775808D"  # 2^63
_HALF = "18446744073709551616"  # 2^64
_MOST = "1E38D"  # the largest float64 with 38 digits, as many as decimals have
_PIECE = 100_000  # equal rows of one person that are numbered at a time
_FEW = 32  # up to this many changes of an offset are found by nested conditions
_MOST_PIECES = 20_000
_INFINITE = "CAST('Infinity' AS DOUBLE)"


class SparkDialect(Dialect):
    """The SQL of Spark.

    >>> SparkDialect().sql(ex.Arithmetic(ex.Input(), "-", ex.Day(date(2026, 1, 1))), "v0")
    "datediff(v0, DATE'2026-01-01')"
    """

    writes_lists = True

    def relation(self, name: str) -> str:
        return "{" + name + "}"  # a frame that the query is given

    def is_late(self, read: Read) -> bool:
        """Return whether to map groups instead of rows: work per row takes a good part of the time of grouping."""
        return read.merges_nothing or read.is_grouped_raw

    def quoted(self, text: str) -> str:
        return f"decode(X'{text.encode().hex()}', 'UTF-8')"

    def divided(self, number: str, by: int) -> str:
        return f"(({number}) DIV {by})"

    def shown(self, column: Column, name: str) -> str:  # noqa: ARG002 - all have a text
        return name

    def as_shown(self, text: str) -> str:
        return f"CAST(CAST({text} AS STRING) AS BINARY)"

    def listed_key(self, read: Read, text: str = "text") -> str:
        if read.column.kind is not ColumnKind.FLOAT:
            return f"CAST({text} AS BINARY)"
        own = f"CAST(try_cast({text} AS {read.column.native}) AS STRING)"
        return f"CAST(CASE WHEN {self.matches(text, FRACTION)} THEN {own} ELSE {text} END AS BINARY)"

    def looked_up(self, key: str, table: str, read: Read, listed: Mapping[str, int]) -> str:  # noqa: ARG002
        """Return the position by a CASE over the whole list, because a subquery would be a join again."""
        known = [(self.listed_key(read, self.quoted(text)), at) for text, at in listed.items()]
        return f"(CASE {key} {' '.join(f'WHEN {text} THEN {at}' for text, at in known)} ELSE CAST(NULL AS INT) END)"

    def key(self, text: str) -> str:
        return f"X'{text.encode().hex()}'"

    def length(self, key: str) -> str:
        return f"octet_length({key})"

    def is_damaged(self, key: str) -> str:
        text = f"CAST({key} AS STRING)"
        return f"(NOT is_valid_utf8({text}) OR instr({text}, '{DAMAGED}') > 0)"

    def measured(self, part: str) -> str:
        return f"concat(CAST(concat(CAST(octet_length({part}) AS STRING), ':') AS BINARY), {part})"

    def digest(self, person: str) -> str:
        return f"sha2({person}, 256)"

    def md5(self, text: str) -> str:
        return f"md5(CAST({text} AS BINARY))"

    def numbered(self, theirs: str, cells: Sequence[str]) -> str:
        here = ", ".join(cells)
        pieces = f"SELECT *, explode(sequence(CAST(1 AS BIGINT), n, {_PIECE})) AS first FROM {theirs}"
        piece = f"explode(sequence(first, least(first + {_PIECE - 1}, n)))"
        return f"SELECT person, digest, {here}, {piece} AS nth FROM ({pieces})"

    def wide(self, number: int) -> str:
        return f"{number}BD"

    def own(self, value: ex.Value, name: str) -> str:
        match value:
            case ex.Nothing(of):
                return f"CAST(NULL AS {'DATE' if of == 'day' else 'BIGINT'})"
            case ex.Real(real):
                return f"CAST('{real!r}' AS DOUBLE)"  # read back as the same number
            case ex.Day(day):
                return f"DATE'{day.isoformat()}'"
            case ex.AsText(inner):
                return _plain(self.inner(inner, name))
            case ex.AsBytes(inner):
                return f"CAST(CAST({self.inner(inner, name)} AS STRING) AS BINARY)"
            case ex.OwnText():
                return f"CAST({name} AS STRING)"
            case ex.Stripped(text, marks):
                return f"btrim({self.inner(text, name)}, {self.quoted(marks)})"
            case ex.FirstGroup(text, pattern):
                return f"regexp_extract({self.inner(text, name)}, {self._whole(pattern)}, 1)"
            case ex.ToWhole(inner, wide):
                return self._to_whole(inner, name, wide=wide)
            case ex.ToReal(ex.AsText(ex.Sound())):  # a decimal is divided, or read, with one rounding
                return f"CAST({name} AS DOUBLE)"
            case ex.ToReal(inner):
                return f"try_cast({self.inner(inner, name)} AS DOUBLE)"
            case ex.Sound():
                return name  # a decimal with more digits than its type is NULL already
            case ex.Floor(inner):
                return f"floor({self.inner(inner, name)})"
            case _:
                return self._in_time(value, name)

    def _in_time(self, value: ex.Value, name: str) -> str:
        match value:
            case ex.WrittenDay(text, pattern, year, month, day):
                parts = ", ".join(self._group(text, pattern, group, name) for group in (year, month, day))
                return f"try_cast(concat_ws('-', {parts}) AS DATE)"
            case ex.WrittenTime(text, pattern, hour, minute, second):
                timed = [f"try_cast({self._group(text, pattern, hour, name)} AS BIGINT) * 3600"]
                for group, size in ((minute, 60), (second, 1)):
                    part = f"try_cast({self._group(text, pattern, group, name)} AS BIGINT)"
                    timed += [f"coalesce({part}, 0) * {size}"] if group else []
                return f"({' + '.join(timed)})"
            case ex.Microseconds(moment):
                return _microseconds(name, moment.native)
            case ex.OffsetAt(instant, table):
                return _offset(_microseconds(name, instant.native), table)
            case ex.DayOf(ex.Microseconds(moment)) if moment.native == "timestamp_ntz":
                return f"CAST({name} AS DATE)"
            case ex.DayOf(microseconds):
                days = f"(({self.inner(microseconds, name)}) + {_SHIFT * _DAY}) DIV {_DAY} - {_SHIFT}"
                return f"date_from_unix_date(CAST({days} AS INT))"
            case ex.SecondOfDay(microseconds):
                return f"(((({self.inner(microseconds, name)}) + {_SHIFT * _DAY}) % {_DAY}) DIV 1000000)"
            case ex.MonthOf(inner):
                return f"(year({self.inner(inner, name)}) * 12 + month({self.inner(inner, name)}) - 1)"
            case _:
                raise AssertionError(value)

    def offset_at_second(self, seconds: str, table: tuple[tuple[int, int], ...]) -> str:
        return f"({_offset(f'({seconds} * 1000000)', table)} DIV 1000000)"

    def arithmetic(self, value: ex.Arithmetic, name: str) -> str:
        """Render arithmetic; a difference of days is a number, not a time span."""
        if value.sign == "-" and isinstance(value.right, ex.Day):
            return f"datediff({self.sql(value.left, name)}, {self.sql(value.right, name)})"
        return super().arithmetic(value, name)

    def is_whole(self, number: str) -> str:
        return f"{number} = rint({number})"

    def is_finite(self, number: str) -> str:
        return f"{number} > -{_INFINITE} AND {number} < {_INFINITE}"  # NaN is greater than all others

    def is_unicode(self, text: str) -> str:
        return f"is_valid_utf8({text})"

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} RLIKE {self._whole(pattern)}"

    def in_days(self, condition: ex.InDays, name: str) -> str:
        first, last = condition.first, condition.last
        if condition.moment.native == "timestamp_ntz":  # compared as days: in microseconds, some would overflow
            day = f"CAST({name} AS DATE)"
            return f"{day} BETWEEN DATE'{first.isoformat()}' AND DATE'{last.isoformat()}'"
        start, end = (first - _EPOCH).days * _DAY, ((last - _EPOCH).days + 1) * _DAY
        return f"(unix_micros({name}) >= {start} AND unix_micros({name}) < {end})"

    def _whole(self, pattern: str) -> str:
        return self.quoted(rf"\A(?:{pattern})\z")

    def _group(self, text: ex.Value, pattern: str, group: int, name: str) -> str:
        return f"regexp_extract({self.inner(text, name)}, {self._whole(pattern)}, {group})"

    def _to_whole(self, value: ex.Value, name: str, *, wide: bool) -> str:
        number, kind = self.inner(value, name), "DECIMAL(38, 0)" if wide else "BIGINT"
        if not _is_real(value):
            return f"try_cast({number} AS {kind})"
        # From reals, try_cast converts 2^63 to the number before it, and converts to decimals by way of a rounded text.
        small = f"{number} >= -{_LONG} AND {number} < {_LONG}"
        if not wide:
            return f"(CASE WHEN {small} THEN CAST({number} AS BIGINT) END)"
        upper = f"try_cast(CAST({number} AS DOUBLE) / {_HALF}D AS BIGINT)"
        lower = f"try_cast((CAST({number} AS DOUBLE) - {upper} * {_HALF}D) / 2 AS BIGINT)"
        parts = (
            f"try_add(try_multiply(CAST({upper} AS DECIMAL(19, 0)), {_HALF}BD), CAST({lower} AS DECIMAL(20, 0)) * 2)"
        )
        return f"""CAST((CASE WHEN {small} THEN CAST(CAST({number} AS BIGINT) AS DECIMAL(38, 0))
            WHEN {number} BETWEEN -{_MOST} AND {_MOST} THEN try_cast({parts} AS DECIMAL(38, 0)) END)
            AS DECIMAL(38, 0))"""


SPARK = SparkDialect()


def _is_real(value: ex.Value) -> bool:
    return isinstance(value, ex.Floor) or (isinstance(value, ex.Input) and value.native in _REALS)


def _plain(decimal: str) -> str:
    """Return the text of a decimal without an exponent, which the older mode writes for small ones: 1.5E-7."""
    text = f"CAST({decimal} AS STRING)"
    zeros = f"repeat('0', -1 - CAST(regexp_extract({text}, 'E(-[0-9]+)', 1) AS INT))"
    digits = f"replace(regexp_extract({text}, '([0-9.]+)E', 1), '.', '')"
    sign = f"CASE WHEN {decimal} < 0 THEN '-' ELSE '' END"
    return f"(CASE WHEN contains({text}, 'E') THEN concat({sign}, '0.', {zeros}, {digits}) ELSE {text} END)"


def _microseconds(name: str, native: str) -> str:
    """Return the microseconds of a time; for clock times, only if they are known to be in range."""
    if native == "timestamp":
        return f"unix_micros({name})"
    parts = [
        f"CAST(unix_date(CAST({name} AS DATE)) AS BIGINT) * {_DAY}",
        f"CAST(hour({name}) AS BIGINT) * 3600000000",
        f"CAST(minute({name}) AS BIGINT) * 60000000",
        f"CAST(extract(SECOND FROM {name}) * 1000000 AS BIGINT)",
    ]
    return f"({' + '.join(parts)})"


def _offset(since: str, table: tuple[tuple[int, int], ...]) -> str:
    """Return the offset in microseconds; look up a long table by time spans with one change of the offset at most.

    Nested conditions are compiled for each query, which took half a minute for a table of four centuries.
    """
    gap = min((after[0] - before[0] for before, after in pairwise(table[1:])), default=0)
    if len(table) <= _FEW or (table[-1][0] - table[1][0]) // gap > _MOST_PIECES:
        return _halved(since, table)
    pieces = (table[-1][0] - table[1][0]) // gap + 1
    first, changes, offsets, known = table[1][0], [], [table[0][1]], 1
    for piece in range(pieces):
        inside = known < len(table) and table[known][0] < first + (piece + 1) * gap
        changes.append(table[known][0] if inside else first + piece * gap)
        offsets.append(table[known][1] if inside else offsets[-1])
        known += inside
    at = f"CAST(greatest(1, least({pieces}, ({since} - {first * 10**6}) DIV {gap * 10**6} + 1)) AS INT)"
    arrays = [f"array({', '.join(map(str, numbers))})" for numbers in (changes, offsets)]
    changed = f"({since} >= CAST(element_at({arrays[0]}, {at}) AS BIGINT) * 1000000)"
    return f"(CAST(element_at({arrays[1]}, {at} + CASE WHEN {changed} THEN 1 ELSE 0 END) AS BIGINT) * 1000000)"


def _halved(since: str, table: tuple[tuple[int, int], ...]) -> str:
    if len(table) == 1:
        return str(table[0][1] * 10**6)
    middle = len(table) // 2
    before, after = (_halved(since, part) for part in (table[:middle], table[middle:]))
    return f"(CASE WHEN {since} < {table[middle][0] * 10**6} THEN {before} ELSE {after} END)"
