"""Rows of whole numbers in blocks: columns, what tells values apart, the workload's digest (formats.md, 4 and 6)."""

import hashlib
import math
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby, pairwise, product
from sys import byteorder
from typing import Self, overload

from dxprivacy.errors import Undecided
from dxprivacy.verify.reading import canonical, refuse
from dxprivacy.verify.universe import Universe

_MOST_HASHED = 4_000_000_000  # of eight bytes each: a minute

Column = dict[int, int]
"""The rows in which a record counts, and how much."""


class Block(ABC):
    """Some rows; `first` is the number of its first one in the workload."""

    kind: str
    first: int = 0

    def __init__(self, rows: int, axes: Sequence[int], unit: Fraction, bias: Fraction) -> None:
        self.rows, self.axes, self.unit, self.bias = rows, tuple(axes), unit, bias

    def starting_at(self, first: int) -> Self:
        """The same rows under other numbers."""
        other = copy(self)
        other.first = first
        other.__dict__.pop("_rows_of", None)  # what was remembered names the old ones
        if "_shown" in other.__dict__:
            other.__dict__["_shown"] = None
        return other

    @abstractmethod
    def column(self, values: Sequence[int]) -> Column:
        """Where a record (a value per attribute) counts."""

    def apart(self, values: Sequence[int], others: Sequence[int]) -> tuple[Column, Column]:
        """Where two records count; rows in which both count alike may be left out."""
        return self.column(values), self.column(others)

    def shown(
        self,
        values: Sequence[int],  # noqa: ARG002  (only some need them)
        others: Sequence[int],  # noqa: ARG002
        weights: Sequence[float],  # noqa: ARG002
    ) -> float | None:
        """What a record shows over all rows, where the other one counts nowhere and that is known at once."""
        return None

    @abstractmethod
    def moving(self, axis: int, value: int) -> object:
        """Equal for values that these rows do not tell apart, in any context."""

    def line(self, axis: int, value: int) -> tuple[object, int]:
        """A kind and a number x: the columns of values of one kind are A + x B, in every context."""
        return self.moving(axis, value), 0

    @abstractmethod
    def context(self, axis: int, value: int, uniform: bool) -> object:
        """Equal for values that do not change the loss of a move along another attribute.

        `uniform` says that all rows of the block have one scale.
        """

    def strength(self, axis: int, value: int, uniform: bool) -> tuple[object, int]:
        """A kind and a size: beside values of one kind, no move changes more than beside the one of the largest size.

        Size 0: no move changes anything.
        """
        return self.context(axis, value, uniform), 1

    @abstractmethod
    def arrays(self) -> Iterator[Sequence[int]]:
        """What the digest covers."""

    @abstractmethod
    def spreads(self, *, absent: bool) -> Iterator[tuple[int, int]]:
        """Rows of the workload that are not the same everywhere, and the largest less the smallest entry of each.

        `absent` says that somebody may be absent, who counts 0 in every row.
        """

    def reach(self, weights: Sequence[float], *, absent: bool) -> float:
        """Not less than any pair's sum over the rows, given 1/s of every row of the workload."""
        return math.fsum(weights[row] * spread for row, spread in self.spreads(absent=absent))

    @abstractmethod
    def row(self, k: int) -> "Block":
        """One of its rows (counted from 0) as a block of the same kind."""


