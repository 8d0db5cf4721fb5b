"""The certificate, recomputed: the largest loss / distance over all pairs (docs/formats.md, sections 7 and 9).

If distances add up over attributes, pairs that differ in one attribute suffice, in every context of the others;
otherwise a record moves to any other.  Where records may be absent, each must also be close to its absence.

Where there are too many contexts, each block takes its own worst one: a sound upper bound.  Where even pairs are too
many, nothing is claimed: `Undecided`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

from dxprivacy.errors import Undecided
from dxprivacy.verify.blocks import Block, Table
from dxprivacy.verify.blurred import Blurred, least_scale, of_places, only_along, reading_of
from dxprivacy.verify.combined import WithAbsent
from dxprivacy.verify.directions import NOTHING, Along, Anywhere, Direction, contexts
from dxprivacy.verify.distances import Constant, Distance
from dxprivacy.verify.exchange import never_more
from dxprivacy.verify.lines import ends
from dxprivacy.verify.loss import Loss, Tightest, ratio
from dxprivacy.verify.parts import MARGIN
from dxprivacy.verify.people import part_of_people, people_reading
from dxprivacy.verify.reading import Exact, refuse

_MOST_COLUMNS = 2_500
_PEOPLE_ROOM = Fraction(1, 1 << 20)  # how much more may be stated of people: whoever states more pays more


def tightest(loss: Loss, metric: Distance, enough: Exact = Fraction(0)) -> Tightest:
    """The largest ratio over all pairs; where pairs are very many only a bound of it, if that is at most `enough`."""
    if metric.size != loss.universe.size:
        raise refuse("is not over the cells of the universe", "metric")
    if loss.people or loss.maps:
        return _beside_proportional(loss, metric, enough)
    best = NOTHING
    for part in loss.alternatives:
        best = _larger(best, _tightest(part, metric, enough))
    return best


def _beside_proportional(loss: Loss, metric: Distance, enough: Exact) -> Tightest:
    """Counts of people take the same part of every distance, maps of distances along one attribute: so much more."""
    parts = [part_of_people(block, loss.scales, metric, loss.universe) for block in loss.people]
    low, high = (sum((part[k] for part in parts), Fraction(0)) for k in (0, 1))
    rows, best = loss.by_pairs, NOTHING
    for (least, most), only in _apart(loss, metric):
        found = tightest(rows, only, max(enough - high - most, Fraction(0))) if rows.blocks else NOTHING
        room = max(found.room, _PEOPLE_ROOM)
        ends = found.low + low + least, found.high + high + most
        best = _larger(best, Tightest(*ends, found.pair, found.pairs, found.exact, room))
    return best


def _apart(loss: Loss, metric: Distance) -> list[tuple[tuple[Exact, Exact], Distance]]:
    """Distances along attributes of which maps take a part, that part, and those along all others."""
    nothing = (Fraction(0), Fraction(0))
    if not loss.maps:
        return [(nothing, metric)]
    many, total = len(loss.universe.shape), dict[int, tuple[Exact, Exact]]()
    for block in loss.maps:
        for axis, (low, high) in _of_map(block, loss, metric).items():
            known = total.get(axis, nothing)
            total[axis] = known[0] + low, known[1] + high
    present = metric.base if isinstance(metric, WithAbsent) else metric
    if many > 1 and present.axes is None:
        return [(_sum(total.values()), metric)]  # each is a part of every distance, presence among them
    presence = total.pop(-1, nothing)
    rest = [axis for axis in range(many) if axis not in total]
    groups = [[axis] for axis in sorted(total)] + ([rest] if rest else [])
    return [
        (_most([presence, *(total.get(axis, nothing) for axis in some)]), only_along(metric, some, many))
        for some in groups
    ]


def _sum(parts: Iterable[tuple[Exact, Exact]]) -> tuple[Exact, Exact]:
    found = list(parts)
    return sum((x[0] for x in found), Fraction(0)), sum((x[1] for x in found), Fraction(0))


def _most(parts: Iterable[tuple[Exact, Exact]]) -> tuple[Exact, Exact]:
    found = list(parts)
    return max(x[0] for x in found), max(x[1] for x in found)


def _of_map(block: Blurred, loss: Loss, metric: Distance) -> dict[int, tuple[Exact, Exact]]:
    """Parts of distances along attributes, and (-1) of presence, that the noise of a map takes."""
    scale = least_scale(block, loss.scales)
    if scale is None or not any(True for _ in block.spreads(absent=loss.universe.absent is not None)):
        return {}
    groups = block.groups()
    hard = Loss(loss.universe, [groups], [1.0] * groups.rows)
    present = metric.base if isinstance(metric, WithAbsent) else metric
    many = len(loss.universe.shape)
    soft = of_places(block, metric)
    if many > 1 and present.axes is None:
        found = tightest(hard, metric)
        whole = max(soft, found.low * block.most), max(soft, found.high * block.most)
        out: dict[int, tuple[Exact, Exact]] = {block.axis: whole}
    else:
        out = {block.axis: (soft, soft)}
        for axis in groups.axes:
            if len({groups.moving(axis, value) for value in range(loss.universe.shape[axis])}) > 1:
                found = tightest(hard, only_along(metric, [axis], many))
                whole = found.low * block.most, found.high * block.most
                out[axis] = _most([out.get(axis, whole), whole])
        if isinstance(metric, WithAbsent):
            once = block.most / Fraction(metric.radius)
            out[-1] = (once, once)
    if not scale:
        return {axis: (math.inf, math.inf) if high else (low, high) for axis, (low, high) in out.items()}
    return {axis: (low / Fraction(scale), high / Fraction(scale)) for axis, (low, high) in out.items()}


def _tightest(loss: Loss, metric: Distance, enough: Exact) -> Tightest:
    if loss.universe.absent is not None and isinstance(metric, WithAbsent):
        return _larger(_among(loss, metric.base, enough), _presence(loss, metric.radius))
    return _among(loss, metric, enough)


def _among(loss: Loss, metric: Distance, enough: Exact) -> Tightest:
    """The largest ratio over all pairs of cells that the metric knows: all, or all but the last, `absent`."""
    if isinstance(metric, Constant):
        return _constant(loss, metric)
    best = NOTHING
    for direction in _directions(loss, metric):
        best = _larger(best, direction.search(enough))
    return best


def _larger(a: Tightest, b: Tightest) -> Tightest:
    low, high = max(a.low, b.low), max(a.high, b.high)
    pair, room = b.pair if b.low > a.low else a.pair, max(a.room, b.room)
    return Tightest(low, high, pair, a.pairs + b.pairs, a.exact and b.exact, room)


def _directions(loss: Loss, metric: Distance) -> Iterator[Direction]:
    shape = loss.universe.shape
    axes = [metric] if len(shape) == 1 else metric.axes
    if axes is None or [axis.size for axis in axes] != shape:
        yield Anywhere(loss, metric, range(metric.size))
        return
    for axis, along in enumerate(axes):
        yield Along(loss, along, axis)


def _constant(loss: Loss, metric: Constant) -> Tightest:
    """One distance for all: attributes that no block links are independent, so that their largest losses add up."""
    if metric.epsilon == math.inf or metric.size < 2:
        return NOTHING
    parts = _independent(loss)
    if len(parts) < 2:
        return _linked(loss, metric)
    there = Constant(loss.universe.cells, metric.epsilon)
    among = _added([_linked(part, there) for part in parts])
    if metric.size == loss.universe.cells:
        return among
    return _larger(among, _added([_presence(part, metric.epsilon) for part in parts]))


def _independent(loss: Loss) -> list[Loss]:
    """Losses that add up to this one and share no attribute; of a selection all blocks belong together."""
    groups: list[tuple[set[int], list[Block]]] = []
    for blocks in loss.summands(loss.blocks):
        axes = {axis for block in blocks for axis in block.axes}
        mine = [group for group in groups if group[0] & axes]
        groups = [group for group in groups if not group[0] & axes]
        groups.append((axes.union(*(g[0] for g in mine)), [b for g in mine for b in g[1]] + blocks))
    return [loss.only(blocks) for _, blocks in groups]


def _added(parts: Sequence[Tightest]) -> Tightest:
    low, high = sum((p.low for p in parts), Fraction(0)), sum((p.high for p in parts), Fraction(0))
    return Tightest(low, high, None, sum(p.pairs for p in parts), all(p.exact for p in parts))


def _linked(loss: Loss, metric: Constant, *, closely: bool = True) -> Tightest:
    """One cell of each different column; the sum of the blocks' reaches if these are too many.

    `closely` says that a single table is known to have its largest loss between certain rows, and that of values that
    lie on a line only the ends are looked at: earlier versions knew neither.
    """
    universe = loss.universe
    summands = loss.summands(loss.blocks)
    if loss.selections and len(summands) == 1:
        return _widest_row(loss, metric)
    if closely and len(loss.blocks) == 1 and isinstance(table := loss.blocks[0], Table):
        return _widest_table(loss, table, metric)
    selections: list[list[int]] = []
    for axis, size in enumerate(universe.shape):
        blocks = [b for b in loss.blocks if axis in b.axes]
        if closely:
            selections.append(ends(blocks, axis, range(size)) if blocks else [0])
            continue
        seen: dict[object, int] = {}
        for value in range(size if blocks else 1):
            seen.setdefault(tuple(b.moving(axis, value) for b in blocks), value)
        selections.append(list(seen.values()))
    if math.prod(map(len, selections)) <= _MOST_COLUMNS:
        cells = [universe.cell(values) for values in product(*selections)]
        cells += [] if metric.size == universe.cells else [metric.size - 1]
        return _widest(loss, cells, metric.epsilon)
    absent = metric.size > universe.cells
    reach = sum(_reach(loss, blocks, absent=absent) for blocks in summands)
    if not reach:
        return NOTHING
    if math.isinf(reach) or metric.epsilon == 0:
        return Tightest(Fraction(0), math.inf, None, 0, False)
    rounding = 1 + Fraction(len(loss.scales) + 16, 1 << 52)  # one per row, and a few more
    most = Fraction(reach) * rounding
    if closely and not absent and (less := never_more(loss)) is not None:
        most = min(most, Fraction(less))
    return Tightest(Fraction(0), most / Fraction(metric.epsilon), None, 0, False)


def _reach(loss: Loss, blocks: Sequence[Block], *, absent: bool) -> float:
    """Not less than any pair's loss in these blocks: in their worst row, if they are those of a selection."""
    if not (times := loss.chosen(blocks[0])):
        return blocks[0].reach(loss.weights, absent=absent)
    rows = (found for block in blocks for found in block.spreads(absent=absent))
    return times * max((loss.weights[row] * spread for row, spread in rows), default=0.0)


