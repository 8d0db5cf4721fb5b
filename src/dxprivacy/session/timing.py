"""Pace: answers leave at whole multiples of a period, so that the time of counting tells little about the data.

The period is public: named by the curator, or taken from public numbers so that nearly every count fits into one.  How
many periods passed is still seen: where a count took longer than one, that it did so.
"""

import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dxprivacy.errors import UsageError
from dxprivacy.universe.universe import Universe

AUTO = "auto"
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}
_LONGEST = 3600.0


def period(pace: str | float | None, universe: Universe, rows: int) -> float:
    """The period in seconds, 0 for none.

    >>> from dxprivacy.universe.universe import Universe
    >>> few = Universe.listed(["a", "b"])
    >>> period("1.5 s", few, 1000), period(None, few, 1000), period("auto", few, 1000), period("auto", few, 20_000_000)
    (1.5, 0.0, 2.0, 200.0)
    """
    if pace is None:
        return 0.0
    if pace == AUTO:
        return _ample(universe, rows)
    seconds = _seconds(pace)
    if not 0 < seconds <= _LONGEST:
        hints = [
            ("--quantize-time 1s", "answers leave at whole seconds"),
            ("--quantize-time auto", "a period from public numbers"),
        ]
        raise UsageError(f"pace is {str(pace)[:40]!r}; a period up to an hour is needed", hints=hints)
    return seconds


def _seconds(pace: str | float) -> float:
    if isinstance(pace, (int, float)) and not isinstance(pace, bool):
        return float(pace)
    written = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|min)\s*", str(pace))
    return float(written[1]) * _UNITS[written[2]] if written else 0.0


def _ample(universe: Universe, rows: int) -> float:
    """Several times what the slowest of our counts takes, rounded up to 1, 2 or 5 times a power of ten.

    Lines take a microsecond for each row and column, whatever engine; cells take as long as they take to be filled.
    """
    columns = sum(len(attribute.reads) for attribute in universe.attributes)
    seconds = 4 * (0.4 + 2e-6 * rows * columns + 2e-8 * universe.size)
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(power * step for step in (1.0, 2.0, 5.0, 10.0) if power * step >= seconds)


@contextmanager
def paced(seconds: float) -> Iterator[None]:
    """Leave at a whole multiple of a period after entering: also with an error, but not when we are asked to stop.

    >>> with paced(0.0):
    ...     pass
    """
    start = time.monotonic()
    try:
        yield
    except Exception:
        _wait(start, seconds)
        raise
    _wait(start, seconds)


def _wait(start: float, seconds: float) -> None:
    if seconds:
        passed = time.monotonic() - start
        time.sleep(max(0.0, math.ceil(passed / seconds) * seconds - passed))
