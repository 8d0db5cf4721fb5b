"""Read one entry in Python: text of line formats, JSON values, cells of a sheet, any object.

`placement` implements the same rules for the columns of engines:

- values and points: the text must be listed, exactly as written unless `spelling` allows variants; numbers stand for
  their shortest text (1.0 is `1`);
- whole numbers: `17` and `17.0`, but not `17.5`; text without exponent, or in the declared format;
- numbers: rounded to float64, then placed; NaN and overflow are `other`;
- times of day: as written or as the clock shows, instants in the attribute's zone; a number is an hour if the steps are
  whole hours;
- dates: the day as written; instants in the attribute's zone; text as 2026-01-31 or in the declared format;
- text longer than anything that could count is `other` and is not inspected further.

A reader never raises, whatever its input, and depends on nothing but its entry.
"""

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal
from functools import partial
from typing import assert_never

import numpy as np

from dxprivacy.engines.nearest_places import located
from dxprivacy.exact.arrays import Ints
from dxprivacy.universe.attributes.attribute import Attribute, as_text
from dxprivacy.universe.reading.calendar import zone_of
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
from dxprivacy.universe.reading.text_formats import (
    DateFormat,
    Instant,
    NumberFormat,
    TimeFormat,
    date_formats,
    time_formats,
)

WHOLE_NUMBER = r"[ \t]*([+-]?[0-9]+)(?:\.0*)?[ \t]*"
"""A whole number written as text.  Strict, and the same in Python and in SQL: SQL casts would round 1.5 to 2."""

FRACTION = r"-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9]"
"""A number with decimals as values list it: 17.5, not 17.50 and not 1.75e1."""

LONGEST_TEXT = 1 << 16
"""Maximum bytes of a number or a date written as text; longer text is `other` without being read."""

MOST_DIGITS = 38
"""Maximum digits of a whole number in a numeric column: as many as every engine distinguishes.  Text has no limit."""

MOST_EXACT = 2**53 - 1
"""The largest whole number that is the only one with its float64; a float beyond it may be a rounded whole number."""

A_MONDAY = date(2024, 1, 1)
"""The Monday of the week that represents the days of the week in written records."""


class _Unreadable:
    """An entry that is present but has no value: a list in JSON, an error in a sheet."""

    def __repr__(self) -> str:
        return "UNREADABLE"


UNREADABLE = _Unreadable()
"""Counts as `other` for every attribute, and is unusable in a key column; unlike None, it is not a missing entry."""

_LONGEST_NUMBER = 24  # digits; more than any bound of an attribute has
_WHOLE = re.compile(WHOLE_NUMBER)

Reader = Callable[[object], int]
DatesInText = Sequence[DateFormat | Instant]


def combine(attribute: Attribute, places: Sequence[Ints]) -> Ints:
    """Combine the entry indices of many rows into the attribute's index: mixed radix, the last column fastest."""
    if len(places) == 1:
        return places[0]
    if attribute.surroundings is not None:
        return located(attribute.surroundings, list(places))
    out: Ints = np.zeros_like(places[0])
    invalid = np.zeros(len(out), dtype=bool)
    for entry, place in zip(attribute.entries_read, places, strict=True):
        size = entry.codec.listed
        out = out * size + place
        invalid |= place == size
    out[invalid] = attribute.listed
    return out


