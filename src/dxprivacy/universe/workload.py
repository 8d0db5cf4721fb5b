"""A workload: queries bound to a universe, as rows of integers, with the recipes from rows to answers."""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain
from typing import overload

import numpy as np

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.arrays import Bools, Floats, Ints, changed
from dxprivacy.formats.canonical import canonical
from dxprivacy.universe.answers import Linear, Recipe
from dxprivacy.universe.blocks import Block, Differences, PeopleTable
from dxprivacy.universe.occupied import Counted, Occupied
from dxprivacy.universe.universe import Universe


@dataclass(frozen=True, slots=True)  # there may be hundreds of thousands
class Answer:
    """One number that the user gets: its label, recipe, unit, target, weight and groups."""

    label: str
    query: int
    recipe: Recipe
    unit: str = ""
    within: Fraction | None = None
    weight: Fraction = Fraction(1)
    groups: tuple[tuple[str, str], ...] = ()  # what it is grouped by, and the label of its group
    blur_bias: float = 0.0  # the largest part of one record that a soft border counts on its wrong side

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows from which it is computed."""
        return self.recipe.rows


class RowByRow(Sequence[Answer]):
    """One answer per row, labeled by the row's number and made on access.

    >>> RowByRow(3, Fraction(1))[2].label
    'row 3'
    """

    def __init__(self, rows: int, unit: Fraction, first: int = 0, query: int = 0) -> None:
        self._rows, self._unit, self._first, self._query = rows, unit, first, query

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, k: int) -> Answer: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Answer]: ...
    def __getitem__(self, k: int | slice) -> Answer | Sequence[Answer]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(self._rows))]
        at = range(self._rows)[k]
        return Answer(f"row {at + 1}", self._query, Linear(self._first + at, self._unit))

    def moved(self, rows: int, queries: int) -> "RowByRow":
        """Return the same answers with row and query numbers shifted."""
        return RowByRow(self._rows, self._unit, self._first + rows, self._query + queries)


class OneAfterAnother(Sequence[Answer]):
    """The concatenated answers of several workloads, without copying them."""

    def __init__(self, parts: Sequence[Sequence[Answer]]) -> None:
        self._parts = parts
        self._starts = [0, *accumulate(len(part) for part in parts)]

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, k: int) -> Answer: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Answer]: ...
    def __getitem__(self, k: int | slice) -> Answer | Sequence[Answer]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        at = range(len(self))[k]
        part = bisect_right(self._starts, at) - 1
        return self._parts[part][at - self._starts[part]]

    def __iter__(self) -> Iterator[Answer]:
        for part in self._parts:
            yield from part


@dataclass(frozen=True, eq=False)
class Workload:
    """The query matrix Q (K x N) on the integer grid, in blocks of rows, and the answers computed from it."""

    universe: Universe
    blocks: tuple[Block, ...]
    answers: Sequence[Answer]
    titles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.blocks or not self.rows:
            raise UsageError("ask at least one query")

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The first row of each block."""
        return tuple(int(x) for x in np.cumsum([0] + [b.rows for b in self.blocks])[:-1])

    @cached_property
    def rows(self) -> int:
        """K."""
        return sum(b.rows for b in self.blocks)

    @cached_property
    def units(self) -> tuple[Fraction, ...]:
        """The value of one grid step, for each row."""
        return tuple(b.unit for b in self.blocks for _ in range(b.rows))

    @cached_property
    def block_of(self) -> Ints:
        """The block of each row."""
        return np.repeat(np.arange(len(self.blocks)), [b.rows for b in self.blocks]).astype(np.int64)

    @property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        """The attributes on which each block depends, for blocks that count or sum rows."""
        return tuple(b.axes for b in self.blocks if not isinstance(b, PeopleTable))

    @property
    def asks_people(self) -> tuple[tuple[int, ...], ...]:
        """The attributes on which each block depends, for blocks that count people."""
        return tuple(b.axes for b in self.blocks if isinstance(b, PeopleTable))

    @cached_property
    def proportional(self) -> tuple[tuple[Block, int], ...]:
        """The blocks with proportional cost (counts of people, and maps), with their first rows."""
        placed = zip(self.blocks, self.offsets, strict=True)
        return tuple((block, start) for block, start in placed if not block.by_pairs)

    @cached_property
    def in_proportional(self) -> Bools:
        """Whether each row belongs to a block with proportional cost."""
        out = np.zeros(self.rows, dtype=bool)
        for block, start in self.proportional:
            out[start : start + block.rows] = True
        return out

    @cached_property
    def by_pairs(self) -> "Workload | None":
        """The part of the workload whose cost is accounted pair by pair of records; None if it is empty."""
        if not self.proportional:
            return self
        blocks = tuple(block for block in self.blocks if block.by_pairs)
        if not blocks:
            return None
        place = (np.cumsum(~self.in_proportional) - 1).tolist()
        mine = [a for a in self.answers if not self.in_proportional[list(a.rows)].any()]
        answers = tuple(changed(a, recipe=a.recipe.moved(place[a.rows[0]] - a.rows[0])) for a in mine)
        return Workload(self.universe, blocks, answers, self.titles)

    @property
    def largest(self) -> int:
        """The largest absolute entry on the grid."""
        return max(b.largest for b in self.blocks)

    @cached_property
    def width(self) -> int:
        """The largest number of rows in which one record can count."""
        return sum(b.width for b in self.blocks)

    def differences(self, i: Ints, j: Ints) -> Differences:
        """Return |Q_ki - Q_kj| over all rows, sparse."""
        parts = [b.differences(i, j) for b in self.blocks]
        return (
            np.concatenate([p[0] for p in parts]),
            np.concatenate([p[1] + offset for p, offset in zip(parts, self.offsets, strict=True)]),
            np.concatenate([p[2] for p in parts]),
        )

    def touched(self, i: Ints, j: Ints) -> tuple[Ints, Ints]:
        """Return which rows differ on which pairs: the pair's position, and the row.

        Rows of maps are left out; for counts of people, the rows are those of the groups that differ.
        """
        pairs: list[Ints] = [np.zeros(0, dtype=np.int64)]
        rows: list[Ints] = [np.zeros(0, dtype=np.int64)]
        for block, start in zip(self.blocks, self.offsets, strict=True):
            told = block.groups if isinstance(block, PeopleTable) else block if block.by_pairs else None
            if told is not None:
                pair, row, _ = told.differences(i, j)
                pairs.append(pair)
                rows.append(row + start)
        return np.concatenate(pairs), np.concatenate(rows)

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """Return sum_k w_k |Q_ki - Q_kj| for each pair."""
        total = np.zeros(len(i))
        for block, start in zip(self.blocks, self.offsets, strict=True):
            total += block.loads(i, j, weights[start : start + block.rows])
        return total

    def answer(self, counts: Ints | Counted) -> Ints:
        """Return Q x in 64-bit integers, from counts of all possible records, or from sparse counts."""
        found = Occupied.dense(self.universe, counts) if isinstance(counts, np.ndarray) else counts
        return np.concatenate(
            [b.answer((found.by_person if isinstance(b, PeopleTable) else found.over)(b.axes)) for b in self.blocks]
        )

    @cached_property
    def digest(self) -> str:
        """The digest of the rows, independent of how the queries were written: see docs/formats.md."""
        out = hashlib.sha256(f"{self.universe.digest}\n".encode())
        for block in self.blocks:
            parts = block.parts()
            lengths = [len(part) for part in parts]
            head = {"kind": block.kind, "unit": str(block.unit), "bias": str(block.bias), "parts": lengths}
            out.update(f"{canonical(head)}\n".encode())
            for part in parts:
                out.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return out.hexdigest()

    def columns(self, cells: Ints) -> Ints:
        """Return the columns Q_i of some records, side by side."""
        return np.vstack([b.columns(cells) for b in self.blocks])

    def row(self, k: int) -> "Workload":
        """Return row k as a workload of its own, with the label of its answer if the answer is this row alone."""
        if not 0 <= k < self.rows:
            raise QueryError(f"there is no row {k + 1} among {self.rows:,}")
        at = int(self.block_of[k])
        block = self.blocks[at].row(k - self.offsets[at])
        answer = self._alone.get(k, Answer(f"row {k + 1}", 0, Linear(0, block.unit, block.bias)))
        answer = replace(answer, query=0, within=None, weight=Fraction(1))
        return Workload(self.universe, (block,), (answer,), (answer.label,))

    @cached_property
    def _alone(self) -> dict[int, Answer]:
        """The answers that consist of one row, by row, with recipes shifted to row 0."""
        alone = ((a, a.recipe.single) for a in self.answers)
        return {row: replace(a, recipe=a.recipe.moved(-row)) for a, row in alone if row is not None}

    def dense(self) -> Ints:
        """Return the whole matrix; for tests and small universes."""
        return np.vstack([b.dense() for b in self.blocks])


def stack(workloads: Sequence[Workload]) -> Workload:
    """Concatenate several workloads over one universe."""
    if not workloads:
        raise UsageError("ask at least one query")
    if len(workloads) == 1:
        return workloads[0]
    universe = workloads[0].universe
    blocks: list[Block] = []
    answers: list[Sequence[Answer]] = []
    titles: list[str] = []
    rows = 0
    for w in workloads:
        if w.universe != universe:
            raise QueryError("queries about different universes cannot be asked together")
        answers.append(_moved(w.answers, rows, len(titles)))
        blocks += w.blocks
        titles += w.titles
        rows += w.rows
    lazily = any(isinstance(part, RowByRow) for part in answers)
    together = OneAfterAnother(answers) if lazily else tuple(chain.from_iterable(answers))
    return Workload(universe, tuple(blocks), together, tuple(titles))


def _moved(answers: Sequence[Answer], rows: int, queries: int) -> Sequence[Answer]:
    if isinstance(answers, RowByRow):
        return answers.moved(rows, queries)
    if not rows and not queries:
        return answers
    return [changed(a, query=a.query + queries, recipe=a.recipe.moved(rows)) for a in answers]
