"""Expressions in the SQL of DuckDB.

Every cast that can fail stands behind a CASE or is a TRY_CAST: one row must never stop a query.  A TRY_CAST alone is
not enough where the engine believes that a cast cannot fail (decimals whose bits hold more digits than their type).
"""

import re
from datetime import date
from typing import assert_never

from dxprivacy.engines import expressions as ex

_EPOCH = date(1970, 1, 1)
_DAY = 86_400 * 10**6  # microseconds


def quoted(text: str) -> str:
    """A text literal."""
    return "'" + text.replace("'", "''") + "'"


def sql(value: ex.Value, name: str) -> str:
    """A value; its input is the column of that name.

    >>> sql(ex.When(ex.Between(ex.Input(), ex.Whole(0), ex.Whole(9)), ex.Input()), "v0")
    'CASE WHEN v0 BETWEEN 0 AND 9 THEN v0 END'
    """
    match value:
        case ex.Input():
            return name
        case ex.Nothing(of):
            return f"CAST(NULL AS {'DATE' if of == 'day' else 'BIGINT'})"
        case ex.Whole(number, wide):
            return f"{number}::HUGEINT" if wide else f"{number}" if number >= 0 else f"({number})"
        case ex.Real(number):
            return f"CAST('{number!r}' AS DOUBLE)"  # read back as the same number
        case ex.Day(day):
            return f"DATE '{day.isoformat()}'"
        case ex.AsText(inner):
            return f"CAST({_inner(inner, name)} AS VARCHAR)"
        case ex.AsBytes(inner):
            # Not as text: a join looks at its least and greatest key, and stops at text that is not UTF-8.
            return f"encode(CAST({_inner(inner, name)} AS VARCHAR))"
        case ex.OwnText():
            return f"CAST({name} AS VARCHAR)"
        case ex.Stripped(text, marks):
            return f"trim({_inner(text, name)}, {' || '.join(f'chr({ord(mark)})' for mark in marks)})"
        case ex.Folded(text, old, new):
            return f"translate({_inner(text, name)}, {quoted(old)}, {quoted(new)})"
        case ex.Replaced(text, old, new):
            return f"replace({_inner(text, name)}, {quoted(old)}, {quoted(new)})"
        case ex.FirstGroup(text, pattern):
            return f"regexp_extract({_inner(text, name)}, {quoted(f'^(?:{pattern})$')}, 1)"
        case ex.ToWhole(inner, wide):
            return f"TRY_CAST({_inner(inner, name)} AS {'HUGEINT' if wide else 'BIGINT'})"
        case ex.ToReal(inner):
            return f"TRY_CAST({_inner(inner, name)} AS DOUBLE)"
        case ex.Sound(entry):
            return _sound(name, entry.native)
        case ex.WrittenDay():
            return _written_day(value, name)
        case ex.WrittenTime():
            return _written_time(value, name)
        case ex.Microseconds(moment):
            return _microseconds(name, moment.native)
        case ex.OffsetAt(instant, table):
            if instant.native.endswith("_NS"):
                # Before a whole microsecond is before its first nanosecond: no need to divide, once for every change.
                return _offset(f"epoch_ns({name})", 10**9, _within_nanoseconds(table))
            return _offset(_microseconds(name, instant.native), 10**6, table)
        case ex.DayOf(microseconds):
            return f"CAST(make_timestamp({_inner(microseconds, name)}) AS DATE)"
        case ex.SecondOfDay(microseconds):
            return f"((({_inner(microseconds, name)}) % {_DAY} + {_DAY}) % {_DAY} // 1000000)"
        case ex.TimeAt(day, seconds):
            return f"make_timestamp({(day - _EPOCH).days * _DAY} + ({_inner(seconds, name)}) * 1000000)"
        case ex.MonthOf(day):
            return f"(year({_inner(day, name)}) * 12 + month({_inner(day, name)}) - 1)"
        case ex.FirstOfMonth(month):
            return f"make_date(({_inner(month, name)}) // 12, ({_inner(month, name)}) % 12 + 1, 1)"
        case ex.Arithmetic():
            return _arithmetic(value, name)
        case ex.Floor(number):
            return f"floor({_inner(number, name)})"
        case ex.Quotient(number, by):
            return f"({_inner(number, name)} // {by})"
        case ex.Remainder(number, by):
            return f"(({_inner(number, name)}) % {by})"
        case ex.Clamped(number, low, high):
            return f"greatest({sql(low, name)}, least({sql(high, name)}, {_inner(number, name)}))"
        case ex.OneIf(condition):
            return f"CAST({_condition(condition, name)} AS BIGINT)"
        case ex.Unless(number, excluded):
            return f"nullif({_inner(number, name)}, {excluded})"
        case ex.Otherwise(first, second):
            return f"coalesce({_inner(first, name)}, {_inner(second, name)})"
        case ex.When(condition, inner):
            return f"CASE WHEN {_condition(condition, name)} THEN {sql(inner, name)} END"
        case _:
            assert_never(value)


def _inner(value: ex.Value, name: str) -> str:
    """An operand."""
    return f"({sql(value, name)})" if isinstance(value, ex.When) else sql(value, name)


