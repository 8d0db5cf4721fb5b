"""One draw of a small database, in whole numbers: what the three routes have in common.

Multisets of m of N cells; `S(y) = max_k w_k |m (A x)_k - n (A y)_k|`; P(y) proportional to `exp(-S(y) rate)`.
Invariant: the plan has made sure, from public numbers, that no S reaches 2^52.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.sampling.exact_selection import Entropy, below
from dxprivacy.universe.workload import Workload


@dataclass(frozen=True, eq=False, repr=False)
class Draw:
    """The rows, weights and sizes, which are public, and the targets m (A x), which are not."""

    workload: Workload
    weights: Ints
    size: int  # m
    records: int  # n
    rate: Fraction
    targets: Ints = field(repr=False)  # m (A x)
    entropy: Entropy

    @property
    def cells(self) -> int:
        """N."""
        return self.workload.universe.cells

    def score(self, members: list[int]) -> int:
        """S of the multiset of these cells."""
        columns = self.workload.columns(np.asarray(members, dtype=np.int64))
        return int(self.scores(columns.sum(axis=1, dtype=np.int64)[:, None])[0])

    def scores(self, answers: Ints) -> Ints:
        """S of many multisets, from their answers side by side."""
        gaps = np.abs(self.targets[:, None] - self.records * answers) * self.weights[:, None]
        return np.asarray(gaps.max(axis=0), dtype=np.int64)

    def histogram(self, members: list[int]) -> Ints:
        """A multiset as a histogram."""
        return np.bincount(np.asarray(members, dtype=np.int64), minlength=self.cells).astype(np.int64)


def uniform_multiset(cells: int, size: int, entropy: Entropy) -> list[int]:
    """`size` of `cells` elements with repetition, uniform over multisets.

    A multiset is a subset of size m of N + m - 1 places: its sorted elements minus 0, 1, 2, …  The subset is Floyd's.
    """
    places: set[int] = set()
    for last in range(cells - 1, cells + size - 1):
        place = below(last + 1, entropy)
        places.add(last if place in places else place)
    return [place - k for k, place in enumerate(sorted(places))]
