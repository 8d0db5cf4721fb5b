"""The best strategy for a small universe that the known recipes find: structure first, searches after, the minimum kept.

The order is that of the recipes' promise, so that a short time still gives the best of the closed forms: the workload
itself, the sides of a tree's edges, cells, ramps; then searches for mixtures.  All work is limited by iterations and
`seconds` is only a guard, so results are the same on every machine that is quick enough.
"""

from collections.abc import Iterator

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.planning.strategies.mixtures import Space, cell_budgets, cell_space, edge_space, mixtures
from dxprivacy.planning.strategies.problem import Clock, Found, Problem, Progress
from dxprivacy.planning.strategies.ramps import best_ramps
from dxprivacy.planning.strategies.reweight import distinct_rows, fits, reweighted
from dxprivacy.planning.strategies.structure import threshold, tree

Candidate = tuple[str, Floats]


def choose(
    problem: Problem,
    workload_rows: Floats | None = None,
    *,
    seconds: float,
    thorough: bool = False,
    progress: Progress | None = None,
) -> Found:
    """The strategy of the least total error among those tried, at load 1.

    >>> line = Problem(np.eye(3), np.array([0, 1]), np.array([1, 2]), np.ones(2))
    >>> choose(line, seconds=5).name
    'prefix counts'
    """
    clock = Clock.of(seconds)
    if not len(problem.root):
        return Found("nothing to ask", np.zeros((0, problem.cells)), 0.0)
    unit = problem.normalised
    rows = None if workload_rows is None else _checked(problem, workload_rows)
    best: Found | None = None
    for name, proposed in _candidates(unit, rows, clock):
        found = unit.found(name, proposed)
        if best is None or found.total < best.total * (1 - 1e-9):
            best = found
            if progress is not None:
                progress(name, problem.found(name, found.rows).total)
        if clock.out and np.isfinite(best.total):
            break
    if best is None:
        raise RuntimeError("no strategy was tried")
    return problem.found(best.name, best.rows)


def _candidates(problem: Problem, workload: Floats | None, clock: Clock) -> Iterator[Candidate]:
    """Closed forms first, then searches."""
    edges = tree(problem)
    if edges is not None:
        name = "prefix counts" if edges.path else "one side of every pair"
        yield name, edges.sides * edges.limits[:, None]
    budgets = cell_budgets(problem)
    yield "cells", np.diag(budgets)
    if workload is not None:
        yield from _workload(problem, workload, clock)
    ordered = threshold(problem)
    if ordered is not None and 1 < ordered[1] < problem.cells - 1:
        yield from _ramps(problem, *ordered, clock)
    if edges is not None:
        space = edge_space(edges)
        for count, rows in _mixed(space, clock.part(0.5)):
            yield f"{name} and {count} mixtures", rows @ edges.sides
    for count, rows in _mixed(cell_space(problem, budgets), clock):
        yield f"cells and {count} mixtures", rows


def _workload(problem: Problem, workload: Floats, clock: Clock) -> Iterator[Candidate]:
    rows, parts = distinct_rows(workload)
    yield "the questions themselves", rows
    if fits(problem, rows):
        clock = clock.part(0.3)
        yield "the questions, weighted", reweighted(problem, rows, parts=parts, rounds=20, clock=clock)


def _ramps(problem: Problem, order: Ints, reach: int, clock: Clock) -> Iterator[Candidate]:
    shapes = best_ramps(problem, order, reach, clock.part(0.5))
    budgets = np.full(problem.cells, problem.limits.min() / 2)
    for ramps in shapes[:1]:
        yield "ramps and cells", np.vstack([ramps.share * ramps.rows, (1 - ramps.share) * np.diag(budgets)])
    for ramps in shapes[:2]:
        space = Space(problem.centred, budgets, free=True, base=ramps.rows)
        for count, rows in _mixed(space, clock.part(0.5), ramps.share):
            yield f"ramps, cells and {count} mixtures", rows


def _mixed(space: Space, clock: Clock, share: float = 0.0) -> Iterator[tuple[int, Floats]]:
    n = space.columns
    for p in dict.fromkeys([max(n // 16, 2), max(n // 8, 3)]):
        for kind in (0, 1):
            if clock.out:
                return
            rng = np.random.default_rng(p)
            start = rng.uniform(0, 1, (2 * p, n))
            if kind == 0:
                start[p:] = 0
            yield p, mixtures(space, start, share, iterations=1500, clock=clock)


def _checked(problem: Problem, rows: Floats) -> Floats:
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != problem.cells or not np.isfinite(rows).all():
        raise UsageError(f"the workload must be finite rows over {problem.cells} cells")
    return rows