def _condition(condition: ex.Condition, name: str) -> str:
    match condition:
        case ex.NoLonger(text, most):
            return f"strlen({_inner(text, name)}) <= {most}"  # its bytes, which are counted already
        case ex.Matches(text, pattern):
            return f"regexp_full_match({_inner(text, name)}, {quoted(pattern)})"
        case ex.IsFinite(number):
            return f"isfinite({_inner(number, name)})"
        case ex.IsWhole(number):
            return f"{_inner(number, name)} = trunc({_inner(number, name)})"
        case ex.Compared(left, sign, right):
            return f"{_inner(left, name)} {sign} {_inner(right, name)}"
        case ex.Between(value, low, high):
            return f"{_inner(value, name)} BETWEEN {sql(low, name)} AND {sql(high, name)}"
        case ex.InDays(moment, first, last):
            return _in_days(name, moment.native, first, last)
        case ex.Both(first, second):
            return f"{_condition(first, name)} AND {_condition(second, name)}"
        case _:
            assert_never(condition)


def _arithmetic(value: ex.Arithmetic, name: str) -> str:
    left, right = (
        f"({sql(part, name)})" if isinstance(part, (ex.Arithmetic, ex.When)) else sql(part, name)
        for part in (value.left, value.right)
    )
    if isinstance(value.left, ex.Day):  # days are added as 32 bits
        right = f"CAST({right} AS INTEGER)"
    return f"{left} {value.sign} {right}"


def _sound(name: str, native: str) -> str:
    """NULL before the cast, not a cast under a condition: of a column that lists its different entries once, as Parquet
    does, the engine casts all of them.
    """
    digits, scale = map(int, re.findall("[0-9]+", native))
    most = "9" * (digits - scale) + "." + "9" * scale
    low, high = f"CAST('-{most}' AS {native})", f"CAST('{most}' AS {native})"
    return f"(CASE WHEN {name} BETWEEN {low} AND {high} THEN {name} END)"


def _written_day(value: ex.WrittenDay, name: str) -> str:
    names = {value.year: "y", value.month: "m", value.day: "d"}
    wanted = ", ".join(f"'{names[group]}'" for group in (1, 2, 3))
    found = f"regexp_extract({_inner(value.text, name)}, {quoted(f'^(?:{value.pattern})$')}, [{wanted}])"
    return f"TRY_CAST(concat_ws('-', {found}.y, {found}.m, {found}.d) AS DATE)"


def _written_time(value: ex.WrittenTime, name: str) -> str:
    """A group that matches nothing is an empty text, and so is every one where the text does not match."""
    groups = ", ".join(f"'g{k}'" for k in range(1, max(value.hour, value.minute, value.second) + 1))
    found = f"regexp_extract({_inner(value.text, name)}, {quoted(f'^(?:{value.pattern})$')}, [{groups}])"
    parts = [f"TRY_CAST({found}.g{value.hour} AS BIGINT) * 3600"]
    for group, size in ((value.minute, 60), (value.second, 1)):
        parts += [f"coalesce(TRY_CAST({found}.g{group} AS BIGINT), 0) * {size}"] if group else []
    return f"({' + '.join(parts)})"


def _in_days(name: str, native: str, first: date, last: date) -> str:
    """Nanoseconds are compared as whole microseconds: they hold no day before 1677 or after 2262, policies may."""
    start, end = (first - _EPOCH).days * _DAY, ((last - _EPOCH).days + 1) * _DAY
    if native.endswith("_NS"):
        return f"({_microseconds(name, native)} >= {start} AND {_microseconds(name, native)} < {end})"
    return f"({name} >= {_moment(start, native)} AND {name} < {_moment(end, native)})"


def _moment(microseconds: int, native: str) -> str:
    return f"CAST(make_timestamp{'tz' if 'ZONE' in native else ''}({microseconds}) AS {native})"


def _microseconds(name: str, native: str) -> str:
    """Of nanoseconds always, else only for times that are known to be near."""
    if native.endswith("_NS"):
        return f"(epoch_ns({name}) // 1000 - CAST(epoch_ns({name}) % 1000 < 0 AS BIGINT))"
    is_time = native.startswith("TIME") and not native.startswith("TIMESTAMP")
    return f"epoch_us({name})" if is_time or "ZONE" in native else f"epoch_us(CAST({name} AS TIMESTAMP))"


def _offset(since: str, in_a_second: int, table: tuple[tuple[int, int], ...]) -> str:
    """In microseconds, found by halving the table; for times that are known to be near."""
    if len(table) == 1:
        return str(table[0][1] * 10**6)
    middle = len(table) // 2
    before, after = (_offset(since, in_a_second, part) for part in (table[:middle], table[middle:]))
    return f"(CASE WHEN {since} < {table[middle][0] * in_a_second} THEN {before} ELSE {after} END)"


def _within_nanoseconds(table: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Without the changes before and after all times that 64 bits of nanoseconds can tell."""
    most = 2**63 // 10**9
    early = sum(start < -most for start, _ in table)
    return tuple(pair for pair in table[max(early - 1, 0) :] if pair[0] <= most) or table[:1]


def shown_moment(name: str, native: str) -> str:
    """A point in time as a curator wants to see it; for eyes, not for counting."""
    near = _in_days(name, native, date(1, 1, 3), date(9999, 12, 29))  # further away, some types have no text
    return (
        f"CASE WHEN {near} THEN CAST({name} AS VARCHAR) WHEN {name} IS NOT NULL THEN 'beyond the years 1 to 9999' END"
    )
