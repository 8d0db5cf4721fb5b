"""Hat functions for a grid whose distances add up: smooth local counts, prefix counts along each axis, and cells.

Along a line, hats of width s (1 at their middle, 0 from s cells on) add up to 1 everywhere, and one step changes them
by 2/s in total.  Products of hats over all axes cost a step along axis a at most 2/s_a, because those along the other
axes add up to 1.  So wide hats are cheap and measure long ranges; the cells measure short ones.  The remaining limit of
each step is used by the prefix count that ends there, which costs no other step.  Then every step's limit is used up
exactly for all weights of cells and hats; these are found by a search in two variables for each shape of the hats.
`other` has a hat of its own, the prefix counts of the middle, and a count from its remaining limit.  Values of a list
are their own hats, and share the remaining limit.  Work is bounded by iteration counts.
"""

import math
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies.pair_structure import Axis, GridLine, GridStructure
from dxprivacy.optimize.strategies.reweight import cells_and_rows
from dxprivacy.optimize.strategies.strategy_problem import StrategyProblem

_WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_USUAL = (0.68, 0.14)  # the usual fractions of the strictest step for cells and hats
_BETTER = 1 - 1e-3  # another form must reduce the error by more than this factor
_STEPS = (30, 80)  # steps of the search for weights: while shapes are compared, and at the end
_MOST_SHAPES = 40
_SIMPLER = 1 - 1e-4  # hats must reduce the error by more than this factor
_PART = 0.6  # the largest number of hats, relative to the number of cells
_SHORTEST = 3  # the shortest line; two values are a list
_FAR = 7.0  # bound on logarithms of ratios: a thousandth is as good as nothing, and floats fail below


_Form = tuple[tuple[int, bool], ...]
"""For each axis, the width of the hats, and whether the first cell lies between two of them."""


@dataclass(frozen=True, eq=False)
class Hats:
    """Rows that are combined with cells: the cells' fraction of the strictest step, the rows, and the error.

    `hats` is false if all rows are prefix counts.
    """

    cells: float
    rows: Floats
    error: float
    hats: bool


def hat_functions(n: int, width: int, offset: int) -> Floats:
    """Return hats over n cells, one every `width` cells, the first at `offset` or before; they add up to 1.

    >>> hat_functions(4, 2, 0)
    array([[1. , 0.5, 0. , 0. ],
           [0. , 0.5, 1. , 0.5],
           [0. , 0. , 0. , 0.5]])
    """
    middles = np.arange(offset % width - width, n + width, width)
    hats = np.maximum(width - np.abs(np.arange(n) - middles[:, None]), 0) / width
    return np.asarray(hats[hats.max(axis=1) > 0], dtype=np.float64)


