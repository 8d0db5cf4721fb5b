"""The best strategy for a small universe that known recipes find: structure first, searches after, the minimum kept.

The order is that of the recipes' promise, so that a short time still gives the best of the closed forms: the workload
itself, the sides of a tree's edges, cells, ramps; then searches for mixtures.  All work is limited by iterations and
`seconds` is only a guard, so results are the same on every machine that is quick enough.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.model.arrays import Floats
from dxprivacy.planning.strategies.hub import hub
from dxprivacy.planning.strategies.limits import l2_limit, principal
from dxprivacy.planning.strategies.mixtures import Space, cell_budgets, cell_space, edge_space, mixtures
from dxprivacy.planning.strategies.problem import Clock, Found, Problem, Progress
from dxprivacy.planning.strategies.ramps import best_ramps
from dxprivacy.planning.strategies.reweight import distinct_rows, fits, reweighted
from dxprivacy.planning.strategies.search import search
from dxprivacy.planning.strategies.structure import Tree, nested_ranges, seriation, threshold, tree

Candidate = tuple[str, Floats]
_NEAR = 1.05  # times the limit: near enough not to search
_NEAREST = 1.005  # and not to polish, even for those who can wait


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
    order = seriation(problem)  # so that the names of the cells do not matter
    unit = problem.normalised.renamed(order)
    back = np.argsort(order)
    workload = None if workload_rows is None else _checked(problem, workload_rows)[:, order]
    best: Found | None = None

    def keep(found: Found) -> None:
        nonlocal best
        if best is None or found.total < best.total * (1 - 1e-9):
            best = found
            if progress is not None and np.isfinite(found.total):
                progress(found.name, problem.total(found.rows[:, back]))

    centre = hub(unit)
    if centre is not None:
        rest = choose(centre.rest, seconds=0.5 * clock.left, thorough=thorough)
        if np.isfinite(rest.total):
            keep(unit.found(rest.name, centre.extended(unit, rest.rows)))
    for name, rows in _closed_forms(unit, workload, clock):
        keep(unit.found(name, rows))
    spectrum = l2_limit(unit, iterations=30, tolerance=1e-3, clock=clock.part(0.2))
    limit = spectrum.value
    for name, rows in _searches(unit, spectrum.moments, clock):
        keep(unit.found(name, rows))
        if best is not None and (best.total <= limit * _NEAR or (clock.out and best.total < np.inf)):
            break
    if best is None:
        raise RuntimeError("no strategy was tried")
    if thorough and not clock.out and best.total > limit * _NEAREST:
        for name, rows in _polished(unit, best, clock):
            keep(unit.found(name, rows))
    return problem.found(best.name, best.rows[:, back])


def _closed_forms(problem: Problem, workload: Floats | None, clock: Clock) -> Iterator[Candidate]:
    """What needs no search, or a short one."""
    edges = tree(problem)
    if edges is not None:
        yield _tree_name(edges), edges.sides * edges.limits[:, None]
    yield "cells", np.diag(cell_budgets(problem))
    if workload is not None:
        yield from _workload(problem, workload, clock)
    ordered = threshold(problem)
    if ordered is not None and 1 < ordered[1] < problem.cells - 1:
        ramps = best_ramps(problem, *ordered, clock.part(0.5))[0]
        yield (
            "ramps and cells",
            np.vstack([ramps.share * ramps.rows, (1 - ramps.share) * np.diag(cell_budgets(problem))]),
        )
    if edges is None:
        for branches in (2, 4):
            rows, levels = nested_ranges(problem.cells, branches)
            parts = np.ones(int(levels.max()) + 1)
            yield (
                "nested ranges",
                reweighted(problem, rows, parts=parts, groups=levels, rounds=8, clock=clock.part(0.2)),
            )


def _searches(problem: Problem, moments: Floats, clock: Clock) -> Iterator[Candidate]:
    """Directions of the limit; mixtures in the space that suits the pairs; weighted cuts where there is none."""
    directions = principal(moments)
    yield "principal directions", directions
    edges, ordered = tree(problem), threshold(problem)
    cells = cell_space(problem)
    if edges is not None:
        for count, rows in _mixed(edge_space(edges), clock.part(0.6)):
            yield f"{_tree_name(edges)} and {count} mixtures", rows @ edges.sides
    if ordered is not None and 1 < ordered[1] < problem.cells - 1:
        for ramps in best_ramps(problem, *ordered, clock.part(0.2))[:2]:
            for count, rows in _mixed(replace(cells, base=ramps.rows), clock.part(0.3), ramps.share):
                yield f"ramps, cells and {count} mixtures", rows
    for count, rows in _mixed(cells, clock.part(0.5)):
        yield f"cells and {count} mixtures", rows
    if edges is None and ordered is None:
        yield from _weighted(problem, "principal directions, weighted", directions, clock)
        n = problem.cells
        prefixes, nested = np.tril(np.ones((n, n)))[:-1], nested_ranges(n, 2)[0]
        yield from _weighted(problem, "weighted ranges", np.vstack([np.eye(n), prefixes, nested]), clock)


def _weighted(problem: Problem, name: str, rows: Floats, clock: Clock) -> Iterator[Candidate]:
    """The rows with a weight each, if they are few enough."""
    rows = distinct_rows(rows)[0]
    if fits(problem, rows) and not clock.out:
        yield name, reweighted(problem, rows, parts=np.ones(len(rows)), rounds=20, clock=clock.part(0.5))


def _polished(problem: Problem, best: Found, clock: Clock) -> Iterator[Candidate]:
    """A search over all entries, with a few more rows and with many."""
    n = problem.cells
    for extra, size in ((n // 16, 0.02), (n // 2, 0.05)):
        if clock.out:
            return
        more = size * np.random.default_rng(extra).uniform(0, 1, (max(extra, 2), n))
        rows = search(problem, np.vstack([best.rows, more]), iterations=800, clock=clock)
        yield f"{best.name}, polished", rows


def _tree_name(edges: Tree) -> str:
    return "prefix counts" if edges.path else "one side of every pair"


def _workload(problem: Problem, workload: Floats, clock: Clock) -> Iterator[Candidate]:
    rows, parts = distinct_rows(workload)
    yield "the questions themselves", rows
    if fits(problem, rows):
        clock = clock.part(0.3)
        yield "the questions, weighted", reweighted(problem, rows, parts=parts, rounds=20, clock=clock)


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
