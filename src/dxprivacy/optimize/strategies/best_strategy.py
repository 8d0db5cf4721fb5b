"""Choose the best strategy for a small universe: closed forms first, then searches, and keep the minimum.

Reliable recipes come first, so that a short time limit still gives the best closed form.  All work is limited by
iteration counts, so results do not depend on the machine's load, unless a watch cuts the search short.  Cells are
renumbered along an order found from the pairs (or the workload), so their given numbers do not matter.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies.bases import Base, bases, mixed
from dxprivacy.optimize.strategies.p_identity import search
from dxprivacy.optimize.strategies.pair_structure import nested_ranges, seriation, threshold, tree
from dxprivacy.optimize.strategies.reweight import distinct_rows, fits, hub, reweighted, row_parts
from dxprivacy.optimize.strategies.strategy_limits import Spectrum, l2_limit, principal
from dxprivacy.optimize.strategies.strategy_problem import FoundStrategy, Progress, StrategyProblem

Candidate = tuple[str, Floats]
Effort = Literal["quick", "search", "thorough"]
"""Closed forms only; also searches; and also a long search at the end."""
_FEW = 64  # the largest number of cells or rows for which weights are always found
_NEAR = 1.05  # times the lower bound: close enough to skip the searches
_NEAREST = 1.005  # times the lower bound: close enough to skip polishing, even with `thorough`
_SIMPLER = 1e-4  # the relative improvement by which a later strategy must beat an earlier, simpler one


def choose(
    problem: StrategyProblem,
    workload_rows: Floats | None = None,
    *,
    effort: Effort = "search",
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> FoundStrategy:
    """Return the strategy with the least total error among those tried, at load 1.

    `workload_rows` may be omitted if only the Gram matrix is known; `progress` is called with each better strategy and
    its total.

    >>> line = StrategyProblem(np.eye(3), np.array([0, 1]), np.array([1, 2]), np.ones(2))
    >>> choose(line).name
    'prefix counts'
    """
    watch = watch or Watch()
    workload = None if workload_rows is None else _checked(problem, workload_rows)
    if not len(problem.root):
        return FoundStrategy("nothing to ask", np.zeros((0, problem.cells)), 0.0)
    essential = problem.essential
    order = seriation(essential)
    back = np.argsort(order)
    unit = essential.normalized.renamed(order)
    # With `quick`, grids are tried only if they gain most: with at least as many queries as cells.
    known = bases(unit, watch, grids=effort != "quick" or workload is None or len(workload) >= problem.cells)
    best = unit.found(known[0].name, known[0].rows(unit))

    def better(candidates: Iterator[Candidate], near: float) -> None:
        nonlocal best
        for name, rows in candidates:
            found = unit.found(name, rows)
            if found.total < best.total * (1 - _SIMPLER):
                best = found
                if progress is not None:
                    progress(name, problem.total(best.rows[:, back]))
            if best.total < np.inf and (watch.over or best.total <= near * spectrum.value):
                break

    if progress is not None:
        progress(best.name, problem.total(best.rows[:, back]))
    spectrum = l2_limit(unit, iterations=30, tolerance=1e-3, watch=watch)
    if best.total > _NEAR * spectrum.value:
        better(_closed_forms(unit, workload, known, spectrum, watch, quick=effort == "quick"), _NEAR)
    if best.total > _NEAR * spectrum.value:
        better(_around_a_hub(unit, effort, watch), _NEAR)
    if effort != "quick" and best.total > _NEAR * spectrum.value and not watch.over:
        better(_searches(unit, known, spectrum, watch), _NEAR)
    if effort == "thorough" and best.total > _NEAREST * spectrum.value and not watch.over:
        better(_polished(unit, best, watch), _NEAREST)
    return problem.found(best.name, best.rows[:, back])


def _around_a_hub(problem: StrategyProblem, effort: Effort, watch: Watch) -> Iterator[Candidate]:
    """Yield a strategy that extends one for the other cells, if one cell is linked to all of them."""
    center = hub(problem)
    if center is not None:
        rest = choose(center.rest, effort=effort, watch=watch)
        rows = center.extended(problem, rest.rows) if rest.total < np.inf else None
        if rows is not None:
            yield rest.name, rows


def _closed_forms(
    problem: StrategyProblem,
    workload: Floats | None,
    known: list[Base],
    spectrum: Spectrum,
    watch: Watch,
    *,
    quick: bool,
) -> Iterator[Candidate]:
    """Yield candidates that need no search, or a short one; weights for many rows only if there is time."""
    few = not quick or problem.cells <= _FEW
    for base in known[1:]:
        rows = base.rows(problem)
        yield base.name, rows
        if base.many and fits(problem, rows):
            parts = row_parts(problem, rows)
            yield f"{base.name}, weighted", reweighted(problem, rows, parts=parts, rounds=20, watch=watch)
    if workload is not None:
        rows, parts = distinct_rows(workload)
        yield "the queries themselves", rows
        if fits(problem, rows) and (few or len(rows) <= _FEW):
            yield (
                "the queries, weighted",
                reweighted(problem, rows, parts=parts, rounds=20, watch=watch),
            )
    yield "principal directions", principal(spectrum.moments)
    if _unstructured(problem) and few:
        for branches in (2, 4):
            rows, levels = nested_ranges(problem.cells, branches)
            parts = np.ones(int(levels.max()) + 1)
            yield (
                "nested ranges",
                reweighted(problem, rows, parts=parts, groups=levels, rounds=8, watch=watch),
            )


def _searches(problem: StrategyProblem, known: list[Base], spectrum: Spectrum, watch: Watch) -> Iterator[Candidate]:
    """Yield mixtures added to the better bases; and rows with a weight each if no structure is known."""
    few = [base for base in known if not base.many]
    totals = [problem.total(base.rows(problem)) for base in few]
    for base, total in zip(few, totals, strict=True):
        if total <= 1.5 * min(totals):
            for count, rows in mixed(base, watch):
                yield f"{base.name} and {count} mixtures", rows
    if _unstructured(problem):
        yield from _weighted(problem, "principal directions, weighted", principal(spectrum.moments), watch)
        n = problem.cells
        prefixes, nested = np.tril(np.ones((n, n)))[:-1], nested_ranges(n, 2)[0]
        yield from _weighted(problem, "weighted ranges", np.vstack([np.eye(n), prefixes, nested]), watch)


def _unstructured(problem: StrategyProblem) -> bool:
    """Return whether the pairs are neither a tree nor all pairs within a reach at one limit."""
    return tree(problem) is None and threshold(problem) is None


def _weighted(problem: StrategyProblem, name: str, rows: Floats, watch: Watch) -> Iterator[Candidate]:
    """Yield the rows with a weight each, if they are few enough."""
    rows = distinct_rows(rows)[0]
    if fits(problem, rows) and not watch.over:
        yield name, reweighted(problem, rows, parts=np.ones(len(rows)), rounds=20, watch=watch)


def _polished(problem: StrategyProblem, best: FoundStrategy, watch: Watch) -> Iterator[Candidate]:
    """Yield results of a search over all entries, with a few additional rows and with many."""
    n = problem.cells
    for extra, size in ((max(n // 16, 2), 0.02), (max(n // 2, 3), 0.05)):
        if not watch.over:
            more = size * np.random.default_rng(1).uniform(0, 1, (extra, n))
            yield (
                f"{best.name}, polished",
                search(problem, np.vstack([best.rows, more]), watch=watch),
            )


def _checked(problem: StrategyProblem, rows: Floats) -> Floats:
    try:
        rows = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("the workload must be rows of numbers") from None
    if rows.ndim != 2 or rows.shape[1] != problem.cells or not np.isfinite(rows).all():
        raise UsageError(f"the workload must be finite rows over {problem.cells} cells")
    return rows
