"""The workloads of HDMM (McKenna, Miklau, Hay, Machanavajjhala 2018, 2023) beside its published errors.

Everything is for one record added or removed, epsilon = 1 and continuous Laplace noise: the root mean squared error
over all queries of a workload.  HDMM's are published at a noise variance of 1, hence times sqrt 2.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterable

import numpy as np

from benchmarks.figures import Figure
from dxprivacy.optimize.tables import Budgets, choose
from dxprivacy.optimize.tables.coding import alone, choose_products, coding, prefixes, ranges, total
from dxprivacy.optimize.tables.measured_table import TableAxis

CPS = (50, 100, 7, 4, 2)
ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
LOANS = (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15)
MEANS = (0.1, 0.3)  # how much the mean along an attribute may count in its coding: the better one is taken
_RANGES = 16  # mixtures for all ranges of 256 values
Tables = list[tuple[int, ...]]


def tables(sizes: tuple[int, ...], orders: Iterable[int], most: float = math.inf) -> Tables:
    """All tables of so many attributes and at most so many cells."""
    found = (t for k in orders for t in itertools.combinations(range(len(sizes)), k))
    return [t for t in found if math.prod(sizes[a] for a in t) <= most]


def run() -> list[Figure]:
    """One figure for each workload."""
    line = Ranges()
    cases: list[tuple[str, float, Callable[[], float]]] = [
        ("all ranges of 256 values", 5.736, line.error),
        ("all ranges of 256 × 256 values", 32.692, line.squared),
        ("CPS, all marginals", 3.42, lambda: marginals(CPS, tables(CPS, range(6)))),
        ("CPS, two prefixes", 28.70, two_prefixes),
        ("Adult, marginals up to 3-way", 159.3, lambda: marginals(ADULT, tables(ADULT, range(4)))),
        ("Adult, 2-way prefix", 342.3, lambda: with_prefixes(ADULT, 5, tables(ADULT, [2]))),
        ("Loans, small marginals", 71.4, lambda: marginals(LOANS, tables(LOANS, range(13), 5000))),
        ("Loans, small prefix", 203.8, lambda: with_prefixes(LOANS, 4, tables(LOANS, range(13), 5000))),
    ]
    return [_figure(*case) for case in cases]


def _figure(name: str, published: float, ours: Callable[[], float]) -> Figure:
    start = time.process_time()
    error = ours()
    seconds = time.process_time() - start
    theirs = published * math.sqrt(2)
    note = f"{seconds:.1f} s"
    return Figure(f"{name}: root mean squared error", error, theirs, error / theirs, "≤ 1", unit="", note=note)


def marginals(sizes: tuple[int, ...], asked: Tables) -> float:
    """Weighted tables, as plans choose them where records may be added and removed."""
    found = choose(sizes, _presence(sizes), asked, [1.0] * len(asked))
    return math.sqrt(found.total / _queries(sizes, asked))


def with_prefixes(sizes: tuple[int, ...], lines: int, asked: Tables) -> float:
    """Tables of prefixes along the first attributes and of counts along the others."""
    best = math.inf
    for mean in (None, *MEANS):
        rows = {n: np.eye(n) if mean is None else coding(prefixes(n), n // 16, mean=mean) for n in set(sizes[:lines])}
        axes = [TableAxis.of_rows(prefixes(n), rows[n]) for n in sizes[:lines]]
        axes += [TableAxis.of_counts(n) for n in sizes[lines:]]
        best = min(best, choose_products(axes, _presence(sizes), asked, [1.0] * len(asked)).total)
    return math.sqrt(best / _queries(sizes, asked))


def two_prefixes() -> float:
    """One product: prefixes along two attributes, each value and everybody along the others."""
    both = [prefixes(n) for n in CPS[:2]]
    error = math.prod(total(gram, alone(gram, len(gram) // 16, starts=2)) for gram in both)
    for n in CPS[2:]:
        gram = np.eye(n) + 1
        error *= total(gram, alone(gram, 1, starts=2))
    return math.sqrt(2 * error / (CPS[0] * CPS[1] * math.prod(n + 1 for n in CPS[2:])))


class Ranges:
    """All ranges of 256 values, whose strategy serves for their squares too."""

    def __init__(self) -> None:
        self.half = math.inf

    def error(self) -> float:
        """Of one attribute."""
        self.half = total(ranges(256), alone(ranges(256), _RANGES)) / (256 * 257 / 2)
        return math.sqrt(2 * self.half)

    def squared(self) -> float:
        """Of two: a product of the same rows twice."""
        return math.sqrt(2) * self.half


def _presence(sizes: tuple[int, ...]) -> Budgets:
    return Budgets((math.inf,) * len(sizes), presence=1.0)


def _queries(sizes: tuple[int, ...], asked: Tables) -> int:
    """Along an attribute there are as many prefixes as values."""
    return sum(math.prod(sizes[a] for a in t) for t in asked)


def main() -> None:
    print("| workload | HDMM, times √2 | ours | ratio | |")
    print("|---|---|---|---|---|")
    for f in run():
        print(f"| {f.what.split(':')[0]} | {f.peer:.4g} | {f.ours:.4g} | {f.ratio:.3f} | {f.note} |")


if __name__ == "__main__":
    main()
