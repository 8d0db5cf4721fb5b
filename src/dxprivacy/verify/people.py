"""What counts of people take of a policy: the same part of every distance (docs/formats.md, section 7)."""

import heapq
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from dxprivacy.errors import Undecided
from dxprivacy.verify.blocks import PeopleTable
from dxprivacy.verify.combined import WithAbsent
from dxprivacy.verify.distances import ERROR, Distance
from dxprivacy.verify.reading import Exact, refuse
from dxprivacy.verify.universe import Universe

_MOST_PAIRS = 20_000_000
_FEW_CELLS = 2_000
_CLOSE = (1 + 4 * ERROR) / (1 - 4 * ERROR)
_Ends = tuple[Exact, Exact]
_FAR: _Ends = (math.inf, math.inf)


def part_of_people(block: PeopleTable, scales: Sequence[float], metric: Distance, universe: Universe) -> _Ends:
    """Two numbers around the part that one table takes; `scales` are those of all rows of the workload."""
    if not isinstance(metric, WithAbsent) or universe.people is None:
        raise refuse("counts people where nobody has several rows", "queries")
    mine = scales[block.first : block.first + block.rows]
    apart = list(_apart(block, metric, universe))
    m, many = universe.rows_each, _most_groups(block, universe)
    low, high = (_largest(mine, [ends[k] for ends in apart], m, many) for k in (1, 0))
    return low, high


def _most_groups(block: PeopleTable, universe: Universe) -> int:
    """In how many groups a person can make a difference: two for each row, or two where a person has one group."""
    own = universe.people.attributes if universe.people is not None else ()
    parted = {universe.names[axis] for axis, size in block.sizes.items() if size > 1}
    return 2 if parted <= set(own) else 2 * universe.rows_each


def _largest(scales: Sequence[float], apart: Sequence[Exact], m: int, many: int) -> Exact:
    """The largest 1/c of the groups that are no further apart than one of them, over its distance for people."""
    most, total, kept = Fraction(0), Fraction(0), list[Fraction]()
    for k in sorted(range(len(scales)), key=lambda k: apart[k]):
        if apart[k] == math.inf:
            break  # nobody can be in it
        if not scales[k] or not apart[k]:
            return math.inf
        weight = 1 / Fraction(scales[k])
        heapq.heappush(kept, weight)
        total += weight
        if len(kept) > many:
            total -= heapq.heappop(kept)
        most = max(most, total / (m * Fraction(apart[k])))
    return most


def people_reading(block: PeopleTable, scales: Sequence[float], universe: Universe) -> float:
    """The most that replacing a whole person can lose."""
    filled = [k for k, peak in enumerate(block.filled()) if peak]
    weights = [1 / scales[block.first + k] if scales[block.first + k] else math.inf for k in filled]
    return math.fsum(heapq.nlargest(_most_groups(block, universe), weights))


def _apart(block: PeopleTable, metric: WithAbsent, universe: Universe) -> Iterator[_Ends]:
    """For each group two numbers around the least distance of a row inside from one outside, or from none at all."""
    base = metric.base
    axes = [base] if len(universe.shape) == 1 else base.axes
    if axes is None:
        yield from _by_cells(block, metric, universe)
        return
    along = [_along(block.groups[axis], block.sizes[axis], axes[axis]) for axis in block.axes]
    none = (metric.radius, metric.radius)
    for chosen, filled in zip(product(*along), block.filled(), strict=True):
        yield (min(x[0] for x in (*chosen, none)), min(x[1] for x in (*chosen, none))) if filled else _FAR


def _along(groups: Sequence[int], size: int, metric: Distance) -> list[_Ends]:
    """For each group of one attribute's values the least distance to a value outside."""
    if metric.pair_count(groups) > _MOST_PAIRS:
        raise Undecided("too many pairs of values to tell how far groups of people are apart", where="certificate")
    least = [math.inf] * size  # in floats, which are close
    near: list[tuple[float, int, int]] = []
    for u, v in metric.pairs(groups):
        if groups[u] == groups[v]:
            continue
        about = metric.about(u, v)
        mine = [group for group in (groups[u], groups[v]) if group >= 0]
        if any(about <= least[group] * _CLOSE for group in mine):
            near.append((about, u, v))
            for group in mine:
                least[group] = min(least[group], about)
    best = [_FAR] * size
    for about, u, v in near:
        mine = [group for group in (groups[u], groups[v]) if group >= 0 and about <= least[group] * _CLOSE]
        if mine:
            low, high = metric.between(u, v)
            for group in mine:
                best[group] = (min(best[group][0], low), min(best[group][1], high))
    return best


def _by_cells(block: PeopleTable, metric: WithAbsent, universe: Universe) -> Iterator[_Ends]:
    """The same where distances are no sum over attributes: over all records."""
    if universe.cells > _FEW_CELLS:
        raise Undecided("too many records to tell how far groups of people are apart", where="certificate")
    row = [next(iter(block.column(universe.values(cell))), -1) - block.first for cell in range(universe.cells)]
    best = [(metric.radius, metric.radius) if filled else _FAR for filled in block.filled()]
    for i, j in combinations(range(universe.cells), 2):
        if row[i] != row[j]:
            low, high = metric.between(i, j)
            for group in (row[i], row[j]):
                if group >= 0:
                    best[group] = (min(best[group][0], low), min(best[group][1], high))
    yield from best
