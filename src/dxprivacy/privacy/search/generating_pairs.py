"""Generating pairs: a small set of pairs that decides the largest ratio of a loss to a metric.

If `L <= d` holds on a set of pairs whose shortest paths make up d, it holds for all pairs (triangle inequality).
Structure makes the set small; the pairs are then compared in the same way for all metrics and losses:

*one attribute*       the metric's own generating pairs (neighbors on a line, otherwise all pairs);
*sum of attributes*   pairs that differ in ONE attribute, which on a full product generate the sum;
*classes*             values that no query separates form a class; only the closest pair of two classes matters;
*lines*               among values with equal distances, those that do not lie between two others;
*contexts*            values of the other attributes that change the effect of a move; if several change it in the same
                      way, only the strongest, because no move changes more in a weaker context;
*presence*            under add-remove neighbors, also each different record against its absence;
*alternatives*        if a loss is the largest of several, each is covered by itself: their pairs together contain the
                      largest ratio.  Under a constant metric these are the ends of each row.

If there are too many contexts to enumerate, each query is bounded by its own worst context: a sound upper bound, and
the rule says so (the exact value is NP-hard there).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Ints
from dxprivacy.metrics import Metric, PseudoMetric
from dxprivacy.metrics.closed_forms import Constant, LineMetric
from dxprivacy.metrics.metric import BLOCK, Pairs, all_pairs
from dxprivacy.metrics.with_other import WithAbsent, WithOther
from dxprivacy.privacy.search.candidate_pairs import (
    CandidatePairs,
    Cover,
    Loose,
    Own,
    symmetric_pairs,
    symmetric_record_pairs,
)
from dxprivacy.privacy.search.tree_search import MAX_SEARCHED, TreeSearch, space_of
from dxprivacy.privacy.search.value_classes import (
    closest_between,
    equally_far,
    in_space,
    line_ends,
    pairs_of_ends,
    reducible,
    worst_contexts_of,
)
from dxprivacy.universe.blocks import joint_classes
from dxprivacy.universe.loss_terms import Term, Terms
from dxprivacy.universe.universe import Universe

MAX_PAIRS = 20_000_000
MAX_ALL_PAIRS = 400_000_000
MAX_PAIRS_OF_ATTRIBUTE = 100_000_000  # held in memory at once
_MAX_EQUALLY_FAR = 4_000_000  # pairs at equal distance; beyond, bounding each query loses little
_FEW_COLUMNS = 300  # under a constant metric; if there are more, value symmetry is tried
_CONSTANT_COLUMNS = 2_500
SYMMETRIC_FROM = 1_500  # value classes with equal distances; from here on, value symmetry is used
_FEW_PAIRS = 50_000  # alternatives are covered together up to this size, otherwise one by one


def largest_pairs(loss: PseudoMetric, metric: Metric, many: int, block: int = BLOCK) -> Iterator[Pairs]:
    """Yield pairs that include those with the largest ratios; tree searches yield `many` pairs in each context."""
    plan = cover(loss, metric, tree_searches=True)
    yield from plan.pairs(block)
    for walk in plan.tree_searches:
        yield from walk.largest(many)


def cover(loss: PseudoMetric, metric: Metric, *, most: int | None = None, tree_searches: bool = False) -> Cover:
    """Return pairs that decide the largest ratio of `loss` to `metric`.

    With more than `most` pairs along one attribute, each query is only bounded.  With `tree_searches`, pairs along
    attributes of many points are left to tree searches.
    """
    alternatives = loss.alternatives
    if alternatives is None:
        return _plain(metric)
    if not loss.terms:  # only proportional costs: all pairs have the same ratio
        return Cover("as a whole")
    if len(alternatives) > 1:
        together = _cover(loss.terms, metric, _FEW_PAIRS, tree_searches=tree_searches)
        if together is not None and together.size <= _FEW_PAIRS:
            return together
    found = [_cover(terms, metric, most=most, tree_searches=tree_searches) or _plain(metric) for terms in alternatives]
    if len(found) == 1:
        return found[0]
    if any(
        covered.all_generators is not None for covered in found
    ):  # one alternative needs all pairs: use them for all
        return _plain(metric)
    return _merged(found)


def _cover(
    terms: Terms, metric: Metric, few: int | None = None, *, most: int | None = None, tree_searches: bool = False
) -> Cover | None:
    # Pairs that decide for a sum of terms; None if they are more than `few`, or could only be bounded.
    most = few if few is not None else MAX_PAIRS if most is None else most
    if isinstance(metric, WithAbsent):
        inside = _cover(terms, metric.base, few, most=most, tree_searches=tree_searches)
        return None if inside is None else _with_presence(inside, terms, metric, few, most)
    if isinstance(metric, Constant):
        return _constant(terms, metric, few)
    if metric.axes is not None:
        return _sum_of_attributes(terms, metric, metric.axes, few, most, tree_searches=tree_searches)
    return _if_few(metric, few)


def _merged(covers: Sequence[Cover]) -> Cover:
    # The pairs of several covers, each once.
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
        tuple(part for each in covers for part in each.bounded_contexts),
        tuple(terms for each in covers for terms in each.bounded_columns),
        presence=presence,
        tree_searches=tuple(walk for each in covers for walk in each.tree_searches),
        symmetric=tuple(sorted({axis for each in covers for axis in each.symmetric})),
        bounded_pairs=tuple(part for each in covers for part in each.bounded_pairs),
        bounded_presence=tuple(terms for each in covers for terms in each.bounded_presence),
    )


def _with_presence(inside: Cover, terms: Terms, metric: WithAbsent, few: int | None, most: int) -> Cover | None:
    # Add all pairs with `absent`: together with the base's generating pairs they generate the whole metric.
    universe = metric.universe
    axes = sorted({axis for term in terms for axis in term.axes})
    # First treat every row as if it had its own scale; if that gives too many records, use equal scales.
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
    return replace(inside, rule=f"{inside.rule}, and presence, upper bound per query", bounded_presence=(tuple(own),))


def _by_row(term: Term) -> Term:
    return Term(tuple(part if part.largest else replace(part, uniform=False) for part in term.parts))


def _too_many() -> NotCertified:
    return NotCertified("a query over too many combinations to check", hints=["ask for fewer attributes"])


def _star(cells: Ints, absent: int) -> CandidatePairs:
    # Records against their absence.
    return CandidatePairs(0, 1, ((cells, np.full(len(cells), absent, dtype=cells.dtype)),), np.zeros(1, dtype=np.int64))


def _if_few(metric: Metric, few: int | None) -> Cover | None:
    # The metric's own generating pairs, unless they are more than `few`.
    return None if few is not None and metric.generator_count > few else _plain(metric)


def _plain(metric: Metric) -> Cover:
    n = metric.universe.size
    if metric.generator_count > MAX_ALL_PAIRS:
        raise NotCertified(
            f"{n:,} possible records have too many pairs to check one by one",
            hints=["use attributes that add up, or fewer records"],
        )
    return Cover(_rule(metric), all_generators=metric)


def _rule(metric: Metric) -> str:
    n = metric.universe.size
    if _is_line(metric):
        return "line"
    return "all pairs" if metric.generator_count >= n * (n - 1) // 2 else "generators"


def _is_line(metric: Metric) -> bool:
    return isinstance(metric.base if isinstance(metric, WithOther) else metric, LineMetric)


def _sum_of_attributes(
    terms: Terms, metric: Metric, axes: Sequence[Metric], few: int | None, most: int, *, tree_searches: bool
) -> Cover | None:
    universe = metric.universe
    moves: list[CandidatePairs] = []
    loose: list[Loose] = []
    walked: list[TreeSearch] = []
    symmetric: list[int] = []
    steep: list[tuple[Metric, Terms]] = []
    for axis, along in enumerate(axes):
        touching = [t for t in terms if axis in t.axes]
        moving = joint_classes([t.moving(axis) for t in touching], universe.shape[axis])
        if not moving.any():
            continue  # no term depends on this attribute
        if tree_searches and in_space(moving) and (space := space_of(along, touching)) is not None:
            contexts = worst_contexts_of(touching, _others(touching, axis), universe, MAX_SEARCHED // len(moving))
            if contexts is not None:
                walked.append(TreeSearch(axis, universe, space, contexts, tuple(touching)))
                continue
        if (found := _equally_far(along, axis, touching, moving)) is not None:
            values, is_symmetric = found
            symmetric += [axis] if is_symmetric else []
        elif len(axes) == 1 and not reducible(moving):
            return _if_few(metric, few)  # one attribute without large classes: its generating pairs, block by block
        elif not reducible(moving) and along.generator_count > _most_pairs(along):
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
            moves.append(CandidatePairs(axis, stride, values, contexts))
            continue
        if few is not None:
            return None
        loose.append(Loose(values, axis, tuple(_own(term, axis, values, universe) for term in touching)))
    if len(axes) == 1:
        rule = _rule(axes[0])
    else:
        rule = "one attribute at a time" + (", upper bound per query" if loose or steep else "")
    return Cover(
        rule,
        tuple(moves),
        tuple(loose),
        tree_searches=tuple(walked),
        symmetric=tuple(symmetric),
        bounded_pairs=tuple(steep),
    )


def _most_pairs(along: Metric) -> int:
    return MAX_PAIRS_OF_ATTRIBUTE if equally_far(along) is None else _MAX_EQUALLY_FAR


def _equally_far(
    along: Metric, axis: int, touching: Sequence[Term], moving: Ints
) -> tuple[tuple[Pairs, ...], bool] | None:
    # For values with equal distances: the pairs that matter, and whether value symmetry was used.
    listed = equally_far(along)
    if listed is None:
        return None
    ends = line_ends(touching, axis, listed)
    if len(ends) < SYMMETRIC_FROM:
        return (pairs_of_ends(along, ends, moving),), False
    found = symmetric_pairs(listed, axis, touching, moving)
    return None if found is None else ((found,), True)


def _own(term: Term, axis: int, values: tuple[Pairs, ...], universe: Universe) -> Own:
    # Each part of a term with all its own contexts.
    pairs = sum(len(u) for u, _ in values)
    own = []
    for part in term.parts:
        if axis not in part.block.axes:
            continue
        one = Term((part,))
        alone = worst_contexts_of([one], _others([one], axis), universe, MAX_ALL_PAIRS)
        if alone is None or pairs * len(alone) > MAX_ALL_PAIRS:
            raise _too_many()
        own.append((part, CandidatePairs(axis, universe.strides[axis], values, alone)))
    return tuple(own)


def _others(terms: Sequence[Term], axis: int) -> list[int]:
    return sorted({x for t in terms for x in t.axes} - {axis})


def _constant(terms: Terms, metric: Constant, few: int | None) -> Cover | None:
    # All distances are equal: keep the ends of lines along each attribute, then compare all pairs of the rest.
    universe = metric.universe
    if metric.epsilon == float("inf"):
        return Cover("constant")
    if len(terms) == len(terms[0].parts) == 1 and terms[0].parts[0].largest:
        ends = terms[0].parts[0].block.ends(absent=universe.absent is not None)
        if ends is not None:  # the largest loss of a row is that between its ends
            return _at_one_place("constant", (ends,))
    axes = sorted({x for t in terms for x in t.axes})
    chosen = [line_ends(terms, axis, universe.shape[axis]) for axis in axes]
    count = math.prod(map(len, chosen))
    if (
        count > _FEW_COLUMNS
        and universe.absent is None
        and (found := symmetric_record_pairs(terms, universe)) is not None
    ):
        alike = replace(_at_one_place("constant", (found,)), symmetric=tuple(axes))
        return None if few is not None and alike.size > few else alike
    if few is not None and count**2 > 2 * few:
        return None
    if count > _CONSTANT_COLUMNS:
        return Cover("constant, upper bound per query", bounded_columns=(terms,))
    cells = universe.numbered([0])
    for axis, values in zip(axes, chosen, strict=True):
        cells = (cells[:, None] + universe.offsets(axis, values)).ravel()
    if universe.absent is not None:
        cells = np.append(cells, universe.absent)
    if len(cells) < 2:
        return Cover("constant")
    return _at_one_place("constant", tuple((cells[a], cells[b]) for a, b in all_pairs(len(cells))))


def _at_one_place(rule: str, pairs: tuple[Pairs, ...]) -> Cover:
    # Pairs of records, without contexts.
    return Cover(rule, (CandidatePairs(0, 1, pairs, np.zeros(1, dtype=np.int64)),))
