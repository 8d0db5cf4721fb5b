"""Facts of a planned small database: m records that answer many queries almost like the data (Algorithm 1).

The candidates are all multisets y of m records over the N possible records. Given integer rows A and integer weights w
that bring all rows to about the same range, the score of y and its weight are

    S(y) = max_k w_k |m (A x)_k - n (A y)_k|        and        exp(-S(y) / (2 m s)).

Replacing record i by j changes the integer S by at most m max_k w_k |A_ki - A_kj|. So the loss is `max_k |A_ki - A_kj|
/ (s / w_k)`: a `SelectionCost` (Theorems 3 and 5). The rows are those of the workload, or flatter ones from the exact
envelope of `biased/smalldb_bound.py`, whose answers have a known bias but cost less. Everything here is decided from
public numbers.
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

# -- The rows by which small databases are compared: those of the workload, or flatter ones that cost less -------------
# Rows differ in range: a sum of incomes changes by thousands where a count changes by one. Integer weights bring all
# rows to about the same range, so that the largest error does not depend on units.


MOST_ENTRIES = 20_000_000  # of rows x possible records
_FLAT_CELLS = 300
_FLAT_PAIRS = 300 * 299 // 2
_FLAT_BITS = 16  # the grid of flatter rows: rounding error is far below any noise
_BLOCK = 1 << 12


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Rows on the grid with integer weights, and their relation to the workload's rows."""

    queries: Stack
    workload: Workload
    weights: tuple[int, ...]
    units: tuple[Fraction, ...]  # one step of a row, in units of the workload's row
    bias: tuple[float, ...]  # largest difference to the workload's row per record, in its units
    asked_spans: tuple[Fraction, ...]  # the ranges of the workload's rows, in their units
    words: str

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest entry of each row."""
        return entry_ranges(self.workload)

    def spans(self) -> list[int]:
        """Return the range of each row times its weight."""
        return [(high - low) * w for (low, high), w in zip(self.ranges, self.weights, strict=True)]

    @property
    def constant(self) -> bool:
        """Whether no row separates any two records."""
        return not any(self.spans())

    @property
    def sizes(self) -> Floats:
        """The ranges of the workload's rows, by which errors are measured; 1 if a row is constant."""
        return np.array([float(s) or 1.0 for s in self.asked_spans])


def entry_ranges(workload: Workload) -> tuple[tuple[int, int], ...]:
    """Return the least and the largest entry of each row over all possible records."""
    cells = workload.universe.cells
    if workload.rows * cells > MOST_ENTRIES * 10:
        raise QueryError(f"{workload.rows:,} rows over {cells:,} possible records are too many for a small database")
    low = np.full(workload.rows, np.iinfo(np.int64).max)
    high = np.full(workload.rows, np.iinfo(np.int64).min)
    block = max(1, min(_BLOCK, MOST_ENTRIES // max(workload.rows, 1)))
    for start in range(0, cells, block):
        some = workload.columns(np.arange(start, min(start + block, cells), dtype=np.int64))
        low, high = np.minimum(low, some.min(axis=1)), np.maximum(high, some.max(axis=1))
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def asked_rows(asked: Stack, workload: Workload) -> ComparedRows:
    """Return the workload's own rows for comparison."""
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
    """Return the rows of the exact envelope on a grid; None if there are none, or if nothing is to be gained."""
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
    """Return generating pairs with their distances; None if some records are identical, or if there are too many."""
    if metric.generator_count > _FLAT_PAIRS:
        return None
    found = list(metric.generators())
    i, j = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    d = metric.pairwise(i, j)
    return None if (d <= 0).any() else (i, j, d)


# -- Facts of a planned small database ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SmallDbFacts(Facts):
    """The facts of a planned small database: size, scale, route, certificate and error. They cost nothing and hold no
    data.
    """

    queries: Stack
    workload: Workload
    rows: ComparedRows = field(repr=False)  # the rows by which candidates are compared
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
        """The measured queries."""
        return self.rows.queries

    @cached_property
    def cost(self) -> SelectionCost:
        """The privacy loss on each pair; s / w is rounded down, which rounds the loss up."""
        return SelectionCost(self.rows.workload, scales_of(self.scale, self.rows.weights))

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that this scale keeps the policy."""
        return replace(certify(self.cost, self.metric), norm="linf")

    @property
    def rate(self) -> Fraction:
        """The rate of the weights: a candidate's weight is exp(-S rate)."""
        return 1 / (2 * self.size * Fraction(self.scale))

    @property
    def free(self) -> bool:
        """Whether no row separates any two records: then the answer does not depend on the data, and costs nothing."""
        return self.rows.constant

    @property
    def alpha(self) -> float:
        """A bound on the error of the best database of this size, as a fraction of n and of each row's range."""
        return alpha_of(self.size, len(self.rows.weights))

    @property
    def bounds(self) -> Floats:
        """Per answer, an error bound in its own units; all of them hold together with probability 1 - beta."""
        return self._per_answer(self.row_bounds)

    @cached_property
    def row_bounds(self) -> Floats:
        """Per workload row, an error bound in its own units; all of them hold together with probability 1 - beta.

        Proposition 1, corrected: bias + alpha n + 2c (ln C(N + m - 1, m) + ln 1/beta).
        """
        spans = self.rows.spans()
        widest, c = max(spans), 0.0 if self.free else self.scale
        off = error_bound(self.records, self.alpha * widest, c, self.route.log_candidates, self.beta)
        rows = zip(self.rows.bias, self.rows.units, self.rows.weights, spans, strict=True)
        return np.array([b * self.records + (off * float(u) / w if span else 0.0) for b, u, w, span in rows])

    @property
    def says_nothing(self) -> bool:
        """Whether the bound is vacuous, that is, any answer would satisfy it."""
        whole = [float(x) * self.records for x in self.rows.asked_spans]
        return all(b >= w for b, w in zip(self.row_bounds, whole, strict=True))

    @property
    def relative_bound(self) -> float:
        """The largest bound relative to its row's range."""
        return float((self.row_bounds / self.rows.sizes).max())

    def answers(self, database: Ints) -> Floats:
        """Return the answers of a small database, rescaled to n, in their own units. Post-processing."""
        found = self.rows.workload.answer(database)
        units = self.rows.units
        rows = np.array([float(int(a) * f * self.records / self.size) for a, f in zip(found, units, strict=True)])
        return self._per_answer(rows)

    def _per_answer(self, rows: Floats) -> Floats:
        """Each answer is a row; a mean over all records is its row divided by their public number."""
        alone = [(a.recipe.single, a.recipe.is_mean) for a in self.workload.answers]
        return np.array([rows[row] / (self.records if mean else 1) for row, mean in alone if row is not None])

    @cached_property
    def request(self) -> str:
        """The plan's identifier: a digest of everything that matters to what is drawn."""
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
    """Return s / w per row, rounded down, so that the loss is rounded up."""
    return [round_down(Fraction(scale) / w) for w in weights]