class Table(Block):
    """At most one row per record: per attribute a group and a whole weight for each value."""

    kind = "table"

    def __init__(
        self,
        groups: dict[int, list[int]],
        weights: dict[int, list[int]],
        sizes: dict[int, int],
        unit: Fraction = Fraction(1),
        bias: Fraction = Fraction(0),
    ) -> None:
        axes = sorted(groups)
        self.sizes = {axis: sizes[axis] for axis in axes}
        self.strides: dict[int, int] = {}
        rows = 1
        for axis in reversed(axes):
            self.strides[axis] = rows
            rows *= sizes[axis]
        super().__init__(rows, axes, unit, bias)
        self.groups, self.weights = {}, {}
        for axis in axes:
            counts = [g >= 0 and w != 0 for g, w in zip(groups[axis], weights[axis], strict=True)]
            self.groups[axis] = [g if c else -1 for g, c in zip(groups[axis], counts, strict=True)]
            self.weights[axis] = [w if c else 0 for w, c in zip(weights[axis], counts, strict=True)]

    def column(self, values: Sequence[int]) -> Column:
        row, amount = self.first, 1
        for axis in self.axes:
            amount *= self.weights[axis][values[axis]]
            if not amount:
                return {}
            row += self.groups[axis][values[axis]] * self.strides[axis]
        return {row: amount}

    def moving(self, axis: int, value: int) -> object:
        return (self.groups[axis][value], self.weights[axis][value]) if axis in self.groups else None

    def line(self, axis: int, value: int) -> tuple[object, int]:
        """Its group, and its weight there: 0 for who is not counted, so in a single group all are on one line."""
        return None if self.sizes[axis] == 1 else self.groups[axis][value], self.weights[axis][value]

    def context(self, axis: int, value: int, uniform: bool) -> object:
        """The loss of a move is multiplied by |weight|; which rows it concerns matters only if their scales differ."""
        if axis not in self.groups:
            return None
        size = abs(self.weights[axis][value])
        return size if uniform else (self.groups[axis][value], size)

    def strength(self, axis: int, value: int, uniform: bool) -> tuple[object, int]:
        return None if uniform else self.groups[axis][value], abs(self.weights[axis][value])

    def arrays(self) -> Iterator[Sequence[int]]:
        """Rows, attributes with strides; then groups and weights of each."""
        yield [self.rows, *(x for axis in self.axes for x in (axis, self.strides[axis]))]
        for axis in self.axes:
            yield self.groups[axis]
            yield self.weights[axis]

    def reach(self, weights: Sequence[float], *, absent: bool) -> float:
        """Twice the largest weight, over the least scale of a row in which anybody counts."""
        largest = math.prod(max(map(abs, w)) for w in self.weights.values())
        if not absent and not any(len({self.moving(a, v) for v in range(len(self.groups[a]))}) > 1 for a in self.axes):
            return 0.0
        one_sign = all(min(w) >= 0 for w in self.weights.values())
        top = max((weights[self.first + row] for row in self._counted()), default=0.0)
        return top * largest * (1 if self.rows == 1 and one_sign else 2) if top else 0.0

    def _counted(self) -> Iterator[int]:
        """The rows in which some record counts."""
        rows = [0]
        for axis in self.axes:
            paired = zip(self.groups[axis], self.weights[axis], strict=True)
            groups = sorted({g for g, w in paired if g >= 0 and w})
            rows = [row + g * self.strides[axis] for row in rows for g in groups]
        return iter(rows)

    def spreads(self, *, absent: bool) -> Iterator[tuple[int, int]]:
        """From the least entry to the largest."""
        return ((self.first + row, high - low) for row, low, high in self.ends(absent=absent) if high > low)

    def ends(self, *, absent: bool) -> Iterator[tuple[int, int, int]]:
        """Each row (counted from 0) with its least and its largest entry.

        Entries are products of weights; 0 for whoever counts in another row, or nowhere.
        """
        ends: list[
            list[tuple[int, int, int]]
        ] = []  # per attribute and group: least and largest weight, how many values
        for axis in self.axes:
            inside: list[list[int]] = [[] for _ in range(self.sizes[axis])]
            for group, weight in zip(self.groups[axis], self.weights[axis], strict=True):
                if group >= 0:
                    inside[group].append(weight)
            ends.append([(min(found, default=0), max(found, default=0), len(found)) for found in inside])
        everybody = math.prod(len(groups) for groups in self.groups.values())
        for row, chosen in enumerate(product(*ends)):
            low, high, count = 1, 1, 1
            for least, largest, values in chosen:
                corners = [x * y for x in (low, high) for y in (least, largest)]
                low, high, count = min(corners), max(corners), count * values
            if absent or count < everybody:
                low, high = min(low, 0), max(high, 0)
            yield row, low, high

    def peaks(self) -> Iterator[tuple[int, int]]:
        """Rows in which anybody counts, and the largest entry of each, whatever its sign."""
        ends = [self._largest(axis) for axis in self.axes]
        for row, chosen in enumerate(product(*ends)):
            if peak := math.prod(chosen):
                yield self.first + row, peak

    def _largest(self, axis: int) -> list[int]:
        out = [0] * self.sizes[axis]
        for group, weight in zip(self.groups[axis], self.weights[axis], strict=True):
            if group >= 0:
                out[group] = max(out[group], abs(weight))
        return out

    def row(self, k: int) -> "Table":
        groups = {}
        for axis in self.axes:
            wanted = k // self.strides[axis] % self.sizes[axis]
            groups[axis] = [0 if g == wanted else -1 for g in self.groups[axis]]
        return Table(groups, self.weights, dict.fromkeys(groups, 1), self.unit, self.bias)


