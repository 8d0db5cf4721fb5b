"""Map an entry to an index, written once for all engines: from a codec and a column type to expressions.

Each column takes three steps, so that nothing is computed twice. The entry is *parsed*, kept if it lies *inside* the
attribute's range, and *placed* in plain arithmetic; NULL has no place. Listed texts need no arithmetic: the parsed text
is looked up. The rules are those of `entries`, which reads entries in Python.

Text is inspected only up to a length that is public (fixed, or of the longest listed text); longer text has no place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import reduce
from typing import assert_never

from dxprivacy.engines.entries import A_MONDAY, LONGEST_TEXT, MOST_EXACT, WHOLE_NUMBER, is_fraction, longest
from dxprivacy.engines.expressions import (
    Arithmetic,
    AsBytes,
    AsText,
    Between,
    Both,
    Clamped,
    ComparedEntry,
    Day,
    DayOf,
    FirstGroup,
    FirstOfMonth,
    Floor,
    Folded,
    InDays,
    Input,
    IsFinite,
    IsUnicode,
    IsWhole,
    Matches,
    Microseconds,
    MonthOf,
    NoLonger,
    Nothing,
    OffsetAt,
    OffsetAtSecond,
    OneIf,
    Otherwise,
    OwnText,
    Quotient,
    Real,
    Remainder,
    Replaced,
    SecondOfDay,
    Sound,
    Stripped,
    TimeAt,
    ToReal,
    ToWhole,
    Unless,
    Value,
    When,
    WholeLiteral,
    WrittenDay,
    WrittenTime,
)
from dxprivacy.engines.placing import offsets
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.universe.reading.calendar import month_number
from dxprivacy.universe.reading.codecs import (
    NOWHERE,
    Codec,
    Coordinate,
    Days,
    DaysOfTheWeek,
    ListedTexts,
    NumbersInBins,
    TimesOfDay,
    WholeNumbers,
)
from dxprivacy.universe.reading.spelling import BLANKS
from dxprivacy.universe.reading.text_formats import (
    KNOWN_INSTANTS,
    DateFormat,
    Instant,
    NumberFormat,
    TimeFormat,
    Written,
    date_formats,
    time_formats,
)

TEXTS = (ColumnKind.TEXT, ColumnKind.UNTYPED)
NUMBERS = (ColumnKind.WHOLE, ColumnKind.FLOAT, ColumnKind.DECIMAL)
_EPOCH = date(1970, 1, 1)
_DAY_SECONDS = 86_400
_DAY = _DAY_SECONDS * 10**6  # microseconds
_DECIMALS = r"(-?[0-9]+\.[0-9]*[1-9])0*"
_MOST_WHOLE = 10**24 - 1  # the most digits that a whole number may have


@dataclass(frozen=True)
class Read:
    """One column that an attribute reads: its codec, its schema, and its name in a query."""

    codec: Codec
    column: Column
    raw: str
    beside: "Read | None" = None  # the second of two coordinates, looked up together with this one
    alone: bool = False  # looked up without a join, because the engine cannot join so many tables

    @property
    def is_joined(self) -> bool:
        """Whether the parsed entry is looked up among listed texts; otherwise its place is computed."""
        return isinstance(self.codec, ListedTexts) and self.column.kind is not ColumnKind.OBJECT

    @property
    def is_grouped_raw(self) -> bool:
        """Whether rows are grouped by the raw entry and placed afterwards: for text that is read by a pattern.

        A pattern takes fifty times as long as grouping.  All else is placed first, so that the running time reveals
        less.
        """
        return self.column.kind in TEXTS and not self.is_joined

    @property
    def merges_nothing(self) -> bool:
        """Whether different entries in the range have different places, so that placing merges no groups."""
        match self.codec:
            case WholeNumbers():
                return self.column.kind is ColumnKind.WHOLE
            case Days(step=step):
                return self.column.kind is ColumnKind.DATE and step.size == 1 and not step.months
            case _:
                return self.is_joined


def parsed(codec: Codec, column: Column) -> Value:
    """Return the first step: the number, the day or the bytes of the text in a column."""
    entry = Input(column.native)
    if column.kind is ColumnKind.OBJECT:  # already placed, entry by entry
        return Unless(entry, NOWHERE if isinstance(codec, Coordinate) else codec.listed)
    match codec:
        case WholeNumbers():
            return _whole(column, wide=codec.clamp, written=codec.format)
        case NumbersInBins() | Coordinate():
            return _number(column, codec)
        case Days():
            return _day(column, codec)
        case DaysOfTheWeek():
            return _day(column, codec.days)
        case TimesOfDay():
            return _time(column, codec)
        case ListedTexts():
            return _listed(column, codec)
        case _:
            assert_never(codec)


def _listed(column: Column, codec: ListedTexts) -> Value:
    """Return the key that is looked up for an entry; numbers and booleans have no blanks and no capitals."""
    entry, spelling = Input(column.native), codec.spelling
    if column.kind not in TEXTS:
        fraction = _fraction(column) if any(map(is_fraction, codec.places)) else None
        return text_of(column) if fraction is None else Otherwise(text_of(column), AsBytes(fraction))
    if not spelling.changes_entries:
        return When(NoLonger(entry, longest(codec.places)), text_of(column))
    # Other text becomes NULL here, before it is stripped or folded: inside a condition around the whole, the engine
    # itself would still fail on text that is not Unicode.
    text: Value = When(Both(NoLonger(entry, LONGEST_TEXT), IsUnicode(entry)), entry)
    if spelling.trim:
        text = Stripped(text, BLANKS)
    old, new = spelling.variants(codec.places)
    return AsBytes(Folded(text, old, new) if old else text)


def _fraction(column: Column) -> Value | None:
    """Return the text of a number that is not whole, without trailing zeros; None if the type has no such numbers."""
    entry = Input(column.native)
    if column.kind is ColumnKind.FLOAT:
        return When(IsFinite(entry), OwnText(entry))
    if column.kind is ColumnKind.DECIMAL:
        text = AsText(Sound(entry))
        return When(Matches(text, _DECIMALS), FirstGroup(text, _DECIMALS))
    return None


def text_of(column: Column) -> Value:
    """Return the value that is compared with listed texts; as bytes, because stored text need not be UTF-8."""
    if column.kind in (*TEXTS, ColumnKind.TRUTH):
        return AsBytes(Input(column.native))
    if not column.inferred or column.kind not in (ColumnKind.WHOLE, ColumnKind.FLOAT):
        return AsBytes(_whole(column, wide=True))
    number = _whole(column, wide=False)
    return AsBytes(When(Between(number, WholeLiteral(-MOST_EXACT), WholeLiteral(MOST_EXACT)), number))


def key_text(column: Column) -> Value:
    """Return the canonical text of an entry of a key column; NULL if it is missing or unusable.

    The rules are those of `contribution_bounding.key_part`. Any float may be a whole number that was rounded before it
    got here.
    """
    return text_of(replace(column, inferred=True) if column.kind is ColumnKind.FLOAT else column)


def inside(codec: Codec, column: Column) -> Value:
    """Return the second step: the parsed value if it lies in the range; whole numbers and days count from its start."""
    value = Input()
    if column.kind is ColumnKind.OBJECT:
        return value
    match codec:
        case Days() if _is_in_seconds(column, codec):
            return _inside_in_zone(codec)
        case TimesOfDay(low, high) if _is_in_seconds(column, codec):
            time = _time_in_zone(codec)
            positive = Both(_NO_LESS_THAN_0, Between(time, WholeLiteral(low), WholeLiteral(high - 1)))
            return When(positive, Arithmetic(time, "-", WholeLiteral(low)))
        case Days(first, last):
            known = Between(value, Day(codec.known[0]), Day(codec.known[1]))
            return When(known, _since(Clamped(value, Day(first), Day(last)) if codec.clamp else value, codec))
        case DaysOfTheWeek():
            return inside(codec.days, column)
        case TimesOfDay(low, high):
            unit = 3600 if column.kind in NUMBERS else 1  # numbers are hours
            known = Between(value, WholeLiteral(low // unit), WholeLiteral(high // unit - 1))
            return When(known, Arithmetic(value, "-", WholeLiteral(low // unit)))
        case WholeNumbers(low, high, clamp):
            ends, most = (WholeLiteral(low), WholeLiteral(high)), WholeLiteral(_MOST_WHOLE, wide=True)
            if not clamp:
                return When(Between(value, *ends), Arithmetic(value, "-", WholeLiteral(low)))
            nearest = ToWhole(Arithmetic(Clamped(value, *ends), "-", WholeLiteral(low)))
            return When(Between(value, WholeLiteral(-_MOST_WHOLE, wide=True), most), nearest)
        case NumbersInBins():
            bounds = Real(codec.ends[0]), Real(codec.ends[1])
            if codec.clamp:
                return When(IsFinite(value), Clamped(value, *bounds))
            # Finiteness first: an engine may drop a comparison that file statistics prove, and statistics leave NaN
            # out.
            return When(Both(IsFinite(value), Between(value, *bounds)), value)
        case Coordinate():
            return When(Both(IsFinite(value), Between(value, Real(-codec.most), Real(codec.most))), value)
        case ListedTexts():
            return value
        case _:
            assert_never(codec)


def place(codec: Codec, column: Column) -> Value:
    """Return the third step: the index of a value that lies in the range."""
    if column.kind is ColumnKind.OBJECT:
        return Input()
    match codec:
        case NumbersInBins():
            return _bin(codec)
        case Days() if codec.step.size > 1:
            return Quotient(Input(), codec.step.size)
        case DaysOfTheWeek():
            return Remainder(Arithmetic(Input(), "+", WholeLiteral(codec.days.first.weekday())), 7)
        case TimesOfDay():
            step = codec.step // 3600 if column.kind in NUMBERS else codec.step
            return Input() if step == 1 else Quotient(Input(), step)
        case _:
            return Input()


def short(column: Column) -> Value:
    """Return a text, or NULL if it is too long to be inspected."""
    entry = Input(column.native)
    return When(NoLonger(entry, LONGEST_TEXT), entry)


def _whole(column: Column, *, wide: bool, written: Written = "") -> Value:
    """The whole number in a column; a cast alone would round 1.5 to 2."""
    entry = Input(column.native)
    if column.kind in TEXTS:
        plain = _plain(short(column), NumberFormat.of(written)) if written else short(column)
        number = ToWhole(FirstGroup(plain, WHOLE_NUMBER), wide)
        return When(Matches(short(column), NumberFormat.of(written).pattern), number) if written else number
    if column.kind is ColumnKind.WHOLE:
        return ToWhole(entry, wide)
    if column.kind is ColumnKind.FLOAT:
        return When(IsWhole(entry), ToWhole(entry, wide))
    if column.kind is ColumnKind.DECIMAL:
        return When(Matches(AsText(Sound(entry)), r"[^.]*(\.0*)?"), ToWhole(Sound(entry), wide))
    return Nothing("whole")


def _plain(text: Value, written: NumberFormat) -> Value:
    """Normalize a number written as text: a decimal point and no thousands separators."""
    plain: Value = Stripped(text)
    if written.thousands:
        plain = Replaced(plain, written.thousands, "")
    return plain if written.decimal == "." else Replaced(plain, written.decimal, ".")


def _number(column: Column, codec: NumbersInBins | Coordinate) -> Value:
    """Return the nearest float64 to a number."""
    entry = Input(column.native)
    if column.kind in TEXTS:
        written = NumberFormat.of(codec.format)
        return When(Matches(short(column), written.pattern), ToReal(_plain(short(column), written)))
    if column.kind is ColumnKind.DECIMAL:  # through text: a division by a power of ten may round twice
        return ToReal(AsText(Sound(entry)))
    return ToReal(entry)


def _bin(codec: NumbersInBins) -> Value:
    """Return the bin of a float64 number inside the range.

    Bin k starts at (a + k b) / c.  With |a + k b| and c below 2^50 all numerators are exact in float64, and the
    estimate floor((v c - a) / b) is off by one at most: the product and the difference err by less than 1/4 each.
    Comparing v with the starts of that bin and of the next, each one correctly rounded division, corrects it.
    """
    v = Input()
    a, b, c = (Real(x) for x in codec.grid)
    guess = Floor(Arithmetic(Arithmetic(Arithmetic(v, "*", c), "-", a), "/", b))

    def start(k: Value) -> Value:
        return Arithmetic(Arithmetic(a, "+", Arithmetic(k, "*", b)), "/", c)

    ahead = OneIf(ComparedEntry(v, ">=", start(Arithmetic(guess, "+", Real(1)))))
    behind = OneIf(ComparedEntry(v, "<", start(guess)))
    at_end = OneIf(ComparedEntry(v, ">=", Real(codec.ends[1])))  # the upper end belongs to the last bin
    return Arithmetic(Arithmetic(Arithmetic(ToWhole(guess), "+", ahead), "-", behind), "-", at_end)


def _day(column: Column, codec: Days) -> Value:
    entry = Input(column.native)
    if column.kind is ColumnKind.DATE:
        return entry
    if column.kind in TEXTS:
        formats = date_formats(codec.format, zoned=bool(codec.timezone))
        in_seconds = any(isinstance(written, Instant) for written in formats)
        return _first_of([_written_day(column, written, in_seconds=in_seconds) for written in formats])
    if column.kind is ColumnKind.CLOCK:
        return When(InDays(entry, *codec.known), DayOf(Microseconds(entry)))
    if column.kind is ColumnKind.INSTANT:
        near = _shifted(codec.first, -2), _shifted(codec.last, 2)
        moment: Value = Microseconds(entry)
        if codec.clamp:  # outside these bounds, no time zone gives a day of the range
            moment = Clamped(moment, *(WholeLiteral((day - _EPOCH).days * _DAY) for day in near))
        day = DayOf(Arithmetic(moment, "+", OffsetAt(entry, offsets(codec))))
        return When(InDays(entry, *(codec.known if codec.clamp else near)), day)
    return Nothing("day")


def _time(column: Column, codec: TimesOfDay) -> Value:
    """Return the time of day of an entry in seconds; for a numeric column, in hours."""
    entry = Input(column.native)
    if column.kind in TEXTS:
        formats = time_formats(codec.format, zoned=bool(codec.timezone), whole_hours=codec.whole_hours)
        in_seconds = any(isinstance(written, Instant) for written in formats)
        return _first_of([_written_time(column, written, in_seconds=in_seconds) for written in formats])
    if column.kind in NUMBERS and codec.whole_hours:
        return _whole(column, wide=False)
    if column.kind is ColumnKind.TIME:
        return When(
            Between(Microseconds(entry), WholeLiteral(0), WholeLiteral(_DAY - 1)), SecondOfDay(Microseconds(entry))
        )
    clock: Value = Microseconds(entry)
    if column.kind is ColumnKind.INSTANT:
        clock = Arithmetic(clock, "+", OffsetAt(entry, offsets(codec.days)))
    elif column.kind is not ColumnKind.CLOCK:
        return Nothing("whole")
    return When(InDays(entry, codec.days.first, codec.days.last), SecondOfDay(clock))


def _first_of(values: Sequence[Value]) -> Value:
    """Return the first value that is not NULL."""
    return reduce(lambda later, value: Otherwise(value, later), reversed(values))


# Text may hold instants (with an offset) and clock times (without one).  The first step encodes both in one number:
# twice the seconds since 0001-01-01 (in UTC for instants), plus one for clock times.  The second step sees from the
# parity whether to add the offset of the time zone.  So patterns are matched once for each distinct text.


def _is_in_seconds(column: Column, codec: Days | TimesOfDay) -> bool:
    if column.kind not in TEXTS or not codec.timezone:
        return False
    read = time_formats if isinstance(codec, TimesOfDay) else date_formats
    return any(isinstance(written, Instant) for written in read(codec.format, zoned=True))


def _written_day(column: Column, written: DateFormat | Instant, *, in_seconds: bool) -> Value:
    if isinstance(written, Instant):
        return _instant(column, written)
    day = WrittenDay(short(column), written.pattern, written.year, written.month, written.day)
    return _clock(Arithmetic(_day_number(day), "*", WholeLiteral(_DAY_SECONDS))) if in_seconds else day


def _written_time(column: Column, written: TimeFormat | Instant, *, in_seconds: bool) -> Value:
    if isinstance(written, Instant):
        return _instant(column, written)
    time = WrittenTime(short(column), written.pattern, written.hour, written.minute, written.second)
    return _clock(time) if in_seconds else time


def _clock(seconds: Value) -> Value:
    return Arithmetic(Arithmetic(seconds, "*", WholeLiteral(2)), "+", WholeLiteral(1))


def _day_number(day: Value) -> Value:
    """Return the number of days since 0001-01-01, in 64 bits."""
    return ToWhole(Arithmetic(day, "-", Day(date.min)))


def _instant(column: Column, written: Instant) -> Value:
    """Return twice the seconds of an instant in text."""
    text = short(column)

    def number(pattern: str, seconds: int) -> Value:
        return Arithmetic(Otherwise(ToWhole(FirstGroup(text, pattern)), WholeLiteral(0)), "*", WholeLiteral(seconds))

    day = WrittenDay(text, written.pattern("Ymd"), *written.order)
    seconds: Value = Arithmetic(_day_number(day), "*", WholeLiteral(_DAY_SECONDS))
    for letter, size in (("H", 3600), ("M", 60), ("S", 1)):
        if written.has(letter):
            seconds = Arithmetic(seconds, "+", number(written.pattern(letter), size))
    ahead = Arithmetic(number(written.offset_hours, 3600), "+", number(written.offset_minutes, 60))
    sign = Arithmetic(
        Arithmetic(OneIf(Matches(text, written.west)), "*", WholeLiteral(2)), "-", WholeLiteral(1)
    )  # west: later in UTC
    return Arithmetic(Arithmetic(seconds, "+", Arithmetic(sign, "*", ahead)), "*", WholeLiteral(2))


def _seconds_of_days(days: tuple[date, date]) -> tuple[WholeLiteral, WholeLiteral]:
    """The first and the last second of some days, counted from 0001-01-01."""
    first, last = ((day - date.min).days for day in days)
    return WholeLiteral(first * _DAY_SECONDS), WholeLiteral((last + 1) * _DAY_SECONDS - 1)


_SECONDS = Quotient(Input(), 2)
_BY_THE_CLOCK, _BY_OFFSET = (ComparedEntry(Remainder(Input(), 2), "=", WholeLiteral(k)) for k in (1, 0))
_NO_LESS_THAN_0 = ComparedEntry(Input(), ">=", WholeLiteral(0))  # instants before 0001-01-01 in UTC are unknown


def _offset(codec: Days) -> Value:
    """Return the offset of the time zone at an instant from the first step; NULL if its day is not known."""
    since = (_EPOCH - date.min).days * _DAY_SECONDS
    table = tuple((start + since, offset) for start, offset in offsets(codec))
    known = Both(_BY_OFFSET, Between(_SECONDS, *_seconds_of_days(KNOWN_INSTANTS)))
    return When(known, OffsetAtSecond(_SECONDS, table))


def _inside_in_zone(codec: Days) -> Value:
    """Return the second step for text that may hold instants, with the same result as `inside` for days."""
    clock = When(Both(_BY_THE_CLOCK, Between(_SECONDS, *_seconds_of_days(codec.known))), WholeLiteral(0))
    local: Value = Arithmetic(_SECONDS, "+", Otherwise(clock, _offset(codec)))
    ends = _seconds_of_days((codec.first, codec.last))
    known = Between(local, *(_seconds_of_days((date.min, date.max)) if codec.clamp else ends))
    inside = Clamped(local, *ends) if codec.clamp else local
    since = _since(Arithmetic(Day(date.min), "+", Quotient(inside, _DAY_SECONDS)), codec)
    return When(Both(_NO_LESS_THAN_0, known), since)


def _time_in_zone(codec: TimesOfDay) -> Value:
    """Return the time of day in seconds from the first step, for text that may hold instants."""
    known = Between(_SECONDS, *_seconds_of_days((codec.days.first, codec.days.last)))
    local = Arithmetic(_SECONDS, "+", _offset(codec.days))
    return Otherwise(When(_BY_THE_CLOCK, _SECONDS), When(known, Remainder(local, _DAY_SECONDS)))


def _since(day: Value, codec: Days) -> Value:
    """Return the number of days, or months, since the first day of the range."""
    if codec.step.months:
        return Arithmetic(MonthOf(day), "-", WholeLiteral(month_number(codec.first)))
    return Arithmetic(day, "-", Day(codec.first))


def _shifted(day: date, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return day


def entry_at(codec: WholeNumbers | NumbersInBins | Days | DaysOfTheWeek | TimesOfDay) -> Value:
    """Return the entry at an index, the inverse for written records; the entry of a bin is its middle."""
    k = Input()
    match codec:
        case WholeNumbers(low):
            return ToWhole(Arithmetic(k, "+", WholeLiteral(low)))
        case Days(first):
            since = k if codec.step.size == 1 else Arithmetic(k, "*", WholeLiteral(codec.step.size))
            if codec.step.months:
                return FirstOfMonth(Arithmetic(since, "+", WholeLiteral(month_number(first))))
            return Arithmetic(Day(first), "+", since)
        case DaysOfTheWeek():
            return Arithmetic(Day(A_MONDAY), "+", k)
        case TimesOfDay(low, _, step):
            return TimeAt(A_MONDAY, Arithmetic(WholeLiteral(low), "+", Arithmetic(k, "*", WholeLiteral(step))))
        case NumbersInBins():
            # The middle of bin k is (2a + (2k + 1) b) / 2c.  Both operands are exact in float64: one rounding, to
            # nearest.
            a, b, c = codec.grid
            doubled = Arithmetic(WholeLiteral(2 * a + b), "+", Arithmetic(k, "*", WholeLiteral(2 * b)))
            return Arithmetic(ToReal(doubled), "/", Real(2 * c))
        case _:
            assert_never(codec)
