"""Which pairs have to be looked at: a covering of all pairs by few.

`L <= d` on a set of pairs whose shortest paths make up d implies it everywhere (MATH section 1).  Structure makes that
set small, and the evaluation on it is the same for all metrics and losses:

*one attribute*       the metric's own generators (neighbours on a line, otherwise all pairs);
*sum of attributes*   pairs that differ in ONE attribute, which on a full product generate the sum;
*classes*             values that no question tells apart are one; of a class pair only the closest pair matters;
*contexts*            of the other attributes only what changes the effect of the move; of values that change it alike,
                      only the strongest: what is moved beside a weaker one is moved at least as much beside it;
*presence*            where records may be absent, also each different record against its absence;
*alternatives*        of a loss that is the largest of several, each may be covered by itself: the pairs of all together
                      have its largest ratio.  Under a constant metric these are the ends of each row.

Where contexts multiply beyond what can be enumerated, each question takes its own worst context: a sound upper bound,
labelled as such (the exact value is NP-hard there).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dxprivacy.accounting.exchange import standing_pairs
from dxprivacy.accounting.walks import MAX_WALKED, Walk, closest_in_space, space_of
from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints, read_only
from dxprivacy.metrics import Constant, Line, Metric, PseudoMetric, WithAbsent, WithOther, all_pairs
from dxprivacy.metrics.base import BLOCK, Pairs
from dxprivacy.model.blocks import joint_classes
from dxprivacy.model.blocks.base import classes_of_rows
from dxprivacy.model.terms import Part, Term, Terms
from dxprivacy.model.universe import Universe

MAX_PAIRS = 20_000_000
MAX_ALL_PAIRS = 400_000_000
_DENSE_CLASSES = 2_000
_FEW_CLASSES = 256
_CONSTANT_COLUMNS = 2_500
_MOST_COMPARED = 20_000_000
EXCHANGED_FROM = 1_500  # classes of values that are all equally far apart
_FEW_PAIRS = 50_000  # to look at together, before alternatives are covered one by one


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
    def tight(self) -> bool:
        """Whether the pairs tell everything, and nothing is only bounded."""
        return not (self.loose or self.apart or self.absences or self.walks or self.steep)

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """All pairs but the loose ones."""
        if self.plain is not None:
            yield from self.plain.generators(block)
        yield from _gathered((pair for move in self.moves for pair in move.pairs(block)), block)
        if self.presence is not None:
            yield from self.presence.pairs(block)


def largest_pairs(loss: PseudoMetric, metric: Metric, many: int, block: int = BLOCK) -> Iterator[Pairs]:
    """Pairs among which those with the largest ratios are: the covering ones, and of walks so many in each context."""
    plan = cover(loss, metric, walks=True)
    yield from plan.pairs(block)
    for walk in plan.walks:
        yield from walk.largest(many)


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


def cover(loss: PseudoMetric, metric: Metric, *, most: int | None = None, walks: bool = False) -> Cover:
    """The pairs that decide how `loss` compares with `metric`.

    `most` is how many moves along one attribute are worth looking at, before each question is only bounded.  With
    `walks`, those along attributes of many points are left to be searched for, and not among the `pairs`.
    """
    alternatives = loss.alternatives
    if alternatives is None:
        return _plain(metric)
    if len(alternatives) > 1:
        together = _cover(loss.terms, metric, _FEW_PAIRS, walks=walks)
        if together is not None and together.size <= _FEW_PAIRS:
            return together
    found = [_cover(terms, metric, most=most, walks=walks) or _plain(metric) for terms in alternatives]
    if len(found) == 1:
        return found[0]
    if any(covered.plain is not None for covered in found):  # all pairs there are, also for the others
        return _plain(metric)
    return _merged(found)


def _cover(
    terms: Terms, metric: Metric, few: int | None = None, *, most: int | None = None, walks: bool = False
) -> Cover | None:
    """The pairs that decide about a sum; None where they are more than a `few`, or could only be bounded."""
    most = few if few is not None else MAX_PAIRS if most is None else most
    if isinstance(metric, WithAbsent):
        inside = _cover(terms, metric.base, few, most=most, walks=walks)
        return None if inside is None else _with_presence(inside, terms, metric, few, most)
    if isinstance(metric, Constant):
        return _constant(terms, metric, few)
    if metric.axes is not None:
        return _sum_of_attributes(terms, metric, metric.axes, few, most, walks=walks)
    return _if_few(metric, few)


def _merged(covers: Sequence[Cover]) -> Cover:
    """The pairs of several covers, each once."""
    moves = {move.key: move for each in covers for move in each.moves}
    stars = {move.key: move for each in covers if (move := each.presence) is not None}
    presence = None
    if stars:
        cells, last = (np.concatenate([m.values[0][side] for m in stars.values()]) for side in (0, 1))
        presence = _star(np.unique(cells), int(last[0]))
    rules = dict.fromkeys(each.rule for each in covers)
    return Cover(
        next((rule for rule in rules if "upper bound" in rule), covers[0].rule),
        tuple(moves.values()),
        tuple(part for each in covers for part in each.loose),
        tuple(terms for each in covers for terms in each.apart),
        presence=presence,
        walks=tuple(walk for each in covers for walk in each.walks),
        exchanged=tuple(sorted({axis for each in covers for axis in each.exchanged})),
        steep=tuple(part for each in covers for part in each.steep),
        absences=tuple(terms for each in covers for terms in each.absences),
    )


def _with_presence(inside: Cover, terms: Terms, metric: WithAbsent, few: int | None, most: int) -> Cover | None:
    """The star around `absent`, which together with the base's generators generates the whole metric."""
    universe = metric.universe
    axes = sorted({axis for term in terms for axis in term.axes})
    # Every row of a sum may get a scale of its own, where that is feasible; otherwise rows of one scale are alike.
    cells = worst_contexts_of([_by_row(term) for term in terms], axes, universe, most)
    cells = worst_contexts_of(terms, axes, universe, most) if cells is None else cells
    if cells is not None:
        return replace(inside, rule=f"{inside.rule}, and presence", presence=_star(cells, metric.last))
    if few is not None:
        return None
    own = []
    for term in terms:
        parts = []
        for part in term.parts:
            alone = worst_contexts_of([Term((part,))], part.block.axes, universe, MAX_ALL_PAIRS)
            if alone is None:
                raise _too_many()
            parts.append((part, _star(alone, metric.last)))
        own.append(tuple(parts))
    return replace(inside, rule=f"{inside.rule}, and presence, upper bound per question", absences=(tuple(own),))


