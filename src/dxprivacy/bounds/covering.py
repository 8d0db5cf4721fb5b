"""Which pairs have to be looked at: a covering of all pairs by few.

`L <= d` on a set of pairs whose shortest paths make up d implies it everywhere (MATH section 1).  Structure makes that
set small, and the evaluation on it is the same for all metrics and losses:

*one attribute*       the metric's own generators (neighbours on a line, otherwise all pairs);
*sum of attributes*   pairs that differ in ONE attribute, which on a full product generate the sum;
*classes*             values that no question tells apart are one; of a class pair only the closest pair matters;
*contexts*            of the other attributes only what changes the effect of the move;
*presence*            where records may be absent, also each different record against its absence.

Where contexts multiply beyond what can be enumerated, each question takes its own worst context: a sound upper bound,
labelled as such (the exact value is NP-hard there).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.model.blocks import joint_classes
from dxprivacy.model.costs import Term
from dxprivacy.model.metrics import Constant, Line, Metric, PseudoMetric, WithAbsent, WithOther, all_pairs
from dxprivacy.model.metrics.base import BLOCK, Pairs
from dxprivacy.model.universe import Universe

MAX_PAIRS = 20_000_000
MAX_ALL_PAIRS = 400_000_000
_DENSE_CLASSES = 2_000
_CONSTANT_COLUMNS = 2_500


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

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """The pairs of cells."""
        chunk = max(1, block // len(self.contexts))
        for u, v in self.values:
            for a in range(0, len(u), chunk):
                i = (u[a : a + chunk, None] * self.stride + self.contexts).ravel()
                j = (v[a : a + chunk, None] * self.stride + self.contexts).ravel()
                for b in range(0, len(i), 4 * block):
                    yield i[b : b + 4 * block], j[b : b + 4 * block]


@dataclass(frozen=True)
class Loose:
    """Moves along one attribute whose contexts are too many: each question takes its own worst one."""

    values: tuple[Pairs, ...]
    axis: int
    terms: tuple[tuple[Term, Move], ...]


@dataclass(frozen=True)
class Cover:
    """Pairs that suffice, and the rule that says so.

    `loose`, `apart` and `absences` hold what can only be bounded: moves with too many contexts, under a constant metric
    questions with too many different columns, and the presence of too many different records; each question is then
    bounded by itself.
    """

    rule: str
    moves: tuple[Move, ...] = ()
    loose: tuple[Loose, ...] = ()
    apart: tuple[Term, ...] = ()
    plain: Metric | None = field(default=None)
    presence: Move | None = None
    absences: tuple[tuple[Term, Move], ...] = ()

    @property
    def size(self) -> int:
        """How many pairs there are to look at (an upper bound)."""
        more = self.presence.size if self.presence is not None else 0
        if self.plain is not None:
            return self.plain.generator_count + more
        return sum(m.size for m in self.moves) + more

    @property
    def tight(self) -> bool:
        """Whether the pairs tell everything, and nothing is only bounded."""
        return not (self.loose or self.apart or self.absences)

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """All pairs but the loose ones."""
        if self.plain is not None:
            yield from self.plain.generators(block)
        for move in self.moves:
            yield from move.pairs(block)
        if self.presence is not None:
            yield from self.presence.pairs(block)


def cover(loss: PseudoMetric, metric: Metric) -> Cover:
    """The pairs that decide how `loss` compares with `metric`."""
    terms: tuple[Term, ...] | None = getattr(loss, "terms", None)
    if terms is None:
        return _plain(metric)
    if isinstance(metric, WithAbsent):
        return _with_presence(cover(loss, metric.base), terms, metric)
    if isinstance(metric, Constant):
        return _constant(terms, metric)
    if metric.axes is not None:
        return _sum_of_attributes(terms, metric, metric.axes)
    return _plain(metric)


def _with_presence(inside: Cover, terms: Sequence[Term], metric: WithAbsent) -> Cover:
    """The star around `absent`, which together with the base's generators generates the whole metric."""
    universe = metric.universe
    axes = sorted({axis for term in terms for axis in term.block.axes})
    # Every row may get a scale of its own, where that is feasible; otherwise rows of one scale are not told apart.
    by_row = [replace(term, uniform=False) for term in terms]
    cells = contexts_of(by_row, axes, universe, MAX_PAIRS)
    cells = contexts_of(terms, axes, universe, MAX_PAIRS) if cells is None else cells
    if cells is not None:
        return replace(inside, rule=f"{inside.rule}, and presence", presence=_star(cells, metric.last))
    own = []
    for term in terms:
        alone = contexts_of([term], term.block.axes, universe, MAX_ALL_PAIRS)
        if alone is None:
            raise NotCertified("a question over too many combinations to check", hints=["ask for fewer attributes"])
        own.append((term, _star(alone, metric.last)))
    return replace(inside, rule=f"{inside.rule}, and presence, upper bound per question", absences=tuple(own))


def _star(cells: Ints, absent: int) -> Move:
    """Records against their absence."""
    return Move(0, 1, ((cells, np.full(len(cells), absent, dtype=np.int64)),), np.zeros(1, dtype=np.int64))


def _plain(metric: Metric) -> Cover:
    n = metric.universe.size
    if metric.generator_count > MAX_ALL_PAIRS:
        raise NotCertified(
            f"{n:,} possible records have too many pairs to check one by one",
            hints=["use attributes that add up, or fewer records"],
        )
    return Cover(_rule(metric), plain=metric)


def _rule(metric: Metric) -> str:
    n = metric.universe.size
    if _is_line(metric):
        return "line"
    return "all pairs" if metric.generator_count >= n * (n - 1) // 2 else "generators"


