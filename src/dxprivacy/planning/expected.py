"""How wrong each answer will be, before anything is spent: from the discrete law and the rounding of the grid."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.model.workload import Answer, Ratio, Workload
from dxprivacy.planning.noise_law import COVERAGE, half_width, mean_absolute, scale_for, variance


@dataclass(frozen=True)
class ErrorOf:
    """Expected error of one answer, in its own unit: root mean square, mean absolute, 95 % half-width."""

    rmse: float
    typical: float
    half_width: float


def expected(answer: Answer, scales: "tuple[float, ...] | list[float]", rows: int | None, groups: int) -> ErrorOf:
    """The error of an answer; for a mean over a group, as if all groups were equally large (sizes are private)."""
    recipe = answer.recipe
    if isinstance(recipe, Ratio):
        size = max((rows or 0) / max(groups, 1), 1.0)
        reach = float(recipe.high - recipe.low) / 2
        top, bottom, unit = scales[recipe.top], scales[recipe.bottom], float(recipe.factor)
        bias = float(recipe.bias)
        each = 1 - (1 - COVERAGE) / 2
        return ErrorOf(
            math.sqrt(variance(top) * unit**2 + variance(bottom) * reach**2) / size + bias,
            (mean_absolute(top) * unit + mean_absolute(bottom) * reach) / size + bias,
            (half_width(top, each) * unit + half_width(bottom, each) * reach) / size + bias,
        )
    unit, bias = _per_step(answer, rows)
    s = scales[recipe.row]
    return ErrorOf(
        math.hypot(math.sqrt(variance(s)) * unit, bias), mean_absolute(s) * unit + bias, half_width(s) * unit + bias
    )


def all_expected(workload: Workload, scales: tuple[float, ...], rows: int | None) -> tuple[ErrorOf, ...]:
    """The error of every answer; rows of one block with equal scales are computed once."""
    groups = groups_per_question(workload)
    block_of = workload.block_of.tolist()
    known: dict[tuple[object, ...], ErrorOf] = {}
    out = []
    for answer in workload.answers:
        key = (answer.question, *((block_of[r], scales[r]) for r in answer.rows))
        if key not in known:
            known[key] = expected(answer, scales, rows, groups[answer.question])
        out.append(known[key])
    return tuple(out)


def _per_step(answer: Answer, rows: int | None) -> tuple[float, float]:
    """What one step on the grid means in the answer, and the most that rounding to the grid can have moved it."""
    recipe = answer.recipe
    if isinstance(recipe, Ratio):
        raise TypeError("a ratio has two rows")
    n = rows or 0
    if recipe.per_record:
        return float(recipe.factor) / max(n, 1), float(recipe.bias)
    return float(recipe.factor), float(recipe.bias) * n


def target_scales(answer: Answer, rows: int | None, groups: int) -> dict[int, float]:
    """The largest scale per row that still meets the answer's target; empty if it has none or cannot meet it."""
    if answer.within is None:
        return {}
    recipe, within = answer.recipe, float(answer.within)
    if isinstance(recipe, Ratio):
        # Half of the error to the sum, half to the count, each covered at 97.5 %.
        size = max((rows or 0) / max(groups, 1), 1.0)
        reach = float(recipe.high - recipe.low) / 2
        room = (within - float(recipe.bias)) * size / 2
        each = 1 - (1 - COVERAGE) / 2
        steps = {recipe.top: room / float(recipe.factor), recipe.bottom: room / reach if reach else math.inf}
        return {row: scale_for(math.floor(h), each) for row, h in steps.items() if 0 <= h < 1e15}
    unit, bias = _per_step(answer, rows)
    steps_ = (within - bias) / unit
    return {recipe.row: scale_for(math.floor(steps_ * (1 + 1e-12)))} if 0 <= steps_ < 1e15 else {}


def groups_per_question(workload: Workload) -> dict[int, int]:
    """How many answers each question has."""
    out: dict[int, int] = {}
    for answer in workload.answers:
        out[answer.question] = out.get(answer.question, 0) + 1
    return out


def interval(answer: Answer, z: "list[int]", scales: "list[float]", rows: int) -> tuple[float, float, float]:
    """The released value and its 95 % interval, from noisy integers alone: post-processing."""
    recipe = answer.recipe
    if isinstance(recipe, Ratio):
        each = 1 - (1 - COVERAGE) / 2
        h1, h2 = half_width(scales[recipe.top], each), half_width(scales[recipe.bottom], each)
        ends = _ratio_ends(recipe, z[recipe.top], h1, z[recipe.bottom], h2)
        size = z[recipe.bottom]
        value = recipe.centre + recipe.factor * Fraction(z[recipe.top], size) if size > 0 else recipe.centre
        return float(min(max(value, recipe.low), recipe.high)), *ends
    bias = recipe.bias * (1 if recipe.per_record else rows)
    divisor = max(rows, 1) if recipe.per_record else 1
    value = recipe.factor * z[recipe.row] / divisor
    h = half_width(scales[recipe.row]) * recipe.factor / divisor + bias
    return float(value), float(value - h), float(value + h)


def _ratio_ends(recipe: Ratio, top: int, h1: int, bottom: int, h2: int) -> tuple[float, float]:
    """Both parts lie in their intervals with 97.5 %, so together with 95 %; a group that may be empty says nothing."""
    smallest = max(bottom - h2, 1)
    if bottom + h2 < 1 or bottom - h2 < 1:
        return float(recipe.low), float(recipe.high)
    corners = [
        recipe.centre + recipe.factor * Fraction(t, b) for t in (top - h1, top + h1) for b in (smallest, bottom + h2)
    ]
    low = max(min(corners) - recipe.bias, recipe.low)
    high = min(max(corners) + recipe.bias, recipe.high)
    return float(min(low, recipe.high)), float(max(high, recipe.low))
