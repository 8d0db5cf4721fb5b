"""Render expressions in the SQL of PostgreSQL, 16 and later.

Its casts fail on invalid input, and accept more than numbers and days ('today', '0x1F', '1_000'). So text is cast only
if one of our patterns has matched, and if the result is known to fit. A CASE is evaluated from the left, and a branch
is not evaluated if its condition does not hold. Expressions here always contain a column, so that none is evaluated
beforehand.

All text has the collation "C": equal texts are equal bytes, whatever the language of the table.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from dxprivacy.engines import expressions as ex
from dxprivacy.engines.contribution_bounding import DAMAGED
from dxprivacy.engines.entries import FRACTION, MOST_DIGITS
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.engines.sql.dialect import Dialect

_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400 * 10**6  # microseconds
_SHIFT = 10**6  # days; added so that no dividend is negative
_WHOLES = ("int2", "int4", "int8")
_REALS = ("float4", "float8")
_CHEAP = (ColumnKind.WHOLE, ColumnKind.DATE, ColumnKind.TRUTH)
_HALF = 1 << 64


class PostgresDialect(Dialect):
    """The SQL of PostgreSQL.

    >>> PostgresDialect().sql(ex.ToWhole(ex.Input("float8")), "r0")
    '(CASE WHEN r0 >= -9223372036854775808 AND r0 < 9223372036854775808 THEN CAST(r0 AS bigint) END)'
    """

    def fence(self, reads: Sequence[Read]) -> str:
        """Return the fence without which a column is computed again wherever it is used; cheap columns need none."""
        return "" if all(read.column.kind in _CHEAP for read in reads) else " OFFSET 0"

    def is_late(self, read: Read) -> bool:
        """Return whether to map groups instead of rows: work per row takes a good part of the time of grouping."""
        return read.merges_nothing or read.is_grouped_raw

    def quoted(self, text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def divided(self, number: str, by: int) -> str:
        return f"(({number}) / {by})"

    def shown(self, column: Column, name: str) -> str:  # noqa: ARG002 - all have a text
        return name

    def as_shown(self, text: str) -> str:
        return _as_text(text)

    def listed_key(self, read: Read, text: str = "text") -> str:
        if read.column.kind is not ColumnKind.FLOAT:
            return text
        # Behind two conditions, because a listed text must not stop a query either.
        sound = f"{self.matches(text, FRACTION)} AND pg_input_is_valid({text}, '{read.column.native}')"
        own = _as_text(f"CAST({text} AS {read.column.native})")
        return f"CASE WHEN {sound} THEN {own} ELSE {text} END"

    def key(self, text: str) -> str:
        return f"'{text}'"

    def is_number(self, kind: ColumnKind | None, name: str) -> str:
        return f"{name} <> 'NaN'" if kind in (ColumnKind.FLOAT, ColumnKind.DECIMAL) else super().is_number(kind, name)

    def length(self, key: str) -> str:
        return f"octet_length({key})"

    def is_damaged(self, key: str) -> str:
        return f"position('\\x{DAMAGED.encode().hex()}'::bytea IN convert_to({key}, 'UTF8')) > 0"

    def measured(self, part: str) -> str:
        return f"(octet_length({part}) || ':' || {part})"

    def digest(self, person: str) -> str:
        return f"encode(sha256(convert_to({person}, 'UTF8')), 'hex')"

    def md5(self, text: str) -> str:
        return f'md5({text}) COLLATE "C"'

    def numbered(self, theirs: str, cells: Sequence[str]) -> str:
        here = ", ".join(cells)
        return f"SELECT person, digest, {here}, nth FROM {theirs} CROSS JOIN generate_series(1, n) AS times(nth)"

    def wide(self, number: int) -> str:
        return f"CAST({number} AS numeric)"

    def own(self, value: ex.Value, name: str) -> str:
        match value:
            case ex.Nothing(of):
                return f"CAST(NULL AS {'date' if of == 'day' else 'bigint'})"
            case ex.Real(real):
                return f"CAST('{real!r}' AS float8)"  # read back as the same number
            case ex.Day(day):
                return f"DATE '{day.isoformat()}'"
            case ex.AsText(inner) | ex.AsBytes(inner):
                return _as_text(self.inner(inner, name))
            case ex.OwnText():
                return _as_text(name)
            case ex.Stripped(text, marks):
                return f"btrim({self.inner(text, name)}, {self.quoted(marks)})"
            case ex.FirstGroup(text, pattern):
                return f"substring({self.inner(text, name)} FROM {self._whole(pattern)})"
            case ex.ToWhole(inner, wide):
                return self._to_whole(inner, name, wide=wide)
            case ex.ToReal(ex.AsText(ex.Sound())):  # the server's own cast is the same if not extreme
                usual = f"abs({name}) BETWEEN 1e-300 AND 1e300 OR {name} = 0"
                other = self._real_of_text(_as_text(f"(CASE WHEN {self.is_finite(name)} THEN {name} END)"))
                return f"(CASE WHEN {usual} THEN CAST({name} AS float8) ELSE {other} END)"
            case ex.ToReal(inner):
                number = self.inner(inner, name)
                return self._real_of_text(number) if _is_text(inner) else f"CAST({number} AS float8)"
            case ex.Sound():  # NaN is greater than all others
                return f"(CASE WHEN {name} > '-Infinity' AND {name} < 'Infinity' THEN {name} END)"
            case ex.Floor(inner):
                return f"floor({self.inner(inner, name)})"
            case _:
                return self._in_time(value, name)

    def _in_time(self, value: ex.Value, name: str) -> str:
        match value:
            case ex.WrittenDay(text, pattern, year, month, day):
                groups = f"regexp_match({self.inner(text, name)}, {self._whole(pattern)})"
                parts = ", ".join(f"({groups})[{group}]" for group in (year, month, day))
                written = f"concat_ws('-', {parts})"  # in the DateStyle that is set before every query
                return f"(CASE WHEN pg_input_is_valid({written}, 'date') THEN CAST({written} AS date) END)"
            case ex.WrittenTime(text, pattern, hour, minute, second):
                groups = f"regexp_match({self.inner(text, name)}, {self._whole(pattern)})"
                timed = [f"CAST(({groups})[{hour}] AS bigint) * 3600"]
                for group, size in ((minute, 60), (second, 1)):
                    timed += [f"coalesce(CAST(({groups})[{group}] AS bigint), 0) * {size}"] if group else []
                return f"({' + '.join(timed)})"
            case ex.Microseconds(moment):
                clock = f"CAST({name} AS time)" if moment.native == "timetz" else name
                return f"CAST(extract(epoch FROM {clock}) * 1000000 AS bigint)"
            case ex.OffsetAt(_, table):
                return _offset(name, table)
            case ex.DayOf(ex.Microseconds(moment)) if moment.native == "timestamp":
                return f"CAST({name} AS date)"
            case ex.DayOf(microseconds):
                days = f"(({self.inner(microseconds, name)}) + {_SHIFT * _DAY}) / {_DAY} - {_SHIFT}"
                return f"(DATE '1970-01-01' + CAST({days} AS integer))"
            case ex.SecondOfDay(microseconds):
                return f"((({self.inner(microseconds, name)}) + {_SHIFT * _DAY}) % {_DAY} / 1000000)"
            case ex.MonthOf(inner):
                at = self.inner(inner, name)
                return f"CAST(extract(year FROM {at}) * 12 + extract(month FROM {at}) - 1 AS bigint)"
            case _:
                raise AssertionError(value)

    def arithmetic(self, value: ex.Arithmetic, name: str) -> str:
        """Render arithmetic; replace a tiny dividend by ± 1e-290, because a quotient that underflows stops the server.

        The floor of the quotient stays the same, and quotients that may be tiny are used only through their floor.
        """
        if value.sign == "/" and isinstance(value.right, ex.Real) and value.right.number > 1:
            left = f"({self.sql(value.left, name)})"
            safe = f"(CASE WHEN abs{left} < 1e-290 THEN sign{left} * 1e-290 ELSE {left} END)"
            return f"{safe} / {self.sql(value.right, name)}"
        return super().arithmetic(value, name)

    def is_finite(self, number: str) -> str:
        return f"{number} > '-Infinity' AND {number} < 'Infinity'"  # NaN is greater than all others

    def is_unicode(self, text: str) -> str:
        return f"{text} IS NOT NULL"  # the server stores only valid text

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} ~ {self._whole(pattern)}"

    def in_days(self, condition: ex.InDays, name: str) -> str:
        zone = "+00" if condition.moment.native == "timestamptz" else ""
        kind = condition.moment.native
        start, end = (
            f"CAST('{day} 00:00:00{zone}' AS {kind})" for day in (condition.first, _day_after(condition.last))
        )
        return f"({name} >= {start} AND {name} < {end})"

    def _whole(self, pattern: str) -> str:
        return self.quoted(f"^(?:{pattern})$")

    def _to_whole(self, value: ex.Value, name: str, *, wide: bool) -> str:
        number = self.inner(value, name)
        if isinstance(value, ex.Input) and value.native in _WHOLES:
            return f"CAST({number} AS {'numeric' if wide else 'bigint'})"
        if _is_text(value):
            fits = _within(f"CAST({number} AS numeric)", wide=wide)
            return f"(CASE WHEN {fits} THEN CAST({number} AS {'numeric' if wide else 'bigint'}) END)"
        if not _is_real(value):  # a decimal
            fits = _within(number, wide=wide)
            return f"(CASE WHEN {fits} THEN CAST(trunc({number}) AS {'numeric' if wide else 'bigint'}) END)"
        whole = f"CASE WHEN {_within(number, wide=False, real=True)} THEN CAST({number} AS bigint) END"
        if not wide:
            return f"({whole})"
        # A cast to numeric would keep 15 digits.  So it is done in two parts of 64 bits, both exact, the lower one
        # even.
        upper = f"trunc(CAST({number} AS float8) / {_HALF})"
        lower = f"(CAST({number} AS float8) - {upper} * {_HALF}) / 2"
        parts = f"CAST(CAST({upper} AS bigint) AS numeric) * {_HALF} + CAST(CAST({lower} AS bigint) AS numeric) * 2"
        small = f"WHEN {_within(number, wide=False, real=True)} THEN CAST(CAST({number} AS bigint) AS numeric)"
        return f"(CASE {small} WHEN {_within(number, wide=True, real=True)} THEN {parts} END)"

    def _real_of_text(self, text: str) -> str:
        """Convert a text that is a number to float64 (the server's cast fails on overflow and underflow).

        Overflow gives NULL, underflow gives 0. A number underflows if its first digit that is not 0 is behind the
        decimal point, with the exponent applied.
        """
        valid = f"pg_input_is_valid({text}, 'float8')"
        whole = f"length(ltrim(substring({text} FROM '^[+-]?([0-9]*)'), '0'))"
        zeros = f"length(coalesce(substring({text} FROM '^[+-]?0*[.](0*)'), ''))"
        exponent = f"coalesce(CAST(substring({text} FROM '[eE]([+-]?[0-9]+)$') AS integer), 0)"
        place = f"(CASE WHEN {whole} > 0 THEN {whole} ELSE -{zeros} END) + {exponent}"
        return f"(CASE WHEN {valid} THEN CAST({text} AS float8) WHEN {text} IS NOT NULL AND {place} <= 0 THEN 0 END)"


POSTGRES = PostgresDialect()


def _as_text(value: str) -> str:
    return f'CAST({value} AS text) COLLATE "C"'


def _is_real(value: ex.Value) -> bool:
    match value:
        case ex.Input(native):
            return native in _REALS
        case ex.Floor() | ex.Real() | ex.ToReal():
            return True
        case _:
            return False


def _is_text(value: ex.Value) -> bool:
    match value:
        case ex.Input(native):
            return native == "text"
        case ex.When(_, inner):
            return _is_text(inner)
        case ex.AsText() | ex.FirstGroup() | ex.Stripped() | ex.Replaced() | ex.Folded() | ex.OwnText():
            return True
        case _:
            return False


def _within(number: str, *, wide: bool, real: bool = False) -> str:
    """Return whether a number fits into 64 bits or, with `wide`, has at most as many digits as every engine reads."""
    if not wide:
        return f"{number} >= -{1 << 63} AND {number} < {1 << 63}"
    # The float64 nearest to 10^38 is below it: it is the largest with 38 digits.
    edge = f"CAST(1e{MOST_DIGITS} AS float8)" if real else f"{10**MOST_DIGITS - 1}"
    return f"{number} BETWEEN -{edge} AND {edge}"


def _day_after(day: date) -> str:
    """Return the day after, also for the last day that Python knows."""
    return "10000-01-01" if day == date.max else (day + timedelta(days=1)).isoformat()


def _offset(name: str, table: tuple[tuple[int, int], ...]) -> str:
    """Return the offset in microseconds by binary search in the table; times are compared without arithmetic."""
    if len(table) == 1:
        return str(table[0][1] * 10**6)
    middle = len(table) // 2
    before, after = (_offset(name, part) for part in (table[:middle], table[middle:]))
    start = _EPOCH + timedelta(seconds=table[middle][0])
    return f"(CASE WHEN {name} < CAST('{start}+00' AS timestamptz) THEN {before} ELSE {after} END)"
