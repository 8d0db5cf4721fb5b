"""Weighted tables on product universes that are never built: the squared error against the tables that were asked."""

import itertools
import math
import time

import numpy as np
from scipy.sparse import csr_array

from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.pair_constraints import SparsePairs
from dxprivacy.optimize.tables import ChosenTables, Reconstruction, choose
from dxprivacy.optimize.tables.table_limits import isoperimetric_limit, limit

NINE = ((16, 7, 15, 6, 5, 2, 42, 9, 2), (1, 0.5, 1, 0.5, 0.25, 0.5, 0.25, 1, 0.1))
TWENTY = (tuple(2 + k % 9 for k in range(20)), tuple(0.1 * (1 + k % 7) for k in range(20)))


def run() -> list[dict[str, object]]:
    cases = [
        ("all 2-way tables of 4x4x4x4, budgets 1 to 0.1", (4,) * 4, (1, 0.5, 0.25, 0.1), 2, "≤ 0.631"),
        ("all 3-way tables of 3x3x3x3x3, budgets 2 to 0.1", (3,) * 5, (1, 1, 0.1, 0.5, 2), 3, "≤ 0.2"),
        ("all 2-way tables of nine attributes, 76 M cells", *NINE, 2, "≤ 0.622"),
        ("all 3-way tables of twenty attributes", *TWENTY, 3, "≤ 0.6"),
    ]
    return [row for case in cases for row in _case(*case)] + [_limits()]


def _limits() -> dict[str, object]:
    """How far weighted tables are from the closer limit, which is worked out beside the limit by cuts."""
    sizes, budgets = (4,) * 4, (1.0,) * 4
    asked = list(itertools.combinations(range(4), 2))
    start = time.process_time()
    closer = isoperimetric_limit(sizes, budgets, asked, [1.0] * 6)
    between = time.process_time()
    by_cuts = limit(sizes, budgets, asked, [1.0] * 6)
    end = time.process_time()
    total = choose(sizes, budgets, asked, [1.0] * 6).total
    what = f"squared error of all 2-way tables of 4x4x4x4, budgets 1: {total:,.0f}, against the limit {closer:,.0f}"
    what += f" (by cuts: {by_cuts:,.0f}; seconds: each limit)"
    return {
        "what": what,
        "ours_s": between - start,
        "peer_s": end - between,
        "ratio": total / closer,
        "target": "≤ 1.73",
    }


def _case(name: str, sizes: tuple[int, ...], budgets: tuple[float, ...], order: int, target: str) -> list[dict]:
    asked = list(itertools.combinations(range(len(sizes)), order))
    start = time.process_time()
    plan = choose(sizes, budgets, asked, [1] * len(asked))
    ours = time.process_time() - start
    start = time.process_time()
    alone = _alone(sizes, budgets, asked)
    peer = time.process_time() - start
    what = f"squared error of {name}, against each at its least noise (seconds: planning)"
    error = {"what": what, "ours_s": ours, "peer_s": peer, "ratio": plan.total / alone, "target": target}
    back = _reconstructed(sizes, asked, plan)
    what = f"reconstructing {name}, against planning them"
    speed = {"what": what, "ours_s": back, "peer_s": ours, "ratio": back / ours, "target": "≤ 1"}
    return [error, speed]


def _alone(sizes: tuple[int, ...], budgets: tuple[float, ...], asked: list[tuple[int, ...]]) -> float:
    """The asked tables with the least noise that they can have together, none helping another."""
    loads = np.array([[2.0 if a in t else 0.0 for t in asked] for a in range(len(sizes))])
    cells = np.array([math.prod(sizes[a] for a in t) for t in asked], dtype=np.float64)
    pairs = SparsePairs(csr_array(loads), np.array(budgets, dtype=np.float64))
    return 2 * optimize(pairs, cells, 2, np.full(len(asked), np.inf)).loss


def _reconstructed(sizes: tuple[int, ...], asked: list[tuple[int, ...]], plan: ChosenTables) -> float:
    """Seconds from noisy tables to estimates, with their variances and kurtosis."""
    noisy = [np.random.default_rng(0).normal(0, 10, t.rows(sizes)) for t in plan.tables]
    start = time.process_time()
    answers = Reconstruction(sizes, asked, plan.tables, 2 * plan.scales**2, 12 * plan.scales**4)
    answers.estimate(noisy, 1000)
    answers.variance()
    answers.excess()
    return time.process_time() - start


if __name__ == "__main__":
    for row in run():
        print(row)
