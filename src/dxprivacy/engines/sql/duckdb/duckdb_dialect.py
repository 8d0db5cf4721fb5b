"""Render expressions in the SQL of DuckDB.

Every cast that can fail is behind a CASE or is a TRY_CAST: one row must never stop a query. A TRY_CAST alone is not
enough if DuckDB assumes that a cast cannot fail (decimals whose bits hold more digits than their type).
"""

import re
from collections.abc import Sequence
from datetime import date

from dxprivacy.engines import expressions as ex
from dxprivacy.engines.contribution_bounding import DAMAGED
from dxprivacy.engines.entries import FRACTION, MOST_DIGITS
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.engines.sql.dialect import Dialect

_EPOCH = date(1970, 1, 1)
_DAY = 86_400 * 10**6  # microseconds
_PIECE = 100_000  # equal rows of one person that are numbered at a time
# For types with more digits than every engine reads: the smallest and the largest number of `MOST_DIGITS` digits. Each
# is in its own type; otherwise DuckDB would compare whole numbers as rounded floats.
_REAL, _WHOLE = f"1e{MOST_DIGITS}", f"{10**MOST_DIGITS - 1}"
_ENDS = {"FLOAT": (f"-{_REAL}", _REAL), "DOUBLE": (f"-{_REAL}", _REAL)}
_ENDS |= {"HUGEINT": (f"-{_WHOLE}", _WHOLE), "UHUGEINT": ("0", _WHOLE)}
_UNICODE = r"[\x00-" + "\ud7ff\ue000-\U0010ffff]*"  # every character, but no surrogates