def entry_reader(codec: Codec) -> Reader:
    """Return a function that maps an entry of any type to its index; entries that do not fit map to `other`.

    The index of `other` is `listed`; for a coordinate it is `NOWHERE`.

    >>> read = entry_reader(WholeNumbers(0, 120))
    >>> [read(x) for x in ["17", " +17.0 ", 17, 17.0, "17.5", "1e1", "", None, True, 121]]
    [17, 17, 17, 17, 121, 121, 121, 121, 121, 121]
    """
    other, most = NOWHERE if isinstance(codec, Coordinate) else codec.listed, 0
    match codec:
        case WholeNumbers():
            place: Reader = partial(_place_whole, codec, NumberFormat.of(codec.format) if codec.format else None)
        case NumbersInBins():
            place = partial(_place_number, codec, NumberFormat.of(codec.format))
        case Days():
            place = partial(_place_date, codec, _days_in_text(codec), zone_of(codec.timezone))
        case DaysOfTheWeek():
            place = partial(_place_weekday, codec, _days_in_text(codec.days), zone_of(codec.timezone))
        case TimesOfDay():
            zoned = bool(codec.timezone)
            written = time_formats(codec.format, zoned=zoned, whole_hours=codec.whole_hours)
            place = partial(_place_time, codec, written, zone_of(codec.timezone))
        case Coordinate():
            place = partial(_bits_of_number, codec, NumberFormat.of(codec.format))
        case ListedTexts():
            place = partial(_place_text, codec)
            most = 0 if codec.spelling.changes_entries else longest(codec.places)
        case _:
            assert_never(codec)

    def read(value: object) -> int:
        try:
            too_long = isinstance(value, (str, bytes)) and (len(value) > most if most else _is_long(value))
            return other if too_long else place(value)
        except Exception:  # an object may do anything, and one row must never stop a release
            return other

    return read


def is_fraction(text: str) -> bool:
    """Test whether a text is the canonical form of a number with decimals.

    >>> [is_fraction(text) for text in ("17.5", "-0.25", "17.50", "17", ".5", "1e-5")]
    [True, True, False, False, False, False]
    """
    return re.fullmatch(FRACTION, text) is not None


def longest(texts: Iterable[str]) -> int:
    """Return the length in bytes of the longest listed text; a longer entry cannot be listed.

    >>> longest(["M", "été"])
    5
    """
    return max((len(text.encode("utf-8", errors="surrogatepass")) for text in texts), default=0)


def _is_long(text: str | bytes) -> bool:
    """Whether a text has more than `LONGEST_TEXT` bytes; they are counted only if its characters leave it open."""
    if isinstance(text, bytes) or 4 * len(text) <= LONGEST_TEXT or len(text) > LONGEST_TEXT:
        return len(text) > LONGEST_TEXT
    return len(text.encode("utf-8", errors="replace")) > LONGEST_TEXT


def _place_text(codec: ListedTexts, value: object) -> int:
    text = clean_text(value)
    return codec.listed if text is None else codec.places.get(codec.spelling.key(text), codec.listed)


def _place_whole(codec: WholeNumbers, written: NumberFormat | None, value: object) -> int:
    number = _whole_from_text(value, written) if isinstance(value, str) else whole_number(value)
    if number is not None and codec.clamp and abs(number) < 10**24:  # the most digits that a whole number may have
        number = min(max(number, codec.low), codec.high)
    return number - codec.low if number is not None and codec.low <= number <= codec.high else codec.listed


