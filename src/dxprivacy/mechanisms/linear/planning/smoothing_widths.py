"""Choose the smoothing width of queries that leave it open, from public numbers only, before anything is spent.

A wider ramp has less noise and more bias. For a quantile, widths 1, 2, 5, 10, … ticks, up to a tenth of the range, are
compared. Their score adds the squares of three numbers: the noise, as if numbers lay evenly over half of their range; a
twelfth of the width (the bias of a narrow ramp; stated errors are for wide ramps, which have more bias); and a tenth of
the interval's width. The least score is taken, among the widths that meet the target, if any does. The query's part of
the policy is estimated: an equal part for each query on the same attribute.

For a density, the smallest width is taken whose noise is at most a tenth of what a bin then holds. For a map, the width
is taken whose noise is twice what a grid cell would hold if records lay evenly. Records never do, and readers use the
grid cells that hold many.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dxprivacy.errors import DxError, QueryError
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.normal import SLOPE
from dxprivacy.mechanisms.linear.noise.noise_distributions import laplace_distributions
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.metrics import Metric
from dxprivacy.metrics.distances import RADIUS_KM
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.map_costs import unit_part
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.further_fields import KM
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.densities import MOST_CELLS, Density
from dxprivacy.queries.kinds.maps import MOST_CELLS as MOST_ON_MAP
from dxprivacy.queries.kinds.quantiles import MOST_RAMPS, Quantiles
from dxprivacy.releases.geojson import clear_from
from dxprivacy.universe.blocks import Blurred
from dxprivacy.universe.workload import Workload

_LEAST_RAMPS = 10  # ramps over the range, at least: wider ramps leave little of an answer
_BIAS = 12  # a narrow ramp moves a quantile by less than width / 12, where numbers lie smoothly
_INTERVAL = 10  # a tenth of the interval's width enters the score
_MOST_ENTRIES = 2_000_000  # ramps or bins times values: the work for each width that is tried
_LESS = 0.5  # a grid cell would hold this fraction of its noise, if records lay evenly
FEW = 1_000
"""Number of records that a width is chosen for, if `n_records` is not given."""


def with_widths(asked: Stack, metric: Metric, budget: Fraction, records: int | None) -> Stack:
    """Return the same queries with a smoothing width for each that needs one."""
    mine = budget / len(asked.queries)
    rivals = _rivals(asked.queries, metric)
    return Stack(
        tuple(
            _of_quantiles(query, metric, (budget / many, budget), records or FEW)
            if isinstance(query, Quantiles) and query.width is None
            else _with_width(query, metric, mine, records or FEW)
            for query, many in zip(asked.queries, rivals, strict=True)
        ),
        asked.notes,
    )


def _rivals(queries: Sequence[Asked], metric: Metric) -> list[int]:
    """For each query, count the queries that share an attribute with it, itself included.

    If distances add up over attributes, only queries about an attribute use the budget of pairs that differ in it.
    """
    universe = metric.universe
    everything = frozenset(range(len(universe.attributes)))
    if metric.by_attribute is None:
        return [len(queries)] * len(queries)
    touched = [frozenset(resolve(name, universe).axis for name in q.names(universe)) or everything for q in queries]
    return [max(sum(axis in other for other in touched) for axis in mine) for mine in touched]


def _of_quantiles(query: Quantiles, metric: Metric, budgets: tuple[Fraction, Fraction], records: int) -> Quantiles:
    """Return the query with the best-rated width.

    `budgets` holds the query's estimated part of the budget, and the whole budget, of which it gets more if other
    queries need less.
    """
    line = query.line(metric.universe)
    query.require_groups(metric.universe)  # so that errors name the given query, not a width tried here
    widths = [steps for steps in _widths(line.steps) if steps <= 2 or -(-line.steps // steps) >= _LEAST_RAMPS]
    narrow = sum(steps * line.tick <= line.gap for steps in widths)
    widths = widths[max(narrow - 1, 0) :]  # narrower ramps add work, not accuracy
    few = [steps for steps in widths if line.steps // steps * len(line.numbers) <= _MOST_ENTRIES] or widths[-1:]
    tried = [replace(query, width=steps * line.tick) for steps in few]
    noises = [(one, *_least_noise(one, metric, Fraction(1))) for one in tried]
    rated = [(_rated(one, workload, unit, budgets, records), one) for one, unit, workload in noises]
    return min(rated, key=lambda each: each[0], default=((0, 0.0), query))[1]


def _rated(
    query: Quantiles, workload: Workload, scales: Floats | None, budgets: tuple[Fraction, Fraction], records: int
) -> tuple[int, float]:
    """Return how many of the two budgets miss the target, and the squared error at the first budget."""
    if scales is None:
        return len(budgets) + 1, math.inf
    misses, found = 0, list[float]()
    for budget in budgets:
        distributions = laplace_distributions((scales / float(budget)).tolist())
        errors = [answer.recipe.expected(distributions, records, 0.0) for answer in workload.answers]
        both = zip(errors, workload.answers, strict=True)
        noise = max((e.rmse - e.hidden) ** 2 - answer.recipe.smoothing**2 for e, answer in both)
        wide = max(e.noise_half_width for e in errors)
        found.append(noise + (float(query.width or 0) / _BIAS) ** 2 + (wide / _INTERVAL) ** 2)
        misses += query.within is not None and not all(e.good_enough(query.within) for e in errors)
    return misses, found[0]


def _with_width(query: Asked, metric: Metric, budget: Fraction, records: int) -> Asked:
    if isinstance(query, Count) and (places := query.places(metric.universe)) is not None:
        return replace(query, lengths=_lengths(query, places, metric))
    if isinstance(query, Density) and query.places(metric.universe) is not None:
        return map_with_width(query, metric, budget, records)
    if isinstance(query, Density) and query.width is None:
        line = query.line(metric.universe)
        for steps in _widths(line.steps):
            wide = replace(query, width=steps * line.tick)
            cells = 2 * line.steps // steps
            possible = cells <= MOST_CELLS and cells * len(line.numbers) <= _MOST_ENTRIES
            if possible and _clear(wide, metric, budget, records):
                return wide
    return query


def map_with_width(query: Density, metric: Metric, budget: Fraction, records: int) -> Density:
    """Return a map query with its width: the width at which noise is twice what a grid cell would hold evenly.

    Widths are in kilometers if the policy measures distances on the Earth.
    """
    ref, axes = query.places(metric.universe), metric.by_attribute
    space = None if ref is None or axes is None else axes[ref.axis].embedding
    if ref is None or space is None:
        return query  # raises later, with the reason
    query = replace(query, lengths=_lengths(query, ref, metric))
    if query.width is not None:
        return _with_cells(query, metric)
    drawn = query.map(metric.universe)
    sides = sorted(float(b - a) for a, b in drawn.box)
    groups = max(math.prod(Grouped.of(query, metric.universe).sizes.values()), 1)
    per = space.slope / (float(RADIUS_KM) if space.arc else 1.0) * float(budget)
    area = sides[1] * max(sides[0], sides[1] / 100)
    if not 0 < area < math.inf or not per > 0:
        return query
    # Of a grid cell, times width and area.
    noise = _LESS * math.sqrt(2) * float(SLOPE) * area * groups / (per * records)
    every = None if query.every is None else float(query.every)
    wide = math.cbrt(4 * noise) if every is None else noise / every**2
    least = 1.6 * math.sqrt(area / MOST_ON_MAP)  # so that grid cells of this width fit after rounding
    return _with_cells(replace(query, width=_one_two_five(min(max(wide, least), sides[1] / 10))), metric)


def _with_cells(query: Density, metric: Metric) -> Density:
    """Add the size of the grid cells, unless it is the default of half a width."""
    if query.every is not None:
        return query
    drawn = query.map(metric.universe)
    return query if 2 * drawn.every == drawn.width else replace(query, every=drawn.every)


def _lengths(query: Count | Density, places: Reference, metric: Metric) -> str:
    """The length unit: kilometers on the Earth, or the unit of a plane, as the policy measures distances between
    places.
    """
    axes = metric.by_attribute
    space = None if axes is None else axes[places.axis].embedding
    if space is None or space.arc:
        return query.lengths if space is None else KM
    if query.lengths:
        name = "blur" if isinstance(query, Count) else "width"
        raise QueryError(
            f"{places.name} lies in a plane whose unit of length is not known: km, m and miles cannot be used",
            where=f"query “{query}”",
            hints=[(f"{name} N", "without a unit: in that of the coordinates")],
        )
    return ""


def _one_two_five(x: float) -> Fraction:
    """The nearest of 1, 2, 5, 10, … times a power of ten, on a logarithmic scale.

    >>> [str(_one_two_five(x)) for x in (0.03, 1.1, 40)]
    ['1/50', '1', '50']
    """
    power = Fraction(10) ** math.floor(math.log10(x))
    return min((f * power for f in (1, 2, 5, 10)), key=lambda one: abs(math.log(float(one) / x)))


def next_width(width: Fraction) -> Fraction:
    """The next of 1, 2, 5, 10, … times a power of ten.

    >>> [str(next_width(Fraction(x))) for x in ("0.5", "1", "20", "50", "30")]
    ['1', '2', '50', '100', '50']
    """
    power = Fraction(10) ** math.floor(math.log10(width))
    return next(f * power for f in (1, 2, 5, 10, 20) if f * power > width)


def _clear(query: Density, metric: Metric, budget: Fraction, records: int) -> bool:
    """Whether the noise of a bin is at most a tenth of what it holds, as if numbers lay evenly over half of
    the range.
    """
    scales, workload = _least_noise(query, metric, budget)
    if scales is None:
        return True  # raises later, with the reason
    span, width = _span(query, metric), float(query.width or 0)
    held = (
        records / max(len({a.groups[:-1] for a in workload.answers}), 1) * float(query.every or width / 2) / (span / 2)
    )
    return math.sqrt(laplace_distributions(scales[:1].tolist())[0].variance) * float(workload.units[0]) <= held / 10


def _span(query: Density, metric: Metric) -> float:
    line = query.line(metric.universe)
    return float(line.ends[1] - line.ends[0])


def _widths(steps: int) -> list[int]:
    """The widths 1, 2, 5, 10, … in ticks, from which at most `MOST_RAMPS` fit into the range."""
    series = (f * 10**e for e in range(len(str(max(steps, 1)))) for f in (1, 2, 5))
    return [width for width in series if width <= max(steps // 2, 1) and -(-steps // width) <= MOST_RAMPS]


def _least_noise(query: Asked, metric: Metric, budget: Fraction) -> tuple[Floats | None, Workload]:
    """Scales that are equal for all rows, in records, and use the whole budget; None if no noise is enough."""
    workload = query.on(metric.universe)
    scales: Floats = np.array([1 / float(unit) for unit in workload.units])
    bound = max_ratio(LaplaceCost(workload, scales), metric).upper
    return (None if bound == math.inf else scales * float(bound / budget)), workload


# -- Maps that are uninformative at the width asked for ----------------------------------------------------------------
# This part finds maps that are uninformative, and a width at which they are not, from public numbers only. If noise is
# many times what a grid cell would hold under an even spread, few grid cells can stand out, wherever records lie. A
# wider kernel has less noise, and fewer and larger grid cells.


_MOST_NOISE = 10  # times what a grid cell would hold evenly; default widths have 2 to 8
_ADVISED = 8  # less than the limit above: next to other queries, a wider map may get a smaller part of the policy
_TRIED = 8  # number of widths, each at least twice the one before


@dataclass(frozen=True)
class PoorMap:
    """A map with its noise (95 %), and the same query with a width that is informative; None if no width is.

    `cells` is the number of noisy grid cells. At most `clear` of them can hold enough to stand out of the noise of all.
    """

    query: Density
    half_width: float
    cells: int
    clear: int
    records: int
    instead: Density | None


def poor_maps(plan: PlanFacts, records: int | None = None) -> list[PoorMap]:
    """Return the uninformative maps of a plan; `FEW` records are assumed if the number is not known."""
    known = records or plan.records or FEW
    return [found for k in range(len(plan.queries.queries)) if (found := _poor(plan, k, known)) is not None]


def _poor(plan: PlanFacts, k: int, records: int) -> PoorMap | None:
    query, universe = plan.queries.queries[k], plan.metric.universe
    if not isinstance(query, Density) or query.places(universe) is None:
        return None
    rows = [answer.rows[0] for answer in plan.workload.answers if answer.query == k]
    noisy = [row for row in rows if plan.distributions[row].variance]
    if not noisy:
        return None
    block = plan.workload.blocks[int(plan.workload.block_of[noisy[0]])]
    unit = float(plan.workload.units[noisy[0]])
    noise = math.sqrt(plan.distributions[noisy[0]].variance) * unit
    if not isinstance(block, Blurred) or noise <= _MOST_NOISE * records / len(noisy):
        return None
    per_part = noise / _paid(block, plan)
    instead = next((q for q in _wider(query, plan, records) if _will_do(q, plan, per_part, records)), None)
    both = zip(plan.errors, plan.workload.answers, strict=True)
    half_width = next(error.noise_half_width for error, answer in both if answer.rows[0] == noisy[0])
    clear = math.floor(records / clear_from(half_width, len(rows)))
    return PoorMap(query, half_width, len(noisy), clear, records, instead)


def _wider(query: Density, plan: PlanFacts, records: int) -> Iterator[Density]:
    """The same query with the width that a plan would choose, then with wider ones; grid cells are half as wide."""
    budget = plan.budget / len(plan.queries.queries)
    chosen = map_with_width(replace(query, width=None, every=None), plan.metric, budget, records)
    least = query.width or Fraction(0)
    for _ in range(_TRIED):
        if chosen.width is None:
            return
        if chosen.width > least:
            yield chosen
        chosen = replace(chosen, width=next_width(chosen.width), every=None)


def _will_do(query: Density, plan: PlanFacts, per_part: float, records: int) -> bool:
    """Whether the map stands out of its noise, given the same part of the policy."""
    try:
        workload: Workload = query.on(plan.metric.universe)
    except DxError:  # for instance if the width exceeds the map
        return False
    (block,) = workload.blocks
    if not isinstance(block, Blurred) or block.is_constant:
        return False
    filled = int((block.peak_of_row > 0).sum())
    return per_part * _paid(block, plan) <= _ADVISED * records / filled


def _paid(block: Blurred, plan: PlanFacts) -> float:
    """The part of the policy that noise of scale 1 uses. Scales of two maps with equal parts are proportional to it."""
    return float(unit_part(block, plan.metric).most)
