"""Choose nested counts and weights that minimize the error of k-norm noise on a hierarchy (docs/theorems.md).

Cells are elements in an order; all pairs within a reach of one another have one limit.  The recipes:

    all pairs in reach     ranges halved down to single cells, a weight for each level
    otherwise              prefixes at the ends of blocks, blocks halved down to single cells, a weight for each level

The weights are found by a search with a fixed number of steps, with totals from `hierarchy_moments` on a coarser grid
if noise is wide.  The stated total is that of the weights found, on the integers.  The result is a proposal: rows and
weights are rounded and certified by the caller.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.k_norm.hierarchy_moments import Moments, level_variances
from dxprivacy.universe.hierarchy import Nest, nest_of

MOST_CELLS = 1_100
WIDEST = 400.0  # the largest scale of a cell's noise that the sampler draws
_COARSE = 0.35  # the largest weight of a coarse grid
_LEAST = 1e-5  # relative to the largest weight: rows with less are dropped
_STEPS = 25  # steps of a search for each weight of a level
_FEW_STEPS = 6  # the same, if each step takes longer
_REACHES, _MORE = 3, 32  # weights are tried on a segment of _REACHES times the reach plus _MORE cells
_MOST_BLOCK = 8
_NOTHING = 1e-300  # smaller totals are all equal: the noise is almost surely 0
_LOWEST = -16.0  # the smallest logarithm of a weight
_MOST_KEPT = 256
_found_before: dict[tuple[bytes, float], Floats] = {}


@dataclass(frozen=True, eq=False)
class NestedFit:
    """Rows of zeros and ones over cells, their weights (load 1), and the total squared error on the integers."""

    name: str
    rows: Ints
    weights: Floats
    total: float


@dataclass(frozen=True, eq=False)
class OrderedFit:
    """A workload's Gram matrix over ordered cells; pairs at most `reach` apart have the limit `limit`.

    `borders` are those of ranges halved level by level, if they do not follow from the order alone (`boxes`).
    """

    gram: Floats
    reach: int
    limit: float
    borders: "list[list[int]] | None" = None

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.gram)

    def middle(self, cells: int) -> "OrderedFit":
        """Return the same problem for a number of cells from the middle."""
        if cells >= self.cells:
            return self
        start = (self.cells - cells) // 2
        some = slice(start, start + cells)
        return OrderedFit(self.gram[some, some], self.reach, self.limit)

    def load(self, rows: Ints, weights: Floats) -> float:
        """Return an upper bound on the fraction of the limit that any pair uses."""
        if self.reach >= self.cells - 1:
            return 2 * float((weights @ rows).max()) / self.limit  # as if two cells had no row in common
        most = 0.0
        for k in range(1, self.reach + 1):
            most = max(most, float((weights @ (rows[:, k:] != rows[:, :-k])).max()))
        return most / self.limit


def consistent(problem: OrderedFit, watch: Watch | None = None) -> NestedFit | None:
    """Return the best result of the recipes; None if none applies.

    >>> found = consistent(OrderedFit(np.eye(4), 3, 0.1))
    >>> found.name, round(found.total)  # independent noise in four counts: 2,400
    ('a hierarchy of ranges', 1679)
    """
    if not 2 <= problem.cells <= MOST_CELLS or (problem.reach == 1 and problem.cells > 2):
        return None  # on a line, prefixes with independent noise are optimal
    watch = watch or Watch()
    best: NestedFit | None = None
    for shape, levels in _halved(problem, watch) if problem.reach >= problem.cells - 1 else _in_blocks(problem, watch):
        found = _exactly(problem, shape, levels)
        if found is not None and (best is None or found.total < best.total):
            best = found
        if watch.over:
            break
    return best


@dataclass(frozen=True, eq=False)
class _Shape:
    """Ranges of cells, and the coefficients of each range in the weights of levels."""

    name: str
    cells: int
    parts: dict[tuple[int, int], Floats]

    @classmethod
    def of(cls, name: str, cells: int, ranges: Iterable[tuple[int, int, int]], levels: int) -> "_Shape":
        """Return the shape of ranges with levels; a range on several levels adds their weights; omit the whole."""
        parts: dict[tuple[int, int], Floats] = {}
        for a, b, level in ranges:
            if b - a < cells:
                parts.setdefault((a, b), np.zeros(levels))[level] += 1
        return cls(name, cells, parts)

    @cached_property
    def rows(self) -> Ints:
        place = np.arange(self.cells)
        return np.array([(a <= place) & (place < b) for a, b in self.parts], dtype=np.int64)

    @cached_property
    def _mix(self) -> Floats:
        return np.array(list(self.parts.values()))

    @cached_property
    def nest(self) -> Nest | None:
        return nest_of(self.rows)

    def weights(self, problem: OrderedFit, levels: Floats) -> Floats:
        """Return the weights of rows at load 1."""
        found = self._mix @ levels
        return np.asarray(found / problem.load(self.rows, found), dtype=np.float64)

    def total_of_logs(self, problem: OrderedFit, x: Floats) -> float:
        """Return the total for weights given by their logarithms."""
        return self.total(problem, np.exp(x))

    def total(self, problem: OrderedFit, levels: Floats) -> float:
        """Return the approximate total, on a grid that is coarser for wider noise."""
        weights = self.weights(problem, levels)
        coarser = max(_COARSE / float(weights.max()), 1.0)
        if self.nest is None:
            return np.inf
        return float((Moments(self.nest, weights * coarser).covariance * problem.gram).sum()) * coarser**2


def _exactly(problem: OrderedFit, shape: _Shape, levels: Floats) -> NestedFit | None:
    """Return the fit without rows of negligible weight, with the total on the integers."""
    rows, weights = shape.rows, shape.weights(problem, levels)
    keep = (weights > _LEAST * weights.max()) | (rows.sum(axis=1) == 1)
    rows, weights = rows[keep], weights[keep]
    weights = weights / problem.load(rows, weights)
    nest = nest_of(rows)
    if nest is None or 1 / float(weights[rows.sum(axis=1) == 1].min()) > WIDEST:
        return None
    try:
        total = float((Moments(nest, weights).covariance * problem.gram).sum())
    except NotCertified:
        return None
    return NestedFit(shape.name, rows, weights, total)


def halvings(start: int, stop: int) -> list[list[int]]:
    """Return borders of ranges, halved level by level until each is one cell; single cells stay as they are.

    >>> halvings(0, 3)
    [[0, 3], [0, 2, 3], [0, 1, 2, 3]]
    """
    levels = [[start, stop]]
    while len(levels[-1]) <= stop - start:
        finer = [x for a, b in pairwise(levels[-1]) for x in ((a, (a + b + 1) // 2) if b > a + 1 else (a,))]
        levels.append([*finer, stop])
    return levels


def boxes(sizes: Sequence[int]) -> tuple[Ints, list[list[int]]]:
    """Return an order of a grid's cells in which boxes, halved along their longest side, are ranges; and their borders.

    Cells are numbered with the last attribute fastest; borders are given level by level.

    >>> order, borders = boxes((2, 3))
    >>> order.tolist(), borders
    ([0, 1, 3, 4, 2, 5], [[0, 6], [0, 4, 6], [0, 2, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]])
    """
    now = [np.arange(int(np.prod(sizes)), dtype=np.int64).reshape(sizes)]
    borders = [[0, now[0].size]]
    while any(box.size > 1 for box in now):
        now = [half for box in now for half in _halves_of(box)]
        borders.append(np.cumsum([0] + [box.size for box in now]).tolist())
    return np.concatenate([box.ravel() for box in now]), borders


def _halves_of(box: Ints) -> list[Ints]:
    if box.size == 1:
        return [box]
    side = int(np.argmax(box.shape))
    return list(np.array_split(box, 2, axis=side))


def _halved(problem: OrderedFit, watch: Watch) -> Iterator[tuple[_Shape, Floats]]:
    levels = (problem.borders or halvings(0, problem.cells))[1:]
    count = len(levels)
    sums = _sums_by_level(problem.gram, count)
    wide = max(problem.limit, 2 * _COARSE)  # relative weights hardly depend on the limit if noise is wide

    def total(x: Floats) -> float:
        """Return the total as if there were 2^levels cells; then all ranges of a level are equivalent."""
        w = np.exp(x)
        v = np.append(level_variances(w / w.sum() * wide / 2), 0.0)
        shared = np.append(v[0], (v[1:] - 2 * v[:-1]) / 2 / 4.0 ** np.arange(count))  # covariances
        return float(((shared - np.append(shared[1:], 0.0)) * sums).sum())

    key = (sums.tobytes(), wide)  # the search depends only on this, so other budgets reuse the result
    best = _found_before.get(key)
    if best is None:
        starts = (np.linspace(0, -2, count), np.zeros(count))
        best = min((_searched(total, start, _STEPS * count, watch) for start in starts), key=total)
        if not watch.over:  # a search that was cut short is not cached
            if len(_found_before) >= _MOST_KEPT:
                _found_before.clear()
            _found_before[key] = best
    ranges = [(a, b, count - 1 - depth) for depth, borders in enumerate(levels) for a, b in pairwise(borders)]
    yield (
        _Shape.of(
            "a hierarchy of ranges" if problem.borders is None else "a hierarchy of boxes", problem.cells, ranges, count
        ),
        np.exp(best),
    )


def _sums_by_level(gram: Floats, count: int) -> Floats:
    """Return for each level, cells first, the sum of 1'G1 over its ranges, for a workload spread over 2^count cells."""
    n = len(gram)
    area = np.zeros((n + 1, n + 1))
    area[1:, 1:] = gram.cumsum(axis=0).cumsum(axis=1)
    out = []
    for level in range(count + 1):
        borders = np.linspace(0, n, 2 ** (count - level) + 1)
        whole = np.minimum(borders.astype(np.int64), n - 1)
        rest = borders - whole
        between = area[whole] * (1 - rest[:, None]) + area[whole + 1] * rest[:, None]
        at = np.arange(len(borders))
        corner = between[at, whole] * (1 - rest) + between[at, whole + 1] * rest  # area(b, b)
        beside = between[at[:-1], whole[1:]] * (1 - rest[1:]) + between[at[:-1], whole[1:] + 1] * rest[1:]
        out.append(float((corner[1:] + corner[:-1] - 2 * beside).sum()))
    return np.array(out)


