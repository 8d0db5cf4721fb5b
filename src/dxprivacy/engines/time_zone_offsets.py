"""The offsets of a time zone as a short table, so that SQL and Python agree on the day of an instant.

Databases bring their own time-zone data, which differs from Python's (in 111 of 599 zones, before 1970 or after 2030).
Here Python's `zoneinfo` is the only one: SQL gets the moments at which the offset changes, and adds constants.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from dxprivacy.universe.reading.codecs import Days
from dxprivacy.universe.reading.time_zones import zone_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = int((datetime(1800, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds())  # before, every zone has one offset
_LAST = int((datetime(9999, 12, 29, tzinfo=UTC) - _EPOCH).total_seconds())
_STEP = 86_400  # no zone has ever changed its offset twice within a day


def offsets(days: Days) -> tuple[tuple[int, int], ...]:
    """(from, offset) in seconds, in order: the offset of local time from UTC, for all instants within two days of the
    attribute's range; the first pair also holds before it.

    >>> from datetime import date
    >>> offsets(Days(date(2026, 6, 1), date(2026, 12, 31), "Europe/Berlin"))
    ((1780099200, 7200), (1792890000, 3600))
    """
    first = int((datetime.combine(days.first, datetime.min.time(), UTC) - _EPOCH).total_seconds()) - 2 * 86_400
    last = int((datetime.combine(days.last, datetime.min.time(), UTC) - _EPOCH).total_seconds()) + 3 * 86_400
    if not days.timezone:
        return ((max(first, _FIRST), 0),)
    return _between(zone_of(days.timezone), max(first, _FIRST), min(last, _LAST))


@lru_cache(maxsize=64)
def _between(zone: tzinfo, first: int, last: int) -> tuple[tuple[int, int], ...]:
    at, offset = first, _offset(zone, first)
    out = [(at, offset)]
    while at < last:
        ahead = min(at + _STEP, last)
        if _offset(zone, ahead) == offset:
            at = ahead
            continue
        same, changed = at, ahead
        while changed - same > 1:
            middle = (same + changed) // 2
            if _offset(zone, middle) == offset:
                same = middle
            else:
                changed = middle
        at, offset = changed, _offset(zone, changed)
        out.append((at, offset))
    return tuple(out)


def _offset(zone: tzinfo, seconds: int) -> int:
    local = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)
    return int((local.utcoffset() or timedelta(0)).total_seconds())
