"""Hierarchies of counts, the structure along which k-norm noise is drawn (docs/theorems.md).

Rows of zeros and ones are nested if, for any two of them, one contains the other or they are disjoint.  The columns
are called elements here.  Then each row is the sum of the rows directly inside it, and the rows form a tree: its root
is the set of all elements, its leaves are single elements.  The tree is stored with binary divisions: a count with more
than two parts is divided into two halves of them, which are not counts of the strategy themselves.  This does not
change the distribution of the counts, because it does not depend on how the parts are grouped.

A count may also have several independent divisions: in a star, each count of a margin is the sum of a group of entries
in every table that has the margin's attribute (docs/theorems.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Bools, Ints

NO_ROW = -1  # stands for "no row" and "no element"


@dataclass(frozen=True, eq=False)
class Nest:
    """A tree of numbered counts, the root first: the row and the element of each (or NO_ROW), and the divisions.

    A count precedes its parts; `divided` has a line for each division: the whole, its left and its right part.
    In a star, counts have several divisions, and no count has an element.
    """

    row: Ints
    cell: Ints
    divided: Ints

    @property
    def size(self) -> int:
        """The number of counts, including those that are not rows."""
        return len(self.row)

    @property
    def depth(self) -> int:
        """The number of divisions above the deepest count."""
        out = [0] * self.size
        for whole, left, right in self.divided.tolist():
            out[left] = out[right] = out[whole] + 1
        return max(out)

    @property
    def ends(self) -> Ints:
        """For each element, the number of its count."""
        at = np.flatnonzero(self.cell >= 0)
        out = np.empty(len(at), dtype=np.int64)
        out[self.cell[at]] = at
        return out


def nest_of(rows: Ints) -> Nest | None:
    """Return the hierarchy of rows, or None if they are not nested or do not count every element by itself.

    >>> nest_of(np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])).divided.tolist()
    [[0, 1, 2], [1, 3, 4]]
    >>> nest_of(np.array([[1, 1, 0], [0, 1, 1]])) is None
    True
    """
    inside = _sets(rows)
    if inside is None:
        return None
    parent = _parents(inside)
    if parent is None:
        return None
    sizes = inside.sum(axis=1)
    single = sizes == 1
    parts: list[list[int]] = [[] for _ in range(len(inside) + 1)]  # the last: everything
    first = inside.argmax(axis=1)
    for k in np.argsort(first, kind="stable").tolist():
        parts[parent[k]].append(k)
    covered = np.array([sum(int(sizes[k]) for k in some) for some in parts])
    if (covered != np.append(np.where(single, 0, sizes), inside.shape[1])).any():
        return None  # an element that no row counts by itself
    return _in_halves([[some] if some else [] for some in parts], np.where(single, first, NO_ROW))


def star_of(margin: Ints, tables: Sequence[Ints]) -> Nest:
    """Return the hierarchy of a margin's rows and tables: the rows in line k of a table add up to row k of the margin.

    >>> star_of(np.array([0, 1]), [np.array([[2, 3], [4, 5]]), np.array([[6, 7], [8, 9]])]).divided[:3].tolist()
    [[0, 1, 2], [1, 3, 4], [1, 5, 6]]
    """
    rows = len(margin) + sum(table.size for table in tables)
    parts: list[list[Sequence[int]]] = [[] for _ in range(rows + 1)]
    for k, row in enumerate(margin.tolist()):
        parts[row] = [table[k].tolist() for table in tables]
    parts[rows] = [margin.tolist()]
    return _in_halves(parts, np.full(rows, NO_ROW))


def _sets(rows: Ints) -> Bools | None:
    """Return rows as sets of elements; None unless there are two elements, and all rows are proper subsets of them."""
    inside = rows != 0
    if rows.ndim != 2 or not rows.size or rows.shape[1] < 2 or not ((rows == 0) | (rows == 1)).all():
        return None
    sizes = inside.sum(axis=1)
    if (sizes == 0).any() or (sizes == rows.shape[1]).any():
        return None
    return np.asarray(inside, dtype=bool)


def _parents(inside: Bools) -> list[int] | None:
    """Return the smallest row around each row (`len(inside)` if there is none); None if rows cross or are equal."""
    count, cells = inside.shape
    around = np.full(cells, count, dtype=np.int64)
    sizes = inside.sum(axis=1)
    out = [0] * count
    for k in np.argsort(-sizes, kind="stable").tolist():
        mine = around[inside[k]]
        if (mine != mine[0]).any() or (mine[0] < count and sizes[mine[0]] == sizes[k]):
            return None
        out[k] = int(mine[0])
        around[inside[k]] = k
    return out


def _in_halves(parts: Sequence[Sequence[Sequence[int]]], cell: Ints) -> Nest:
    """Return the tree of rows, given the divisions of each; a division into more parts gets auxiliary counts."""
    row, cells, divided = [NO_ROW], [NO_ROW], []
    waiting: list[tuple[int, Sequence[int]]] = [(0, inner) for inner in parts[-1]]
    for number, inner in waiting:
        halves = (inner[: (len(inner) + 1) // 2], inner[(len(inner) + 1) // 2 :])
        ends = []
        for half in halves:
            ends.append(len(row))
            alone = len(half) == 1
            row.append(half[0] if alone else NO_ROW)
            cells.append(int(cell[half[0]]) if alone else NO_ROW)
            waiting += [(ends[-1], below) for below in (parts[half[0]] if alone else [half])]
        divided.append((number, *ends))
    return Nest(np.array(row), np.array(cells), np.array(divided, dtype=np.int64).reshape(-1, 3))