def _along(axis: Axis, width: int, *, middle: bool) -> Floats:
    """Return functions of the places of an axis that add up to 1: hats, and other places by themselves."""
    if not isinstance(axis, GridLine):
        return np.eye(axis.size)
    hats = hat_functions(axis.length, width, width // 2 if middle else 0)
    if axis.away is None:
        return hats
    out = np.zeros((len(hats) + 1, axis.size))
    out[:-1, :-1] = hats
    out[-1, -1] = 1.0
    return out


def _rest(axis: Axis, functions: Floats, weight: float, of_cells: float) -> Floats | None:
    """Return rows along an axis that use up the limits left by cells and hats; None if these exceed a limit."""
    if not isinstance(axis, GridLine):
        left = axis.limit - of_cells - 2 * weight
        return left / 2 * np.eye(axis.size) if left >= 0 else None
    n = axis.length
    left = axis.steps - of_cells - weight * np.abs(np.diff(functions[:, :n], axis=1)).sum(axis=0)
    if left.min() < 0:
        return None
    prefixes: Floats = left[:, None] * np.tril(np.ones((n, n)))[:-1]
    if axis.away is None:
        return prefixes
    height = np.concatenate([[0.0], np.cumsum(left)])
    at = int(np.abs(height - height[-1] / 2).argmin())
    alone = axis.away - of_cells - 2 * weight - np.abs(height - height[at])
    if alone.min() < 0:
        return None
    out = np.zeros((n, axis.size))
    out[:-1, :n], out[:-1, -1] = prefixes, prefixes[:, at]
    out[-1, -1] = alone.min()
    return out


def best_hats(problem: StrategyProblem, cells: GridStructure, watch: Watch) -> Hats | None:
    """Return the best hats that a local search over widths and offsets finds; None if none keeps the limits."""
    tried: dict[_Form, _Weighed | None] = {}
    if not any(isinstance(axis, GridLine) and axis.length >= _SHORTEST for axis in cells.axes):
        return None

    def weighed(form: _Form, start: tuple[float, float]) -> _Weighed | None:
        if form not in tried:
            shape = _TentShape.of(problem, cells, form)
            tried[form] = None if shape is None else shape.weighed(start, _STEPS[0])
        return tried[form]

    form, best = None, None
    for other in _starts(cells.axes):
        found = weighed(other, _USUAL)
        if found is not None and (best is None or found.error < best.error):
            form, best = other, found
        if best is not None and watch.over:
            break
    better = True
    while better and form is not None and best is not None:
        better = False
        for other in _changed(form, cells.axes):
            if len(tried) >= _MOST_SHAPES or watch.over:
                break
            found = None if other in tried else weighed(other, best.parts)
            if found is not None and found.error < best.error * _BETTER:
                form, best, better = other, found, True
    shape = None if form is None else _TentShape.of(problem, cells, form)
    if shape is None or best is None or not best.error < math.inf:
        return None
    best = min(best, shape.weighed(best.parts, _STEPS[1]), key=lambda w: w.error)
    plain = shape.error(best.parts[0], 0.0)
    of_hats = 0.0 if plain * _SIMPLER <= best.error else best.parts[1]
    rows = shape.rows(best.parts[0], of_hats)
    return None if rows is None else Hats(best.parts[0], rows, shape.error(best.parts[0], of_hats), of_hats > 0)


def _starts(axes: tuple[Axis, ...]) -> list[_Form]:
    """Return starting forms: equal widths, and single cells along one axis with hats along the others."""
    wide = [(w,) * len(axes) for w in (4, 2)]
    wide += [tuple(1 if b == a else w for b in range(len(axes))) for a in range(len(axes)) for w in (4, 12)]
    widest = [axis.length if isinstance(axis, GridLine) else 1 for axis in axes]
    return list(dict.fromkeys(tuple((min(w, n), False) for w, n in zip(ws, widest, strict=True)) for ws in wide))


def _changed(form: _Form, axes: tuple[Axis, ...]) -> list[_Form]:
    """Return the forms in which one axis has the next wider or narrower hats, or hats shifted by half a width."""
    found: list[_Form] = []
    for k, (axis, (width, middle)) in enumerate(zip(axes, form, strict=True)):
        if isinstance(axis, GridLine):
            wider = [w for w in _WIDTHS if width < w <= axis.length][:1]
            narrower = [w for w in _WIDTHS if w < width][-1:]
            changed = [*((w, middle) for w in narrower + wider), (width, not middle)]
            found += [(*form[:k], one, *form[k + 1 :]) for one in changed]
    return found


@dataclass(frozen=True)
class _Weighed:
    """The fractions of the strictest step for cells and hats, and the resulting error."""

    parts: tuple[float, float]
    error: float


class _TentShape:
    """Hats of one form, and the error for given weights."""

    @classmethod
    def of(cls, problem: StrategyProblem, cells: GridStructure, form: _Form) -> "_TentShape | None":
        """Return the hats of a form, if they are few enough."""
        along = [_along(axis, w, middle=m) for axis, (w, m) in zip(cells.axes, form, strict=True)]
        few = math.prod(len(f) for f in along) <= problem.cells * _PART
        return cls(problem, cells, along) if few else None

    def __init__(self, problem: StrategyProblem, cells: GridStructure, along: list[Floats]) -> None:
        self.gram = problem.centered
        self.cells = cells
        self.along = along
        self.hats = cells.products(along)
        self.strictest = float(problem.limits.min())
        self.whole = 1 / problem.load(self.hats)  # the weight at which hats alone use up the limit of some pair

    def rows(self, of_cells: float, of_hats: float) -> Floats | None:
        """Return hats, and rows that use up the rest along each axis; None if a limit is exceeded."""
        weight = of_hats * self.whole
        parts = [weight * self.hats] if of_hats else []
        for k, (axis, functions) in enumerate(zip(self.cells.axes, self.along, strict=True)):
            rest = _rest(axis, functions, weight, of_cells * self.strictest)
            if rest is None:
                return None
            parts.append(self.cells.over_cells(k, rest))
        return np.vstack(parts)

    def error(self, of_cells: float, of_hats: float) -> float:
        """Return the total squared error for these fractions of the strictest step; infinite if they are infeasible."""
        rows = self.rows(of_cells, of_hats)
        if rows is None:
            return math.inf
        each = np.full(len(self.gram), of_cells * self.strictest / 2)
        try:
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                value = 2 * cells_and_rows(each, rows, self.gram, free=True)[0]
        except np.linalg.LinAlgError:
            return math.inf
        return value if 0 < value < math.inf else math.inf

    def weighed(self, start: tuple[float, float], steps: int) -> _Weighed:
        """Return the best weights of a Nelder-Mead search over log ratios to the weight of the prefix counts."""
        from scipy.optimize import minimize

        def parts(y: Floats) -> tuple[float, float]:
            z = np.exp(np.clip(np.append(y, 0.0), -_FAR, 2 * _FAR))
            return float(z[0] / z.sum()), float(z[1] / z.sum())

        def value(y: Floats) -> float:
            found = self.error(*parts(y))
            return math.log(found) if found < math.inf else 1e10

        first = np.log(np.maximum(start, 1e-6) / max(1 - sum(start), 1e-6))
        simplex = np.vstack([first, first + 0.6 * np.eye(2)])
        options = {"initial_simplex": simplex, "maxfev": steps, "xatol": 1e-3, "fatol": 1e-6}
        done = minimize(value, first, method="Nelder-Mead", options=options)
        found = parts(np.asarray(done.x, dtype=np.float64))
        return _Weighed(found, self.error(*found))