class PeopleTable(Table):
    """The groups of a table, each of which counts people who have at least one row there."""

    kind = "people"

    def filled(self) -> Iterator[bool]:
        """Whether anybody can be in each group."""
        return (
            all(parts) for parts in product(*([g in self.groups[a] for g in range(self.sizes[a])] for a in self.axes))
        )


class Inside(Sequence[int]):
    """1 for each value inside a span and 0 for each other one, span by span: too many to be held at once."""

    def __init__(self, spans: Sequence[tuple[int, int]], groups: Sequence[int]) -> None:
        self.spans, self.groups = spans, groups

    def __len__(self) -> int:
        return len(self.spans) * len(self.groups)

    @overload
    def __getitem__(self, k: int) -> int: ...

    @overload
    def __getitem__(self, k: slice) -> list[int]: ...

    def __getitem__(self, k: int | slice) -> int | list[int]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        span, value = divmod(range(len(self))[k], len(self.groups))
        a, b = self.spans[span]
        return int(a <= self.groups[value] <= b)

    def same(self, other: Sequence[int]) -> bool:
        """Whether these are the same numbers."""
        if isinstance(other, Inside):
            return (self.spans, self.groups) == (other.spans, other.groups) or list(self) == list(other)
        return len(self) == len(other) and all(x == y for x, y in zip(self, other, strict=True))

    def bytes(self) -> Iterator[bytes]:
        """As whole numbers of 64 bits, the lowest byte first: equal groups in a row are written together."""
        zero, one = b"\0" * 8, b"\1" + b"\0" * 7
        runs = [(group, sum(1 for _ in values)) for group, values in groupby(self.groups)]
        ordered = [group for group, _ in runs]
        starts = [0, *accumulate(many for _, many in runs)]
        rising = [k for k in range(1, len(runs)) if ordered[k] < ordered[k - 1]]
        for a, b in self.spans:
            parts = []
            for first, last in pairwise([0, *rising, len(runs)]):
                low, high = bisect_left(ordered, a, first, last), bisect_right(ordered, b, first, last)
                at, end = starts[low], starts[max(low, high)]
                parts += [zero * (at - starts[first]), one * (end - at), zero * (starts[last] - end)]
            yield b"".join(parts)


