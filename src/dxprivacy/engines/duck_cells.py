"""The SQL of placing: from a raw column to the index of its entry, by the rules of `entries`.

Three steps for each column, so that nothing is computed twice: what stands there is *parsed*, kept if it lies *inside*
the attribute's range, and *placed* in plain arithmetic; NULL is what has no place.  Values and points have no
arithmetic: their texts are joined to the listed ones.

Every cast that can fail stands behind a CASE or is a TRY_CAST: one row must never stop a query.  A TRY_CAST alone is
not enough where the engine believes that a cast cannot fail (decimals whose bits hold more digits than their type).
Text is looked at only up to a length that the policy gives: what is longer has no place.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from dxprivacy.attributes.codecs import Codec, Days, ListedTexts, NumbersInCells, WholeNumbers
from dxprivacy.attributes.text_formats import DateFormat, NumberFormat
from dxprivacy.engines.entries import LONGEST_TEXT, WHOLE_NUMBER, longest
from dxprivacy.engines.source import Column, Kind
from dxprivacy.engines.zones import offsets

TEXTS = (Kind.TEXT, Kind.UNTYPED)
_EPOCH = date(1970, 1, 1)
_DAY = 86_400 * 10**6  # microseconds
_NULL = "CAST(NULL AS BIGINT)"


@dataclass(frozen=True)
class Read:
    """One column that an attribute reads: what must stand in it, what it is, and its name in the SQL."""

    codec: Codec
    column: Column
    raw: str

    @property
    def is_joined(self) -> bool:
        """Whether the entry's text is joined to the listed ones; otherwise its place is computed."""
        return isinstance(self.codec, ListedTexts) and self.column.kind is not Kind.OBJECT

    @property
    def is_grouped_raw(self) -> bool:
        """Whether rows are grouped by what is written, and placed afterwards: of text that is read by a pattern.

        A pattern takes fifty times as long as a group; all else is placed first, so that the time tells less.
        """
        return self.column.kind in TEXTS and not self.is_joined


def quoted(text: str) -> str:
    """A text literal."""
    return "'" + text.replace("'", "''") + "'"


def parsed(read: Read) -> str:
    """First step: the number, the day or the text in the raw column, or NULL."""
    codec, kind, raw = read.codec, read.column.kind, read.raw
    if kind is Kind.OBJECT:  # placed already, entry by entry
        return f"nullif({raw}, {codec.listed})"
    if isinstance(codec, WholeNumbers):
        return _whole(read, "HUGEINT" if codec.clamp else "BIGINT", codec.format)
    if isinstance(codec, NumbersInCells):
        return _number(read, codec)
    if isinstance(codec, Days):
        return _day(read, codec)
    text = text_of(read)
    most = longest(codec.texts)
    return f"CASE WHEN strlen({raw}) <= {most} THEN {text} END" if kind in TEXTS else text


def text_of(read: Read) -> str:
    """The bytes of the text that is compared with listed ones; not as text, for a join looks at its least and greatest
    key, and stops at text that is not UTF-8.
    """
    text = read.raw if read.column.kind in (*TEXTS, Kind.TRUTH) else _whole(read, "HUGEINT")
    return f"encode(CAST({text} AS VARCHAR))"


def inside(read: Read, name: str) -> str:
    """Second step: what was parsed, if it lies in the attribute's range, or NULL; clamped where the policy says so."""
    codec = read.codec
    if read.column.kind is Kind.OBJECT:
        return name
    if isinstance(codec, Days):
        first, last = f"DATE '{codec.first.isoformat()}'", f"DATE '{codec.last.isoformat()}'"
        return f"CASE WHEN {name} BETWEEN {first} AND {last} THEN {name} - {first} END"
    if isinstance(codec, WholeNumbers) and codec.clamp:
        most = f"{10**24 - 1}::HUGEINT"  # as many digits as a whole number may have
        nearest = f"greatest({codec.low}, least({codec.high}, {name}))"
        return f"CASE WHEN {name} BETWEEN -{most} AND {most} THEN CAST({nearest} - ({codec.low}) AS BIGINT) END"
    if isinstance(codec, WholeNumbers):
        return f"CASE WHEN {name} BETWEEN {codec.low} AND {codec.high} THEN {name} - ({codec.low}) END"
    if not isinstance(codec, NumbersInCells):
        return name
    low, high = _ends(codec)
    if codec.clamp:
        return f"CASE WHEN isfinite({name}) THEN greatest({low}, least({high}, {name})) END"
    # Asked first: the engine drops a comparison that holds by the file's statistics, and those leave NaN out.
    return f"CASE WHEN isfinite({name}) AND {name} BETWEEN {low} AND {high} THEN {name} END"


