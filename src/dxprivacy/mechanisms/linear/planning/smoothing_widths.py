"""How far to smooth a question that leaves it open: from public numbers alone, so that it is known before spending.

A wider ramp has less noise and more bias.  Of widths 1, 2, 5, 10, … up to a tenth of the range that one is taken for a
quantile whose noise, as if numbers lay evenly over half of their range, a twelfth of whose width (what smoothing does
where it is narrow; errors are stated for wide ramps, which do more) and a tenth of whose interval together are least;
with a target, among those that meet it if any does.  How much of the policy a question will get is guessed: as much as
every other one that touches the same attribute.

For a density it is the smallest one whose noise is a tenth of what a cell then holds; for a map one whose noise is
twice what a cell would hold if records lay evenly over it: they never do, and cells with many are those that people
look at.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.normal import SLOPE
from dxprivacy.mechanisms.linear.noise.noise_laws import laplace_laws
from dxprivacy.metrics import Metric
from dxprivacy.metrics.distances import RADIUS_KM
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.further_fields import KM
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.densities import MOST_CELLS, Density
from dxprivacy.queries.kinds.maps import MOST_CELLS as MOST_ON_MAP
from dxprivacy.queries.kinds.quantiles import MOST_RAMPS, Quantiles
from dxprivacy.universe.workload import Workload

_LEAST_RAMPS = 10  # over the range: wider ones leave little of an answer
_BIAS = 12  # a narrow ramp moves a quantile by less than this part of its width, where numbers lie smoothly
_INTERVAL = 10  # a part of how wide its interval is, so that this counts too
_MOST_ENTRIES = 2_000_000  # ramps or cells times values: what is worked out for each width that is tried
_LESS = 0.5  # a cell of a map would hold this part of its noise, if records lay evenly
FEW = 1_000
"""Records that a width is chosen for, where nobody says how many there are."""


def with_widths(asked: Stack, metric: Metric, share: Fraction, records: int | None) -> Stack:
    """The same questions, each with its width."""
    mine = share / len(asked.questions)
    rivals = _rivals(asked.questions, metric)
    return Stack(
        tuple(
            _of_quantiles(question, metric, (share / many, share), records or FEW)
            if isinstance(question, Quantiles) and question.width is None
            else _with_width(question, metric, mine, records or FEW)
            for question, many in zip(asked.questions, rivals, strict=True)
        ),
        asked.notes,
    )


def _rivals(questions: Sequence[Asked], metric: Metric) -> list[int]:
    """Per question how many touch an attribute that it touches, itself included.

    Where distances add up, two records that differ in one attribute are told apart by questions about it alone.
    """
    universe = metric.universe
    everything = frozenset(range(len(universe.attributes)))
    if metric.by_attribute is None:
        return [len(questions)] * len(questions)
    touched = [frozenset(resolve(name, universe).axis for name in q.names(universe)) or everything for q in questions]
    return [max(sum(axis in other for other in touched) for axis in mine) for mine in touched]


def _of_quantiles(question: Quantiles, metric: Metric, shares: tuple[Fraction, Fraction], records: int) -> Quantiles:
    """The least error at the part of the policy that it will get; with a target, among those that meet it.

    `shares`: that part, and the whole share, of which it gets more if other questions need less.
    """
    line = question.line(metric.universe)
    question.require_groups(metric.universe)  # errors name what was asked, not a width that is tried here
    widths = [steps for steps in _widths(line.steps) if steps <= 2 or -(-line.steps // steps) >= _LEAST_RAMPS]
    narrow = sum(steps * line.tick <= line.gap for steps in widths)
    widths = widths[max(narrow - 1, 0) :]  # ramps between two neighbors say no more, and are many
    few = [steps for steps in widths if line.steps // steps * len(line.numbers) <= _MOST_ENTRIES] or widths[-1:]
    tried = [replace(question, width=steps * line.tick) for steps in few]
    noises = [(one, *_least_noise(one, metric, Fraction(1))) for one in tried]
    rated = [(_rated(one, workload, unit, shares, records), one) for one, unit, workload in noises]
    return min(rated, key=lambda each: each[0], default=((0, 0.0), question))[1]


def _rated(
    question: Quantiles, workload: Workload, scales: Floats | None, shares: tuple[Fraction, Fraction], records: int
) -> tuple[int, float]:
    """Whether it misses its target, at the part that it will get and with all of it; then its squared error."""
    if scales is None:
        return len(shares) + 1, math.inf
    misses, found = 0, list[float]()
    for share in shares:
        laws = laplace_laws((scales / float(share)).tolist())
        errors = [answer.recipe.expected(laws, records, 0.0) for answer in workload.answers]
        both = zip(errors, workload.answers, strict=True)
        noise = max((e.rmse - e.hidden) ** 2 - answer.recipe.smoothing**2 for e, answer in both)
        wide = max(e.noise_half_width for e in errors)
        found.append(noise + (float(question.width or 0) / _BIAS) ** 2 + (wide / _INTERVAL) ** 2)
        misses += question.within is not None and not all(e.good_enough(question.within) for e in errors)
    return misses, found[0]


def _with_width(question: Asked, metric: Metric, share: Fraction, records: int) -> Asked:
    if isinstance(question, Count) and (places := question.places(metric.universe)) is not None:
        return replace(question, lengths=_lengths(question, places, metric))
    if isinstance(question, Density) and question.places(metric.universe) is not None:
        return map_with_width(question, metric, share, records)
    if isinstance(question, Density) and question.width is None:
        line = question.line(metric.universe)
        for steps in _widths(line.steps):
            wide = replace(question, width=steps * line.tick)
            cells = 2 * line.steps // steps
            possible = cells <= MOST_CELLS and cells * len(line.numbers) <= _MOST_ENTRIES
            if possible and _clear(wide, metric, share, records):
                return wide
    return question


def map_with_width(question: Density, metric: Metric, share: Fraction, records: int) -> Density:
    """In kilometers where distances are; a width at which noise is twice what a cell would hold evenly."""
    ref, axes = question.places(metric.universe), metric.by_attribute
    space = None if ref is None or axes is None else axes[ref.axis].embedding
    if ref is None or space is None:
        return question  # refused later, with its reason
    question = replace(question, lengths=_lengths(question, ref, metric))
    if question.width is not None:
        return _with_cells(question, metric)
    drawn = question.map(metric.universe)
    sides = sorted(float(b - a) for a, b in drawn.box)
    groups = max(math.prod(Grouped.of(question, metric.universe).sizes.values()), 1)
    per = space.slope / (float(RADIUS_KM) if space.arc else 1.0) * float(share)
    area = sides[1] * max(sides[0], sides[1] / 100)
    if not 0 < area < math.inf or not per > 0:
        return question
    noise = _LESS * math.sqrt(2) * float(SLOPE) * area * groups / (per * records)  # of a cell, times width and its area
    every = None if question.every is None else float(question.every)
    wide = math.cbrt(4 * noise) if every is None else noise / every**2
    least = 1.6 * math.sqrt(area / MOST_ON_MAP)  # so that cells of one width fit, also after rounding
    return _with_cells(replace(question, width=_one_two_five(min(max(wide, least), sides[1] / 10))), metric)


def _with_cells(question: Density, metric: Metric) -> Density:
    """With the size of its cells, where it is not half a width."""
    if question.every is not None:
        return question
    drawn = question.map(metric.universe)
    return question if 2 * drawn.every == drawn.width else replace(question, every=drawn.every)


def _lengths(question: Count | Density, places: Reference, metric: Metric) -> str:
    """Kilometers on the Earth, or the unit of a plane: as the policy measures distances between places."""
    axes = metric.by_attribute
    space = None if axes is None else axes[places.axis].embedding
    if space is None or space.arc:
        return question.lengths if space is None else KM
    if question.lengths:
        name = "blur" if isinstance(question, Count) else "width"
        raise QuestionError(
            f"{places.name} lies in a plane, where nobody says how long km, m and miles are",
            where=f"question “{question}”",
            hints=[(f"{name} N", "without a unit: in that of the coordinates")],
        )
    return ""


def _one_two_five(x: float) -> Fraction:
    """The nearest of 1, 2, 5, 10, … times a power of ten, as factors go.

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


