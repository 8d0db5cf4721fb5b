"""Very many values or records at one distance, such as ZIP codes: a few stand for all (docs/formats.md, section 9).

A table counts a record in one row at most.  From value u to v it changes by |x_u| + |x_v| if these lie in different
rows, and by less or the same if they lie in one.  So among values of the same weights, and rows of the same scales, two
that lie in different rows of every table change as much as any.  Tables with a single row change by |x_u - x_v|: values
that differ in nothing else lie on lines, of which the ends stand for all.

Where all records have one distance, that holds for all attributes at once: no two records are told apart more than if
they lay in different rows of every table.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

from dxprivacy.verify.blocks import Block, Table
from dxprivacy.verify.lines import Point, not_between
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.reading import Exact

_MOST_KINDS = 60
_MOST_RECORDS = 400
_TRIED = 12  # never one, which would look like the only one

Rows = tuple[int | None, ...]
"""Where a value counts, table by table; None where it does not."""


def standing(loss: Loss, blocks: Sequence[Block], axis: int, values: range) -> list[int] | None:
    """Values among which two are told apart as much as any two; None where that is not known."""
    tables = [block for block in blocks if isinstance(block, Table)]
    scattered = [table for table in tables if table.sizes[axis] > 1]
    alone = all(loss.uniform(table) or table.axes == (axis,) for table in scattered)
    if loss.selections or len(tables) < len(blocks) or not alone:
        return None
    single = [table for table in tables if table.sizes[axis] == 1]
    found: dict[tuple[object, ...], dict[Point, dict[Rows, int]]] = {}
    for value in values:
        seen = [_seen(loss, table, axis, value) for table in scattered]
        point = tuple(table.weights[axis][value] for table in single)
        places = found.setdefault(tuple(kind for kind, _ in seen), {}).setdefault(point, {})
        rows = tuple(row for _, row in seen)
        if len(places) < _TRIED or rows in places:
            places.setdefault(rows, value)
    return _some_of(found)


def _seen(loss: Loss, table: Table, axis: int, value: int) -> tuple[object, int | None]:
    """What a value changes in a table, whatever its row; and the row, counted along this attribute."""
    weight, group = table.weights[axis][value], table.groups[axis][value]
    if not weight:
        return None, None
    scale = loss.scales[table.first + (0 if loss.uniform(table) else group)]
    return (abs(weight), scale), group


def _some_of(found: dict[tuple[object, ...], dict[Point, dict[Rows, int]]]) -> list[int] | None:
    kinds = [points[point] for points in found.values() for point in not_between(sorted(points))]
    if len(kinds) > _MOST_KINDS:
        return None
    for k, mine in enumerate(kinds):
        for theirs in kinds[k:]:
            if (
                mine is theirs and len(mine) == 1
            ):  # of its kind nothing tells these apart, or the ends of its line do more
                continue
            if not any(_apart(a, b) for a in mine for b in theirs):
                return None
    return sorted(value for kind in kinds for value in kind.values())


def _apart(a: Rows, b: Rows) -> bool:
    return all(x is None or x != y for x, y in zip(a, b, strict=True))


def never_more(loss: Loss) -> Exact | None:
    """Not less than any two records are told apart; None where that is not known."""
    tables = [block for block in loss.blocks if isinstance(block, Table) and loss.uniform(block)]
    if loss.selections or len(tables) < len(loss.blocks):
        return None
    selections = []
    for axis, size in enumerate(loss.universe.shape):
        touching = [table for table in tables if axis in table.axes]
        selections.append(_strongest(touching, axis, range(size)) if touching else [0])
    if math.prod(map(len, selections)) > _MOST_RECORDS:
        return None
    amounts = {tuple(_amount(table, record) for table in tables) for record in product(*selections)}
    scales = [loss.scales[table.first] for table in tables]
    if not all(scales):
        return None
    most = Fraction(0)
    for a, b in combinations_with_replacement(sorted(amounts), 2):
        moved = (abs(x - y) if table.rows == 1 else abs(x) + abs(y) for table, x, y in zip(tables, a, b, strict=True))
        most = max(most, sum((m / Fraction(s) for m, s in zip(moved, scales, strict=True)), Fraction(0)))
    return most


def _strongest(tables: Sequence[Table], axis: int, values: range) -> list[int]:
    """One value of each kind: of the same weights, whatever the rows; and where all have one row, the ends of lines."""
    found: dict[tuple[int | None, ...], dict[Point, int]] = {}
    for value in values:
        weights = [(table.weights[axis][value], table.sizes[axis] > 1) for table in tables]
        kind = tuple(abs(weight) if scattered else None for weight, scattered in weights)
        found.setdefault(kind, {}).setdefault(tuple(w for w, scattered in weights if not scattered), value)
    return [points[point] for points in found.values() for point in not_between(sorted(points))]


def _amount(table: Table, record: Sequence[int]) -> int:
    return math.prod(table.weights[axis][record[axis]] for axis in table.axes)
