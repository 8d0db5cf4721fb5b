"""Of values at one distance from one another, those that do not lie between two others (docs/formats.md, section 9).

Where values of an attribute differ in nothing but a weight, whatever the rest of the record is, their columns lie on a
line; the loss from any other column is convex along it, and so is largest at one of its ends.
"""

import math
from collections.abc import Sequence

from dxprivacy.verify.blocks import Block
from dxprivacy.verify.combined import WithOther
from dxprivacy.verify.distances import Constant, Distance

Point = tuple[int, ...]


def at_one_distance(metric: Distance) -> int | None:
    """How many values are: all, or all but the last one, `other`; None where distances differ."""
    if type(metric) is WithOther:
        return metric.base.size if isinstance(metric.base, Constant) else None
    return metric.size if isinstance(metric, Constant) else None


def ends(blocks: Sequence[Block], axis: int, values: range) -> list[int]:
    """The values that remain."""
    kinds: dict[tuple[object, ...], dict[Point, int]] = {}
    for value in values:
        lines = [block.line(axis, value) for block in blocks]
        kinds.setdefault(tuple(kind for kind, _ in lines), {}).setdefault(tuple(x for _, x in lines), value)
    return sorted(points[point] for points in kinds.values() for point in not_between(sorted(points)))


def not_between(points: list[Point]) -> list[Point]:
    """In order: those at which the way from one to the next turns."""
    kept: list[Point] = []
    before: Point | None = None
    for point, following in zip(points, [*points[1:], None], strict=True):
        step = None if following is None else _direction(point, following)
        if step is None or step != before:
            kept.append(point)
        before = step
    return kept


def _direction(a: Point, b: Point) -> Point:
    """The smallest whole step from one point towards another."""
    step = [y - x for x, y in zip(a, b, strict=True)]
    size = math.gcd(*step)
    return tuple(s // size for s in step)
