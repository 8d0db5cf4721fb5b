"""Counting what is asked about, and nothing else: one histogram by all these attributes, or several by some of them.

Which of the two is decided from public numbers alone: no more cells have rows than there are rows, and no more than
there are cells.
"""

import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dxprivacy.engines.fields import Packing
from dxprivacy.engines.source import Source, in_snapshot
from dxprivacy.errors import UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.universe import Universe

Axes = tuple[int, ...]
MOST_HELD = 1 << 26
"""Numbers in one histogram: half a gigabyte."""
_MOST_CELLS = 1 << 22  # of one histogram among several


def count(
    source: Source, universe: Universe, asked: Sequence[Axes], records: int, people: Sequence[Axes] = ()
) -> Histogram:
    """The rows of a source by the attributes of every query; one table where that fits, otherwise several.

    Of people with several rows, those that are kept; by the attributes of `people` also whose they are.
    All tables, and the public number of people, come from one state of the source.
    """
    return in_snapshot(source, lambda same: _count(same, universe, asked, records, people, is_newer=same is not source))


def public_rows(source: Source, universe: Universe) -> int:
    """The public number of rows; of people with several rows, how many rows can be kept."""
    return source.rows() if universe.people is None else source.people(universe) * universe.people.max_rows


def _count(
    source: Source,
    universe: Universe,
    asked: Sequence[Axes],
    records: int,
    people: Sequence[Axes],
    *,
    is_newer: bool,
) -> Histogram:
    """As `count`; `is_newer` if the source may have changed since `records` was read from it."""
    if is_newer and universe.people is not None and universe.max_records is None:
        records = public_rows(source, universe)
    parts = projections(universe, asked, records) if asked or not people else ()
    if universe.people is None:
        return Histogram.joined(universe, [(axes, source.count(universe.onto(axes))) for axes in parts])
    kept = [(axes, source.kept(universe, axes).histogram(universe.onto(axes))) for axes in parts]
    told = [_by_person(source, universe, axes) for axes in projections(universe, people, records)] if people else []
    return Histogram.joined(universe, kept, told, most=records)


def _by_person(source: Source, universe: Universe, axes: Axes) -> Occupied:
    """The kept rows by person and cell of some attributes."""
    kept = source.kept(universe, axes, by_person=True)
    table = Packing(universe.onto(axes)).columns(kept.numbers)
    return Occupied(universe, {axes[k]: column for k, column in table.items()}, kept.counts, kept.person)


def projections(universe: Universe, asked: Sequence[Axes], records: int) -> tuple[Axes, ...]:
    """The sets of attributes to count by: every query's attributes are among one of them.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> u = Universe([Integers(name=c, low=1, high=1000, has_other=False) for c in "abcd"])
    >>> projections(u, [(0, 1), (1, 2), (3,)], 1000), projections(u, [(0, 1), (1, 2), (3,)], 10**9)
    (((0, 1, 2, 3),), ((0, 1), (1, 2), (3,)))
    """
    together = _joined((), *asked) or (0,)  # of no attribute at all, any one tells how many rows there are
    if _held(universe, together, records) <= MOST_HELD:
        return (together,)
    found: list[Axes] = []
    for axes in sorted({_joined((), a) or (0,) for a in asked}, key=lambda axes: (-_cells(universe, axes), axes)):
        for k, before in enumerate(found):
            more = _joined(before, axes)
            if more == before or _cells(universe, more) <= _MOST_CELLS:
                found[k] = more
                break
        else:
            found.append(axes)
    return tuple(sorted(found))


def _joined(*axes: Axes) -> Axes:
    return tuple(sorted(set().union(*axes)))


def _cells(universe: Universe, axes: Axes) -> int:
    out = 1
    for axis in axes:
        out *= universe.shape[axis]
    return out


def _held(universe: Universe, axes: Axes, records: int) -> int:
    return min(_cells(universe, axes), records) * (len(axes) + 2)


# -- Pace: answers leave at whole multiples of a period, so that the time of counting tells little about the data ------
# The period is public: named by the curator, or taken from public numbers so that nearly every count fits into one. How
# many periods passed is still seen: where a count took longer than one, that it did so.


AUTO = "auto"
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}
_LONGEST = 3600.0


def period(quantize_time: str | float | None, universe: Universe, rows: int) -> float:
    """The period in seconds, 0 for none.

    >>> from dxprivacy.universe.universe import Universe
    >>> few = Universe.listed(["a", "b"])
    >>> period("1.5 s", few, 1000), period(None, few, 1000), period("auto", few, 1000), period("auto", few, 20_000_000)
    (1.5, 0.0, 2.0, 200.0)
    """
    if quantize_time is None:
        return 0.0
    if quantize_time == AUTO:
        return _ample(universe, rows)
    seconds = _seconds(quantize_time)
    if not 0 < seconds <= _LONGEST:
        hints = [
            ("--quantize-time 1s", "answers leave at whole seconds"),
            ("--quantize-time auto", "a period from public numbers"),
        ]
        raise UsageError(f"pace is {str(quantize_time)[:40]!r}; a period up to an hour is needed", hints=hints)
    return seconds


def _seconds(quantize_time: str | float) -> float:
    if isinstance(quantize_time, (int, float)) and not isinstance(quantize_time, bool):
        return float(quantize_time)
    written = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|min)\s*", str(quantize_time))
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
def quantized(seconds: float) -> Iterator[None]:
    """Leave at a whole multiple of a period after entering: also with an error, but not when we are asked to stop.

    >>> with quantized(0.0):
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