def place(read: Read, name: str) -> str:
    """Third step: the index of a value that lies in the range; NULL stays NULL."""
    codec = read.codec
    return _cell(codec, name) if isinstance(codec, NumbersInCells) and read.column.kind is not Kind.OBJECT else name


def _whole(read: Read, sql_type: str, written: str = "") -> str:
    """The whole number in a raw column, NULL where there is none; a cast alone would round 1.5 to 2."""
    raw, kind = read.raw, read.column.kind
    if kind in TEXTS:
        plain, guard = _plain(short(raw), NumberFormat.of(written)) if written else (short(raw), "")
        number = f"TRY_CAST(regexp_extract({plain}, '^{WHOLE_NUMBER}$', 1) AS {sql_type})"
        return f"CASE WHEN {guard} THEN {number} END" if guard else number
    if kind is Kind.WHOLE:
        return f"TRY_CAST({raw} AS {sql_type})"
    if kind is Kind.FLOAT:
        return f"CASE WHEN {raw} = trunc({raw}) THEN TRY_CAST({raw} AS {sql_type}) END"
    if kind is Kind.DECIMAL:
        sound = _sound(read)
        whole = rf"regexp_full_match(CAST({sound} AS VARCHAR), '[^.]*(\.0*)?')"
        return f"CASE WHEN {whole} THEN TRY_CAST({sound} AS {sql_type}) END"
    return _NULL


def _sound(read: Read) -> str:
    """A decimal that has no more digits than its type, or NULL: bits can hold more, which the engine cannot write.

    NULL before the cast, not a cast under a condition: of a column that lists its different entries once, as Parquet
    does, the engine casts all of them.
    """
    digits, scale = map(int, re.findall("[0-9]+", read.column.native))
    most = "9" * (digits - scale) + "." + "9" * scale
    low, high = f"CAST('-{most}' AS {read.column.native})", f"CAST('{most}' AS {read.column.native})"
    return f"(CASE WHEN {read.raw} BETWEEN {low} AND {high} THEN {read.raw} END)"


def short(raw: str) -> str:
    """A text that is short enough to be looked at, or NULL; by its bytes, which are counted already."""
    return f"(CASE WHEN strlen({raw}) <= {LONGEST_TEXT} THEN {raw} END)"


def _plain(raw: str, written: NumberFormat) -> tuple[str, str]:
    """A number written as text, with a point before its decimals; and the condition under which it is one."""
    plain = f"trim({raw}, ' ' || chr(9))"
    if written.thousands:
        plain = f"replace({plain}, {quoted(written.thousands)}, '')"
    if written.decimal != ".":
        plain = f"replace({plain}, {quoted(written.decimal)}, '.')"
    return plain, f"regexp_full_match({raw}, {quoted(written.pattern)})"


def _number(read: Read, codec: NumbersInCells) -> str:
    """The nearest float64 to a number."""
    raw, kind = read.raw, read.column.kind
    if kind in TEXTS:
        plain, condition = _plain(short(raw), NumberFormat.of(codec.format))
        return f"CASE WHEN {condition} THEN TRY_CAST({plain} AS DOUBLE) END"
    if kind is Kind.DECIMAL:  # through text: a division by a power of ten may round twice
        return f"TRY_CAST(CAST({_sound(read)} AS VARCHAR) AS DOUBLE)"
    return f"TRY_CAST({raw} AS DOUBLE)"


def _ends(codec: NumbersInCells) -> tuple[str, str]:
    """The ends of the range as float64 literals, each read back as the same number."""
    low, high = codec.ends
    return f"CAST('{low!r}' AS DOUBLE)", f"CAST('{high!r}' AS DOUBLE)"


