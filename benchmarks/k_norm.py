"""K-norm noise beside the best independent noise of the planner, for one workload each, in one run.

Totals of squared errors: ours on whole numbers, the planner's for continuous noise (at ε 1 whole numbers make it 0.6 to
8 % less).  Times of drawing are of whole draws, tables made before.
"""

import itertools
import time

import numpy as np

from benchmarks.figures import Figure, seconds, within
from benchmarks.strategies import ranges
from benchmarks.tables import NINE
from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.sampling.block_max_noise import BlockMax
from dxprivacy.mechanisms.sampling.tree_noise import Family, Split, TreeKind, family_of
from dxprivacy.optimize.k_norm.block_max_moments import spreads
from dxprivacy.optimize.k_norm.hierarchy_fit import NestedFit, OrderedFit, boxes, consistent
from dxprivacy.optimize.k_norm.star_fit import stars
from dxprivacy.optimize.strategies import choose
from dxprivacy.optimize.tables import Budgets
from dxprivacy.optimize.tables import choose as choose_tables
from dxprivacy.universe.hierarchy import Nest, nest_of

# name, cells, reach, the target as a total, whether the planner of before is asked too
CASES = (
    ("ranges, within 4 of 64", 64, 4, 48_500, True),
    ("ranges, within 16 of 256", 256, 16, 2.40e6, True),
    ("ranges, all alike, 64", 64, 63, 144_000, True),
    ("ranges, all alike, 256", 256, 255, 5.6e6, True),
    ("ranges, within 3 of 120", 120, 3, None, True),
    ("ranges, all alike, 31", 31, 30, None, True),
    ("ranges, all alike, 365", 365, 364, None, False),
)


def run() -> list[Figure]:
    """Totals, then drawing."""
    figures = []
    for what, cells, reach, target, beside in CASES:
        problem = ranges(cells, reach)
        found = _timed(OrderedFit(problem.gram, reach, 1.0), what)
        before = choose(problem, effort="quick").total if beside else None
        figures.append(_total(what, found[0], before, target, found[1]))
    lower = np.tril(np.ones((1024, 1024)))[:-1]
    found = _timed(OrderedFit(lower.T @ lower, 1023, 1.0), "prefixes of 1,024")
    figures.append(_total("prefixes, all alike, 1,024", found[0], None, 231_000, found[1]))
    return [*figures, _grid(), *_stars(), *_together(), *_drawing()]


def _grid() -> Figure:
    """All ranges over 16 x 16 records that are all alike."""
    along = ranges(16, 15).gram + 1
    gram, (order, borders) = np.kron(along, along), boxes((16, 16))
    what = "ranges over 16 x 16, all alike"
    found = _timed(OrderedFit(gram[np.ix_(order, order)], 255, 1.0, borders), what)
    return _total(what, found[0], None, 3.60e6, found[1])


def _stars() -> list[Figure]:
    """All 2-way tables: of four attributes with unequal and equal budgets, and of nine."""
    cases = (
        ("2-way tables of 4x4x4x4, budgets 1 to 0.1", (4,) * 4, (1.0, 0.5, 0.25, 0.1), 179_000),
        ("2-way tables of 4x4x4x4, budgets 1", (4,) * 4, (1.0,) * 4, 3_820),
        ("2-way tables of nine attributes", *NINE, 1.48e7),
    )
    out = []
    for what, sizes, budgets, target in cases:
        asked = list(itertools.combinations(range(len(sizes)), 2))
        start = time.process_time()
        found = stars(sizes, Budgets(tuple(map(float, budgets))), dict.fromkeys(asked, 1.0))
        took = time.process_time() - start
        if found is None:
            raise ValueError(f"nothing found for {what}")
        before = choose_tables(sizes, budgets, asked, [1.0] * len(asked)).total
        words = f"{what} (independent noise: {before:,.0f}): {len(asked)} tables that share {len(found.stars)} margins"
        out.append(Figure(f"{words}, found in {took:.1f} s", found.total, target, found.total / target, "≤ 1", ""))
    return out


def _timed(problem: OrderedFit, what: str) -> tuple[NestedFit, float]:
    start = time.process_time()
    found = consistent(problem)
    if found is None:
        raise ValueError(f"nothing found for {what}")
    return found, time.process_time() - start


def _total(what: str, found: NestedFit, before: float | None, target: float | None, took: float) -> Figure:
    """Against the target, or the planner before: at least a twentieth less."""
    against = target if target is not None else before
    limit = "≤ 1" if target is not None else "≤ 0.95" if before is not None else "none"
    beside = "" if before is None else f" (independent noise, quick: {before:,.0f})"
    ratio = None if against is None else found.total / against
    return Figure(f"{what}{beside}: {found.name}, found in {took:.1f} s", found.total, against, ratio, limit, "")


def _together() -> list[Figure]:
    """Tables that one record changes together, under standard DP at ε 1."""
    out = []
    for what, cells, target, limit in (
        ("five counts of yes and no", [2] * 5, 71.0, 0.0005),
        ("nine tables of 100 values", [100] * 9, 560_000.0, 0.005),
    ):
        asked = [1 if n == 2 else n for n in cells]  # of yes and no one cell is asked for
        total = sum(one.variance * k for one, k in zip(spreads(cells, [1.0] * len(cells)), asked, strict=True))
        out.append(Figure(f"{what}, noised together: total", total, target, total / target, "≤ 1", ""))
        distribution = BlockMax(cells, [1.0] * len(cells))
        distribution.prepare()
        took = seconds(lambda distribution=distribution: [distribution.draw() for _ in range(20)], 5) / 20
        out.append(within(f"drawing noise for {what}", took, limit))
    return out


def _drawing() -> list[Figure]:
    place = np.arange(64)
    rows = [(a <= place) & (place < a + n) for n in (1, 2, 4, 8, 16, 32) for a in range(0, 64, n)]
    family = family_of(_nest(np.array(rows, dtype=np.int64)), [8.0] * len(rows))
    family.prepare()
    out = [within("drawing noise for 64 cells", seconds(lambda: [family.draw() for _ in range(20)], 5) / 20, 0.001)]
    for levels, limit in ((13, 0.1), (20, 5.0)):
        tree = halves(levels)
        tree.prepare()
        out.append(within(f"drawing noise for {2**levels:,} cells", seconds(tree.draw, 3), limit))
    return out


def _nest(rows: Ints) -> Nest:
    nest = nest_of(rows)
    if nest is None:
        raise ValueError("these are nested")
    return nest


def halves(levels: int) -> Family:
    """2^levels cells, halved, with a scale of 3 for cells and of 100 for ranges."""
    rho = [int(np.exp(-1 / scale) * 2**53) << 75 for scale in (3.0, 100.0)]
    kinds = [TreeKind(rho[0])]
    for _ in range(levels - 1):
        kinds.append(TreeKind(rho[1], ((kinds[-1], kinds[-1]),)))
    splits, count, now = [], 1, np.zeros(1, dtype=np.int64)
    for kind in reversed(kinds):
        first = count + 2 * np.arange(len(now))
        splits.append(Split(kind, kind, now, first, first + 1))
        count += 2 * len(now)
        now = np.stack([first, first + 1], axis=1).ravel()
    return Family(count, splits)


if __name__ == "__main__":
    for figure in run():
        print(figure)
