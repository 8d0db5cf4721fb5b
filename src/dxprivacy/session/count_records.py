"""Counting what is asked about, and nothing else: one histogram by all these attributes, or several by some of them.

Which of the two is decided from public numbers alone: no more cells have rows than there are rows, and no more than
there are cells.
"""

from collections.abc import Sequence

from dxprivacy.engines.packing import Packing
from dxprivacy.engines.source import Source, in_snapshot
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
    """The rows of a source by the attributes of every question; one table where that fits, otherwise several.

    Of people with several rows, those that are kept; by the attributes of `people` also whose they are.
    All tables, and the public number of people, come from one state of the source.
    """
    return in_snapshot(source, lambda same: _count(same, universe, asked, records, people, is_newer=same is not source))


def public_rows(source: Source, universe: Universe) -> int:
    """The public number of rows; of people with several rows, how many rows can be kept."""
    return source.rows() if universe.people is None else source.people(universe) * universe.people.at_most


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
    """The sets of attributes to count by: every question's attributes are among one of them.

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
