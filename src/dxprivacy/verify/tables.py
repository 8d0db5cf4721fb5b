"""Tables worked out from other tables, in closed form and plain Python (docs/formats.md, section 10)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

from dxprivacy.verify.blocks import Block, Explicit, Table
from dxprivacy.verify.reading import refuse

Cells = dict[tuple[int, ...], float]
Attributes = tuple[int, ...]


@dataclass(frozen=True)
class TableOf:
    """A block that counts every cell of some attributes in a row of its own; of the halved ones, a difference."""

    attributes: Attributes
    halved: Attributes
    rows: dict[tuple[int, ...], int]


class Tables:
    """The asked and counted tables of a component; `firsts` has for each attribute one value of every class.

    Where the number of records is private, the component of no attributes has to be told by the tables too.
    """

    def __init__(
        self, firsts: dict[int, list[int]], asked: list[TableOf], counted: list[TableOf], *, private: bool
    ) -> None:
        self.firsts, self.asked, self.counted, self.private = firsts, asked, counted, private

    def _parts(self, attributes: Attributes) -> list[Attributes]:
        """The components of a table that are not known already."""
        return [s for s in _parts(attributes) if s or self.private]

    def variances(self, noises: Sequence[float]) -> dict[int, float]:
        """Per row that was asked for."""
        known = self._known(noises)
        out = {}
        for table in self.asked:
            parts = (self._size(s, 1) / known[s][0] for s in self._parts(table.attributes))
            spread = math.fsum(parts) / self._size(table.attributes) ** 2
            out.update(dict.fromkeys(table.rows.values(), spread))
        return out

    def estimates(self, noises: Sequence[float], noisy: Sequence[int], records: int) -> dict[int, float]:
        """Per row that was asked for."""
        components: dict[Attributes, Cells] = {}
        for s, (total, sources) in self._known(noises).items():
            cells: Cells = {}
            for table, weight in sources:
                for cell, x in self._component(table, s, noisy).items():
                    cells[cell] = cells.get(cell, 0.0) + x * weight
            everything = total if total < math.inf else math.fsum(w for _, w in sources)
            components[s] = {cell: x / everything for cell, x in cells.items()}
        out = {}
        for table in self.asked:
            size = self._size(table.attributes)
            parts = self._parts(table.attributes)
            for cell, row in table.rows.items():
                at = dict(zip(table.attributes, cell, strict=True))
                found = (components[s][tuple(at[a] for a in s)] * self._size(s) / size for s in parts)
                out[row] = (0.0 if self.private else records / size) + math.fsum(found)
        return out

    def _size(self, attributes: Attributes, less: int = 0) -> float:
        return math.prod(float(len(self.firsts[a]) - less) for a in attributes)

    def _known(self, noises: Sequence[float]) -> dict[Attributes, tuple[float, list[tuple[TableOf, float]]]]:
        """Per component: what is known of it, and the tables that tell it with their weights."""
        informs: dict[Attributes, list[tuple[TableOf, float, bool]]] = {}
        for table in self.counted:
            whole = tuple(a for a in table.attributes if a not in table.halved)
            size = self._size(whole)
            for rest in _parts(whole):
                s = tuple(sorted(rest + table.halved))
                v = self._noise(table, s, noises)
                if (s or self.private) and v < math.inf:
                    informs.setdefault(s, []).append((table, 1 / size if v == 0 else 1 / (v * size), v == 0))
        needed = {s for table in self.asked for s in self._parts(table.attributes)}
        if needed - informs.keys():
            raise refuse("the counted tables do not tell everything that is asked", "measured")
        out: dict[Attributes, tuple[float, list[tuple[TableOf, float]]]] = {}
        for s in needed:
            sure = [(t, w) for t, w, exact in informs[s] if exact]
            sources = sure or [(t, w) for t, w, _ in informs[s]]
            out[s] = (math.inf if sure else math.fsum(w for _, w in sources), sources)
        return out

    def _noise(self, table: TableOf, s: Attributes, noises: Sequence[float]) -> float:  # noqa: ARG002
        """The variance of a table's noise in a component; infinite where it tells nothing of its own."""
        return noises[next(iter(table.rows.values()))]

    def _component(self, table: TableOf, s: Attributes, noisy: Sequence[int]) -> Cells:
        """What a table says about the component of s: summed over the rest, without means along s."""
        sums: Cells = {}
        for cell, row in table.rows.items():
            at = dict(zip(table.attributes, cell, strict=True))
            key = tuple(at[a] for a in s)
            sums[key] = sums.get(key, 0.0) + noisy[row]
        for k, a in enumerate(s):
            sums = self._contrast(sums, k, len(self.firsts[a]), halved=a in table.halved)
        return sums

    def _contrast(self, cells: Cells, k: int, size: int, *, halved: bool) -> Cells:
        out: Cells = {}
        if halved:
            for cell, x in cells.items():
                out[cell], out[(*cell[:k], 1, *cell[k + 1 :])] = x / 2, -x / 2
            return out
        means: Cells = {}
        for cell, x in cells.items():
            rest = (*cell[:k], *cell[k + 1 :])
            means[rest] = means.get(rest, 0.0) + x / size
        return {cell: x - means[(*cell[:k], *cell[k + 1 :])] for cell, x in cells.items()}