def _is_line(metric: Metric) -> bool:
    return isinstance(metric.base if isinstance(metric, WithOther) else metric, Line)


def _representatives(classes: Ints) -> Ints:
    return np.unique(classes, return_index=True)[1].astype(np.int64)


def _sum_of_attributes(terms: Sequence[Term], metric: Metric, axes: Sequence[Metric]) -> Cover:
    universe = metric.universe
    moves: list[Move] = []
    loose: list[Loose] = []
    for axis, along in enumerate(axes):
        touching = [t for t in terms if axis in t.block.axes]
        moving = joint_classes([t.block.moving(axis) for t in touching], universe.shape[axis])
        if not moving.any():
            continue
        if len(axes) == 1 and not _reducible(moving):
            return _plain(metric)  # one attribute, no classes to speak of: its generators, one block at a time
        values = tuple(closest_between(along, moving))
        if not values:
            continue
        contexts = contexts_of(touching, _others(touching, axis), universe, MAX_PAIRS)
        stride = universe.strides[axis]
        pairs = sum(len(u) for u, _ in values)
        if contexts is not None and pairs * len(contexts) <= max(MAX_PAIRS, pairs):
            moves.append(Move(axis, stride, values, contexts))
            continue
        own = []
        for term in touching:
            alone = contexts_of([term], _others([term], axis), universe, MAX_ALL_PAIRS)
            if alone is None or pairs * len(alone) > MAX_ALL_PAIRS:
                raise NotCertified("a question over too many combinations to check", hints=["ask for fewer attributes"])
            own.append((term, Move(axis, stride, values, alone)))
        loose.append(Loose(values, axis, tuple(own)))
    if len(axes) == 1:
        rule = _rule(axes[0])
    else:
        rule = "one attribute at a time" + (", upper bound per question" if loose else "")
    return Cover(rule, tuple(moves), tuple(loose))


def _others(terms: Sequence[Term], axis: int) -> list[int]:
    return sorted({x for t in terms for x in t.block.axes} - {axis})


def contexts_of(terms: Sequence[Term], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Representative values of the given attributes, as offsets of the cell index: all that changes a loss elsewhere.

    None if there are more than `limit`.
    """
    offsets = np.zeros(1, dtype=np.int64)
    for axis in axes:
        classes = [t.block.context(axis, uniform=t.uniform) for t in terms if axis in t.block.axes]
        chosen = _representatives(joint_classes(classes, universe.shape[axis])) * universe.strides[axis]
        if len(offsets) * len(chosen) > limit:
            return None
        offsets = (offsets[:, None] + chosen).ravel()
    return offsets


def _reducible(classes: Ints) -> bool:
    """Whether the values fall into so few classes that closest pairs are worth searching for."""
    count = int(classes.max()) + 1
    return count <= _DENSE_CLASSES and 4 * count < len(classes)


def closest_between(metric: Metric, classes: Ints) -> Iterator[Pairs]:
    """Generator pairs that cross classes; of each two classes only those that may be the closest."""
    count = int(classes.max()) + 1
    reduce = _reducible(classes)
    best = np.full(count * count if reduce else 0, np.inf)
    if reduce:
        for _, _, code, d in _crossing(metric, classes, count):
            np.minimum.at(best, code, d)
    tolerance = 1.0 + 8.0 * metric.error
    kept: list[tuple[Ints, Ints, Ints]] = []
    for u, v, code, d in _crossing(metric, classes, count):
        if not reduce:
            yield u, v
            continue
        near = np.flatnonzero(d <= best[code] * tolerance)
        if len(near):
            kept.append((u[near], v[near], np.column_stack([code[near], metric.keys(u[near], v[near])])))
            if sum(len(k[0]) for k in kept) > 4 * BLOCK:
                kept = [_distinct(kept)]
    if kept:
        u, v, _ = _distinct(kept)
        yield u, v


def _distinct(kept: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    keys = np.concatenate([k for _, _, k in kept])
    first = np.unique(keys, axis=0, return_index=True)[1]
    return np.concatenate([u for u, _, _ in kept])[first], np.concatenate([v for _, v, _ in kept])[first], keys[first]


def _crossing(metric: Metric, classes: Ints, count: int) -> Iterator[tuple[Ints, Ints, Ints, Floats]]:
    for u, v in metric.generators():
        a, b = classes[u], classes[v]
        across = a != b
        d = metric.pairwise(u[across], v[across])
        finite = np.isfinite(d)  # an infinite distance asks for nothing
        u, v, a, b = (x[across][finite] for x in (u, v, a, b))
        if len(u):
            yield u, v, np.minimum(a, b) * count + np.maximum(a, b), d[finite]


def _constant(terms: Sequence[Term], metric: Constant) -> Cover:
    """The same distance everywhere: cells with equal columns are one, then all pairs of what is left."""
    universe = metric.universe
    if metric.epsilon == float("inf"):
        return Cover("constant")
    offsets = np.zeros(1, dtype=np.int64)
    for axis in sorted({x for t in terms for x in t.block.axes}):
        classes = [t.block.moving(axis) for t in terms if axis in t.block.axes]
        chosen = _representatives(joint_classes(classes, universe.shape[axis])) * universe.strides[axis]
        offsets = (offsets[:, None] + chosen).ravel()
        if len(offsets) > _CONSTANT_COLUMNS:
            return Cover("constant, upper bound per question", apart=tuple(terms))
    if universe.absent is not None:
        offsets = np.append(offsets, universe.absent)
    if len(offsets) < 2:
        return Cover("constant")
    pairs = tuple((offsets[a], offsets[b]) for a, b in all_pairs(len(offsets)))
    return Cover("constant", (Move(0, 1, pairs, np.zeros(1, dtype=np.int64)),))
