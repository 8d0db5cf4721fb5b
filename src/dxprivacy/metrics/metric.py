"""Privacy loss is a pseudometric; a policy is one that we guarantee to keep: a metric.

Floats filter, exact numbers decide.  `pairwise` is a fast float64 value with a proved relative error, used to find the
few pairs that could matter; `exact` is the number that counts there: a rational that is never above the true distance
(equal to it for rational metrics, within `slack` for irrational ones).  No decision rests on a float.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact, common_tick
from dxprivacy.formats.canonical import digest_of
from dxprivacy.trees.embedding import Embedding
from dxprivacy.trees.extremes import closest_pairs, farthest_pairs, same_places
from dxprivacy.trees.tree import PointTree
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import repr_of_half_built

if TYPE_CHECKING:
    from dxprivacy.universe.loss_terms import Terms

Pairs = tuple[Ints, Ints]
BLOCK = 1 << 16
MANY_POINTS = 1_500  # from so many on, a tree is faster than all pairs
_IDENTICAL = 1000


class PseudoMetric(Protocol):
    """A privacy loss: symmetric, zero on the diagonal, triangle inequality, values in [0, inf].

    >>> import dxprivacy as dx
    >>> plan = dx.plan([[1, 1, 0]], dx.metrics.line(3, 1), budget="50%")
    >>> plan.cost.exact(0, 1), plan.cost.exact(0, 2)  # what a release would lose on two pairs
    (Fraction(0, 1), Fraction(1, 2))
    """

    @property
    def universe(self) -> Universe:
        """The records it speaks about."""

    @property
    def error(self) -> float:
        """Bound on the relative error of `pairwise`."""

    @property
    def slack(self) -> Fraction:
        """By how much, relatively, the true value may be above `exact`; 0 for costs, which round up."""

    @property
    def terms(self) -> "Terms":
        """What adds up to it, where that is known; looking at few pairs rests on it."""

    @property
    def alternatives(self) -> "tuple[Terms, ...] | None":
        """Sums of terms whose largest it is; None where nothing is known of it but its values: then all pairs count."""

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Approximate values for many pairs of cells; zero exactly where the true value is zero."""

    def exact(self, i: int, j: int) -> Exact:
        """The value that counts: metrics round down, costs round up."""

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Rows of integers, one per pair: equal rows guarantee equal `exact` values."""


@dataclass(frozen=True)
class Extreme:
    """A pair of cells and its distance.

    >>> from dxprivacy import metrics
    >>> metrics.euclidean([[0], [1], [7]], epsilon_per_unit=1).closest
    Extreme(distance=1.0, pair=(0, 1))
    """

    distance: float
    pair: tuple[int, int]


@repr_of_half_built
class Metric(ABC):
    """A policy: how far any two records may be told apart.

    >>> from dxprivacy import metrics
    >>> d = metrics.line(9, "0.5")
    >>> isinstance(d, Metric), d.exact(2, 5), d.closest.pair
    (True, Fraction(3, 2), (0, 1))
    """

    error: float = 2.0**-50
    slack: Fraction = Fraction(0)
    terms: "Terms" = ()
    alternatives: "tuple[Terms, ...] | None" = None
    kind: ClassVar[str]

    def __init__(self, universe: Universe) -> None:
        self._universe = universe

    @property
    def universe(self) -> Universe:
        """The records it speaks about."""
        return self._universe

    def over(self, universe: Universe) -> Self:
        """The same distances between the records of another universe, which are as many."""
        if universe.size != self.universe.size:
            raise MetricError(f"distances of {self.universe.size:,} records, for {universe.size:,}")
        other = copy(self)
        for name in [n for n in vars(self) if isinstance(getattr(type(self), n, None), cached_property)]:
            delattr(other, name)  # it may say something about the universe
        other._universe = universe
        return other

    @property
    def tick(self) -> Fraction | None:
        """For rational metrics: every finite distance is a whole number of ticks. None otherwise."""
        return None

    def ticks(self, i: Ints, j: Ints) -> Ints:  # noqa: ARG002
        """Distances in ticks, exactly; -1 for infinity. Only where `tick` is not None."""
        raise TypeError(f"{self.kind} distances are not rational")

    @abstractmethod
    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Approximate distances of many pairs."""

    @abstractmethod
    def exact(self, i: int, j: int) -> Exact:
        """A rational that is not above the distance."""

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Ticks where there are any, otherwise the pair itself."""
        if self.tick is not None:
            return self.ticks(i, j)[:, None]
        return np.asarray(np.minimum(i, j) * np.int64(self.universe.size) + np.maximum(i, j))[:, None]

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Pairs whose shortest paths make up the whole metric; all pairs unless a rule with a proof says less."""
        return all_pairs(self.universe.size, block)

    @property
    def generator_count(self) -> int:
        """How many pairs `generators` yields, at most."""
        n = self.universe.size
        return n * (n - 1) // 2

    @property
    def axes(self) -> "tuple[Metric, ...] | None":
        """One metric per attribute if the distance is their sum over the full product; None otherwise."""
        return (self,) if len(self.universe.attributes) == 1 and self.universe.absent is None else None

    @property
    def by_attribute(self) -> "tuple[Metric, ...] | None":
        """One metric per attribute, however they are put together; None if there is no such thing."""
        return self.axes

    @property
    def embedding(self) -> Embedding | None:
        """How the records lie in space, if the distance grows with the one there; the last ones may be missing.

        Then the distances of the records that do lie there are those that it says, up to roundings.
        """
        return None

    @cached_property
    def tree(self) -> PointTree | None:
        """The records in space, where they are too many for all pairs."""
        embedding = self.embedding
        return None if embedding is None or embedding.size < MANY_POINTS else PointTree(embedding)

    @cached_property
    def closest(self) -> Extreme | None:
        """The least positive distance: it is found among the generators. None if there is no such pair."""
        tree = self._whole_tree
        if tree is None:
            return _extreme(self, self.generators(), least=True)
        pairs = [closest_pairs(tree)]
        if not tree.merged and (same := same_places(tree.embedding, 1)):  # kept apart by a floor
            pairs.append((np.array([same[0][0]]), np.array([same[0][1]])))
        return _extreme(self, iter(pairs), least=True)

    @cached_property
    def farthest(self) -> Extreme | None:
        """The largest finite distance. None if no finite positive distance exists."""
        if (tree := self._whole_tree) is not None:
            pairs = [farthest_pairs(tree)]
            if not tree.merged and (same := same_places(tree.embedding, 1)):
                pairs.append((np.array([same[0][0]]), np.array([same[0][1]])))
            return _extreme(self, iter(pairs), least=False)
        return _extreme(self, all_pairs(self.universe.size), least=False)

    @property
    def permitted(self) -> float:
        """The largest finite distance as an ε of standard DP; of people with several rows, that of a whole person."""
        return self.farthest.distance * self.universe.rows_each if self.farthest else 0.0

    @cached_property
    def has_infinite(self) -> bool:
        """Whether some difference is public."""
        if self._whole_tree is not None:
            return False
        return any(bool(np.isinf(self.pairwise(i, j)).any()) for i, j in all_pairs(self.universe.size))

    @cached_property
    def identical(self) -> tuple[tuple[int, int], ...]:
        """Pairs of different records at distance 0, at most a thousand."""
        if (tree := self._whole_tree) is not None:
            return tuple(same_places(tree.embedding, _IDENTICAL)) if tree.merged else ()
        found: list[tuple[int, int]] = []
        for i, j in self.generators():
            zero = np.flatnonzero(self.pairwise(i, j) == 0)
            found += [(int(i[k]), int(j[k])) for k in zero]
            if len(found) >= _IDENTICAL:
                break
        return tuple(found[:_IDENTICAL])

    @property
    def _whole_tree(self) -> PointTree | None:
        """The tree, if it holds all records."""
        return self.tree if self.tree is not None and self.tree.embedding.size == self.universe.size else None

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """What the digest covers, canonically: together with the universe it determines every distance."""

    @cached_property
    def digest(self) -> str:
        """Identifies universe and distances."""
        return digest_of({"universe": self.universe.digest, "metric": self.spec()})

    def to_dict(self) -> dict[str, Any]:
        """For JSON: every distance, and what identifies them."""
        return {"digest": self.digest, "spec": self.spec()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.universe!r})"

    def _finite(self, infinite: bool, value: Fraction) -> Exact:
        return float("inf") if infinite else value


