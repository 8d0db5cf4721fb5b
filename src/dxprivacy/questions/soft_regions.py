"""Counts of regions whose borders are soft: near a border a record counts in part on both sides.

Places are spread by a bell over a fine map, and every cell of it belongs to the group of the place that is nearest to
its middle.  Which one that is follows from plain products of float64 numbers, so that it is the same on every machine.
"""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dxprivacy.attributes.points import Points
from dxprivacy.errors import QuestionError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.normal import FARTHEST, STEPS
from dxprivacy.exact.numbers import number_text
from dxprivacy.model.blocks import Blurred
from dxprivacy.model.recipes import Linear
from dxprivacy.model.workload import Answer, Workload
from dxprivacy.questions.grouped import Grouped
from dxprivacy.questions.grouping import Reference, resolve
from dxprivacy.questions.lines import beside
from dxprivacy.questions.maps import MOST_ENTRIES, Map, measured_on_earth
from dxprivacy.questions.question import Question
from dxprivacy.questions.soft_counts import soft_rows

MOST_CELLS = 400_000
_FINER = (8, 4, 2)  # cells for each width of the bell
_NEAREST = 16  # places that may be as near as the nearest one, before all are looked at


def soft_places(question: Question, found: Grouped, lengths: str) -> Reference | None:
    """The places whose groups and conditions get soft borders; None where it is a line of numbers that is meant."""
    refs = [resolve(name, found.universe) for name in question.names(found.universe)]
    numbered = any(ref.numbers is not None for ref in refs)
    axes = {ref.axis for ref in refs if isinstance(ref.attribute, Points) and ref.attribute.coordinates.shape[1] == 2}
    if lengths and len(axes) != 1:
        raise QuestionError(
            "kilometres lie between places, and groups of one attribute with places are needed here",
            hints=[("count by state blur 20 km", "for example")],
        )
    if len(axes) != 1 or (numbered and not lengths):
        return None
    (axis,) = axes
    return Reference(axis, found.universe.attributes[axis])


def region_map(ref: Reference, blur: Fraction, lengths: str) -> Map:
    """The fine map over all places."""
    places = ref.attribute
    assert isinstance(places, Points)
    everywhere: Ints = np.zeros(places.listed, dtype=np.int64)
    earth = measured_on_earth(places, lengths)
    found = [
        Map.of(places, everywhere, blur, blur / cells, earth=earth, most_cells=MOST_CELLS)
        for cells in _FINER
        if places.listed * (2 * FARTHEST * cells + 2) ** 2 <= MOST_ENTRIES or cells == _FINER[-1]
    ]
    return next((one for one in found if one.cells <= MOST_CELLS), found[-1])


def soft_regions(question: Question, found: Grouped, ref: Reference, blur: Fraction, lengths: str) -> Workload:
    """A row for each combination of groups, those of places with soft borders."""
    drawn, universe, axis = region_map(ref, blur, lengths), found.universe, ref.axis
    groups = found.groups[axis][: ref.attribute.listed]
    owners = groups[nearest_places(drawn)]
    if missing := sorted(set(groups.tolist()) - set(owners.tolist())):
        name = ref.attribute.label(int(np.flatnonzero(groups == missing[0])[0]))
        raise QuestionError(
            f"a group that holds {name} is too small for soft borders of {number_text(blur)}: nothing is nearest to it",
            hints=[(f"blur {float(blur / 2):.3g}", "or less"), ("without blur", "borders as they are")],
        )
    merged = _merged(drawn.spread[0], owners, found.sizes[axis])
    matrix = drawn.columns(merged, universe.shape[axis])
    block = Blurred(axis, matrix, beside(found, axis), drawn.bell(), drawn.inside)
    answers = [
        Answer(label, 0, Linear(row, block.unit), "", question.within, Fraction(1), groups)
        for label, row, groups in zip(found.labels, soft_rows(found, axis), found.places, strict=True)
    ]
    return Workload(universe, (block,), tuple(answers), (str(question),))


def soft_words(called: str, drawn: Map) -> str:
    """What is counted."""
    width = f"{number_text(drawn.width)} {drawn.unit}".rstrip()
    return (
        f"{called}: every record is spread around its place by a bell of width {width}, and who is near a border "
        "counts in part on both sides; intervals are for these counts"
    )


def counted_elsewhere(block: Blurred, groups: Ints) -> Floats:
    """For each listed place which part of a record there counts in another group than its own, or though it has none.

    Known from the policy alone, and the most by which soft borders move a count, for each record of that place.
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
    """Rows of one owner added up; those of none are left out."""
    from scipy.sparse import coo_array

    owned = np.flatnonzero(owners >= 0)
    belongs = coo_array((np.ones(len(owned), dtype=np.int64), (owners[owned], owned)), shape=(groups, matrix.shape[0]))
    out = (belongs.tocsr() @ matrix).tocsc()
    out.sort_indices()
    return out


def nearest_places(drawn: Map) -> Ints:
    """For each cell, row by row, the place nearest to its middle; of several the first."""
    from scipy.spatial import cKDTree

    spots = np.stack([_floats(drawn, side) for side in (0, 1)], axis=1)
    sides = [np.array([float((a + b) / 2) for a, b in pairwise(e)]) for e in drawn.edges]
    middles = np.stack([np.repeat(sides[0], len(sides[1])), np.tile(sides[1], len(sides[0]))], axis=1)
    many = min(_NEAREST, len(spots))
    near = cKDTree(spots).query(middles, k=many)[1].reshape(len(middles), many)
    squares = _squares(spots[near], middles[:, None, :])
    least = squares.min(axis=1)
    chosen = np.where(squares == least[:, None], near, len(spots)).min(axis=1)
    if many < len(spots):  # where even the last one found is as near, there may be more
        for cell in np.flatnonzero(squares.max(axis=1) <= least * (1 + 2.0**-40)).tolist():
            chosen[cell] = int(_squares(spots, middles[cell]).argmin())
    return np.asarray(chosen, dtype=np.int64)


def _floats(drawn: Map, side: int) -> Floats:
    unit = drawn.plane.lengths[side]
    numbers, which = np.unique(drawn.plane.coordinates[:, side], return_inverse=True)
    return np.array([float(Fraction(x) * unit) for x in numbers.tolist()])[which.reshape(-1)]


def _squares(spots: Floats, middles: Floats) -> Floats:
    """Squared lengths, by one subtraction, one product and one sum each."""
    apart = spots - middles
    squares: Floats = apart * apart
    return np.asarray(squares[..., 0] + squares[..., 1], dtype=np.float64)