def _widest_row(loss: Loss, metric: Constant) -> Tightest:
    """A selection, and one distance for all: the widest row, from its least to its largest entry."""
    absent = metric.size > loss.universe.cells
    found = [row for block in loss.blocks for row in block.spreads(absent=absent)]
    worst: Exact = Fraction(0)
    for scale, spread in {(loss.scales[row], spread) for row, spread in found}:
        worst = max(worst, Fraction(spread) / Fraction(scale) if scale else math.inf)
    low, high = ratio(worst * loss.times[0], metric.epsilon, metric.epsilon)
    return Tightest(low, high, None, len(found))


def _widest_table(loss: Loss, table: Table, metric: Constant) -> Tightest:
    """A record counts in one row at most: the widest row, or two rows, each from its largest entry to nothing."""
    spreads = [*table.spreads(absent=metric.size > loss.universe.cells)]
    worst: Exact = Fraction(0)
    for scale, spread in {(loss.scales[row], spread) for row, spread in spreads}:
        worst = max(worst, _over(spread, scale))
    often = Counter((loss.scales[row], peak) for row, peak in table.peaks())
    most = sorted((_over(peak, scale) for (scale, peak), n in often.items() for _ in range(min(n, 2))), reverse=True)
    if len(most) > 1:
        worst = max(worst, most[0] + most[1])
    low, high = ratio(worst, metric.epsilon, metric.epsilon)
    return Tightest(low, high, None, len(spreads))


