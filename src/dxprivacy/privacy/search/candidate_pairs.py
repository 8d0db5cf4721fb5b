"""What a covering is made of: moves along one attribute in contexts of the others, and what can only be bounded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.metrics import Metric
from dxprivacy.metrics.metric import BLOCK, Pairs
from dxprivacy.privacy.search.tree_search import Walk
from dxprivacy.universe.loss_terms import Part, Terms


@dataclass(frozen=True)
class Move:
    """Moves along one attribute: pairs of its values, in the given contexts of the others."""

    axis: int
    stride: int
    values: tuple[Pairs, ...]
    contexts: Ints

    @property
    def size(self) -> int:
        """How many pairs of cells."""
        return sum(len(u) for u, _ in self.values) * len(self.contexts)

    @property
    def key(self) -> tuple[int, bytes, bytes]:
        """Equal for equal moves."""
        ends = b"".join(x.tobytes() for pair in self.values for x in pair)
        return self.axis, ends, self.contexts.tobytes()

    def cells(self, values: Ints) -> Ints:
        """The cells of some values, in every context, one after the other."""
        wide = object if object in (values.dtype, self.contexts.dtype) else np.int64
        return (values.astype(wide)[:, None] * self.stride + self.contexts).ravel()

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """The pairs of cells."""
        chunk = max(1, block // len(self.contexts))
        for u, v in self.values:
            for a in range(0, len(u), chunk):
                i, j = self.cells(u[a : a + chunk]), self.cells(v[a : a + chunk])
                for b in range(0, len(i), 4 * block):
                    yield i[b : b + 4 * block], j[b : b + 4 * block]


@dataclass(frozen=True)
class Loose:
    """Moves along one attribute whose contexts are too many: each part of each term takes its own worst one."""

    values: tuple[Pairs, ...]
    axis: int
    terms: tuple["Own", ...]

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves of all parts, each once."""
        return tuple({move.key: move for own in self.terms for _, move in own}.values())

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """The pairs that are worst for single questions; the worst for all together may be others."""
        return _gathered((pair for move in self.moves for pair in move.pairs(block)), block)


Own = tuple[tuple[Part, Move], ...]
"""The parts of a term, each with all that it can tell apart by itself: the term's largest loss is found there."""


@dataclass(frozen=True)
class Cover:
    """Pairs that suffice, and the rule that says so.

    `loose`, `apart` and `absences` hold what can only be bounded: moves with too many contexts, under a constant metric
    questions with too many different columns, and the presence of too many different records; each question is then
    bounded by itself.  Of `apart` and `absences` there is one for each alternative.  Along an attribute of many points
    `walks` look for the pairs that matter to one loss, instead of naming them for all.  Along attributes that are
    `exchanged` one pair stands for many rows; along `steep` ones there are too many pairs even to look for.
    """

    rule: str
    moves: tuple[Move, ...] = ()
    loose: tuple[Loose, ...] = ()
    apart: tuple[Terms, ...] = ()
    plain: Metric | None = field(default=None)
    presence: Move | None = None
    walks: tuple[Walk, ...] = ()
    absences: tuple[tuple[Own, ...], ...] = ()
    exchanged: tuple[int, ...] = ()
    steep: tuple[tuple[Metric, Terms], ...] = ()

    @property
    def size(self) -> int:
        """How many pairs there are to look at (an upper bound)."""
        more = self.presence.size if self.presence is not None else 0
        if self.plain is not None:
            return self.plain.generator_count + more
        return sum(m.size for m in self.moves) + more

    @property
    def bounded(self) -> bool:
        """Whether some queries are only bounded, each by itself."""
        return bool(self.loose or self.apart or self.absences or self.steep)

    @property
    def tight(self) -> bool:
        """Whether the pairs tell everything, and nothing is only bounded."""
        return not (self.bounded or self.walks)

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """All pairs but the loose ones."""
        if self.plain is not None:
            yield from self.plain.generators(block)
        yield from _gathered((pair for move in self.moves for pair in move.pairs(block)), block)
        if self.presence is not None:
            yield from self.presence.pairs(block)


def _gathered(pairs: Iterator[Pairs], block: int) -> Iterator[Pairs]:
    """The same pairs, small groups put together: a look at many pairs costs hardly more than one at few."""
    waiting: list[Pairs] = []
    size = 0
    for pair in pairs:
        waiting.append(pair)
        size += len(pair[0])
        if size >= block:
            yield _joined(waiting)
            waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(pairs: Sequence[Pairs]) -> Pairs:
    """Together, for nobody to write to: whoever looks at them may remember what was found."""
    if len(pairs) == 1:
        return read_only(pairs[0][0]), read_only(pairs[0][1])
    return read_only(np.concatenate([i for i, _ in pairs])), read_only(np.concatenate([j for _, j in pairs]))