class Along(Block):
    """Intervals of the groups of one attribute."""

    kind = "along"

    def __init__(self, axis: int, groups: list[int], spans: list[tuple[int, int]]) -> None:
        super().__init__(len(spans), (axis,), Fraction(1), Fraction(0))
        self.axis, self.groups, self.spans = axis, groups, spans
        self._shown: dict[int, float] | None = None

    @cached_property
    def _rows_of(self) -> dict[int, Column]:
        return {g: {self.first + k: 1 for k, (a, b) in enumerate(self.spans) if a <= g <= b} for g in set(self.groups)}

    def column(self, values: Sequence[int]) -> Column:
        return self._rows_of[self.groups[values[self.axis]]]

    @cached_property
    def _ends(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """The spans that start, and those that end, in each group."""
        starting: dict[int, list[int]] = {}
        ending: dict[int, list[int]] = {}
        for k, (a, b) in enumerate(self.spans):
            starting.setdefault(a, []).append(k)
            ending.setdefault(b, []).append(k)
        return starting, ending

    def shown(self, values: Sequence[int], others: Sequence[int], weights: Sequence[float]) -> float | None:
        if self._shown is None:
            self._shown = self._all_shown(weights)
        g, h = self.groups[values[self.axis]], self.groups[others[self.axis]]
        a, b = self._shown.get(g, 0.0), self._shown.get(h, 0.0)
        return max(a, b) if not a or not b else None

    def _all_shown(self, weights: Sequence[float]) -> dict[int, float]:
        """The weights of all spans that a group is inside of; sums of floats as fractions are exact."""
        changes: dict[int, Fraction] = {}
        for k, (a, b) in enumerate(self.spans):
            if math.isinf(weights[self.first + k]):  # an exact row: look at the rows themselves
                return dict.fromkeys(self.groups, math.inf)
            weight = Fraction(weights[self.first + k])
            changes[a] = changes.get(a, Fraction(0)) + weight
            changes[b + 1] = changes.get(b + 1, Fraction(0)) - weight
        out, total = dict[int, float](), Fraction(0)
        for group in sorted({*self.groups, *changes}):
            total += changes.get(group, 0)
            out[group] = float(total)
        return out

    def apart(self, values: Sequence[int], others: Sequence[int]) -> tuple[Column, Column]:
        """Of neighbors only the spans that end or start between them."""
        g, h = self.groups[values[self.axis]], self.groups[others[self.axis]]
        low, high = min(g, h), max(g, h)
        starting, ending = self._ends
        if high - low > len(self.spans):
            return self.column(values), self.column(others)
        below = {self.first + k: 1 for e in range(low, high) for k in ending.get(e, ()) if self.spans[k][0] <= low}
        above = {
            self.first + k: 1 for e in range(low + 1, high + 1) for k in starting.get(e, ()) if self.spans[k][1] >= high
        }
        return (below, above) if g == low else (above, below)

    def moving(self, axis: int, value: int) -> object:
        return self.groups[value] if axis == self.axis else None

    def context(self, axis: int, value: int, uniform: bool) -> object:  # noqa: ARG002
        return self.moving(axis, value)

    def arrays(self) -> Iterator[Sequence[int]]:
        yield [self.rows, self.axis]
        yield Inside(self.spans, self.groups)

    def spreads(self, *, absent: bool) -> Iterator[tuple[int, int]]:
        """One, for each row that is not the same everywhere."""
        present = sorted(set(self.groups))
        for k, (a, b) in enumerate(self.spans):
            inside = bisect_right(present, b) - bisect_left(present, a)
            if 0 < inside < len(present) + absent:
                yield self.first + k, 1

    def row(self, k: int) -> "Along":
        return Along(self.axis, self.groups, self.spans[k : k + 1])


class Stepped(Block):
    """Any rows over the values of one attribute."""

    kind = "along"

    def __init__(self, axis: int, matrix: list[list[int]], unit: Fraction) -> None:
        super().__init__(len(matrix), (axis,), unit, Fraction(0))
        self.axis, self.matrix = axis, matrix

    @cached_property
    def _rows_of(self) -> list[Column]:
        return [
            {self.first + k: row[value] for k, row in enumerate(self.matrix) if row[value]}
            for value in range(len(self.matrix[0]))
        ]

    def column(self, values: Sequence[int]) -> Column:
        return self._rows_of[values[self.axis]]

    @cached_property
    def _classes(self) -> list[int]:
        known: dict[tuple[int, ...], int] = {}
        return [known.setdefault(column, len(known)) for column in zip(*self.matrix, strict=True)]

    def moving(self, axis: int, value: int) -> object:
        return self._classes[value] if axis == self.axis else None

    def context(self, axis: int, value: int, uniform: bool) -> object:  # noqa: ARG002
        return self.moving(axis, value)

    def arrays(self) -> Iterator[Sequence[int]]:
        yield [self.rows, self.axis]
        yield [x for row in self.matrix for x in row]

    def spreads(self, *, absent: bool) -> Iterator[tuple[int, int]]:
        """From the least to the largest entry."""
        for k, row in enumerate(self.matrix):
            ends = [*row, 0] if absent else row
            if max(ends) > min(ends):
                yield self.first + k, max(ends) - min(ends)

    def row(self, k: int) -> "Stepped":
        return Stepped(self.axis, self.matrix[k : k + 1], self.unit)


class Explicit(Block):
    """Any rows, entry by entry: {cell: {row: whole}}."""

    kind = "matrix"

    def __init__(
        self, universe: Universe, rows: int, columns: dict[int, Column], unit: Fraction, bias: Fraction
    ) -> None:
        super().__init__(rows, range(len(universe.shape)), unit, bias)
        self.universe, self.columns = universe, columns

    def column(self, values: Sequence[int]) -> Column:
        found = self.columns.get(self.universe.cell(values), {})
        return {self.first + row: amount for row, amount in found.items()}

    @cached_property
    def _slices(self) -> dict[tuple[int, int], frozenset[tuple[int, int, int]]]:
        """Per attribute and value: the entries of all its cells, with the rest of the cell's place."""
        found: dict[tuple[int, int], set[tuple[int, int, int]]] = {}
        for cell, entries in self.columns.items():
            values = self.universe.values(cell)
            for axis, value in enumerate(values):
                rest = self.universe.cell([*values[:axis], 0, *values[axis + 1 :]])
                found.setdefault((axis, value), set()).update((rest, row, x) for row, x in entries.items())
        return {key: frozenset(entries) for key, entries in found.items()}

    def moving(self, axis: int, value: int) -> object:
        return self._slices.get((axis, value), frozenset())

    def context(self, axis: int, value: int, uniform: bool) -> object:  # noqa: ARG002  (rows overlap)
        return self.moving(axis, value)

    def arrays(self) -> Iterator[Sequence[int]]:
        """Rows; then row, cell and number of the entries."""
        entries = sorted((row, cell, x) for cell, column in self.columns.items() for row, x in column.items())
        yield [self.rows]
        for part in range(3):
            yield [e[part] for e in entries]

    def spreads(self, *, absent: bool) -> Iterator[tuple[int, int]]:
        """From the least to the largest entry, which is 0 where there is none."""
        ends: dict[int, list[int]] = {}
        for column in self.columns.values():
            for row, x in column.items():
                ends.setdefault(row, []).append(x)
        for row, found in ends.items():
            if absent or len(found) < self.universe.cells:
                found.append(0)
            if max(found) > min(found):
                yield self.first + row, max(found) - min(found)

    def row(self, k: int) -> "Explicit":
        columns = {cell: {0: column[k]} for cell, column in self.columns.items() if k in column}
        return Explicit(self.universe, 1, columns, self.unit, self.bias)


def workload_digest(universe_digest: str, blocks: Sequence[Block]) -> str:
    """The digest of the rows (section 6)."""
    entries = sum(len(block.spans) * len(block.groups) for block in blocks if isinstance(block, Along))
    if entries > _MOST_HASHED:
        raise Undecided(f"{entries:,} entries are too many to work out the digest of the queries", where="workload")
    out = hashlib.sha256(f"{universe_digest}\n".encode())
    for block in blocks:
        parts: list[array[int] | Inside] = []
        for values in block.arrays():
            try:
                parts.append(values if isinstance(values, Inside) else array("q", values))
            except OverflowError:
                raise refuse("numbers beyond 64 bits", "queries") from None
        head = {
            "kind": block.kind,
            "unit": str(block.unit),
            "bias": str(block.bias),
            "parts": [len(part) for part in parts],
        }
        out.update(f"{canonical(head)}\n".encode())
        for part in parts:
            if isinstance(part, Inside):
                for some in part.bytes():
                    out.update(some)
                continue
            if byteorder == "big":
                part.byteswap()
            out.update(part.tobytes())
    return out.hexdigest()
