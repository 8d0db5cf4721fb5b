"""How wrong each answer will be, before anything is spent: from the discrete law and the rounding of the grid."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.mechanisms.laplace.laws import Laplace, Law
from dxprivacy.mechanisms.laplace.noise_law import COVERAGE, scale_for
from dxprivacy.model.workload import Answer, Linear, Ratio, Workload

_EACH = 1 - (1 - COVERAGE) / 2  # two parts of an answer, each covered so, are covered together

Interval = tuple[float, float, float]
"""A value, and the ends of its interval."""


@dataclass(frozen=True)
class ErrorOf:
    """Expected error of one answer, in its own unit: root mean square, mean absolute, 95 % half-width.

    All of them hold what cells can hide of the entries that are counted by them, which is `hidden` at most.
    """

    rmse: float
    typical: float
    half_width: float
    hidden: float = 0.0

    @property
    def noise_half_width(self) -> float:
        """The part that a plan can do something about."""
        return self.half_width - self.hidden

    def good_enough(self, within: Fraction) -> bool:
        """Whether a target is met; where cells alone hide more, whether the noise is as small as was asked."""
        width = self.half_width if self.hidden < within else self.noise_half_width
        return width <= float(within) * (1 + 1e-9)


def expected(answer: Answer, laws: Sequence[Law], rows: int | None, shift: float = 0.0) -> ErrorOf:
    """The error of an answer; for a mean over a group, as if all groups were equally large (sizes are private).

    `shift` is how far a plan may move the row of one record on purpose, in steps of its grid.
    """
    recipe = answer.recipe
    if isinstance(recipe, Ratio):
        size = group_size(recipe, rows)
        reach = float(recipe.high - recipe.low) / 2
        top, bottom, unit = laws[recipe.top], laws[recipe.bottom], float(recipe.factor)
        hidden = float(max(recipe.below, recipe.above))
        bias = float(recipe.bias) + hidden
        return ErrorOf(
            math.sqrt(top.variance * unit**2 + bottom.variance * reach**2) / size + bias,
            (top.mean_absolute * unit + bottom.mean_absolute * reach) / size + bias,
            (float(top.half_width(_EACH)) * unit + float(bottom.half_width(_EACH)) * reach) / size + bias,
            hidden,
        )
    unit, bias = _per_step(answer, rows, shift)
    hidden = hidden_in(recipe, rows)
    bias += hidden
    law = laws[recipe.row]
    return ErrorOf(
        math.hypot(math.sqrt(law.variance) * unit, bias),
        law.mean_absolute * unit + bias,
        float(law.half_width()) * unit + bias,
        hidden,
    )


def hidden_in(recipe: Linear, rows: int | None) -> float:
    """The most that cells hide of an answer: of a sum for every record, of a mean for one."""
    return float(max(recipe.below, recipe.above)) * (1 if recipe.per_record else rows or 0)


def all_expected(
    workload: Workload, laws: Sequence[Law | float], rows: int | None, shifts: Sequence[float] | None = None
) -> tuple[ErrorOf, ...]:
    """The error of every answer, given the law of every row or its scale; what is alike is computed once."""
    given = tuple(Laplace(x) if isinstance(x, (int, float)) else x for x in laws)
    block_of = workload.block_of.tolist()
    known: dict[tuple[object, ...], ErrorOf] = {}
    out = []
    for answer in workload.answers:
        shift = shifts[answer.rows[0]] if shifts is not None else 0.0
        key = (answer.question, shift, *((block_of[r], given[r]) for r in answer.rows))
        if key not in known:
            known[key] = expected(answer, given, rows, shift)
        out.append(known[key])
    return tuple(out)


def _per_step(answer: Answer, rows: int | None, shift: float = 0.0) -> tuple[float, float]:
    """What one step on the grid means in the answer, and the most that rounding and shifts can have moved it."""
    recipe = answer.recipe
    if isinstance(recipe, Ratio):
        raise TypeError("a ratio has two rows")
    n = rows or 0
    bias = float(recipe.bias) + shift * float(recipe.factor)
    if recipe.per_record:
        return float(recipe.factor) / max(n, 1), bias
    return float(recipe.factor), bias * n


def target_scales(answer: Answer, rows: int | None) -> dict[int, float]:
    """The largest scale per row that still meets the answer's target; empty if it has none or cannot meet it."""
    if answer.within is None:
        return {}
    recipe, within = answer.recipe, float(answer.within)
    hidden = float(max(recipe.below, recipe.above)) if isinstance(recipe, Ratio) else hidden_in(recipe, rows)
    # Where cells alone hide more than was asked for, less noise cannot help: it is then made as small as was asked.
    within = within - hidden if hidden < within else within
    if isinstance(recipe, Ratio):
        # Half of the error to the sum, half to the count, each covered at 97.5 %.
        size = group_size(recipe, rows)
        reach = float(recipe.high - recipe.low) / 2
        room = (within - float(recipe.bias)) * size / 2
        steps = {recipe.top: room / float(recipe.factor), recipe.bottom: room / reach if reach else math.inf}
        return {row: scale_for(math.floor(h), _EACH) for row, h in steps.items() if 0 <= h < 1e15}
    unit, bias = _per_step(answer, rows)
    steps_ = (within - bias) / unit
    return {recipe.row: scale_for(math.floor(steps_ * (1 + 1e-12)))} if 0 <= steps_ < 1e15 else {}


def group_size(recipe: Ratio, rows: int | None) -> float:
    """How many records a mean is reckoned for."""
    return max(float((rows or 0) * recipe.part), 1.0)


def interval(
    answer: Answer, z: "Sequence[int | float | Fraction]", laws: Sequence[Law], rows: int, shift: float = 0.0
) -> Interval:
    """The released value and its 95 % interval, from noisy rows alone: post-processing."""
    recipe = answer.recipe
    if isinstance(recipe, Ratio):
        h1, h2 = laws[recipe.top].half_width(_EACH), laws[recipe.bottom].half_width(_EACH)
        top, size = Fraction(z[recipe.top]), Fraction(z[recipe.bottom])
        ends = _ratio_ends(recipe, top, h1, size, h2)
        value = recipe.centre + recipe.factor * top / size if size > 0 else recipe.centre
        return float(min(max(value, recipe.low), recipe.high)), *ends
    times = 1 if recipe.per_record else rows
    bias = (recipe.bias + Fraction(shift) * recipe.factor) * times
    divisor = max(rows, 1) if recipe.per_record else 1
    value = recipe.factor * Fraction(z[recipe.row]) / divisor
    h = laws[recipe.row].half_width() * recipe.factor / divisor + bias
    low, high = value - h - recipe.below * times, value + h + recipe.above * times
    if recipe.ends is not None:
        value, low, high = (min(max(x, recipe.ends[0]), recipe.ends[1]) for x in (value, low, high))
    return float(value), float(low), float(high)


def _ratio_ends(recipe: Ratio, top: Fraction, h1: Fraction, bottom: Fraction, h2: Fraction) -> tuple[float, float]:
    """Both parts lie in their intervals with 97.5 %, so together with 95 %; a group that may be empty says nothing."""
    if bottom - h2 < 1:
        return float(recipe.low), float(recipe.high)
    corners = [recipe.centre + recipe.factor * t / b for t in (top - h1, top + h1) for b in (bottom - h2, bottom + h2)]
    low = max(min(corners) - recipe.bias - recipe.below, recipe.low)
    high = min(max(corners) + recipe.bias + recipe.above, recipe.high)
    return float(min(low, recipe.high)), float(max(high, recipe.low))
