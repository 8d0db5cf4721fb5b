"""Formats of numbers and dates in text columns: declared in the policy, never guessed from the data.

A format is a strict pattern, the same in Python and in SQL, so that all engines read each entry in the same way.  An
entry that does not match is `other`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from typing import TypeAlias

from dxprivacy.errors import Hint, PolicyError

Written: TypeAlias = str | tuple[str, ...]
"""A format as a policy declares it; days and times may have several, and the first that matches an entry counts."""
ISO = "iso"
"""The name of the default format in lists: 2026-01-31, optionally with a time and its offset."""
KNOWN_INSTANTS = (date(1, 1, 3), date(9999, 12, 29))
"""The first and the last day (in UTC) of instants in text; all of them have a day in every time zone."""
_OFFSET_HOURS, _OFFSET_MINUTES = "[01][0-9]|2[0-3]", "[0-5][0-9]"
_ZONE = f"(?:[Zz]|[+-](?:{_OFFSET_HOURS})(?::?{_OFFSET_MINUTES})?)"

_SAMPLE = re.compile("1(?P<thousands>[.,' \u00a0\u202f]?)234(?:(?P<decimal>[.,])5)?")
_PIECES = {"Y": "([0-9]{4})", "m": "([0-9]{1,2})", "d": "([0-9]{1,2})", "f": "[0-9]{1,9}", "z": _ZONE} | dict.fromkeys(
    "HMS", "[0-9]{1,2}"
)
_OF_INSTANTS = {"Y": "[0-9]{4}", "m": "[0-9]{1,2}", "d": "[0-9]{1,2}", "f": "[0-9]{1,9}", "z": _ZONE} | {
    "H": "(?:[01]?[0-9]|2[0-3])",
    "M": "[0-5]?[0-9]",
    "S": "[0-5]?[0-9]",
}
_TWO_DIGITS = [("[0-9]{1,2}", "[0-9]{2}"), ("[01]?", "[01]"), ("[0-5]?", "[0-5]")]
_ISO_DAY = "([0-9]{4})-([0-9]{2})-([0-9]{2})"
_ISO_TIME = "[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
_ISO = rf"[ \t]*{_ISO_DAY}(?:{_ISO_TIME}[ ]?(?:[Zz]|[+-][0-9]{{2}}(?::?[0-9]{{2}})?)?)?[ \t]*"
_ISO_WITHOUT_ZONE = rf"[ \t]*{_ISO_DAY}(?:{_ISO_TIME})?[ \t]*"
_ISO_INSTANT = (
    *(("Y", "[0-9]{4}"), ("", "-"), ("m", "[0-9]{2}"), ("", "-"), ("d", "[0-9]{2}"), ("", "[T ]")),
    *(("H", "(?:[01][0-9]|2[0-3])"), ("", ":"), ("M", "[0-5][0-9]")),
    *(("", "(?::"), ("S", "[0-5][0-9]"), ("", "(?:[.,][0-9]{1,9})?)?[ ]?"), ("z", _ZONE)),
)


def _require_sound(written: str) -> None:
    """Raise PolicyError for a NUL, which servers do not accept."""
    if "\0" in written:
        raise PolicyError("a format has no NUL in it", hints=['format = "%d.%m.%Y"'])


def _patterns(written: str, pieces: dict[str, str], hints: list[Hint]) -> Iterator[tuple[str, str]]:
    """Yield for each piece of a format its letter (or nothing) and its pattern.

    In a run of adjacent digits, only one piece may have fewer digits than its maximum: %f, or else the first.  So a
    text has one reading only; if it had several, engines could choose different ones.

    >>> "".join(pattern for _, pattern in _patterns("%H%M:%S", {"H": "[01]?[0-9]", "M": "[0-5]?[0-9]", "S": "S"}, []))
    '[01]?[0-9][0-5][0-9]:S'
    """
    _require_sound(written)
    for run in re.findall(r"(?:%.|[0-9])+|[^%]|%$", written, re.DOTALL):
        found = re.findall("%.|.", run, re.DOTALL)
        letters = [piece[1:] if piece.startswith("%") else "" for piece in found]
        for piece, letter in zip(found, letters, strict=True):
            if piece.startswith("%") and letter not in pieces:
                raise PolicyError(f"format has {piece[:2]!r}, which we do not know", hints=hints)
        if letters.count("f") > 1:
            raise PolicyError("format has %f twice without anything between", hints=hints)
        free = letters.index("f") if "f" in letters else next((k for k, x in enumerate(letters) if x), 0)
        for k, (piece, letter) in enumerate(zip(found, letters, strict=True)):
            pattern = pieces[letter] if letter else re.escape(piece)
            if letter and k != free:
                for loose, strict in _TWO_DIGITS:
                    pattern = pattern.replace(loose, strict)
            yield letter, pattern


@dataclass(frozen=True)
class NumberFormat:
    """The separators of thousands and of decimals.

    >>> NumberFormat.of("1.234,5").plain(" -12.000,25 "), NumberFormat.of("").plain("1e3")
    ('-12000.25', '1e3')
    """

    thousands: str = ""
    decimal: str = "."
    exponents: bool = True

    @classmethod
    def of(cls, sample: Written) -> "NumberFormat":
        """Parse the number 1234.5 as the data write it; the empty text means 1234.5, and allows exponents."""
        if not isinstance(sample, str):
            raise PolicyError("numbers have one format, not a list", hints=['format = "1.234,5"'])
        if not sample:
            return cls()
        match = _SAMPLE.fullmatch(sample)
        decimal = (match["decimal"] or ("," if match["thousands"] == "." else ".")) if match else ""
        if match is None or match["thousands"] == decimal:
            raise PolicyError(
                f"format is {sample[:40]!r}; write the number 1234.5 as the data would",
                hints=['format = "1.234,5"', 'format = "1,234.5"', 'format = "1234,5"'],
            )
        return cls(match["thousands"], decimal, exponents=False)

    @property
    def pattern(self) -> str:
        """The regular expression of a number."""
        mark = re.escape(self.thousands)
        digits = f"(?:[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+|[0-9]+)" if self.thousands else "[0-9]+"
        decimal = re.escape(self.decimal)
        exponent = "(?:[eE][+-]?[0-9]{1,3})?" if self.exponents else ""
        return rf"[ \t]*[+-]?(?:{digits}(?:{decimal}[0-9]*)?|{decimal}[0-9]+){exponent}[ \t]*"

    def plain(self, text: str) -> str | None:
        """Return a number with a decimal point and without thousands separators; None if the text is not a number."""
        if not re.fullmatch(self.pattern, text):
            return None
        return text.strip(" \t").replace(self.thousands, "").replace(self.decimal, ".")


@dataclass(frozen=True)
class DateFormat:
    """A pattern with three groups, and the numbers of the groups for year, month and day (from 1).

    >>> DateFormat.of("%d.%m.%Y").read("3.1.2026"), DateFormat.of("").read("2026-01-03T10:00")
    (datetime.date(2026, 1, 3), datetime.date(2026, 1, 3))
    """

    pattern: str = _ISO
    year: int = 1
    month: int = 2
    day: int = 3

    @classmethod
    def of(cls, written: str) -> "DateFormat":
        """Parse a format such as %d.%m.%Y; the empty text means 2026-01-31, optionally followed by a time."""
        if written in ("", ISO):
            return cls()
        hints = [("%Y %m %d", "year, month, day"), ("%H %M %S %f %z", "a time and its offset, which are left out")]
        parts = list(_patterns(written, _PIECES, hints))
        pattern = "".join(part for _, part in parts)
        order = "".join(letter for letter, _ in parts if letter in ("Y", "m", "d"))
        if sorted(order) != ["Y", "d", "m"]:
            raise PolicyError(
                f"format is {written[:40]!r}; it needs %Y, %m and %d, once each", hints=['format = "%d.%m.%Y"']
            )
        return cls(rf"[ \t]*{pattern}[ \t]*", *(order.index(x) + 1 for x in "Ymd"))

    def read(self, text: str) -> date | None:
        """Return the day that a text names; None if it does not name one."""
        match = re.fullmatch(self.pattern, text)
        if match is None:
            return None
        try:
            return date(int(match[self.year]), int(match[self.month]), int(match[self.day]))
        except ValueError:
            return None


_HOUR, _SIXTY = "([01]?[0-9]|2[0-3])", "([0-5][0-9])"
_CLOCK_WITHOUT_ZONE = rf":{_SIXTY}(?::{_SIXTY}(?:[.,][0-9]{{1,9}})?)?"
_CLOCK = rf"{_CLOCK_WITHOUT_ZONE}[ ]?(?:[Zz]|[+-][0-9]{{2}}(?::?[0-9]{{2}})?)?"
_PARTS = {"H": _HOUR, "M": "([0-5]?[0-9])", "S": "([0-5]?[0-9])"} | {
    "Y": "[0-9]{4}",
    "m": "[0-9]{1,2}",
    "d": "[0-9]{1,2}",
    "f": "[0-9]{1,9}",
    "z": _ZONE,
}


@dataclass(frozen=True)
class TimeFormat:
    """A pattern for times of day, and the numbers of its groups for hour, minute and second (from 1; 0 for none).

    >>> [TimeFormat.of("").read(x) for x in ("08:15", "2026-01-31T10:00:01Z", "24:00", "8")]
    [29700, 36001, None, None]
    >>> TimeFormat.of("%H.%M").read("8.15"), TimeFormat.of("", whole_hours=True).read("8")
    (29700, 28800)
    """

    pattern: str
    hour: int = 1
    minute: int = 2
    second: int = 3

    @classmethod
    def of(cls, written: str, *, whole_hours: bool = False, zone: bool = True) -> "TimeFormat":
        """Parse a format such as %H.%M; the empty text means 08:15, optionally with seconds and after a date.

        In the default format, `whole_hours` also reads 8 as an hour, and `zone` accepts and ignores an offset.
        """
        if written in ("", ISO):
            clock = _CLOCK if zone else _CLOCK_WITHOUT_ZONE
            clock = rf"(?:(?:\.0*)?|{clock})" if whole_hours else clock
            return cls(rf"[ \t]*(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ])?{_HOUR}{clock}[ \t]*")
        hints = [("%H %M %S %f", "hour, minute, second"), ("%Y %m %d %z", "a day and an offset, which are left out")]
        parts = list(_patterns(written, _PARTS, hints))
        pattern = "".join(part for _, part in parts)
        order = "".join(letter for letter, _ in parts if letter in ("H", "M", "S"))
        if "H" not in order or len(set(order)) < len(order):
            raise PolicyError(
                f"format is {written[:40]!r}; it needs %H once, and %M and %S at most once", hints=['format = "%H:%M"']
            )
        return cls(rf"[ \t]*{pattern}[ \t]*", *(order.find(x) + 1 for x in "HMS"))

    def read(self, text: str) -> int | None:
        """Return the seconds since midnight of a time of day; None if the text is not one."""
        match = re.fullmatch(self.pattern, text)
        if match is None:
            return None
        parts = ((self.hour, 3600), (self.minute, 60), (self.second, 1))
        return sum(int(match[group] or 0) * size for group, size in parts if group)


@dataclass(frozen=True)
class Instant:
    """A pattern for a day, a time and its offset from UTC, as pieces: a letter (or nothing) and a pattern each.

    >>> iso = Instant(_ISO_INSTANT)
    >>> iso.read("2026-01-31T23:30:00-05:00").isoformat(), iso.read("2026-01-31T23:30")
    ('2026-02-01T04:30:00+00:00', None)
    """

    pieces: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, written: str) -> "Instant":
        """Parse a format with %z; it needs a day and a time, because the conversion to another zone does."""
        if written in ("", ISO):
            return cls(_ISO_INSTANT)
        pieces = tuple(_patterns(written, _OF_INSTANTS, [("%Y %m %d %H %M %S %f %z", "a day, a time, its offset")]))
        letters = "".join(letter for letter, _ in pieces)
        if any(letters.count(x) != 1 for x in "YmdHMz") or letters.count("S") > 1:
            raise PolicyError(
                f"format is {written[:40]!r}; with a timezone, %z needs %Y, %m, %d, %H and %M, once each",
                hints=['format = "%d.%m.%Y %H:%M%z"'],
            )
        return cls(pieces)

    def pattern(self, letters: str = "", zone: str = _ZONE) -> str:
        """Return the pattern of a whole text, with groups around some pieces; `zone` is the pattern of the offset."""
        told = ((letter, zone if letter == "z" else piece) for letter, piece in self.pieces)
        body = "".join(f"({piece})" if letter and letter in letters else piece for letter, piece in told)
        return rf"[ \t]*{body}[ \t]*"

    @property
    def order(self) -> tuple[int, int, int]:
        """The numbers of the groups for year, month and day, from 1."""
        order = "".join(letter for letter, _ in self.pieces if letter in ("Y", "m", "d"))
        return order.index("Y") + 1, order.index("m") + 1, order.index("d") + 1

    def has(self, letter: str) -> bool:
        """Return whether the format has a piece with this letter."""
        return any(letter == piece for piece, _ in self.pieces)

    @property
    def west(self) -> str:
        """The pattern of a text whose offset is negative."""
        return self.pattern(zone=f"-(?:{_OFFSET_HOURS})(?::?{_OFFSET_MINUTES})?")

    @property
    def offset_hours(self) -> str:
        """The pattern of a text, with a group for the hours of its offset."""
        return self.pattern(zone=f"[+-]({_OFFSET_HOURS})(?::?{_OFFSET_MINUTES})?")

    @property
    def offset_minutes(self) -> str:
        """The pattern of a text whose offset has minutes, with a group for these."""
        return self.pattern(zone=f"[+-](?:{_OFFSET_HOURS}):?({_OFFSET_MINUTES})")

    def read(self, text: str) -> datetime | None:
        """Return the instant that a text names, in UTC; None if it names none, or none of a known day."""
        if re.fullmatch(self.pattern(), text) is None:
            return None

        def number(pattern: str) -> int:
            found = re.fullmatch(pattern, text)
            return int(found[1] or 0) if found else 0

        year, month, day, hour, minute = (number(self.pattern(letter)) for letter in "YmdHM")
        second = number(self.pattern("S")) if self.has("S") else 0
        offset = timedelta(hours=number(self.offset_hours), minutes=number(self.offset_minutes))
        zone = timezone(-offset if re.fullmatch(self.west, text) else offset)
        try:
            moment = datetime(year, month, day, hour, minute, second, tzinfo=zone).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
        return moment if KNOWN_INSTANTS[0] <= moment.date() <= KNOWN_INSTANTS[1] else None


def date_formats(written: Written, *, zoned: bool) -> tuple[DateFormat | Instant, ...]:
    """Return the formats by which entries of days are read; the first that matches counts.

    With `zoned`, a text with an offset is an instant, whose day depends on the time zone; otherwise offsets are
    ignored.
    """
    out: list[DateFormat | Instant] = []
    for each in (written,) if isinstance(written, str) else written:
        if not zoned:
            out.append(DateFormat.of(each))
        elif each in ("", ISO):
            out += [Instant.of(each), DateFormat(_ISO_WITHOUT_ZONE)]
        else:
            out.append(Instant.of(each) if "%z" in each else DateFormat.of(each))
    return tuple(out)


def time_formats(written: Written, *, zoned: bool, whole_hours: bool = False) -> tuple[TimeFormat | Instant, ...]:
    """Return the formats by which entries of times of day are read; the first that matches counts."""
    out: list[TimeFormat | Instant] = []
    for each in (written,) if isinstance(written, str) else written:
        if zoned and ("%z" in each or each in ("", ISO)):
            out.append(Instant.of(each))
        if not zoned or "%z" not in each:
            out.append(TimeFormat.of(each, whole_hours=whole_hours, zone=not zoned))
    return tuple(out)


def settled(name: str, written: Written | Sequence[str], timezone: str) -> Written:
    """Return formats as an attribute stores them; raise PolicyError for a time zone without effect on any format."""
    example = 'format = ["iso", "%d.%m.%Y"]'
    if isinstance(written, str):
        out: Written = written
    else:
        out = tuple(written)
        if len(out) < 2 or len(set(out)) < len(out) or not all(isinstance(x, str) and x for x in out):
            raise PolicyError(f"{name}: a list of formats has two or more different ones", hints=[example])
    each = (out,) if isinstance(out, str) else out
    if timezone and not any("%z" in x or x in ("", ISO) for x in each):
        plain = each[0][:40]
        zoned = plain.removesuffix("Z") + ("%z" if {"%H", "%M"} & set(re.findall("%[A-Za-z]", plain)) else " %H:%M%z")
        raise PolicyError(
            f"{name}: timezone has no effect on text in the format {each[0][:40]!r}, which has no offset",
            hints=[
                (f'format = "{zoned}"', "if entries end in Z, +02:00 or +0200"),
                ("no timezone", "if days and times are to be read as they are written"),
                ("no format", "if the column is not text"),
            ],
        )
    return out


def hours_of(value: object) -> Fraction | None:
    """Return a time of day such as 08:15 or 24:00 in hours; None for anything else.

    >>> hours_of("08:15"), hours_of("24:00"), hours_of("8")
    (Fraction(33, 4), Fraction(24, 1), None)
    """
    match = re.fullmatch(f"([0-9]{{1,2}}):{_SIXTY}(?::{_SIXTY})?", value) if isinstance(value, str) else None
    if match is None:
        return None
    seconds = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3] or 0)
    return Fraction(seconds, 3600) if seconds <= 86_400 else None


def as_date(value: object) -> date | None:
    """Return the day of a date, a point in time or text such as 2026-01-31; None for anything else.

    >>> as_date("2026-01-31"), as_date("31.1.2026"), as_date("20260131")
    (datetime.date(2026, 1, 31), None, None)
    """
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None
