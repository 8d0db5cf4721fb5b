"""Hats for a grid whose distances add up: smooth counts of neighborhoods, prefix counts along each axis, and cells.

Along a line, hats of width s (1 at their middle, 0 from s cells on) add up to 1 everywhere, and one step changes all
of them together by 2/s: products of hats over all axes cost a step along axis a no more than 2/s_a, since those along
the other axes add up to 1.  So wide hats are cheap and see far, the cells see near, and what is left of each step goes
to the prefix count that ends there, which costs no other step.  Every step is then used up exactly, whatever the
weights of cells and hats are: a search in two variables for each shape of the hats.  `other` is far from all values: it
has a hat of its own, the prefix counts of the middle, and a count of its own from what that leaves.  Values of a list
are their own hats, and share what is left.  Work is bounded by counts.
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
_USUAL = (0.68, 0.14)  # what cells and hats usually get of the strictest step
_BETTER = 1 - 1e-3  # times the error: not worth another form
_STEPS = (30, 80)  # of the search for weights: while shapes are compared, and at the end
_MOST_SHAPES = 40
_SIMPLER = 1 - 1e-4  # times the error: not worth any hats
_PART = 0.6  # of the cells: as many hats at most
_SHORTEST = 3  # of a line: two values are a list
_FAR = 7.0  # logarithm: a thousandth of a part is as good as none, and with less floats do not tell the error


_Form = tuple[tuple[int, bool], ...]
"""For each axis the width of the hats, and whether the first cell lies between two of them."""


@dataclass(frozen=True, eq=False)
class Hats:
    """Rows beside cells: what the cells get of the strictest step, the rows, the error they leave; whether some are
    hats, or all are prefix counts."""

    cells: float
    rows: Floats
    error: float
    hats: bool


def hat_functions(n: int, width: int, offset: int) -> Floats:
    """Hats of a width over n cells, one every `width` cells, the first at `offset` or before; they add up to 1.

    >>> hat_functions(4, 2, 0)
    array([[1. , 0.5, 0. , 0. ],
           [0. , 0.5, 1. , 0.5],
           [0. , 0. , 0. , 0.5]])
    """
    middles = np.arange(offset % width - width, n + width, width)
    hats = np.maximum(width - np.abs(np.arange(n) - middles[:, None]), 0) / width
    return np.asarray(hats[hats.max(axis=1) > 0], dtype=np.float64)


def _along(axis: Axis, width: int, *, middle: bool) -> Floats:
    """Functions of the places of an axis that add up to 1: hats, and the rest by itself."""
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
    """Rows along an axis that use up what cells and hats leave; None where they overdraw it."""
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
    """The best hats that changes of one width or offset at a time lead to; None where nothing keeps the steps."""
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
    """Equal widths, and single cells along one axis with hats along the others: what suits long and short axes."""
    wide = [(w,) * len(axes) for w in (4, 2)]
    wide += [tuple(1 if b == a else w for b in range(len(axes))) for a in range(len(axes)) for w in (4, 12)]
    widest = [axis.length if isinstance(axis, GridLine) else 1 for axis in axes]
    return list(dict.fromkeys(tuple((min(w, n), False) for w, n in zip(ws, widest, strict=True)) for ws in wide))


def _changed(form: _Form, axes: tuple[Axis, ...]) -> list[_Form]:
    """The forms in which one axis has the next wider or narrower hats, or others in their middle."""
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
    """What cells and hats get of the strictest step, and the error that leaves."""

    parts: tuple[float, float]
    error: float


class _TentShape:
    """Hats of one form, and the error of the weights they may have."""

    @classmethod
    def of(cls, problem: StrategyProblem, cells: GridStructure, form: _Form) -> "_TentShape | None":
        """The hats of a form, if they are few enough."""
        along = [_along(axis, w, middle=m) for axis, (w, m) in zip(cells.axes, form, strict=True)]
        few = math.prod(len(f) for f in along) <= problem.cells * _PART
        return cls(problem, cells, along) if few else None

    def __init__(self, problem: StrategyProblem, cells: GridStructure, along: list[Floats]) -> None:
        self.gram = problem.centered
        self.cells = cells
        self.along = along
        self.hats = cells.products(along)
        self.strictest = float(problem.limits.min())
        self.whole = 1 / problem.load(self.hats)  # the weight of hats that would use up some pair alone

    def rows(self, of_cells: float, of_hats: float) -> Floats | None:
        """Hats, and what uses up the rest along each axis; None where some pair would be overdrawn."""
        weight = of_hats * self.whole
        parts = [weight * self.hats] if of_hats else []
        for k, (axis, functions) in enumerate(zip(self.cells.axes, self.along, strict=True)):
            rest = _rest(axis, functions, weight, of_cells * self.strictest)
            if rest is None:
                return None
            parts.append(self.cells.over_cells(k, rest))
        return np.vstack(parts)

    def error(self, of_cells: float, of_hats: float) -> float:
        """The total squared error with these parts of what the strictest step may show; infinite if that fails."""
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
        """The best weights that Nelder and Mead's search finds, over logarithms of parts against prefix counts'."""
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