def shared_tick(parts: Sequence[Metric], more: Sequence[Fraction] = ()) -> Fraction | None:
    """A tick common to all parts and further numbers; None where a part is irrational, or 60 bits would not do."""
    ticks = [part.tick for part in parts]
    if any(tick is None for tick in ticks):
        return None
    common = common_tick([*(tick for tick in ticks if tick is not None), *more])
    reach = sum(max(part.farthest.distance if part.farthest else 0.0, float(part.tick or 0)) for part in parts)
    return common if (reach + sum(2.0 * float(x) for x in more)) / float(common) < 2.0**60 else None


def all_pairs(n: int, block: int = BLOCK) -> Iterator[Pairs]:
    """All unordered pairs of 0..n-1, in blocks of about `block`.

    >>> [list(zip(i.tolist(), j.tolist())) for i, j in all_pairs(3)]
    [[(0, 1), (0, 2), (1, 2)]]
    """
    row = 0
    while row < n - 1:
        rows, count = row, 0
        while rows < n - 1 and count < block:
            count += n - 1 - rows
            rows += 1
        lengths = np.arange(n - 1 - row, n - 1 - rows, -1, dtype=np.int64)
        i = np.repeat(np.arange(row, rows, dtype=np.int64), lengths)
        start = np.repeat(np.cumsum(lengths) - lengths, lengths)
        j = np.arange(len(i), dtype=np.int64) - start + i + 1
        for a in range(0, len(i), 4 * block):  # one long row may still be longer than a block
            yield i[a : a + 4 * block], j[a : a + 4 * block]
        row = rows


def _extreme(metric: Metric, pairs: Iterator[Pairs], *, least: bool) -> Extreme | None:
    best: Extreme | None = None
    for i, j in pairs:
        d = metric.pairwise(i, j)
        usable = (d > 0) & np.isfinite(d)
        if not usable.any():
            continue
        masked = np.where(usable, d, np.inf if least else -np.inf)
        k = int(masked.argmin() if least else masked.argmax())
        if best is None or (d[k] < best.distance if least else d[k] > best.distance):
            best = Extreme(float(d[k]), (int(i[k]), int(j[k])))
    return best
