"""Days: how they are written, and how the calendar groups them (docs/formats.md, sections 2 and 4)."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import product

from dxprivacy.verify.reading import refuse

_ISO = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?[ ]?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?"
_PARTS = {"%Y": "(?P<Y>[0-9]{4})", "%m": "(?P<m>[0-9]{1,2})", "%d": "(?P<d>[0-9]{1,2})", "%f": "[0-9]{1,9}"}
_OFFSET = "(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
_ISO_PARTS = "(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
_ISO_CLOCK = "[T ](?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,][0-9]{1,9})?)?"
_CLOCK = {f"%{letter}": f"[0-9]{{1,2}}(?#{letter})" for letter in "HMS"} | {"%z": f"{_OFFSET}(?#z)"}
_FIRST, _LAST = date(1, 1, 3), date(9999, 12, 29)  # in UTC: those that have a day in every zone
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def day(written: str) -> date | None:
    """A day as 2026-01-31; None for any other text.

    >>> day("2026-01-31"), day("2026-02-31"), day("31.1.2026")
    (datetime.date(2026, 1, 31), None, None)
    """
    try:
        return date.fromisoformat(written) if re.fullmatch(_ISO, written) else None
    except ValueError:
        return None


def reader(layouts: Sequence[str], zone: str, where: str) -> Callable[[str], date | None]:
    """What reads days in the layouts that the data was declared to have; the first that reads a text counts.

    With a time zone, a text with an offset names an instant, which has its day there; without one, the day as written.

    >>> reader(["%d.%m.%Y", "iso"], "", "")(" 3.1.2026"), reader([""], "", "")("2026-01-03T10:00")
    (datetime.date(2026, 1, 3), datetime.date(2026, 1, 3))
    >>> reader([""], "America/New_York", "")("2026-01-03T04:30Z")
    datetime.date(2026, 1, 2)
    """
    readers = [_reader(layout, zone, where) for layout in layouts]
    if zone and not any(layout in ("", "iso") or "%z" in layout for layout in layouts):
        raise refuse("a time zone, and a format without an offset", where)
    return lambda written: next((found for read in readers if (found := read(written)) is not None), None)


def _reader(layout: str, zone: str, where: str) -> Callable[[str], date | None]:
    if layout in ("", "iso"):
        return (lambda written: _day_of_iso(written, zone)) if zone else _day_of_a_time
    known = _PARTS | _CLOCK
    pattern = ""
    for digits, other in re.findall("((?:%.?|[0-9])+)|([^%])", layout, re.DOTALL):
        pieces = re.findall("%.?|.", digits, re.DOTALL)
        letters = [piece for piece in pieces if piece.startswith("%")]
        if any(piece not in known for piece in letters) or letters.count("%f") > 1:
            raise refuse(f"a format with {digits!r}", where)
        # Digits that follow digits are read in one way: %f may be shorter, or where there is none the first piece.
        shorter = "%f" if "%f" in letters else next(iter(letters), "")
        for k, piece in enumerate(pieces):
            may_be = piece == shorter and piece not in pieces[:k]
            pattern += known.get(piece, piece).replace("{1,2}", "{1,2}" if may_be else "{2}")
        pattern += re.escape(other)
    if sorted(re.findall("%[Ymd]", layout)) != ["%Y", "%d", "%m"]:
        raise refuse("a format of days without year, month or day", where)
    instant = bool(zone) and "%z" in layout
    if instant:
        named = sorted(re.findall("%[HMz]", layout))
        if named != ["%H", "%M", "%z"] or layout.count("%S") > 1:
            raise refuse("a format of instants without hour, minute or offset", where)
        for letter, piece in product("HMS", ("[0-9]{1,2}", "[0-9]{2}")):
            pattern = pattern.replace(f"{piece}(?#{letter})", f"(?P<{letter}>{piece})")
        pattern = pattern.replace(f"{_OFFSET}(?#z)", f"(?P<z>{_OFFSET})")
    compiled = re.compile(rf"[ \t]*{pattern}[ \t]*")

    def read(written: str) -> date | None:
        found = compiled.fullmatch(written)
        if found is None:
            return None
        if instant:
            return _day_in_zone(found.groupdict(), zone)
        try:
            return date(int(found["Y"]), int(found["m"]), int(found["d"]))
        except ValueError:
            return None

    return read


def _day_of_iso(written: str, zone: str) -> date | None:
    """A day, perhaps with a time behind it; with an offset behind that, in the zone."""
    found = re.fullmatch(rf"[ \t]*{_ISO_PARTS}(?:{_ISO_CLOCK}(?P<z>[ ]?{_OFFSET})?)?[ \t]*", written)
    if found is None or found["z"] is None:
        return _day_of_a_time(written) if found else None
    return _day_in_zone(found.groupdict(), zone)


def _day_in_zone(parts: dict[str, str | None], zone: str) -> date | None:
    """The day in a zone of an instant whose day in UTC is known in every zone."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    year, month, day, hour, minute, second = (int(parts.get(letter) or 0) for letter in "YmdHMS")
    offset = (parts["z"] or "").strip()
    digits = offset[1:].replace(":", "").ljust(4, "0") if offset[:1] in "+-" else "0000"
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    try:
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        at += ahead if offset.startswith("-") else -ahead
        return at.astimezone(ZoneInfo(zone)).date() if _FIRST <= at.date() <= _LAST else None
    except ZoneInfoNotFoundError:
        raise refuse("a time zone that is not known here", zone[:40]) from None
    except (ValueError, OverflowError):
        return None


def _day_of_a_time(written: str) -> date | None:
    """A day, perhaps with a time behind it."""
    found = re.fullmatch(rf"[ \t]*({_ISO})({_TIME})?[ \t]*", written)
    return day(found[1]) if found else None


def calendar(unit: str, at: date) -> tuple[int, str]:
    """The group of a day, by number and by label.

    >>> [calendar(unit, date(2026, 1, 1)) for unit in ("week", "month", "quarter", "weekday")]
    [(202601, '2026-W01'), (202601, '2026-01'), (20261, '2026-Q1'), (3, 'Thursday')]
    """
    if unit == "week":
        year, week, _ = at.isocalendar()
        return 100 * year + week, f"{year}-W{week:02d}"
    if unit == "month":
        return 100 * at.year + at.month, at.isoformat()[:7]
    if unit == "quarter":
        quarter = (at.month - 1) // 3 + 1
        return 10 * at.year + quarter, f"{at.year}-Q{quarter}"
    if unit == "weekday":
        return at.weekday(), WEEKDAYS[at.weekday()]
    if unit == "decade":
        return at.year // 10, f"{at.isoformat()[:3]}0s"
    return at.year, at.isoformat()[:4]


CALENDAR = ("week", "month", "quarter", "year", "decade", "weekday")