def _over(amount: int, scale: float) -> Exact:
    return Fraction(amount) / Fraction(scale) if scale else math.inf


def _widest(loss: Loss, cells: Sequence[int], epsilon: Exact) -> Tightest:
    """The largest loss of any two of some cells, all at one distance.

    L(i, j) is at most what i and j show by being there at all, L(i, absent) + L(absent, j): taken from the largest on,
    the rest can be left out as soon as these sums are not larger than what was found.
    """
    columns = sorted((_Shown(loss, cell) for cell in cells), key=lambda shown: shown.size, reverse=True)
    best: Exact = Fraction(0)
    least, most = 0.0, 0.0  # a little less and a little more than that
    pair, looked = (0, 0), 0
    for k, a in enumerate(columns):
        for b in columns[k + 1 :]:
            together = a.about + b.about
            if together <= most and (together < least or a.size + b.size <= best):
                break
            looked += 1
            if loss.about(a.column, b.column) >= least:
                exact = loss.exact(a.column, b.column)
                if exact > best:
                    best, pair = exact, (min(a.cell, b.cell), max(a.cell, b.cell))
                    least, most = float(best) * (1 - MARGIN), float(best) * (1 + MARGIN)
    low, high = ratio(best, epsilon, epsilon)
    return Tightest(low, high, pair, looked) if best else NOTHING


