"""Rows to measure along one attribute of a table, if prefixes, ranges or other rows along it are queried.

`alone` is for an attribute that is optimized by itself: single values and a few mixtures of values (`mixtures`, the
p-identity strategies of HDMM), with the least total error.  `coding` is for tables that share information (see
`TableAxis`): rows A of the same kind, under the condition that the all-ones vector is an eigenvector of A'A.  A descent
with a growing penalty nearly satisfies it.  Then a row for each value is added, scaled so that the condition holds, and
all rows are divided by the largest column norm.  So the condition holds up to rounding, whatever the descent did.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies.bases import start_of
from dxprivacy.optimize.strategies.p_identity import Space, mixtures
from dxprivacy.optimize.strategies.reweight import cells_and_rows
from dxprivacy.optimize.tables.measured_table import (
    Budgets,
    MeasuredTable,
    TableAxis,
    checked_attributes,
    checked_positive,
)
from dxprivacy.optimize.tables.table_components import Attributes, build
from dxprivacy.optimize.tables.table_search import search

# -- Tables of products of rows other than single values ---------------------------------------------------------------
# A queried table is a product of rows along its attributes (for example all prefixes of age for each sex).  A measured
# table is a product of the attributes' codings (see `measured_table`, `coding`).  The search is that for tables of
# counts: which tables to measure, and with which precision, under one budget or several.  It never sees data, and
# nothing here is certified.


@dataclass(frozen=True, eq=False)
class Products:
    """The tables to measure, the precision (1 / scale) of each, and the total weighted squared error."""

    tables: tuple[MeasuredTable, ...]
    precisions: Floats
    total: float


def choose_products(
    axes: Sequence[TableAxis],
    budgets: Budgets,
    workload: Sequence[Sequence[int]],
    weights: Sequence[float],
    *,
    watch: Watch | None = None,
) -> Products:
    """Return the best tables that the search finds; every attribute needs at least two values and a budget.

    >>> from dxprivacy.optimize.tables.coding import prefixes
    >>> import math, numpy as np
    >>> axes = [TableAxis.of_rows(prefixes(3), np.eye(3)), TableAxis.of_counts(2)]
    >>> round(choose_products(axes, Budgets((math.inf,) * 2, presence=1.0), [(0, 1)], [1]).total, 6)
    24.0
    """
    sizes = [axis.size for axis in axes]
    asked: dict[Attributes, float] = {}
    given = checked_positive(weights, "weights", len(workload))
    for table, weight in zip(workload, given, strict=True):
        key = tuple(sorted(checked_attributes(table, sizes)))
        asked[key] = asked.get(key, 0.0) + weight
    system = build(sizes, budgets, list(asked), list(asked.values()), axes)
    found = search(system, watch or Watch(), lambda _: None)
    return Products(found.tables, found.precisions, found.error)


# -- Rows to measure along one attribute -------------------------------------------------------------------------------


_PENALTIES = (1.0, 1e2, 1e4, 1e6)
_MOST = 1e4  # the largest weight of a value in a mixture, relative to its own row
_FAR = 1e10  # the objective if floats cannot compute it


def prefixes(n: int) -> Floats:
    """Return the Gram matrix of all prefixes of n values.

    >>> prefixes(2)
    array([[2., 1.],
           [1., 1.]])
    """
    at = np.arange(n)
    return np.asarray(n - np.maximum.outer(at, at), dtype=np.float64)


def ranges(n: int) -> Floats:
    """Return the Gram matrix of all ranges of n values.

    >>> ranges(2)
    array([[2., 1.],
           [1., 2.]])
    """
    at = np.arange(1, n + 1)
    return np.asarray(np.minimum.outer(at, at) * (n + 1.0 - np.maximum.outer(at, at)), dtype=np.float64)


def total(gram: Floats, rows: Floats) -> float:
    """Return tr(G (A'A)^-1) times the squared largest column norm: half the squared error at a presence of 1.

    >>> total(np.eye(3), 5 * np.eye(3))
    3.0
    """
    load = float(np.abs(rows).sum(axis=0).max())
    return float(np.trace(np.linalg.solve(rows.T @ rows, gram))) * load**2


def alone(gram: Floats, count: int, *, starts: int = 1, iterations: int = 3000, watch: Watch | None = None) -> Floats:
    """Return single values and `count` mixtures with the least total error of several descents, columns of norm 1."""
    n = len(gram)
    space = Space(gram, np.ones(n), free=False)
    best: tuple[float, Floats] | None = None
    for number in range(starts):
        rows = mixtures(space, start_of(count, n, number), 0.0, iterations=iterations, watch=watch or Watch())
        found = total(gram, rows)
        if best is None or found < best[0]:
            best = (found, rows / np.abs(rows).sum(axis=0).max())
    return np.eye(n) if best is None or best[0] >= total(gram, np.eye(n)) else best[1]


def coding(gram: Floats, count: int, *, mean: float, iterations: int = 2000) -> Floats:
    """Return single values and `count` mixtures, with column norms at most 1, that keep the all-ones vector.

    `mean` is the weight of the error of the mean relative to everything else; other tables measure the mean, too.  The
    result is the identity matrix if the descent finds nothing better.

    >>> rows = coding(prefixes(8), 2, mean=0.5, iterations=200)
    >>> bool(np.ptp(rows.sum(axis=1) @ rows) < 1e-9), bool(np.abs(rows).sum(axis=0).max() < 1 + 1e-9)
    (True, True)
    """
    from scipy.optimize import minimize

    n = len(gram)
    middle = gram.mean(axis=0)
    weighted = gram - middle - middle[:, None] + (1 + mean) * gram.mean()  # the mean's part times `mean`
    y = start_of(count, n, 0).ravel()
    options = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-9}
    for penalty in _PENALTIES:
        objective = partial(penalized, weighted, count, penalty)
        found = minimize(objective, y, jac=True, method="L-BFGS-B", bounds=[(0.0, _MOST)] * len(y), options=options)
        y = np.asarray(found.x, dtype=np.float64)
    mixed, part = _parts(count, n, y)
    rows = np.vstack([np.diag(part), mixed * part])
    image = rows.sum(axis=1) @ rows
    rows = np.vstack([rows, np.diag(np.sqrt(image.max() - image))])
    rows = np.asarray(rows / np.abs(rows).sum(axis=0).max(), dtype=np.float64)
    return rows if total(weighted, rows) < total(weighted, np.eye(n)) else np.eye(n)


def penalized(gram: Floats, count: int, penalty: float, y: Floats) -> tuple[float, Floats]:
    """Return log tr(G (A'A)^-1) plus a penalty on the variation of A'A 1, and the gradient by the parameters.

    A = [diag(a); T a] with a = 1 / (1 + sum of P + Q), T = P - Q: column norms are at most 1 for all P and Q.
    """
    n = len(gram)
    mixed, part = _parts(count, n, y)
    rows = mixed * part
    try:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            value, by_cells, by_rows = cells_and_rows(part, rows, gram, free=False)
    except np.linalg.LinAlgError:
        value = np.nan
    if not 0 < value < np.inf:
        return _FAR, np.zeros_like(y)
    sums = rows.sum(axis=1)
    image = part**2 + sums @ rows
    mean = float(image.mean())
    off = image - mean
    varies = float((off**2).sum()) / (n * mean**2)
    slope = 2 * off / (n * mean**2) - 2 * varies / (n * mean)
    by_cells = by_cells / value + penalty * 2 * slope * part
    by_rows = by_rows / value + penalty * (np.outer(sums, slope) + (rows @ slope)[:, None])
    straight = by_rows * part
    shrink = part**2 * (by_cells + (by_rows * mixed).sum(axis=0))
    gradient = np.concatenate([(straight - shrink).ravel(), (-straight - shrink).ravel()])
    return float(np.log(value)) + penalty * varies, gradient


def _parts(count: int, n: int, y: Floats) -> tuple[Floats, Floats]:
    both = y.reshape(2 * count, n)
    return both[:count] - both[count:], 1 / (1 + both.sum(axis=0))