def _by_row(term: Term) -> Term:
    return Term(tuple(part if part.largest else replace(part, uniform=False) for part in term.parts))


def _too_many() -> NotCertified:
    return NotCertified("a question over too many combinations to check", hints=["ask for fewer attributes"])


def _star(cells: Ints, absent: int) -> Move:
    """Records against their absence."""
    return Move(0, 1, ((cells, np.full(len(cells), absent, dtype=cells.dtype)),), np.zeros(1, dtype=np.int64))


def _if_few(metric: Metric, few: int | None) -> Cover | None:
    """The metric's own generators, unless they are more than a few."""
    return None if few is not None and metric.generator_count > few else _plain(metric)


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


def _sum_of_attributes(
    terms: Terms, metric: Metric, axes: Sequence[Metric], few: int | None, most: int, *, walks: bool
) -> Cover | None:
    universe = metric.universe
    moves: list[Move] = []
    loose: list[Loose] = []
    walked: list[Walk] = []
    exchanged: list[int] = []
    steep: list[tuple[Metric, Terms]] = []
    for axis, along in enumerate(axes):
        touching = [t for t in terms if axis in t.axes]
        moving = joint_classes([t.moving(axis) for t in touching], universe.shape[axis])
        if not moving.any():
            continue
        if walks and _in_space(moving) and (space := space_of(along, touching)) is not None:
            contexts = worst_contexts_of(touching, _others(touching, axis), universe, MAX_WALKED // len(moving))
            if contexts is not None:
                walked.append(Walk(axis, universe, space, contexts, tuple(touching)))
                continue
        if int(moving.max()) >= EXCHANGED_FROM and (found := standing_pairs(along, axis, touching, moving)) is not None:
            values: tuple[Pairs, ...] = (found,)
            exchanged.append(axis)
        elif len(axes) == 1 and not _reducible(moving):
            return _if_few(metric, few)  # one attribute, no classes to speak of: its generators, one block at a time
        elif not _reducible(moving) and along.generator_count > MAX_ALL_PAIRS:
            if few is not None:
                return None
            steep.append((along, tuple(touching)))
            continue
        else:
            values = tuple(closest_between(along, moving))
        if not values:
            continue
        contexts = worst_contexts_of(touching, _others(touching, axis), universe, most)
        stride = universe.strides[axis]
        pairs = sum(len(u) for u, _ in values)
        if contexts is not None and pairs * len(contexts) <= (max(most, pairs) if few is None else few):
            moves.append(Move(axis, stride, values, contexts))
            continue
        if few is not None:
            return None
        loose.append(Loose(values, axis, tuple(_own(term, axis, values, universe) for term in touching)))
    if len(axes) == 1:
        rule = _rule(axes[0])
    else:
        rule = "one attribute at a time" + (", upper bound per question" if loose or steep else "")
    return Cover(rule, tuple(moves), tuple(loose), walks=tuple(walked), exchanged=tuple(exchanged), steep=tuple(steep))


def _own(term: Term, axis: int, values: tuple[Pairs, ...], universe: Universe) -> Own:
    """Each part of a term in all its own contexts."""
    pairs = sum(len(u) for u, _ in values)
    own = []
    for part in term.parts:
        if axis not in part.block.axes:
            continue
        one = Term((part,))
        alone = worst_contexts_of([one], _others([one], axis), universe, MAX_ALL_PAIRS)
        if alone is None or pairs * len(alone) > MAX_ALL_PAIRS:
            raise _too_many()
        own.append((part, Move(axis, universe.strides[axis], values, alone)))
    return tuple(own)


def _others(terms: Sequence[Term], axis: int) -> list[int]:
    return sorted({x for t in terms for x in t.axes} - {axis})


def contexts_of(terms: Sequence[Term], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Representative values of the given attributes, as offsets of the cell index: all that changes a loss elsewhere.

    None if there are more than `limit`.
    """
    classes = [[t.context(axis) for t in terms if axis in t.axes] for axis in axes]
    chosen = [_representatives(joint_classes(c, universe.shape[axis])) for axis, c in zip(axes, classes, strict=True)]
    return _combined(chosen, axes, universe, limit)


def worst_contexts_of(terms: Sequence[Term], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Those among `contexts_of` that matter to a largest loss: beside any other, no move changes more."""
    strengths = [[s for t in terms if axis in t.axes for s in t.strengths(axis)] for axis in axes]
    chosen = [_strongest(s) for s in strengths]
    return _combined(chosen, axes, universe, limit)


def _combined(chosen: Sequence[Ints], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Every combination of some values, as offsets of the cell index; None if there are more than `limit`."""
    if math.prod(len(values) for values in chosen) > limit:
        return None
    offsets = universe.numbered([0])
    for axis, values in zip(axes, chosen, strict=True):
        offsets = (offsets[:, None] + universe.offsets(axis, values)).ravel()
    return offsets


def _strongest(strengths: Sequence[tuple[Ints, Ints]]) -> Ints:
    """Values that no other one dominates: that is of the same kind to every part that it matters to, and stronger."""
    if not strengths:
        return np.zeros(1, dtype=np.int64)
    kinds = np.stack([np.where(s > 0, k, -1) for k, s in strengths], axis=1)
    sizes = np.stack([s for _, s in strengths], axis=1)
    values = np.unique(np.hstack([kinds, sizes]), axis=0, return_index=True)[1]
    # Of values that are of the same kinds to all parts, one may be the strongest to each of them.
    alike = classes_of_rows(kinds[values])
    most = np.zeros((int(alike.max()) + 1, sizes.shape[1]), dtype=np.int64)
    np.maximum.at(most, alike, sizes[values])
    top = (sizes[values] == most[alike]).all(axis=1)
    covered = np.zeros(len(most), dtype=bool)
    covered[alike[top]] = True
    values = values[top | ~covered[alike]]
    if len(values) ** 2 * sizes.shape[1] <= _MOST_COMPARED:  # and those that matter to fewer parts
        kind, strength = kinds[values], sizes[values]
        below = (strength[:, None] == 0) | ((kind[:, None] == kind) & (strength[:, None] <= strength))
        under = below.all(axis=2)
        np.fill_diagonal(under, val=False)
        values = values[~under.any(axis=1)]
    return np.sort(values).astype(np.int64)


def _reducible(classes: Ints) -> bool:
    """Whether the values fall into so few classes that closest pairs are worth searching for."""
    count = int(classes.max()) + 1
    return count <= _DENSE_CLASSES and 4 * count < len(classes)


def _in_space(classes: Ints) -> bool:
    """Whether points are better walked over than the closest of every two classes looked for."""
    return not _reducible(classes) or int(classes.max()) >= _FEW_CLASSES


def closest_between(metric: Metric, classes: Ints) -> Iterator[Pairs]:
    """Generator pairs that cross classes; of each two classes only those that may be the closest."""
    count = int(classes.max()) + 1
    reduce = _reducible(classes)
    if not _in_space(classes) and (found := closest_in_space(metric, classes)) is not None:
        yield found
        return
    if reduce and isinstance(metric, Constant):  # one pair is as close as all others: 41,000 values have 840 million
        if not metric.has_infinite:
            one, (a, b) = _representatives(classes), np.triu_indices(count, 1)
            yield one[a], one[b]
        return
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


def _constant(terms: Terms, metric: Constant, few: int | None) -> Cover | None:
    """The same distance everywhere: cells with equal columns are one, then all pairs of what is left."""
    universe = metric.universe
    if metric.epsilon == float("inf"):
        return Cover("constant")
    if len(terms) == len(terms[0].parts) == 1 and terms[0].parts[0].largest:
        ends = terms[0].parts[0].block.ends(absent=universe.absent is not None)
        if ends is not None:  # the largest loss of a row is that between its ends
            return _at_one_place("constant", (ends,))
    offsets = universe.numbered([0])
    for axis in sorted({x for t in terms for x in t.axes}):
        classes = [t.moving(axis) for t in terms if axis in t.axes]
        chosen = universe.offsets(axis, _representatives(joint_classes(classes, universe.shape[axis])))
        offsets = (offsets[:, None] + chosen).ravel()
        if few is not None and len(offsets) ** 2 > 2 * few:
            return None
        if len(offsets) > _CONSTANT_COLUMNS:
            return Cover("constant, upper bound per question", apart=(terms,))
    if universe.absent is not None:
        offsets = np.append(offsets, universe.absent)
    if len(offsets) < 2:
        return Cover("constant")
    return _at_one_place("constant", tuple((offsets[a], offsets[b]) for a, b in all_pairs(len(offsets))))


def _at_one_place(rule: str, pairs: tuple[Pairs, ...]) -> Cover:
    """Pairs of cells as they are."""
    return Cover(rule, (Move(0, 1, pairs, np.zeros(1, dtype=np.int64)),))