class DuckDialect(Dialect):
    """The SQL of DuckDB.

    >>> DuckDialect().sql(ex.When(ex.Between(ex.Input(), ex.WholeLiteral(0), ex.WholeLiteral(9)), ex.Input()), "v0")
    'CASE WHEN v0 BETWEEN 0 AND 9 THEN v0 END'
    """

    stored = "AS MATERIALIZED"

    def is_late(self, read: Read) -> bool:
        return read.is_grouped_raw

    def quoted(self, text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def divided(self, number: str, by: int) -> str:
        return f"({number} // {by})"

    def shown(self, column: Column, name: str) -> str:
        if column.kind not in (ColumnKind.CLOCK, ColumnKind.INSTANT):
            return name
        near = _in_days(name, column.native, date(1, 1, 3), date(9999, 12, 29))  # outside, some have no text
        beyond = f"WHEN {name} IS NOT NULL THEN 'beyond the years 1 to 9999'"
        return f"CASE WHEN {near} THEN CAST({name} AS VARCHAR) {beyond} END"

    def as_shown(self, text: str) -> str:
        return f"encode(CAST({text} AS VARCHAR))"

    def listed_key(self, read: Read, text: str = "text") -> str:
        if read.column.kind is not ColumnKind.FLOAT:
            return f"encode({text})"
        fraction = self.matches(text, FRACTION)
        own = f"CAST(TRY_CAST({text} AS {read.column.native}) AS VARCHAR)"
        return f"encode(CASE WHEN {fraction} THEN {own} ELSE {text} END)"

    def key(self, text: str) -> str:
        return f"'{text}'::BLOB"

    def length(self, key: str) -> str:
        return f"octet_length({key})"

    def is_damaged(self, key: str) -> str:
        return f"coalesce(contains(TRY(decode({key})), chr({ord(DAMAGED)})), true)"

    def measured(self, part: str) -> str:
        return f"encode(concat(octet_length({part}), ':')) || ({part})"

    def digest(self, person: str) -> str:
        return f"sha256({person})"

    def md5(self, text: str) -> str:
        return f"md5({text})"

    def numbered(self, theirs: str, cells: Sequence[str]) -> str:
        here = ", ".join(cells)
        piece = f"unnest(range(first, least(first + {_PIECE}, n + 1)))"
        pieces = f"SELECT *, unnest(range(2, n + 1, {_PIECE})) AS first FROM {theirs} WHERE n > 1"
        return f"""SELECT person, digest, {here}, 1 AS nth FROM {theirs}
            UNION ALL SELECT person, digest, {here}, {piece} FROM ({pieces})"""

    def chosen(self, told: str, cells: Sequence[str], max_rows: int) -> str:
        """Keep each person's rows with the smallest digests by arg_min, which does not sort all rows."""
        one = len(cells) == 1
        cell = cells[0] if one else f"struct_pack({', '.join(f'{c} := {c}' for c in cells)})"
        out = ", ".join(f"cell AS {c}" if one else f"cell.{c} AS {c}" for c in cells)
        least = f"unnest(arg_min({cell}, {self.md5(told)}, {max_rows})) AS cell"
        return f"SELECT person, {out}, 1 AS n FROM (SELECT person, {least} FROM numbered GROUP BY person)"

    def wide(self, number: int) -> str:
        return f"{number}::HUGEINT"

    def own(self, value: ex.Value, name: str) -> str:
        match value:
            case ex.Nothing(of):
                return f"CAST(NULL AS {'DATE' if of == 'day' else 'BIGINT'})"
            case ex.Real(number):
                return f"CAST('{number!r}' AS DOUBLE)"  # read back as the same number
            case ex.Day(day):
                return f"DATE '{day.isoformat()}'"
            case ex.AsText(inner):
                return f"CAST({self.inner(inner, name)} AS VARCHAR)"
            case ex.AsBytes(inner):
                # Not as text: a join inspects its smallest and largest key, and fails on text that is not UTF-8.
                return f"encode(CAST({self.inner(inner, name)} AS VARCHAR))"
            case ex.OwnText():
                return f"CAST({name} AS VARCHAR)"
            case ex.Stripped(text, marks):
                return f"trim({self.inner(text, name)}, {' || '.join(f'chr({ord(mark)})' for mark in marks)})"
            case ex.FirstGroup(text, pattern):
                return f"regexp_extract({self.inner(text, name)}, {self._whole(pattern)}, 1)"
            case ex.ToWhole(ex.Input(native), wide=True) if native in _ENDS:
                low, high = (f"CAST('{end}' AS {native})" for end in _ENDS[native])
                return f"TRY_CAST((CASE WHEN {name} BETWEEN {low} AND {high} THEN {name} END) AS HUGEINT)"
            case ex.ToWhole(inner, wide):
                return f"TRY_CAST({self.inner(inner, name)} AS {'HUGEINT' if wide else 'BIGINT'})"
            case ex.ToReal(inner):
                return f"TRY_CAST({self.inner(inner, name)} AS DOUBLE)"
            case ex.Sound(entry):
                return _sound(name, entry.native)
            case ex.Floor(number):
                return f"floor({self.inner(number, name)})"
            case _:
                return self._in_time(value, name)

    def _in_time(self, value: ex.Value, name: str) -> str:
        match value:
            case ex.WrittenDay():
                return self._written_day(value, name)
            case ex.WrittenTime():
                return self._written_time(value, name)
            case ex.Microseconds(moment):
                return _microseconds(name, moment.native)
            case ex.OffsetAt(instant, table):
                if instant.native.endswith("_NS"):
                    # A time is before a whole microsecond if it is before the first nanosecond of it: no division is
                    # needed, once for each change of the offset.
                    return _offset(f"epoch_ns({name})", 10**9, _within_nanoseconds(table))
                return _offset(_microseconds(name, instant.native), 10**6, table)
            case ex.DayOf(microseconds):
                return f"CAST(make_timestamp({self.inner(microseconds, name)}) AS DATE)"
            case ex.SecondOfDay(microseconds):
                return f"((({self.inner(microseconds, name)}) % {_DAY} + {_DAY}) % {_DAY} // 1000000)"
            case ex.TimeAt(day, seconds):
                return f"make_timestamp({(day - _EPOCH).days * _DAY} + ({self.inner(seconds, name)}) * 1000000)"
            case ex.MonthOf(day):
                return f"(year({self.inner(day, name)}) * 12 + month({self.inner(day, name)}) - 1)"
            case ex.FirstOfMonth(month):
                return f"make_date(({self.inner(month, name)}) // 12, ({self.inner(month, name)}) % 12 + 1, 1)"
            case _:
                raise AssertionError(value)

    def one_if(self, condition: str) -> str:
        return f"CAST({condition} AS BIGINT)"

    def text_length(self, text: str) -> str:
        return f"strlen({text})"  # the stored number of bytes

    def is_finite(self, number: str) -> str:
        return f"isfinite({number})"

    def is_unicode(self, text: str) -> str:
        return self.matches(text, _UNICODE)

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_full_match({text}, {self.quoted(pattern)})"

    def in_days(self, condition: ex.InDays, name: str) -> str:
        return _in_days(name, condition.moment.native, condition.first, condition.last)

    def _whole(self, pattern: str) -> str:
        return self.quoted(f"^(?:{pattern})$")

    def _written_day(self, value: ex.WrittenDay, name: str) -> str:
        names = {value.year: "y", value.month: "m", value.day: "d"}
        wanted = ", ".join(f"'{names[group]}'" for group in (1, 2, 3))
        found = f"regexp_extract({self.inner(value.text, name)}, {self._whole(value.pattern)}, [{wanted}])"
        return f"TRY_CAST(concat_ws('-', {found}.y, {found}.m, {found}.d) AS DATE)"

    def _written_time(self, value: ex.WrittenTime, name: str) -> str:
        """Render a time of day; a group without a match is an empty text, as are all if the text does not match."""
        groups = ", ".join(f"'g{k}'" for k in range(1, max(value.hour, value.minute, value.second) + 1))
        found = f"regexp_extract({self.inner(value.text, name)}, {self._whole(value.pattern)}, [{groups}])"
        parts = [f"TRY_CAST({found}.g{value.hour} AS BIGINT) * 3600"]
        for group, size in ((value.minute, 60), (value.second, 1)):
            parts += [f"coalesce(TRY_CAST({found}.g{group} AS BIGINT), 0) * {size}"] if group else []
        return f"({' + '.join(parts)})"


DUCKDB = DuckDialect()


def _sound(name: str, native: str) -> str:
    """Return NULL for decimals with too many digits, before any cast.

    A cast under a condition is not enough: if a column stores its distinct entries once, as Parquet does, DuckDB casts
    all of them.
    """
    digits, scale = map(int, re.findall("[0-9]+", native))
    most = "9" * (digits - scale) + "." + "9" * scale
    low, high = f"CAST('-{most}' AS {native})", f"CAST('{most}' AS {native})"
    return f"(CASE WHEN {name} BETWEEN {low} AND {high} THEN {name} END)"


def _in_days(name: str, native: str, first: date, last: date) -> str:
    """Compare nanoseconds as whole microseconds: they hold no day before 1677 or after 2262, but policies may."""
    start, end = (first - _EPOCH).days * _DAY, ((last - _EPOCH).days + 1) * _DAY
    if native.endswith("_NS"):
        return f"({_microseconds(name, native)} >= {start} AND {_microseconds(name, native)} < {end})"
    return f"({name} >= {_moment(start, native)} AND {name} < {_moment(end, native)})"


def _moment(microseconds: int, native: str) -> str:
    return f"CAST(make_timestamp{'tz' if 'ZONE' in native else ''}({microseconds}) AS {native})"


def _microseconds(name: str, native: str) -> str:
    """Return the microseconds of a time; except for nanoseconds, only for times that are known to be in range."""
    if native.endswith("_NS"):
        return f"(epoch_ns({name}) // 1000 - CAST(epoch_ns({name}) % 1000 < 0 AS BIGINT))"
    is_time = native.startswith("TIME") and not native.startswith("TIMESTAMP")
    return f"epoch_us({name})" if is_time or "ZONE" in native else f"epoch_us(CAST({name} AS TIMESTAMP))"


def _offset(since: str, in_a_second: int, table: tuple[tuple[int, int], ...]) -> str:
    """Return the offset in microseconds by binary search in the table; for times that are known to be in range."""
    if len(table) == 1:
        return str(table[0][1] * 10**6)
    middle = len(table) // 2
    before, after = (_offset(since, in_a_second, part) for part in (table[:middle], table[middle:]))
    return f"(CASE WHEN {since} < {table[middle][0] * in_a_second} THEN {before} ELSE {after} END)"


def _within_nanoseconds(table: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Drop the changes before and after all times that 64 bits of nanoseconds can represent."""
    most = 2**63 // 10**9
    early = sum(start < -most for start, _ in table)
    return tuple(pair for pair in table[max(early - 1, 0) :] if pair[0] <= most) or table[:1]
