"""Strategies of the matrix mechanism for all ranges: their totals against the targets and against the limit.

`python -m benchmarks.strategies` prints the whole table; in `make bench` the ratio is total / target, and the seconds
are those of choosing (ours) and of computing the limit (peer).  For ranges of two attributes the total that the planner
had before it knew of grids stands beside ours.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dxprivacy.optimize.strategies import Effort, StrategyProblem, choose, limit

# name, cells, reach of the pairs, thorough, the target as a total or in times the limit
CASES = (
    ("line 64", 64, 1, False, None, 1.02),
    ("line 256", 256, 1, False, None, 1.01),
    ("threshold 4, 64 cells", 64, 4, False, 72_400, None),
    ("threshold 4, 64 cells, thorough", 64, 4, True, 68_500, None),
    ("threshold 16, 256 cells", 256, 16, False, 2.95e6, None),
    ("discrete 64", 64, 63, False, 1.80e5, None),
    ("discrete 256", 256, 255, False, 6.4e6, None),
)
# sizes and budgets of a step of two attributes whose distances add up, the target, the total of the planner before
GRIDS = (
    ((16, 16), (1.0, 1.0), 2.02e6, 3_806_821),
    ((12, 20), (1.0, 0.5), 4.80e6, 12_836_824),
)


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    what: str
    strategy: str
    total: float
    target: float
    times: float
    which: str
    seconds: float
    limit_seconds: float


def ranges(n: int, reach: int) -> StrategyProblem:
    """All ranges but the full one, over the pairs at most `reach` apart, all at limit 1."""
    i = np.arange(1, n + 1)
    gram = np.minimum.outer(i, i) * (n + 1.0 - np.maximum.outer(i, i)) - 1
    first, second = np.triu_indices(n, 1)
    near = second - first <= reach
    return StrategyProblem(gram, first[near], second[near], np.ones(int(near.sum())))


def plane(sizes: tuple[int, int], steps: tuple[float, float]) -> StrategyProblem:
    """All ranges of two ordered attributes, over the pairs one step apart."""
    grams = []
    for n in sizes:
        i = np.arange(1, n + 1)
        grams.append(np.minimum.outer(i, i) * (n + 1.0 - np.maximum.outer(i, i)))
    cells = np.arange(sizes[0] * sizes[1]).reshape(sizes)
    first = [cells[:-1].ravel(), cells[:, :-1].ravel()]
    second = [cells[1:].ravel(), cells[:, 1:].ravel()]
    limits = np.concatenate([np.full(len(f), d) for f, d in zip(first, steps, strict=True)])
    return StrategyProblem(np.kron(*grams), np.concatenate(first), np.concatenate(second), limits)


def _cases() -> Iterator[tuple[str, StrategyProblem, Effort, float | None, float | None]]:
    for what, n, reach, thorough, most, times in CASES:
        yield what, ranges(n, reach), "thorough" if thorough else "search", most, times
    for sizes, steps, most, before in GRIDS:
        budgets = " and ".join(f"{d:g}" for d in steps)
        what = f"{sizes[0]} x {sizes[1]} of two attributes, {budgets} a step (before grids were seen: {before:,.0f})"
        yield what, plane(sizes, steps), "quick", most, None


def measure() -> list[Result]:
    results = []
    for what, problem, effort, most, times in _cases():
        start = time.process_time()
        found = choose(problem, effort=effort)
        between = time.process_time()
        floor = limit(problem)
        end = time.process_time()
        target = most if most is not None else floor.value * (times or 1.0)
        ratio = found.total / floor.value
        row = (what, found.name, found.total, target, ratio, floor.which, between - start, end - between)
        results.append(Result(*row))
    return results


def run() -> list[dict[str, object]]:
    return [
        {
            "what": f"all ranges, {r.what}: {r.strategy}, total {r.total:,.0f}, {r.times:.3f} times the limit "
            "(seconds: choosing, limit)",
            "ours_s": r.seconds,
            "peer_s": r.limit_seconds,
            "ratio": r.total / r.target,
            "target": "≤ 1",
        }
        for r in measure()
    ]


def main() -> None:
    print("| all ranges | strategy | total | target | times the limit | seconds |")
    print("|---|---|---|---|---|---|")
    for r in measure():
        limit_text = f"{r.times:.3f} ({r.which})"
        print(f"| {r.what} | {r.strategy} | {r.total:,.0f} | {r.target:,.0f} | {limit_text} | {r.seconds:.1f} |")


if __name__ == "__main__":
    main()
