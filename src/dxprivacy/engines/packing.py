"""How the cells of a histogram travel: attributes packed into as few 64-bit numbers as hold them.

One number is enough for all but the largest universes; rows are grouped by it, which is faster than by many columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.universe import Universe

_MOST = 1 << 62


@dataclass(frozen=True, eq=False)
class Packing:
    """The attributes of a universe, dealt out to numbers.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> wide = Universe([Integers(name=f"a{k}", low=1, high=2**20, has_other=False) for k in range(4)])
    >>> Packing(wide).numbers
    (((0, 1099511627776), (1, 1048576), (2, 1)), ((3, 1),))
    """

    universe: Universe

    @cached_property
    def numbers(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each number the attributes that it holds, with their strides; the last one fastest."""
        groups: list[list[int]] = [[]]
        product = 1
        for axis, size in enumerate(self.universe.shape):
            if product * size >= _MOST:
                groups.append([])
                product = 1
            groups[-1].append(axis)
            product *= size
        out = []
        for axes in groups:
            stride, held = 1, []
            for axis in reversed(axes):
                held.append((axis, stride))
                stride *= self.universe.shape[axis]
            out.append(tuple(reversed(held)))
        return tuple(out)

    def pack(self, indices: Sequence[Ints]) -> list[Ints]:
        """The numbers of many rows, from the value of each attribute."""
        return [
            np.asarray(sum((indices[axis] * np.int64(stride) for axis, stride in held)), dtype=np.int64)
            for held in self.numbers
        ]

    def histogram(self, numbers: Sequence[Ints], counts: Ints) -> Histogram:
        """From the numbers of some cells, and how many rows stand in each; a cell may occur several times."""
        return Histogram(self.universe, (Occupied(self.universe, self.columns(numbers), counts),))

    def columns(self, numbers: Sequence[Ints]) -> dict[int, Ints]:
        """The value of each attribute, from the numbers of many rows."""
        shape = self.universe.shape
        return {
            axis: packed // stride % shape[axis]
            for held, packed in zip(self.numbers, numbers, strict=True)
            for axis, stride in held
        }

    def unfold(self, histogram: Histogram) -> tuple[list[Ints], Ints]:
        """The other way round."""
        table = histogram.over(range(len(self.universe.shape)))
        return self.pack([table.along(axis) for axis in range(len(self.universe.shape))]), table.counts


def together(universe: Universe, parts: Sequence[Histogram]) -> Histogram:
    """The sum of histograms of different rows."""
    packing = Packing(universe)
    unfolded = [packing.unfold(part) for part in parts]
    numbers = [np.concatenate([held[k] for held, _ in unfolded]) for k in range(len(packing.numbers))]
    return packing.histogram(*merged(numbers, np.concatenate([counts for _, counts in unfolded])))


def merged(numbers: Sequence[Ints], counts: Ints) -> tuple[list[Ints], Ints]:
    """Each cell once."""
    if len(numbers) == 1:
        cells, place = np.unique(numbers[0], return_inverse=True)
        found = [cells]
    else:
        rows, place = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
        found = [np.ascontiguousarray(column) for column in rows.T]
    total = np.zeros(len(found[0]), dtype=np.int64)
    np.add.at(total, place.reshape(-1), counts)
    return found, total