def _parts(attributes: Attributes) -> list[Attributes]:
    return [s for r in range(len(attributes) + 1) for s in combinations(attributes, r)]


def as_tables(
    asked: Sequence[Block],
    counted: Sequence[Block],
    firsts: dict[int, list[int]],
    noises: Sequence[float],
    *,
    private: bool,
    explicit: bool = False,
) -> Tables | None:
    """The blocks of a component as tables; None where one of them is none, or has several scales.

    With `explicit` also rows that were asked for as a matrix.
    """
    sides: list[list[TableOf]] = []
    for side in (asked, counted):
        found: list[TableOf | None] = []
        for block in side:
            found += _in_matrix(block, firsts) if explicit and isinstance(block, Explicit) else [_table(block, firsts)]
        if not found or any(t is None for t in found):
            return None
        sides.append([t for t in found if t is not None])
    if len(sides[1]) != len(counted):
        return None
    for block, table in zip(counted, sides[1], strict=True):
        every = math.prod(len(firsts[a]) for a in table.attributes if a not in table.halved)
        uneven = len({noises[row] for row in range(block.first, block.first + block.rows)}) > 1
        if uneven or len(table.rows) != every:
            return None
    return None if any(t.halved for t in sides[0]) else Tables(firsts, *sides, private=private)


def _in_matrix(block: Explicit, firsts: dict[int, list[int]]) -> list[TableOf | None]:
    """The tables that the rows of a matrix are: each counts all records that have certain values of some attributes."""
    axes = [a for a, values in firsts.items() if len(values) > 1]
    members: dict[int, list[tuple[int, ...]]] = {}
    for cell in product(*(range(len(firsts[a])) for a in axes)):
        values = [0] * len(block.universe.shape)
        for a, k in zip(axes, cell, strict=True):
            values[a] = firsts[a][k]
        for row, x in block.column(values).items():
            if x != 1:
                return [None]
            members.setdefault(row, []).append(cell)
    found: dict[Attributes, dict[tuple[int, ...], int]] = {}
    for row in range(block.first, block.first + block.rows):
        mine = members.get(row, [])
        seen = [{cell[k] for cell in mine} for k in range(len(axes))]
        fixed = [k for k, a in enumerate(axes) if len(seen[k]) < len(firsts[a])]
        free = math.prod(len(firsts[a]) for k, a in enumerate(axes) if k not in fixed)
        if not mine or any(len(seen[k]) > 1 for k in fixed) or len(mine) != free:
            return [None]
        table = found.setdefault(tuple(axes[k] for k in fixed), {})
        if table.setdefault(tuple(mine[0][k] for k in fixed), row) != row:
            return [None]
    return [TableOf(attributes, (), rows) for attributes, rows in found.items()]


def _table(block: Block, firsts: dict[int, list[int]]) -> TableOf | None:
    if not isinstance(block, Table):
        return None
    axes, halved = [], []
    for axis in block.axes:
        groups, weights = block.groups[axis], block.weights[axis]
        if axis not in firsts or len({block.moving(axis, v) for v in range(len(groups))}) == 1:
            if set(weights) != {1}:
                return None
            continue
        axes.append(axis)
        seen = [(groups[v], weights[v]) for v in firsts[axis]]
        counted = [g for g, w in seen if g >= 0]
        if seen == [(0, 1), (0, -1)]:
            halved.append(axis)
        elif len(set(counted)) < len(counted) or any(w != 1 for g, w in seen if g >= 0):
            return None
    rows = {}
    for cell in product(*(range(len(firsts[a])) for a in axes)):
        row = block.first
        for axis in block.axes:
            group = block.groups[axis][firsts[axis][cell[axes.index(axis)]] if axis in axes else 0]
            row = -1 if group < 0 or row < 0 else row + group * block.strides[axis]
        if row >= 0 and all(cell[axes.index(a)] == 0 for a in halved):
            rows[cell] = row
    return TableOf(tuple(axes), tuple(halved), rows)
