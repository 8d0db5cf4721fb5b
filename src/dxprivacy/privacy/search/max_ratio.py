"""`max_ratio(loss, metric)`: the one function behind sensitivity, certificates and the budget.

It returns the largest loss(i, j) / metric(i, j) as an exact fraction, with the pair that attains it.  Floats select the
few pairs that could be the largest, pairs with equal integer keys are compared once, and fractions decide.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dxprivacy.errors import MetricError, NotCertified
from dxprivacy.exact.arrays import Floats, Ints, highest, numbers_only
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Metric, PseudoMetric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.metric import BLOCK, Pairs, all_pairs
from dxprivacy.metrics.with_other import present
from dxprivacy.privacy.costs import FINER, RowsCost, SumCost
from dxprivacy.privacy.proportional_loss import ProportionalLoss
from dxprivacy.privacy.search.candidate_pairs import CandidatePairs, Cover, Loose
from dxprivacy.privacy.search.generating_pairs import cover
from dxprivacy.privacy.search.value_classes import restricted_to
from dxprivacy.privacy.search.worst_case import WorstCase
from dxprivacy.universe.loss_terms import LossPart, Terms
from dxprivacy.wording import repr_of_half_built

_TINIEST = 2.0**-1074  # no float above 0 is smaller
_FEW_DIGITS = 2.0**-1060  # floats this small (subnormal) have few correct digits


@repr_of_half_built
@dataclass(frozen=True)
class Bound:
    """The largest ratio: at most `upper` (certified), at least `lower` (attained at `witness`).

    `rule` names the argument why few pairs were enough.  For rational metrics under an exact rule, `upper == lower`.

    >>> import dxprivacy as dx
    >>> bound = dx.sensitivity([[0, 1, 5]], dx.metrics.line(3, 1))  # the largest |q_i - q_j| / d(i, j)
    >>> bound.upper, bound.witness, bound.exact
    (Fraction(4, 1), (1, 2), True)
    """

    upper: Exact
    lower: Exact
    witness: tuple[int, int] | None
    rule: str

    @property
    def exact(self) -> bool:
        """Whether upper and lower agree to 2^-50."""
        return self.upper == self.lower or self.lower >= self.upper * (1 - Fraction(1, 1 << 50))


def max_ratio(loss: PseudoMetric, metric: Metric) -> Bound:
    """Return the largest loss(i, j) / d(i, j) over all pairs; pairs with infinite d, and 0/0, count as 0.

    The ratio is infinite if the loss separates a pair at distance 0.

    >>> import dxprivacy as dx
    >>> plan = dx.plan([[1, 1, 0]], dx.metrics.line(3, 1), budget="50%")
    >>> max_ratio(plan.cost, plan.metric).upper  # what the plan spends, as a part of the policy
    Fraction(1, 2)
    """
    with numbers_only():
        return _max_ratio(loss, metric)


def _max_ratio(loss: PseudoMetric, metric: Metric) -> Bound:
    if loss.universe != metric.universe:
        raise MetricError("the query and the metric speak about different universes")
    if isinstance(loss, (RowsCost, SumCost)) and loss.proportional:
        return _beside_proportional(loss, metric)
    covering = _widest(loss, metric) or cover(loss, metric, tree_searches=True)
    search = _Search(loss, metric)
    for i, j in covering.pairs(_block(loss)):
        search.look(i, j)
        if search.separated is not None:
            return Bound(math.inf, math.inf, search.separated, covering.rule)
    left_open = 0.0
    for walk in covering.tree_searches:
        for i, j, bound in walk.candidates(loss, metric):
            search.look(i, j)
            if search.separated is not None:
                return Bound(math.inf, math.inf, search.separated, covering.rule)
            left_open = highest(left_open, bound)
    best, witness = search.decide()
    upper, lower = best, best
    if best != math.inf:  # the loss may itself be a metric, which rounds down
        upper, lower = best * (1 + loss.slack), best / (1 + metric.slack)
    if left_open > 0:
        upper = highest(upper, math.inf if math.isinf(left_open) else Fraction(left_open))
    for part in covering.bounded_contexts:
        ceiling, example = _loose(part, loss, metric)
        upper = highest(upper, ceiling)
        search = _Search(loss, metric)
        if example is not None:
            search.look(*example)
            value, pair = search.decide()
            if value > lower:
                lower, witness = value / (1 + metric.slack), pair
    for along, terms in covering.bounded_pairs:
        if (told := _separated_at_zero(along, terms, metric)) is not None and loss.exact(*told) > 0:
            return Bound(math.inf, math.inf, told, covering.rule)
        upper = highest(upper, _steep(along, terms, loss))
    if covering.bounded_presence:
        upper = highest(upper, _absences(covering, loss, metric))
    if covering.bounded_columns:
        ceiling, floor, example_pair = _apart(covering, loss, metric)
        upper = highest(upper, ceiling)
        if floor >= lower:
            lower, witness = floor, example_pair
    return Bound(upper, lower, (min(witness), max(witness)) if witness else None, covering.rule)


def _beside_proportional(loss: RowsCost | SumCost, metric: Metric) -> Bound:
    # Proportional costs add a fixed fraction of the distance to the ratio of all other rows, attribute by attribute.
    flat, rows, called = loss.proportional_loss_under(metric), loss.by_pairs, " and ".join(sorted(loss.proportional))
    found = []
    for part, only in _parts(flat, metric):
        one = Bound(Fraction(0), Fraction(0), None, called)
        if rows is not None and rows.terms:
            one = _max_ratio(rows, only)
            one = replace(one, rule=f"{one.rule}, and {called}")
        near = (only.closest or metric.closest) if part else None
        witness = one.witness or (near.pair if near is not None else None)
        found.append(replace(one, upper=one.upper + part, lower=one.lower + part, witness=witness))
    best = max(found, key=lambda one: one.lower)
    return replace(best, upper=highest(*(one.upper for one in found)))


def _parts(flat: ProportionalLoss, metric: Metric) -> list[tuple[Exact, Metric]]:
    # Restrictions of the metric that together contain all generating pairs, each with its proportional fraction.
    # Fractions along single attributes occur only if distances add up over attributes.
    if not flat.along:
        return [(flat.everywhere, metric)]
    axes = range(len(present(metric).axes or ()))
    apart = [axis for axis in axes if flat.along.get(axis)]
    groups = [[axis] for axis in apart] + [[axis for axis in axes if axis not in apart]]
    decided = flat.decided(len(axes))
    return [(max(decided.along_axis(axis) for axis in some), restricted_to(metric, some)) for some in groups if some]


def _widest(loss: PseudoMetric, metric: Metric) -> Cover | None:
    # A constant metric and one block: the block may know the pairs with its largest loss for these weights.
    if not isinstance(metric, Constant) or metric.has_infinite or loss.alternatives is None or len(loss.terms) != 1:
        return None
    parts = loss.terms[0].parts
    if len(parts) != 1 or parts[0].largest:
        return None
    pairs = parts[0].block.widest(parts[0].weights, absent=metric.universe.absent is not None)
    return None if pairs is None else Cover("constant", (CandidatePairs(0, 1, (pairs,), np.zeros(1, dtype=np.int64)),))


def _block(loss: PseudoMetric) -> int:
    # Smaller blocks if a record counts in many rows, to bound memory.
    pairs = (1 << 24) // max(sum(t.width for t in loss.terms), 1)
    return min(BLOCK, pairs) if pairs >= 1 << 10 else max(16, pairs // 4)


def ratios(loss: PseudoMetric, metric: Metric, i: Ints, j: Ints) -> Floats:
    """Return approximate ratios; 0 if the distance is infinite, infinite if the distance is 0 and the loss is not."""
    top, bottom = loss.pairwise(i, j), metric.pairwise(i, j)
    if not ((top >= 0).all() and (bottom >= 0).all()):  # NaN fails both comparisons
        raise NotCertified("a loss or a distance is negative or NaN", hints=["this is a bug: please report it"])
    out = np.zeros(len(i))
    asks = np.isfinite(bottom) & (top > 0)
    with np.errstate(divide="ignore"):
        np.divide(top, bottom, out=out, where=asks)
    return np.where(asks, np.maximum(out, _TINIEST), out)  # a quotient may underflow; the pair must stay


class _Search:
    """Keeps the pairs that may have the largest ratio."""

    def __init__(self, loss: PseudoMetric, metric: Metric) -> None:
        self.loss, self.metric = loss, metric
        self.tolerance = 1.0 - 4.0 * (loss.error + metric.error) - 2.0**-48
        self.largest = 0.0
        self.kept: list[tuple[Ints, Ints, Floats]] = []
        self.separated: tuple[int, int] | None = None

    def look(self, i: Ints, j: Ints) -> None:
        """Compare more pairs."""
        r = ratios(self.loss, self.metric, i, j)
        if not len(r):
            return
        top = float(r.max())
        if math.isinf(top):
            at = int(r.argmax())
            self.separated = (min(int(i[at]), int(j[at])), max(int(i[at]), int(j[at])))
            return
        if top <= 0 or top < self._least:
            return
        self.largest = max(self.largest, top)
        near = np.flatnonzero((r >= self._least) & (r > 0))
        i, j, r = i[near], j[near], r[near]
        self.kept.append(self._distinct(*self._closer(i, j, r)) if len(near) > 64 else (i, j, r))

    @property
    def _least(self) -> float:
        # The least approximate ratio that may still be the largest in fractions.
        return self.largest * self.tolerance - _FEW_DIGITS

    def _closer(self, i: Ints, j: Ints, r: Floats) -> tuple[Ints, Ints, Floats]:
        # Optimized plans use up many pairs equally, so their float64 ratios tie: long doubles thin them out.
        if not isinstance(self.loss, (RowsCost, SumCost)) or self.metric.tick is None:
            return i, j, r
        loss, ticks = self.loss.closely(i, j), self.metric.ticks(i, j)
        if loss is None or (ticks <= 0).any():
            return i, j, r
        found = loss / ticks
        room = np.longdouble(8 * (self.loss.error + 2.0**-52) * FINER)  # a long double: 1 - room must not round to 1
        near = np.flatnonzero(found >= found.max() * (1 - room))
        return i[near], j[near], r[near]

    def _distinct(self, i: Ints, j: Ints, r: Floats) -> tuple[Ints, Ints, Floats]:
        keys = np.hstack([self.loss.keys(i, j), self.metric.keys(i, j)])
        first = np.unique(keys, axis=0, return_index=True)[1]
        return i[first], j[first], r[first]

    def decide(self) -> tuple[Exact, tuple[int, int] | None]:
        """Return the largest ratio as a fraction, and its pair."""
        if self.separated is not None:
            return math.inf, self.separated
        if not self.kept:
            return Fraction(0), None
        i, j, r = (np.concatenate([k[c] for k in self.kept]) for c in range(3))
        near = r >= self._least
        i, j, r = self._distinct(*self._closer(i[near], j[near], r[near]))
        best: Exact = Fraction(-1)
        witness = (0, 0)
        for a, b, loss in zip(i.tolist(), j.tolist(), _exact_losses(self.loss, i, j), strict=True):
            d = self.metric.exact(a, b)
            value = Fraction(loss) / Fraction(d) if d else math.inf
            if value > best:
                best, witness = value, (a, b)
        return best, witness


def _exact_losses(loss: PseudoMetric, i: Ints, j: Ints) -> Iterable[Exact]:
    if isinstance(loss, (RowsCost, SumCost)):
        return loss.exacts(i, j)
    return (loss.exact(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True))


def _loose(part: Loose, loss: PseudoMetric, metric: Metric) -> tuple[Exact, Pairs | None]:
    # Bound each query by its own worst context; also return pairs that come close to the bound.
    slack = 1.0 + 4.0 * (loss.error + metric.error) + 2.0**-48
    best, at = 0.0, 0
    u, v = (np.concatenate([pair[side] for pair in part.values]) for side in (0, 1))
    total = np.zeros(len(u))
    argument: list[tuple[CandidatePairs, Ints]] = []
    for own in part.terms:
        largest = np.zeros(len(u))  # of the term's parts, each in its worst context
        for piece, move in own:
            top, where = np.zeros(len(u)), np.zeros(len(u), dtype=np.int64)
            for start in range(0, len(u), max(1, BLOCK // len(move.contexts))):
                stop = min(len(u), start + max(1, BLOCK // len(move.contexts)))
                i, j = move.cells(u[start:stop]), move.cells(v[start:stop])
                load = piece.pairwise(i, j).reshape(stop - start, -1)
                where[start:stop] = load.argmax(axis=1)
                top[start:stop] = load.max(axis=1)
            largest = np.maximum(largest, top)
            argument.append((move, where))
        total += largest
    axes = present(metric).axes
    if axes is None:
        raise MetricError("bounds by context need a sum over attributes")
    d = axes[part.axis].pairwise(u, v)
    r = np.zeros(len(total))
    with np.errstate(divide="ignore"):  # ratio 0 at infinite distance, infinite at distance 0
        np.divide(total, d, out=r, where=(total > 0) & np.isfinite(d))
    at = int(r.argmax())
    best = highest(float(r[at]))
    if best == 0:
        return Fraction(0), None
    stride = part.moves[0].stride
    contexts = [int(move.contexts[where[at]]) for move, where in argument]
    ends = [metric.universe.numbered([int(value) * stride + c for c in contexts]) for value in (u[at], v[at])]
    example = (ends[0], ends[1])
    return (math.inf if math.isinf(best) else Fraction(best) * Fraction(slack)), example


def _steep(along: Metric, terms: Terms, loss: PseudoMetric) -> Exact:
    # Bound each query by its largest possible loss, divided by the least distance of the attribute's values.
    total = highest(sum(term.reach() for term in terms))
    near = along.closest
    if not total:
        return Fraction(0)
    if math.isinf(total) or along.identical:  # not all identical pairs are known: some query may separate one
        return math.inf
    if near is None:  # all distances are infinite
        return Fraction(0)
    return Fraction(total) * Fraction(1.0 + 8.0 * loss.error + 2.0**-48) / Fraction(along.exact(*near.pair))


def _separated_at_zero(along: Metric, terms: Terms, metric: Metric) -> tuple[int, int] | None:
    # Two records that differ in one attribute, at distance 0, and that some query separates.
    axes = present(metric).axes
    if axes is None or not along.identical:
        return None
    axis = next(k for k, known in enumerate(axes) if known is along)
    u, v = (np.array(side, dtype=np.int64) for side in zip(*along.identical, strict=True))
    apart = np.zeros(len(u), dtype=bool)
    for term in terms:
        classes = term.moving(axis)
        apart |= classes[u] != classes[v]
    stride = metric.universe.strides[axis]
    return next(((a * stride, b * stride) for a, b in zip(u[apart].tolist(), v[apart].tolist(), strict=True)), None)


def _absences(covering: Cover, loss: PseudoMetric, metric: Metric) -> Exact:
    # Bound each query by the largest loss that the presence of one record can have, and add the bounds.
    total = highest(
        *(
            sum(highest(*(_top(part, move, _block(loss)) for part, move in own)) for own in terms)
            for terms in covering.bounded_presence
        )
    )
    if math.isinf(total):
        return math.inf
    slack = 1.0 + 4.0 * loss.error + 2.0**-48
    return Fraction(total) * Fraction(slack) / Fraction(metric.exact(0, metric.universe.size - 1))


def _top(part: LossPart, move: CandidatePairs, block: int) -> float:
    return highest(*(float(part.pairwise(i, j).max(initial=0.0)) for i, j in move.pairs(block)))


def largest_loss(loss: PseudoMetric) -> tuple[float, tuple[int, int] | None]:
    """Return the worst-case ε of a loss, and its pair: an upper bound in floats, for printing.

    If people have several rows, it is that of a whole person.
    """
    with numbers_only():
        return _largest_loss(loss)


def _largest_loss(loss: PseudoMetric) -> tuple[float, tuple[int, int] | None]:
    if loss.alternatives is not None:
        value, pair = WorstCase(loss.universe).plus(loss.terms).found
        besides = loss.of_proportional if isinstance(loss, (RowsCost, SumCost)) else 0.0
        return highest(value) * (1.0 + 8.0 * loss.error) + highest(besides), pair
    best, witness = 0.0, None
    for i, j in cover(loss, Constant(loss.universe, Fraction(1))).pairs(_block(loss)):
        values = loss.pairwise(i, j)
        at = int(values.argmax())  # the first NaN, if there is one
        if highest(best, float(values[at])) > best:
            best, witness = float(values[at]), (int(i[at]), int(j[at]))
    return best * (1.0 + 2.0 * loss.error) * loss.universe.rows_each, witness


def largest_among(loss: PseudoMetric, cells: Ints) -> Exact:
    """Return the largest loss between any two of some records, as a fraction."""
    search = _Search(loss, Constant(loss.universe, Fraction(1)))
    for first, second in all_pairs(len(cells)):
        search.look(cells[first], cells[second])
    return search.decide()[0]


def _reaches(covering: Cover, loss: PseudoMetric) -> float:
    total = highest(*(sum(t.reach() for t in terms) for terms in covering.bounded_columns))
    return total * (1.0 + 8.0 * loss.error + 2.0**-48)


def _apart(covering: Cover, loss: PseudoMetric, metric: Metric) -> tuple[Exact, Exact, tuple[int, int] | None]:
    # A constant metric and too many different columns: the largest losses of the queries add up to an upper bound.
    total = _reaches(covering, loss)
    last = metric.universe.size - 1
    sample = np.unique(metric.universe.numbered([k * last // 699 for k in range(700)]))
    search = _Search(loss, metric)
    first, second = np.triu_indices(len(sample), 1)
    search.look(sample[first], sample[second])
    lower, witness = search.decide()
    epsilon = metric.exact(0, 1)
    if total == 0:
        return Fraction(0), Fraction(0), None
    if epsilon == 0 or math.isinf(total):
        return math.inf, lower, witness
    return Fraction(total) / Fraction(epsilon), lower, witness
