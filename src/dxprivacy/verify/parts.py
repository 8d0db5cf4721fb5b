"""Parts of a loss whose contexts have nothing to do with one another (docs/formats.md, section 9).

The loss of a move is a sum over blocks.  What a block adds depends on the values of its own attributes only, so that of
blocks that share none but the one that moves each may have its own worst context, and all have it at once: the largest
sum is the sum of the largest.  Tables of two of ten attributes have ten times fifteen contexts, not fifteen to the ten.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dxprivacy.verify.blocks import Block, Column
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.reading import Exact

MARGIN = 2.0**-17  # well above the errors of both floats
_WIDE = 2_000

Classes = tuple[int, int]
"""Two classes of values between which a record may move."""


def separate(summands: Iterable[Sequence[Block]], moving: int) -> list[list[Block]]:
    """Blocks in as many lists as possible, such that no two of them share an attribute but the one that moves.

    Blocks of which the largest counts, and not the sum, stay together.
    """
    found: list[tuple[set[int], list[Block]]] = []
    for blocks in summands:
        axes = {axis for block in blocks for axis in block.axes} - {moving}
        linked = [one for one in found if one[0] & axes]
        found = [one for one in found if not one[0] & axes]
        found.append((axes.union(*(one[0] for one in linked)), [b for one in linked for b in one[1]] + [*blocks]))
    return [blocks for _, blocks in found]


class Part(ABC):
    """A part of the loss between two classes, and the contexts that can change it."""

    def __init__(self, loss: Loss, contexts: Sequence[Sequence[int]]) -> None:
        self.loss, self.contexts = loss, contexts

    @abstractmethod
    def columns(self, context: Sequence[int]) -> Sequence[Column] | None:
        """Where each class counts; None if that is in so many rows that only differences are worth knowing."""

    @abstractmethod
    def sides(self, context: Sequence[int], key: Classes) -> tuple[Column, Column]:
        """Where two classes count differently."""

    def about(self, context: Sequence[int], key: Classes) -> float:
        """The loss between two classes, as a float."""
        return self.loss.about(*self.sides(context, key))

    @abstractmethod
    def put(self, record: list[int], context: Sequence[int]) -> None:
        """Give a record the values of a context that matter to this part."""

    def most(self, keys: Iterable[Classes]) -> dict[Classes, float]:
        """The largest loss between each two classes, over all contexts, as a float."""
        out = dict.fromkeys(keys, 0.0)
        for context in self.contexts:
            columns, about = self.columns(context), self.loss.about
            for key, known in out.items():
                loss = self.about(context, key) if columns is None else about(columns[key[0]], columns[key[1]])
                if loss > known:
                    out[key] = loss
        return out

    def largest(
        self, keys: Sequence[Classes], most: dict[Classes, float]
    ) -> dict[Classes, tuple[Exact, Sequence[int]]]:
        """The same as fractions, each with its context, given the floats: none that is clearly less is worked out."""
        out: dict[Classes, tuple[Exact, Sequence[int]]] = {}
        for context in self.contexts:
            columns = self.columns(context)
            for key in keys:
                if not most[key]:  # floats are 0 where losses are, and nowhere else
                    out.setdefault(key, (Fraction(0), context))
                    continue
                if columns is None and self.about(context, key) < most[key] * (1 - MARGIN):
                    continue
                a, b = self.sides(context, key) if columns is None else (columns[key[0]], columns[key[1]])
                if self.loss.about(a, b) >= most[key] * (1 - MARGIN):
                    exact = self.loss.exact(a, b)
                    if key not in out or exact > out[key][0]:
                        out[key] = exact, context
        return out


class OfBlocks(Part):
    """Some blocks along an attribute; `members` has one value of each class."""

    def __init__(
        self, loss: Loss, contexts: Sequence[Sequence[int]], blocks: Sequence[Block], axis: int, members: Sequence[int]
    ) -> None:
        super().__init__(loss, contexts)
        self.blocks, self.axis, self.members = blocks, axis, members
        self._wide = sum(block.rows for block in blocks) > _WIDE
        self._axes = {axis for block in blocks for axis in block.axes} - {self.axis}

    def _record(self, context: Sequence[int], value: int) -> list[int]:
        return [value if axis == self.axis else c for axis, c in enumerate(context)]

    def columns(self, context: Sequence[int]) -> Sequence[Column] | None:
        if self._wide:
            return None
        return [self.loss.column(self._record(context, value), self.blocks) for value in self.members]

    def sides(self, context: Sequence[int], key: Classes) -> tuple[Column, Column]:
        records = [self._record(context, self.members[c]) for c in key]
        a, b = Column(), Column()
        for block in self.blocks:
            for column, more in zip((a, b), block.apart(*records), strict=True):
                column.update(more)
        return a, b

    def about(self, context: Sequence[int], key: Classes) -> float:
        if self.loss.selections:
            return super().about(context, key)
        a, b = (self._record(context, self.members[c]) for c in key)
        total = 0.0
        for block in self.blocks:
            shown = block.shown(a, b, self.loss.weights)
            total += self.loss.about(*block.apart(a, b)) if shown is None else shown
        return total

    def put(self, record: list[int], context: Sequence[int]) -> None:
        for axis in self._axes:
            record[axis] = context[axis]


class OfCells(Part):
    """Whole records, which have no context."""

    def __init__(self, loss: Loss, columns: Sequence[Column]) -> None:
        super().__init__(loss, [()])
        self._columns = columns

    def columns(self, context: Sequence[int]) -> Sequence[Column]:  # noqa: ARG002
        return self._columns

    def sides(self, context: Sequence[int], key: Classes) -> tuple[Column, Column]:  # noqa: ARG002
        return self._columns[key[0]], self._columns[key[1]]

    def put(self, record: list[int], context: Sequence[int]) -> None:
        """Nothing."""
