"""A ledger with many entries: what one more costs, and what has been spent in the worst case."""

import tempfile
from pathlib import Path

import dxprivacy as dx
from benchmarks.figures import Figure, seconds
from dxprivacy.ledger import Ledger
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather

MANY, FEW = 1_000, 10


def run() -> list[Figure]:
    few, many = one_more(FEW), one_more(MANY)
    what = f"reserve and worst case in a ledger with {MANY:,} entries, against {FEW} entries"
    return [Figure(what, many, few, many / few, "≤ 2")]


def one_more(entries: int, repeats: int = 15) -> float:
    """Processor seconds to reserve one cost and say the worst case, in an open ledger that holds so many."""
    names = "abc"
    universe = dx.Universe([dx.Values(name=n, values=tuple(map(str, range(5)))) for n in names])
    metric = dx.metrics.attributes(universe, dict.fromkeys(names, 1))
    kinds = [gather(dx.table(*by)) for by in (("a",), ("b",), ("c",), ("a", "b"), ("b", "c"))]
    costs: list[tuple[LaplaceCost, Stack]] = []
    for queries in kinds:
        rows = queries.on(universe)
        costs.append((LaplaceCost(rows, [16_000] * rows.rows), queries))
    with (
        tempfile.TemporaryDirectory() as here,
        Ledger.open(Path(here) / "ledger.db", metric, dataset="d", new_ledger=True) as ledger,
    ):

        def reserve(k: int) -> None:
            cost, queries = costs[k % len(costs)]
            ledger.reserve(cost, queries, request=f"r{k}")

        for k in range(entries):
            reserve(k)
        ledger.worst_case()
        numbers = iter(range(entries, entries + repeats))

        def work() -> None:
            reserve(next(numbers))
            ledger.worst_case()

        return seconds(work, repeats)


if __name__ == "__main__":
    for figure in run():
        print(figure)