def _in_blocks(problem: OrderedFit, watch: Watch) -> Iterator[tuple[_Shape, Floats]]:
    """Yield the best chain of blocks of 1, 2, 4 ... cells; tried on a segment in the middle, several reaches long."""
    short = problem.middle(_REACHES * problem.reach + _MORE)
    best, least, size = (1, np.zeros(2)), np.inf, 1
    while size <= min(problem.reach, _MOST_BLOCK, short.cells // 2):
        levels = size.bit_length()
        shape = _block_shape(short.cells, size)
        start = np.append(np.linspace(0, -1, levels), -np.log(2.0 * max(problem.reach // size, 1)))
        found = _searched(partial(shape.total_of_logs, short), start, _FEW_STEPS * (levels + 1), watch)
        total = shape.total(short, np.exp(found))
        if total >= least:
            break
        best, least, size = (size, np.exp(found)), total, 2 * size
        if watch.over:
            break
    yield _block_shape(problem.cells, best[0]), best[1]


def _block_shape(cells: int, size: int) -> _Shape:
    name = "prefixes and cells" if size == 1 else f"prefixes and blocks of {size}"
    return _Shape.of(name, cells, _chain(cells, size), size.bit_length() + 1)


def _chain(cells: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield the ranges of a chain of blocks with their levels: heights within a block, prefixes last."""
    borders = [*range(0, cells, size), cells]
    for start, stop in pairwise(borders):
        halved = halvings(start, stop)
        for depth, inner in enumerate(halved):
            for a, b in pairwise(inner):
                yield a, b, len(halved) - 1 - depth
    for stop in borders[1:-1]:
        yield 0, stop, size.bit_length()


def _searched(total: Callable[[Floats], float], start: Floats, steps: int, watch: Watch) -> Floats:
    """Return the result of a Nelder-Mead search in logarithms, with at most `steps` evaluations."""
    from scipy.optimize import minimize

    def stop(_: Floats) -> None:
        if watch.over:
            raise StopIteration

    found = minimize(
        lambda x: np.log(max(total(np.maximum(x, _LOWEST)), _NOTHING)),
        start,
        method="Nelder-Mead",
        callback=stop,
        options={
            "initial_simplex": np.vstack([start, start + 0.7 * np.eye(len(start))]),
            "maxfev": steps,
            "xatol": 0.02,
            "fatol": 1e-4,
        },
    )
    return np.maximum(np.asarray(found.x, dtype=np.float64), _LOWEST)
