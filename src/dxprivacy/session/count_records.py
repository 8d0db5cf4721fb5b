"""Count the records by the attributes of the queries: one histogram by all of them, or several by some of them.

The choice depends on public numbers alone: a histogram has at most as many nonzero entries as there are rows, and at
most as many as there are combinations of values.
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
_MOST_CELLS = 1 << 22  # combinations of values in one histogram among several


def count(
    source: Source, universe: Universe, asked: Sequence[Axes], records: int, people: Sequence[Axes] = ()
) -> Histogram:
    """Count the rows of a source by the attributes of every query; one table if it is small enough, else several.

    For people with several rows, count the kept rows; by the attributes of `people`, also record the person of each.
    All tables, and the public number of people, come from one snapshot of the source.
    """
    return in_snapshot(source, lambda same: _count(same, universe, asked, records, people, is_newer=same is not source))


def public_rows(source: Source, universe: Universe) -> int:
    """Return the public number of rows; for people with several rows, the largest number of kept rows."""
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
    """Count like `count`; `is_newer` if the source may have changed since `records` was read from it."""
    if is_newer and universe.people is not None and universe.max_records is None:
        records = public_rows(source, universe)
    parts = projections(universe, asked, records) if asked or not people else ()
    if universe.people is None:
        return Histogram.joined(universe, [(axes, source.count(universe.onto(axes))) for axes in parts])
    kept = [(axes, source.kept(universe, axes).histogram(universe.onto(axes))) for axes in parts]
    personal = [_by_person(source, universe, axes) for axes in projections(universe, people, records)] if people else []
    return Histogram.joined(universe, kept, personal, most=records)


def _by_person(source: Source, universe: Universe, axes: Axes) -> Occupied:
    """Count the kept rows by person and by the values of some attributes."""
    kept = source.kept(universe, axes, by_person=True)
    table = Packing(universe.onto(axes)).columns(kept.numbers)
    return Occupied(universe, {axes[k]: column for k, column in table.items()}, kept.counts, kept.person)


def projections(universe: Universe, asked: Sequence[Axes], records: int) -> tuple[Axes, ...]:
    """Return the sets of attributes to count by: every query's attributes are a subset of one of them.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> u = Universe([Integers(name=c, low=1, high=1000, has_other=False) for c in "abcd"])
    >>> projections(u, [(0, 1), (1, 2), (3,)], 1000), projections(u, [(0, 1), (1, 2), (3,)], 10**9)
    (((0, 1, 2, 3),), ((0, 1), (1, 2), (3,)))
    """
    together = _joined((), *asked) or (0,)  # if no attribute is needed, any one gives the number of rows
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


# -- Timing quantization: answers leave at whole multiples of a period, to hide how long counting took -----------------
# The period is public: given by the curator, or computed from public numbers so that nearly every count fits into one.
# The number of periods is still visible: it shows if a count took longer than one.


AUTO = "auto"
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}
_LONGEST = 3600.0


def period(quantize_time: str | float | None, universe: Universe, rows: int) -> float:
    """Return the period in seconds; 0 for no timing quantization.

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
        raise UsageError(f"quantize_time is {str(quantize_time)[:40]!r}; a period up to an hour is needed", hints=hints)
    return seconds


def _seconds(quantize_time: str | float) -> float:
    if isinstance(quantize_time, (int, float)) and not isinstance(quantize_time, bool):
        return float(quantize_time)
    written = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|min)\s*", str(quantize_time))
    return float(written[1]) * _UNITS[written[2]] if written else 0.0


def _ample(universe: Universe, rows: int) -> float:
    """Return several times the estimated time of the slowest count, rounded up to 1, 2 or 5 times a power of ten.

    Reading takes about a microsecond for each row and column with any engine; filling the histogram takes time for each
    possible record.
    """
    columns = sum(len(attribute.reads) for attribute in universe.attributes)
    seconds = 4 * (0.4 + 2e-6 * rows * columns + 2e-8 * universe.size)
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(power * step for step in (1.0, 2.0, 5.0, 10.0) if power * step >= seconds)


@contextmanager
def quantized(seconds: float) -> Iterator[None]:
    """Leave at a whole multiple of a period after entering, also on an error, but not on an interrupt.

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