class _Shown:
    """A cell, where it counts, and what it shows by being there at all, as a fraction and as a float."""

    __slots__ = ("about", "cell", "column", "size")

    def __init__(self, loss: Loss, cell: int) -> None:
        self.cell, self.column = cell, loss.at(cell)
        self.size = loss.exact(self.column, {})
        self.about = float(self.size)


def _presence(loss: Loss, radius: Exact) -> Tightest:
    """Every record against its absence, of all of whose rows nothing is left; all at one distance."""
    records = contexts(loss, loss.blocks, None)
    if records is None:
        return _presence_by_block(loss, radius)
    most, record = _most_present(loss, loss.blocks, records)
    low, high = ratio(most, radius, radius)
    pair = None if record is None else (loss.universe.cell(record), loss.universe.cells)
    return Tightest(low, high, pair, len(records))


def _presence_by_block(loss: Loss, radius: Exact) -> Tightest:
    """The sum of what each block shows at most; of the blocks of a selection only the largest."""
    total: Exact = Fraction(0)
    looked = 0
    for blocks in loss.summands(loss.blocks):
        most: Exact = Fraction(0)
        for block in blocks:
            alone = contexts(loss, [block], None)
            if alone is None:
                raise Undecided("too many combinations of values to verify", where="certificate")
            most = max(most, _most_present(loss, [block], alone)[0])
            looked += len(alone)
        total += most
    return Tightest(Fraction(0), ratio(total, radius, radius)[1], None, looked, False)


def _most_present(
    loss: Loss, blocks: Sequence[Block], records: Sequence[Sequence[int]]
) -> tuple[Exact, Sequence[int] | None]:
    """The largest loss of any of these records against its absence, and the record."""
    most = max(loss.about(loss.column(record, blocks), {}) for record in records)
    best: Exact = Fraction(0)
    at: Sequence[int] | None = None
    for record in records if most > 0 else ():
        column = loss.column(record, blocks)
        if loss.about(column, {}) >= most * (1 - MARGIN):
            exact = loss.exact(column, {})
            if exact > best:
                best, at = exact, record
    return best, at


def largest_loss(loss: Loss) -> float:
    """The largest loss over all pairs, public differences included: the reading of standard differential privacy.

    Of people with several rows all may differ so.
    """
    rows, one = loss.by_pairs, Constant(loss.universe.size, Fraction(1))
    return float(tightest(rows, one).high * loss.universe.rows_each) + _of_proportional(loss)


def earlier_bound(loss: Loss) -> float:
    """What earlier versions stated as the largest loss: all attributes at once, bounded where these are too many."""
    one = Constant(loss.universe.size, Fraction(1))
    alternatives = loss.by_pairs.alternatives
    most = max((_linked(part, one, closely=False).high for part in alternatives), default=Fraction(0))
    return float(most * loss.universe.rows_each) + _of_proportional(loss)


def _of_proportional(loss: Loss) -> float:
    universe = loss.universe
    people = [people_reading(block, loss.scales, universe) for block in loss.people]
    absent = universe.absent is not None
    return math.fsum(people + [reading_of(b, loss.scales, universe.rows_each, absent=absent) for b in loss.maps])