def whole_number(value: object) -> int | None:
    """Return the whole number that a number equals; None if there is none."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return int(value) if math.isfinite(value) and value == int(value) else None
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 40 and value == int(value):
        return int(value)
    return None


def _whole_from_text(text: str, written: NumberFormat | None) -> int | None:
    plain = text if written is None else written.plain(text)
    match = _WHOLE.fullmatch(plain) if plain is not None else None
    if match is None:
        return None
    digits = match[1]
    size = digits.lstrip("+-").lstrip("0") or "0"
    if len(size) > _LONGEST_NUMBER:  # int() refuses thousands of digits, and one row must never raise
        return None
    return -int(size) if digits.startswith("-") else int(size)


def _place_number(codec: NumbersInBins, written: NumberFormat, value: object) -> int:
    return codec.place(_number(written, value))


def _bits_of_number(codec: Coordinate, written: NumberFormat, value: object) -> int:
    number = _number(written, value) + 0.0  # -0.0 is 0.0
    return int.from_bytes(struct.pack("<d", number), "little", signed=True) if abs(number) <= codec.most else NOWHERE


def _number(written: NumberFormat, value: object) -> float:
    """Return the float64 nearest to a number; NaN if the entry is not a number."""
    number = math.nan
    if isinstance(value, str):
        plain = written.plain(value)
        number = math.nan if plain is None else float(plain)
    elif isinstance(value, (int, float, Decimal, np.integer, np.floating)) and not isinstance(value, bool):
        number = float(value)  # rounds to nearest; overflow raises, and counts as `other`
    return number


def _place_date(codec: Days, written: DatesInText, zone: tzinfo, value: object) -> int:
    day = _day(codec, written, zone, value)
    return codec.place(day) if isinstance(day, date) else codec.listed


def _place_weekday(codec: DaysOfTheWeek, written: DatesInText, zone: tzinfo, value: object) -> int:
    day = _day(codec.days, written, zone, value)
    if not isinstance(day, date) or not codec.days.first <= day <= codec.days.last:
        return codec.listed
    return day.weekday()


def _place_time(codec: TimesOfDay, written: Sequence[TimeFormat | Instant], zone: tzinfo, value: object) -> int:
    """Return the index of a time of day; a number is an hour, and a date without a time is midnight, as in sheets."""
    seconds: int | None = None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        value = _first_read(written, value)
        seconds = value if isinstance(value, int) else None
    if isinstance(value, datetime):
        instant = value.tzinfo is not None
        day = value.astimezone(UTC).date() if instant else value.date()
        if codec.days.first <= day <= codec.days.last:
            seconds = _seconds((value.astimezone(zone) if instant else value).time())
    elif isinstance(value, time):
        seconds = _seconds(value)
    elif isinstance(value, date):
        seconds = 0
    elif seconds is None and codec.whole_hours:
        hour = whole_number(value)
        seconds = hour * 3600 if hour is not None and 0 <= hour <= 23 else None
    return codec.listed if seconds is None else codec.place(seconds)


def _days_in_text(codec: Days) -> DatesInText:
    return date_formats(codec.format, zoned=bool(codec.timezone))


def _first_read(written: Sequence[DateFormat | TimeFormat | Instant], text: str) -> date | int | None:
    """Return the result of the first format that reads a text: a day, an instant, or seconds since midnight."""
    return next((found for each in written if (found := each.read(text)) is not None), None)


def _seconds(clock: time) -> int:
    return 3600 * clock.hour + 60 * clock.minute + clock.second


def _day(codec: Days, written: DatesInText, zone: tzinfo, value: object) -> object:
    """Return the day of an entry, or None if it has none."""
    day: object = None
    if isinstance(value, str):
        value = _first_read(written, value)
    if isinstance(value, datetime):  # NaT is one too, but has no date
        day = value.date() if value.tzinfo is None else _day_of_instant(codec, zone, value)
    elif isinstance(value, date):
        day = value
    elif isinstance(value, np.datetime64):
        day = value.astype("datetime64[D]").item()
    return day


def _day_of_instant(codec: Days, zone: tzinfo, value: datetime) -> date | None:
    """Return the local day of an instant; with `clamp`, clamped to the range if the day in UTC is a known one."""
    day = value.astimezone(zone).date()
    if not codec.clamp:
        return day
    known = codec.known[0] <= value.astimezone(UTC).date() <= codec.known[1]
    return min(max(day, codec.first), codec.last) if known else None


def is_missing(value: object) -> bool:
    """Test whether an entry is missing; NaN is, because pandas writes missing numbers so.

    >>> [is_missing(x) for x in [None, float("nan"), Decimal("NaN"), "", 0, UNREADABLE]]
    [True, True, True, False, False, False]
    """
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def clean_text(value: object) -> str | None:
    """Return the text of one entry, or None if it has none; never raises.

    >>> [clean_text(x) for x in ["M", 1.0, True, Decimal("2.00"), float("nan"), None]]
    ['M', '1', 'true', '2', None, None]
    """
    if type(value) is str and value.isascii():
        return value
    try:
        if value is UNREADABLE or is_missing(value):
            return None
        # Half a surrogate pair has no UTF-8 (engines would refuse the whole column): it becomes U+FFFD.
        return as_text(value).encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
    except Exception:
        return None
