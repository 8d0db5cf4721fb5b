"""The rows by which small databases are compared: those that were asked, or flatter ones that cost less.

Rows differ in range: a sum of incomes moves by thousands where a count moves by one.  Whole weights bring all to about
the same range, so that the largest error is no matter of units.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.smalldb.smalldb_bounds import gamma_of
from dxprivacy.metrics import Metric
from dxprivacy.optimize.biased.smalldb_bound import surrogate
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.kinds.matrix_query import Matrix
from dxprivacy.universe.workload import Workload

MOST_ENTRIES = 20_000_000  # of rows x cells
_FLAT_CELLS = 300
_FLAT_PAIRS = 300 * 299 // 2
_FLAT_BITS = 16  # the grid of flatter rows: rounding stays far below any noise
_BLOCK = 1 << 12


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows on the grid with whole weights, and what they say about the rows that were asked."""

    questions: Stack
    workload: Workload
    weights: tuple[int, ...]
    units: tuple[Fraction, ...]  # what one step of a row means for the asked one
    bias: tuple[float, ...]  # by how much an asked row and this one differ at most, per record, in its units
    asked_spans: tuple[Fraction, ...]  # the ranges of the asked rows, in their units
    words: str

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest entry of each row."""
        return entry_ranges(self.workload)

    def spans(self) -> list[int]:
        """The range of each row times its weight."""
        return [(high - low) * w for (low, high), w in zip(self.ranges, self.weights, strict=True)]

    @property
    def constant(self) -> bool:
        """Whether no row tells any two records apart."""
        return not any(self.spans())

    @property
    def sizes(self) -> Floats:
        """The ranges of the asked rows, 1 where a row is constant: what errors are measured by."""
        return np.array([float(s) or 1.0 for s in self.asked_spans])


def entry_ranges(workload: Workload) -> tuple[tuple[int, int], ...]:
    """The least and the largest entry of each row over all cells."""
    cells = workload.universe.cells
    if workload.rows * cells > MOST_ENTRIES * 10:
        raise QuestionError(f"{workload.rows:,} rows over {cells:,} cells are too many for a small database")
    low = np.full(workload.rows, np.iinfo(np.int64).max)
    high = np.full(workload.rows, np.iinfo(np.int64).min)
    block = max(1, min(_BLOCK, MOST_ENTRIES // max(workload.rows, 1)))
    for start in range(0, cells, block):
        some = workload.columns(np.arange(start, min(start + block, cells), dtype=np.int64))
        low, high = np.minimum(low, some.min(axis=1)), np.maximum(high, some.max(axis=1))
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def asked_rows(asked: Stack, workload: Workload) -> Rows:
    """The rows as they were asked."""
    spans = [high - low for low, high in entry_ranges(workload)]
    widest = max(spans)
    weights = tuple(max(1, round(widest / span)) if span else 1 for span in spans)
    rounded = tuple(float(block.bias) for block in workload.blocks for _ in range(block.rows))
    return Rows(
        asked,
        workload,
        weights,
        workload.units,
        rounded,
        tuple(s * u for s, u in zip(spans, workload.units, strict=True)),
        "the rows are asked as they are",
    )


def flatter_rows(
    asked: Stack, workload: Workload, metric: Metric, n: int, share: Fraction, beta: float, *, needed: bool
) -> Rows | None:
    """The rows of the exact envelope, on a grid; None where there are none, or where nothing is to be gained."""
    cells = metric.universe.cells
    plain = asked_rows(asked, workload)
    pairs = _pairs(metric) if cells <= _FLAT_CELLS and not plain.constant else None
    if pairs is None:
        if needed and not plain.constant:
            raise QuestionError(
                f"flatter rows are only searched for up to {_FLAT_CELLS} possible records, none of them identical",
                hints=["flatten=False"],
            )
        return None
    first, second, distances = pairs
    dense = workload.dense().astype(np.float64)
    spans = np.array([high - low for low, high in plain.ranges], dtype=np.float64)
    whole = np.where(spans > 0, spans, 1.0)
    kappa = (n * n * gamma_of(cells, workload.rows, beta)) ** (1 / 3)
    found = surrogate(dense / whole[:, None], first, second, distances * float(share), n, kappa)
    grid: Ints = np.rint(found.rows * (1 << _FLAT_BITS)).astype(np.int64)
    unit = Fraction(1, 1 << _FLAT_BITS)
    back = tuple(Fraction(int(s)) * unit * u for s, u in zip(whole, workload.units, strict=True))
    labels = tuple(a.label for a in workload.answers) if len(workload.answers) == workload.rows else ()
    put = Stack((Matrix(grid, unit, unit / 2, labels),))
    exact = workload.dense()
    bias = tuple(_bias(exact[k], grid[k], workload.units[k], back[k]) + plain.bias[k] for k in range(workload.rows))
    return Rows(put, put.on(metric.universe), (1,) * workload.rows, back, bias, plain.asked_spans, found.words)


def _bias(asked: Ints, put: Ints, unit: Fraction, back: Fraction) -> float:
    """The largest difference of two rows, in fractions, rounded up."""
    pairs = set(zip(asked.tolist(), put.tolist(), strict=True))
    return math.nextafter(float(max(abs(a * unit - p * back) for a, p in pairs)), math.inf)


def _pairs(metric: Metric) -> tuple[Ints, Ints, Floats] | None:
    """Generating pairs with their distances; None where some records are identical or too many."""
    if metric.generator_count > _FLAT_PAIRS:
        return None
    found = list(metric.generators())
    i, j = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    d = metric.pairwise(i, j)
    return None if (d <= 0).any() else (i, j, d)
