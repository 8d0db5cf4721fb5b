"""Counts of regions with soft borders: near a border, each side counts a fraction of the record.

A Gaussian spreads each place over a fine map.  Every grid cell belongs to the group of the place nearest to its middle.
The nearest place is found with single float64 products and sums, so that the result is the same on every machine.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np

from dxprivacy.errors import Hint, QueryError, TooLarge
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.normal import FARTHEST, STEPS
from dxprivacy.exact.rounding import number_text
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.kinds.maps import MOST_ENTRIES, Map, larger, measured_on_earth, rounded, too_many_parts
from dxprivacy.queries.kinds.quantiles import beside
from dxprivacy.queries.kinds.soft_counts import soft_answers
from dxprivacy.queries.query import Query
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.blocks import Blurred
from dxprivacy.universe.workload import Workload

MOST_CELLS = 400_000
_FINER = (8, 4, 2)  # grid cells for each width of the Gaussian, finest first
_TRIED = 6  # other blurs to try for a hint
_NEAREST = 16  # places compared for each grid cell; if all are equally near, all places are compared


def soft_places(query: Query, found: Grouped, lengths: str) -> Reference | None:
    """Return the places whose groups and conditions get soft borders; None if the blur is along a number line."""
    refs = [resolve(name, found.universe) for name in query.names(found.universe)]
    numbered = any(ref.numbers is not None for ref in refs)
    axes = {ref.axis for ref in refs if isinstance(ref.attribute, Points) and ref.attribute.coordinates.shape[1] == 2}
    if lengths and len(axes) != 1:
        raise QueryError(
            "km, m and miles are lengths between places; they need groups of one attribute with places",
            hints=[("count by state blur 20 km", "for example"), ("blur N", "without a unit, between numbers")],
        )
    if len(axes) != 1 or (numbered and not lengths):
        return None
    (axis,) = axes
    return Reference(axis, found.universe.attributes[axis])


def region_map(ref: Reference, blur: Fraction, lengths: str) -> Map:
    """Return the map over all places with the finest grid that is small enough."""
    found = [
        _everywhere(ref, lengths, blur, blur / cells)
        for cells in _FINER
        if ref.attribute.listed * (2 * FARTHEST * cells + 2) ** 2 <= MOST_ENTRIES or cells == _FINER[-1]
    ]
    return next((one for one in found if one.cells <= MOST_CELLS), found[-1])


def _everywhere(ref: Reference, lengths: str, width: Fraction | None = None, every: Fraction | None = None) -> Map:
    places = ref.attribute
    assert isinstance(places, Points)
    counted: Ints = np.zeros(places.listed, dtype=np.int64)
    return Map.of(places, counted, width, every, earth=measured_on_earth(places, lengths), most_cells=MOST_CELLS)


@dataclass(frozen=True)
class _Borders:
    """Groups of places with soft borders of one width, on a map whose grid cells each belong to one group."""

    drawn: Map
    groups: Ints

    @classmethod
    def of(cls, ref: Reference, blur: Fraction | None, lengths: str, groups: Ints) -> "_Borders":
        """Draw the map for a blur; None draws a default map, which shows how far the map reaches."""
        drawn = _everywhere(ref, lengths) if blur is None else region_map(ref, blur, lengths)
        return cls(drawn, groups[: ref.attribute.listed])

    @property
    def has_room(self) -> bool:
        return self.drawn.cells <= MOST_CELLS and self.drawn.parts <= MOST_ENTRIES

    @cached_property
    def owners(self) -> Ints:
        """The group of each grid cell."""
        return np.asarray(self.groups[nearest_places(self.drawn)], dtype=np.int64)

    @property
    def without_any(self) -> list[int]:
        """The groups that own no grid cell."""
        return sorted(set(self.groups.tolist()) - set(self.owners.tolist()))

    @property
    def works(self) -> bool:
        return self.has_room and not self.without_any


def _borders(ref: Reference, blur: Fraction, lengths: str, groups: Ints) -> _Borders:
    """Return the borders.

    Refuse maps with too many grid cells or parts, and groups that own no grid cell.  The hint names a blur that works.
    """
    hard = ("without blur", "borders as they are")

    def hint(blurs: Iterable[Fraction], why: str) -> list[Hint]:
        found = next((b for b in blurs if _Borders.of(ref, b, lengths, groups).works), None)
        return [hard] if found is None else [(f"blur {drawn.length(found)}", why), hard]

    drawn = _Borders.of(ref, None, lengths, groups).drawn
    if blur > drawn.longer:
        reach = drawn.length(rounded(drawn.longer))
        raise QueryError(
            f"blur {drawn.length(blur)} is wider than the map of {ref.attribute.name}, {reach}",
            hints=hint((rounded(drawn.longer / 5 / 2**k) for k in range(_TRIED)), "or less"),
        )
    borders = _Borders.of(ref, blur, lengths, groups)
    drawn = borders.drawn
    if borders.works:
        return borders
    if borders.has_room:
        name = ref.attribute.label(int(np.flatnonzero(borders.groups == borders.without_any[0])[0]))
        raise QueryError(
            f"a group that contains {name} is too small for soft borders of {drawn.length(drawn.width)}: no grid cell "
            "is nearest to it",
            hints=hint((rounded(drawn.width / 2**k) for k in range(1, _TRIED)), "borders that are less soft"),
        )
    if drawn.cells > MOST_CELLS:
        what = f"{drawn.cells:,} grid cells of {drawn.length(drawn.every)} are more than {MOST_CELLS:,}"
    else:
        what = too_many_parts(drawn)
    wider = larger(drawn.width, drawn.cells / MOST_CELLS, drawn.longer)
    raise TooLarge(what, hints=hint(islice(wider, _TRIED), "has few enough"))


def soft_regions(query: Query, found: Grouped, ref: Reference, blur: Fraction, lengths: str) -> Workload:
    """Return a row for each combination of groups; the groups of places have soft borders."""
    universe, axis = found.universe, ref.axis
    borders = _borders(ref, blur, lengths, found.groups[axis])
    drawn = borders.drawn
    merged = _merged(drawn.spread[0], borders.owners, found.sizes[axis])
    matrix = drawn.columns(merged, universe.shape[axis])
    block = Blurred(axis, matrix, beside(found, axis), drawn.bell(), drawn.inside)
    moved = _moved(block, found.groups[axis], found.sizes[axis])
    return Workload(universe, (block,), soft_answers(found, axis, block.unit, moved), (str(query),))


def _moved(block: Blurred, groups: Ints, size: int) -> list[float]:
    """Return, for each group, the largest fraction of a record that blurring moves into or out of it."""
    listed = len(block.inside)
    own = groups[:listed]
    value, part, amount = block.entries
    here = value < listed
    value, part, amount = value[here], part[here], amount[here]
    kept = np.bincount(value, np.where(part == own[value], amount, 0), minlength=listed).astype(np.int64)
    most: Ints = np.zeros(size, dtype=np.int64)
    inside = own >= 0
    np.maximum.at(most, own[inside], STEPS - kept[inside])
    outside = part != own[value]
    np.maximum.at(most, part[outside], amount[outside])
    return [int(x) / STEPS for x in most]


def soft_words(called: str, drawn: Map) -> str:
    """Return the remark that states how records are blurred."""
    width = f"{number_text(drawn.width)} {drawn.unit}".rstrip()
    return (
        f"{called}: every record is spread around its place by a bell of width {width}, and who is near a border "
        "counts in part on both sides; intervals are for these counts"
    )


def counted_elsewhere(block: Blurred, groups: Ints) -> Floats:
    """Return, for each listed place, the fraction of a record there that counts outside its own group.

    For a place without a group it is the fraction that counts at all.  It follows from the policy alone, and bounds how
    much one record of that place changes a count by having soft borders.
    """
    listed = len(block.inside)
    own = groups[:listed]
    value, part, amount = block.entries
    here = value < listed
    value, part, amount = value[here], part[here], amount[here]
    mine = np.bincount(value, np.where(part == own[value], amount, 0), minlength=listed)
    everywhere = np.bincount(value, amount, minlength=listed)
    return np.asarray(np.where(own >= 0, np.maximum(STEPS - mine, 0), everywhere) / STEPS, dtype=np.float64)


def _merged(matrix: Any, owners: Ints, groups: int) -> Any:
    """Add the rows of each group; rows without a group are dropped."""
    from scipy.sparse import coo_array

    owned = np.flatnonzero(owners >= 0)
    belongs = coo_array((np.ones(len(owned), dtype=np.int64), (owners[owned], owned)), shape=(groups, matrix.shape[0]))
    out = (belongs.tocsr() @ matrix).tocsc()
    out.sort_indices()
    return out


def nearest_places(drawn: Map) -> Ints:
    """Return the place nearest to the middle of each grid cell, row by row; the first of equally near places."""
    from scipy.spatial import cKDTree

    spots = np.stack([_floats(drawn, side) for side in (0, 1)], axis=1)
    sides = [np.array([float((a + b) / 2) for a, b in pairwise(e)]) for e in drawn.edges]
    middles = np.stack([np.repeat(sides[0], len(sides[1])), np.tile(sides[1], len(sides[0]))], axis=1)
    many = min(_NEAREST, len(spots))
    near = cKDTree(spots).query(middles, k=many)[1].reshape(len(middles), many)
    squares = _squares(spots[near], middles[:, None, :])
    least = squares.min(axis=1)
    chosen = np.where(squares == least[:, None], near, len(spots)).min(axis=1)
    if many < len(spots):  # if even the last one found is as near, more may be
        for cell in np.flatnonzero(squares.max(axis=1) <= least * (1 + 2.0**-40)).tolist():
            chosen[cell] = int(_squares(spots, middles[cell]).argmin())
    return np.asarray(chosen, dtype=np.int64)


def _floats(drawn: Map, side: int) -> Floats:
    unit = drawn.plane.lengths[side]
    numbers, which = drawn.plane.along(side)
    return np.array([float(x * unit) for x in numbers])[which]


def _squares(spots: Floats, middles: Floats) -> Floats:
    # One subtraction, one product and one sum for each length: the same float64 result on every machine.
    apart = spots - middles
    squares: Floats = apart * apart
    return np.asarray(squares[..., 0] + squares[..., 1], dtype=np.float64)
