"""What a planned small database knows: m records that answer many queries almost as the data (Algorithm 1).

Candidates are all multisets y of m records over the N cells.  With rows A of whole numbers and whole weights w that
bring all rows to about the same range, the score of y is the whole number

    S(y) = max_k w_k |m (A x)_k - n (A y)_k|        and its weight   exp(-S(y) / (2 m s)).

Replacing record i by j moves S by at most m max_k w_k |A_ki - A_kj|, so the loss is `max_k |A_ki - A_kj| / (s /
w_k)`: a `SelectionCost` (Theorems 3 and 5).  The rows are those that were asked, or flatter ones from the exact
envelope of `biased/smalldb_bound.py`, whose answers are off by a known bias but cost less.  Everything here is decided
from public numbers.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import round_down
from dxprivacy.formats.canonical import digest_of
from dxprivacy.mechanisms.planned import Facts
from dxprivacy.mechanisms.smalldb.routes import (
    Route,
    alpha_of,
    error_bound,
    gamma_of,
)
from dxprivacy.metrics import Metric
from dxprivacy.optimize.biased.smalldb_bound import surrogate
from dxprivacy.privacy.certificate import Certificate, certify
from dxprivacy.privacy.costs import SelectionCost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.kinds.matrix_query import MatrixQuery
from dxprivacy.universe.workload import Workload

# -- The rows by which small databases are compared: those that were asked, or flatter ones that cost less -------------
# Rows differ in range: a sum of incomes moves by thousands where a count moves by one.  Whole weights bring all to
# about the same range, so that the largest error is no matter of units.


MOST_ENTRIES = 20_000_000  # of rows x cells
_FLAT_CELLS = 300
_FLAT_PAIRS = 300 * 299 // 2
_FLAT_BITS = 16  # the grid of flatter rows: rounding stays far below any noise
_BLOCK = 1 << 12


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Rows on the grid with whole weights, and what they say about the rows that were asked."""

    queries: Stack
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
        raise QueryError(f"{workload.rows:,} rows over {cells:,} cells are too many for a small database")
    low = np.full(workload.rows, np.iinfo(np.int64).max)
    high = np.full(workload.rows, np.iinfo(np.int64).min)
    block = max(1, min(_BLOCK, MOST_ENTRIES // max(workload.rows, 1)))
    for start in range(0, cells, block):
        some = workload.columns(np.arange(start, min(start + block, cells), dtype=np.int64))
        low, high = np.minimum(low, some.min(axis=1)), np.maximum(high, some.max(axis=1))
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def asked_rows(asked: Stack, workload: Workload) -> ComparedRows:
    """The rows as they were asked."""
    spans = [high - low for low, high in entry_ranges(workload)]
    widest = max(spans)
    weights = tuple(max(1, round(widest / span)) if span else 1 for span in spans)
    rounded = tuple(float(block.bias) for block in workload.blocks for _ in range(block.rows))
    return ComparedRows(
        asked,
        workload,
        weights,
        workload.units,
        rounded,
        tuple(s * u for s, u in zip(spans, workload.units, strict=True)),
        "the rows are asked as they are",
    )


def flatter_rows(
    asked: Stack, workload: Workload, metric: Metric, n: int, budget: Fraction, beta: float, *, needed: bool
) -> ComparedRows | None:
    """The rows of the exact envelope, on a grid; None where there are none, or where nothing is to be gained."""
    cells = metric.universe.cells
    plain = asked_rows(asked, workload)
    pairs = _pairs(metric) if cells <= _FLAT_CELLS and not plain.constant else None
    if pairs is None:
        if needed and not plain.constant:
            raise QueryError(
                f"flatter rows are only searched for up to {_FLAT_CELLS} possible records, none of them identical",
                hints=["flatten=False"],
            )
        return None
    first, second, distances = pairs
    dense = workload.dense().astype(np.float64)
    spans = np.array([high - low for low, high in plain.ranges], dtype=np.float64)
    whole = np.where(spans > 0, spans, 1.0)
    kappa = (n * n * gamma_of(cells, workload.rows, beta)) ** (1 / 3)
    found = surrogate(dense / whole[:, None], first, second, distances * float(budget), n, kappa)
    grid: Ints = np.rint(found.rows * (1 << _FLAT_BITS)).astype(np.int64)
    unit = Fraction(1, 1 << _FLAT_BITS)
    back = tuple(Fraction(int(s)) * unit * u for s, u in zip(whole, workload.units, strict=True))
    labels = tuple(a.label for a in workload.answers) if len(workload.answers) == workload.rows else ()
    put = Stack((MatrixQuery(grid, unit, unit / 2, labels),))
    exact = workload.dense()
    bias = tuple(_bias(exact[k], grid[k], workload.units[k], back[k]) + plain.bias[k] for k in range(workload.rows))
    return ComparedRows(put, put.on(metric.universe), (1,) * workload.rows, back, bias, plain.asked_spans, found.words)


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


# -- What a planned small database knows -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SmallDbFacts(Facts):
    """What would be drawn: its size, scale, route, certificate and error.  It costs nothing, and holds no data."""

    queries: Stack
    workload: Workload
    rows: ComparedRows = field(repr=False)  # what the candidates are compared by
    metric: Metric = field(repr=False)
    scale: float  # s
    size: int  # m
    records: int  # n
    beta: float
    budget: Fraction
    route: Route
    title: str = ""
    dataset: str = ""

    @property
    def counted_queries(self) -> Stack:
        """The queries that are put to the data."""
        return self.rows.queries

    @cached_property
    def cost(self) -> SelectionCost:
        """What it would cost, pair by pair; s / w rounded down, which rounds the loss up."""
        return SelectionCost(self.rows.workload, scales_of(self.scale, self.rows.weights))

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that this very scale keeps the policy."""
        return replace(certify(self.cost, self.metric), norm="linf")

    @property
    def rate(self) -> Fraction:
        """A candidate's weight is exp(-S rate)."""
        return 1 / (2 * self.size * Fraction(self.scale))

    @property
    def free(self) -> bool:
        """Whether no row tells any two records apart: then the answer does not look at the data, and costs nothing."""
        return self.rows.constant

    @property
    def alpha(self) -> float:
        """How well some database of this size answers, in parts of n and of each row's range."""
        return alpha_of(self.size, len(self.rows.weights))

    @property
    def bounds(self) -> Floats:
        """Per answer: its error is at most this, in its own units, with probability 1 - beta for all of them."""
        return self._per_answer(self.row_bounds)

    @cached_property
    def row_bounds(self) -> Floats:
        """Per row that was asked: the error is at most this, in its own units, with probability 1 - beta for all rows.

        Proposition 1, corrected: bias + alpha n + 2c (ln C(N + m - 1, m) + ln 1/beta).
        """
        spans = self.rows.spans()
        widest, c = max(spans), 0.0 if self.free else self.scale
        off = error_bound(self.records, self.alpha * widest, c, self.route.log_candidates, self.beta)
        rows = zip(self.rows.bias, self.rows.units, self.rows.weights, spans, strict=True)
        return np.array([b * self.records + (off * float(u) / w if span else 0.0) for b, u, w, span in rows])

    @property
    def says_nothing(self) -> bool:
        """Whether the bound is so large that any answer would keep it."""
        whole = [float(x) * self.records for x in self.rows.asked_spans]
        return all(b >= w for b, w in zip(self.row_bounds, whole, strict=True))

    @property
    def relative_bound(self) -> float:
        """The largest of the bounds, each measured by its row's range."""
        return float((self.row_bounds / self.rows.sizes).max())

    def answers(self, database: Ints) -> Floats:
        """The answers, from a small database: rescaled to n, in their own units.  Post-processing."""
        found = self.rows.workload.answer(database)
        units = self.rows.units
        rows = np.array([float(int(a) * f * self.records / self.size) for a, f in zip(found, units, strict=True)])
        return self._per_answer(rows)

    def _per_answer(self, rows: Floats) -> Floats:
        """Answers are rows; a mean over all records is its row over their public number."""
        alone = [(a.recipe.single, a.recipe.is_mean) for a in self.workload.answers]
        return np.array([rows[row] / (self.records if mean else 1) for row, mean in alone if row is not None])

    @cached_property
    def request(self) -> str:
        """The plan's own name: a digest of everything that matters to what is drawn."""
        return digest_of(
            {
                "mechanism": "smalldb",
                "metric": self.metric.digest,
                "dataset": self.dataset,
                "queries": [{k: v for k, v in q.items() if k != "title"} for q in self.queries.to_dict()],
                "workload": self.rows.workload.digest,
                "weights": list(self.rows.weights),
                "scale": self.scale.hex(),
                "size": self.size,
                "records": self.records,
                "budget": str(self.budget),
            }
        )

    def payload(self) -> dict[str, Any]:
        return {
            "mechanism": "smalldb",
            "name": self.name,
            "request": self.request,
            "queries": self.queries.to_dict(),
            "put": self.counted_queries.to_dict(),
            "weights": list(self.rows.weights),
            "scale": self.scale.hex(),
            "budget": str(self.budget),
            "size": self.size,
            "records": self.records,
            "alpha": self.alpha,
            "beta": self.beta,
            "route": self.route.name,
            "log_candidates": self.route.log_candidates,
            "bounds": self.bounds.tolist(),
            "certificate": self.certificate.to_dict(),
        }


def scales_of(scale: float, weights: tuple[int, ...]) -> list[float]:
    """Per row s / w, rounded down: so the loss is rounded up."""
    return [round_down(Fraction(scale) / w) for w in weights]
