"""Days: how they are written, and how the calendar groups them (docs/formats.md, sections 2 and 4)."""

import re
from collections.abc import Callable
from datetime import date

from dxprivacy.verify.reading import refuse

_ISO = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?[ ]?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?"
_PARTS = {"%Y": "(?P<Y>[0-9]{4})", "%m": "(?P<m>[0-9]{1,2})", "%d": "(?P<d>[0-9]{1,2})", "%f": "[0-9]{1,9}"}
_CLOCK = dict.fromkeys(("%H", "%M", "%S"), "[0-9]{1,2}")
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


def reader(layout: str, where: str) -> Callable[[str], date | None]:
    """What reads days in the layout that the data was declared to have.

    >>> reader("%d.%m.%Y", "")(" 3.1.2026"), reader("", "")("2026-01-03T10:00"), reader("", "")("3.1.2026")
    (datetime.date(2026, 1, 3), datetime.date(2026, 1, 3), None)
    """
    if not layout:
        return _day_of_a_time
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
    compiled = re.compile(rf"[ \t]*{pattern}[ \t]*")

    def read(written: str) -> date | None:
        found = compiled.fullmatch(written)
        try:
            return date(int(found["Y"]), int(found["m"]), int(found["d"])) if found else None
        except ValueError:
            return None

    return read


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