def _cell(codec: NumbersInCells, name: str) -> str:
    """The cell of a float64 number inside the range.

    Cell k starts at (a + k b) / c.  With |a + k b| and c below 2^50 all numerators are exact in float64, and the
    estimate floor((v c - a) / b) is off by one at most: the product and the difference err by less than 1/4 each.
    Comparing v with the starts of that cell and of the next, each one correctly rounded division, repairs it.
    """
    a, b, c = (f"CAST({x} AS DOUBLE)" for x in codec.grid)
    guess = f"floor(({name} * {c} - {a}) / {b})"
    here, ahead = f"({a} + {guess} * {b}) / {c}", f"({a} + ({guess} + 1) * {b}) / {c}"
    at_end = f"CAST({name} >= {_ends(codec)[1]} AS BIGINT)"  # the upper end belongs to the last cell
    return (
        f"TRY_CAST({guess} AS BIGINT) + CAST({name} >= {ahead} AS BIGINT) - CAST({name} < {here} AS BIGINT) - {at_end}"
    )


def _day(read: Read, codec: Days) -> str:
    """The day of an entry, as a DATE."""
    raw, kind, native = read.raw, read.column.kind, read.column.native
    if kind is Kind.DATE:
        return raw
    if kind in TEXTS:
        written = DateFormat.of(codec.format)
        names = {written.year: "y", written.month: "m", written.day: "d"}
        wanted = ", ".join(f"'{names[group]}'" for group in (1, 2, 3))
        found = f"regexp_extract({short(raw)}, {quoted(f'^(?:{written.pattern})$')}, [{wanted}])"
        return f"TRY_CAST(concat_ws('-', {found}.y, {found}.m, {found}.d) AS DATE)"
    if kind is Kind.CLOCK:
        inside = _between(raw, native, codec.first, codec.last)
        return f"CASE WHEN {inside} THEN CAST(make_timestamp({_microseconds(raw, native)}) AS DATE) END"
    if kind is Kind.INSTANT:
        inside = _between(raw, native, _shifted(codec.first, -2), _shifted(codec.last, 2))
        local = f"{_microseconds(raw, native)} + {_offset(raw, native, offsets(codec))}"
        return f"CASE WHEN {inside} THEN CAST(make_timestamp({local}) AS DATE) END"
    return "CAST(NULL AS DATE)"


def _shifted(day: date, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return day


def _between(raw: str, native: str, first: date, last: date) -> str:
    """Whether a point in time lies in these days, compared in its own type: other types may not hold it at all.

    Nanoseconds are compared as whole microseconds: they hold no day before 1677 or after 2262, policies may.
    """
    start, end = (first - _EPOCH).days * _DAY, ((last - _EPOCH).days + 1) * _DAY
    if native.endswith("_NS"):
        return f"({_microseconds(raw, native)} >= {start} AND {_microseconds(raw, native)} < {end})"
    return f"({raw} >= {_moment(start, native)} AND {raw} < {_moment(end, native)})"


def _moment(microseconds: int, native: str) -> str:
    return f"CAST(make_timestamp{'tz' if 'ZONE' in native else ''}({microseconds}) AS {native})"


def _microseconds(raw: str, native: str) -> str:
    """Microseconds since 1970, rounded down; of nanoseconds always, else only for times that are known to be near."""
    if native.endswith("_NS"):
        return f"(epoch_ns({raw}) // 1000 - CAST(epoch_ns({raw}) % 1000 < 0 AS BIGINT))"
    return f"epoch_us({raw})" if "ZONE" in native else f"epoch_us(CAST({raw} AS TIMESTAMP))"


def _offset(raw: str, native: str, table: tuple[tuple[int, int], ...]) -> str:
    """The zone's offset in microseconds, found by halving the table; for times that are known to be near."""
    if len(table) == 1:
        return str(table[0][1] * 10**6)
    middle = len(table) // 2
    before, after = (_offset(raw, native, part) for part in (table[:middle], table[middle:]))
    return f"(CASE WHEN {_microseconds(raw, native)} < {table[middle][0] * 10**6} THEN {before} ELSE {after} END)"


def shown(read: Read) -> str:
    """An entry as a curator wants to see it; for eyes, not for counting."""
    raw, native = read.raw, read.column.native
    if read.column.kind not in (Kind.CLOCK, Kind.INSTANT):
        return raw
    near = _between(raw, native, date(1, 1, 3), date(9999, 12, 29))  # further away, some types have no text
    return f"CASE WHEN {near} THEN CAST({raw} AS VARCHAR) WHEN {raw} IS NOT NULL THEN 'beyond the years 1 to 9999' END"