def _clear(question: Density, metric: Metric, share: Fraction, records: int) -> bool:
    """Whether the noise of a cell is at most a tenth of what it holds, as if numbers lay evenly over half a range."""
    scales, workload = _least_noise(question, metric, share)
    if scales is None:
        return True  # refused later, with its reason
    span, width = _span(question, metric), float(question.width or 0)
    held = (
        records
        / max(len({a.groups[:-1] for a in workload.answers}), 1)
        * float(question.every or width / 2)
        / (span / 2)
    )
    return math.sqrt(laplace_laws(scales[:1].tolist())[0].variance) * float(workload.units[0]) <= held / 10


def _span(question: Density, metric: Metric) -> float:
    line = question.line(metric.universe)
    return float(line.ends[1] - line.ends[0])


def _widths(steps: int) -> list[int]:
    """1, 2, 5, 10, … ticks, of which not too many fit into the range."""
    series = (f * 10**e for e in range(len(str(max(steps, 1)))) for f in (1, 2, 5))
    return [width for width in series if width <= max(steps // 2, 1) and -(-steps // width) <= MOST_RAMPS]


def _least_noise(question: Asked, metric: Metric, share: Fraction) -> tuple[Floats | None, Workload]:
    """The least scales that are the same, in records, for all rows; None where no noise is enough."""
    workload = question.on(metric.universe)
    scales: Floats = np.array([1 / float(unit) for unit in workload.units])
    bound = max_ratio(LaplaceCost(workload, scales), metric).upper
    return (None if bound == math.inf else scales * float(bound / share)), workload
