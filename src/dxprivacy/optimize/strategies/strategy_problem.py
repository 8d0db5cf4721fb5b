"""The problem that a strategy solves: its load on pairs of cells, and the resulting error of the workload.

"Cells" are the elements of a small universe.  A strategy is a matrix of rows over the cells, each answered with Laplace
noise of scale 1; a workload W is then estimated by least squares.  The columns of two cells may differ by at most their
limit in l1 norm, so the strategy is divided by its load first.  The total squared error is 2 load^2 tr(G M^+), with
G = W'W and M = A'A.  The number of records is public: shifting a row by a constant costs nothing, and everything is
measured on the complement of the all-ones vector.  Invariant: `load` and `total` depend on the rows alone.

>>> line = StrategyProblem(np.eye(3), np.array([0, 1]), np.array([1, 2]), np.ones(2))
>>> prefixes = np.array([[1.0, 0, 0], [1, 1, 0]])
>>> line.load(prefixes), round(line.total(prefixes), 9)
(1.0, 8.0)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.wording import repr_of_half_built

Progress = Callable[[str, float], None]
_ROWS_AT_ONCE = 4_096
_BLOCK = 1 << 16  # entries at once: they stay in the processor's cache
_MOST_COMPARED = 600  # cells up to which each pair is compared with detours over each other cell
_FLAT = 1e-8  # a row that varies by at most this fraction of another is dropped
_RANK = 1e-11  # singular values below this fraction of the largest are zero
_LOST = 1e-13  # the fraction of the workload that may lie outside the strategy's row space, from rounding


@dataclass(frozen=True, eq=False)
class StrategyProblem:
    """A workload's Gram matrix, and the pairs of cells with their limits; the pairs connect all cells."""

    gram: Floats
    first: Ints
    second: Ints
    limits: Floats

    def __post_init__(self) -> None:
        gram = _array(self.gram, np.float64, 2, "gram")
        first, second = _array(self.first, np.int64, 1, "first"), _array(self.second, np.int64, 1, "second")
        limits = _array(self.limits, np.float64, 1, "limits")
        n = len(gram)
        if gram.shape != (n, n) or n < 2:
            raise UsageError(f"the Gram matrix must be square over at least two cells, not {gram.shape}")
        if not np.isfinite(gram).all() or np.abs(gram - gram.T).max() > 1e-9 * max(np.abs(gram).max(), 1e-300):
            raise UsageError("the Gram matrix must be finite and symmetric")
        if not len(first) == len(second) == len(limits):
            raise UsageError(f"{len(first)} and {len(second)} ends of pairs and {len(limits)} limits do not match")
        ends = np.concatenate([first, second])
        if len(ends) and (ends.min() < 0 or ends.max() >= n):
            raise UsageError(f"a pair names a cell outside 0..{n - 1}")
        if (first == second).any():
            raise UsageError("a pair joins a cell to itself")
        if not (np.isfinite(limits).all() and (limits > 0).all()):
            raise UsageError("every limit must be positive and finite")
        if not connected(n, first, second):
            raise UsageError("the pairs must connect all cells")
        for name, value in (("gram", (gram + gram.T) / 2), ("first", first), ("second", second), ("limits", limits)):
            object.__setattr__(self, name, value)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.gram)

    @cached_property
    def centered(self) -> Floats:
        """The Gram matrix on the complement of the all-ones vector."""
        G = self.gram
        mean = G.mean(axis=0)
        return np.asarray(G - mean - mean[:, None] + mean.mean(), dtype=np.float64)

    @cached_property
    def root(self) -> Floats:
        """R with R'R = the centered Gram matrix; eigenvalues that are zero up to rounding are dropped."""
        values, vectors = np.linalg.eigh(self.centered)
        keep = values > values[-1] * 1e-14 * self.cells
        return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T, dtype=np.float64)

    @cached_property
    def normalized(self) -> "StrategyProblem":
        """The same problem in other units: the largest limit is 1, and the centered Gram matrix has trace 1."""
        scale = max(float(np.trace(self.centered)), np.finfo(float).tiny)
        return StrategyProblem(self.centered / scale, self.first, self.second, self.limits / self.limits.max())

    @cached_property
    def essential(self) -> "StrategyProblem":
        """The same problem without pairs that two smaller ones imply; a metric given as a matrix has many such pairs.

        Loads obey the triangle inequality.  Smaller pairs are kept or implied by kept ones, so all implied pairs can be
        dropped at once.  Float sums may be wrong by a rounding error; therefore totals are measured on all pairs.
        """
        n = self.cells
        if len(self.first) < n or n > _MOST_COMPARED:
            return self
        far = np.full((n, n), np.inf)
        np.minimum.at(far, (self.first, self.second), self.limits)
        far = np.minimum(far, far.T)
        implied = np.zeros((n, n), dtype=bool)
        for k in range(n):
            to, fro = far[:, [k]], far[[k], :]
            implied |= (to + fro <= far * (1 + 1e-12)) & (np.maximum(to, fro) < far)
        keep = ~(implied & np.isfinite(far))[self.first, self.second]
        if keep.all():
            return self
        return StrategyProblem(self.gram, self.first[keep], self.second[keep], self.limits[keep])

    def renamed(self, order: Ints) -> "StrategyProblem":
        """Return the same problem with cell `order[k]` renumbered as k."""
        place = np.empty(self.cells, dtype=np.int64)
        place[order] = np.arange(self.cells)
        return StrategyProblem(self.gram[np.ix_(order, order)], place[self.first], place[self.second], self.limits)

    def load(self, rows: Floats) -> float:
        """Return the largest fraction of a pair's limit that the rows use, with noise of scale 1."""
        shown = np.zeros(len(self.first))
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            lines = np.ascontiguousarray(rows[start : start + _ROWS_AT_ONCE].T)
            step = max(16, _BLOCK // lines.shape[1])
            for at in range(0, len(self.first), step):
                apart = lines.take(self.first[at : at + step], axis=0)
                apart -= lines.take(self.second[at : at + step], axis=0)
                shown[at : at + step] += np.abs(apart, out=apart).sum(axis=1)
        return float((shown / self.limits).max(initial=0.0))

    def total(self, rows: Floats) -> float:
        """Return the workload's total squared error; infinite if the rows do not determine the workload."""
        load = self.load(rows)
        if not np.isfinite(load):
            return np.inf
        if load == 0 or not len(rows):
            return 0.0 if not len(self.root) else np.inf
        _, sizes, vectors = np.linalg.svd(_triangle(rows) / load)
        seen = sizes > sizes[0] * _RANK
        parts = ((self.root @ vectors.T) ** 2).sum(axis=0)
        seen = np.concatenate([seen, np.zeros(len(parts) - len(seen), dtype=bool)])
        if parts[~seen].sum() > _LOST * parts.sum():
            return np.inf
        return 2 * float((parts[seen] / sizes[seen[: len(sizes)]] ** 2).sum())

    def found(self, name: str, rows: Floats) -> "FoundStrategy":
        """Return these rows at load 1, with their total error."""
        load = self.load(rows)
        spread = np.ptp(rows, axis=1)
        rows = np.asarray(rows[spread > _FLAT * spread.max(initial=0.0)], dtype=np.float64)
        rows /= load  # a copy, by the line above
        return FoundStrategy(name, rows, self.total(rows))


def _triangle(rows: Floats) -> Floats:
    """Return centered rows; if there are more rows than columns, a triangle R with the same R'R, block by block."""
    step = max(rows.shape[1], _BLOCK // rows.shape[1])
    out = rows[:0]
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        out = np.vstack([out, some - some.mean(axis=1, keepdims=True)])
        if len(out) > rows.shape[1]:
            out = np.asarray(np.linalg.qr(out, mode="r"))
    return out


@repr_of_half_built
@dataclass(frozen=True, eq=False)
class FoundStrategy:
    """A strategy: its display name, its rows at load 1 (Laplace noise of scale 1 each), and the total error."""

    name: str
    rows: Floats
    total: float

    def __repr__(self) -> str:
        return f"FoundStrategy({self.name!r}, {len(self.rows)} rows, total {self.total:.6g})"


def _array(value: object, kind: type, dimensions: int, name: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.array(value, dtype=kind)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} must be numbers") from None
    if array.ndim != dimensions:
        raise UsageError(f"{name} must have {dimensions} dimensions, not {array.ndim}")
    array.setflags(write=False)
    return array


def connected(n: int, first: Ints, second: Ints) -> bool:
    """Return whether the pairs connect all cells."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(first)), (first, second)), shape=(n, n))
    return int(connected_components(graph, directed=False, return_labels=False)) == 1
