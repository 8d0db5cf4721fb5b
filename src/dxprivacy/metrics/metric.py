"""Protocols of privacy losses (pseudometrics) and policies (metrics).

Floats filter, exact numbers decide.  `pairwise` is a fast float64 value with a proved relative error; it selects the
few pairs that could matter.  `exact` decides: a rational that is never above the true distance (equal to it for
rational metrics, within `slack` for irrational ones).  No decision rests on a float.
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
MANY_POINTS = 1_500  # from this number on, a tree is faster than all pairs
_IDENTICAL = 1000


class PseudoMetric(Protocol):
    """A privacy loss: symmetric, zero on the diagonal, triangle inequality, values in [0, inf].

    >>> import dxprivacy as dx
    >>> plan = dx.plan([[1, 1, 0]], dx.metrics.line(3, 1), budget="50%")
    >>> plan.cost.exact(0, 1), plan.cost.exact(0, 2)  # the privacy loss of a release on two pairs
    (Fraction(0, 1), Fraction(1, 2))
    """

    @property
    def universe(self) -> Universe:
        """The universe of possible records."""

    @property
    def error(self) -> float:
        """Bound on the relative error of `pairwise`."""

    @property
    def slack(self) -> Fraction:
        """Relative amount by which the true value may exceed `exact`; 0 if it never does, as for costs."""

    @property
    def terms(self) -> "Terms":
        """Terms that add up to the loss, if known; the search over few pairs relies on them."""

    @property
    def alternatives(self) -> "tuple[Terms, ...] | None":
        """Sums of terms; the loss is the largest of them.  None without known structure: all pairs are compared."""

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Return approximate values for many pairs of records; zero exactly where the true value is zero."""

    def exact(self, i: int, j: int) -> Exact:
        """Return the value that decides: a metric is never above its true value, a cost never below."""

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return rows of integers, one per pair: equal rows guarantee equal `exact` values."""


@dataclass(frozen=True)
class Extreme:
    """A pair of records and its distance.

    >>> from dxprivacy import metrics
    >>> metrics.euclidean([[0], [1], [7]], epsilon_per_unit=1).closest
    Extreme(distance=1.0, pair=(0, 1))
    """

    distance: float
    pair: tuple[int, int]


@repr_of_half_built
class Metric(ABC):
    """Distances of a policy: how distinguishable any two records may be.

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
        """The universe of possible records."""
        return self._universe

    def over(self, universe: Universe) -> Self:
        """Return the same distances over another universe of the same size."""
        if universe.size != self.universe.size:
            raise MetricError(f"distances of {self.universe.size:,} records, for {universe.size:,}")
        other = copy(self)
        for name in [n for n in vars(self) if isinstance(getattr(type(self), n, None), cached_property)]:
            delattr(other, name)  # cached values may depend on the universe
        other._universe = universe
        return other

    @property
    def tick(self) -> Fraction | None:
        """For rational metrics: every finite distance is an integer number of ticks. None otherwise."""
        return None

    def ticks(self, i: Ints, j: Ints) -> Ints:  # noqa: ARG002
        """Return distances in ticks, exactly; -1 for infinity. Only if `tick` is not None."""
        raise TypeError(f"{self.kind} distances are not rational")

    @abstractmethod
    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Return approximate distances of many pairs."""

    @abstractmethod
    def exact(self, i: int, j: int) -> Exact:
        """Return a rational that is not above the distance."""

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return ticks for rational metrics, otherwise the pair itself."""
        if self.tick is not None:
            return self.ticks(i, j)[:, None]
        return np.asarray(np.minimum(i, j) * np.int64(self.universe.size) + np.maximum(i, j))[:, None]

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield generating pairs: their shortest paths make up the metric.  All pairs, unless a rule is proved."""
        return all_pairs(self.universe.size, block)

    @property
    def generator_count(self) -> int:
        """Upper bound on the number of pairs that `generators` yields."""
        n = self.universe.size
        return n * (n - 1) // 2

    @property
    def axes(self) -> "tuple[Metric, ...] | None":
        """One metric per attribute if the distance is their sum over the full product; None otherwise."""
        return (self,) if len(self.universe.attributes) == 1 and self.universe.absent is None else None

    @property
    def by_attribute(self) -> "tuple[Metric, ...] | None":
        """One metric per attribute, also if they are combined otherwise than by a sum; None if there are none."""
        return self.axes

    @property
    def embedding(self) -> Embedding | None:
        """The records as points in space, if the distance is a monotone function of the one there; None otherwise.

        The last records may have no point.  For all others the distance is that of the embedding, up to rounding.
        """
        return None

    @cached_property
    def tree(self) -> PointTree | None:
        """A tree over the points, if there are too many for all pairs."""
        embedding = self.embedding
        return None if embedding is None or embedding.size < MANY_POINTS else PointTree(embedding)

    @cached_property
    def closest(self) -> Extreme | None:
        """The pair at the least positive distance, found among the generating pairs. None if there is none."""
        tree = self._whole_tree
        if tree is None:
            return _extreme(self, self.generators(), least=True)
        pairs = [closest_pairs(tree)]
        if not tree.merged and (same := same_places(tree.embedding, 1)):  # kept apart by a floor
            pairs.append((np.array([same[0][0]]), np.array([same[0][1]])))
        return _extreme(self, iter(pairs), least=True)

    @cached_property
    def farthest(self) -> Extreme | None:
        """The pair at the largest finite distance. None if no finite positive distance exists."""
        if (tree := self._whole_tree) is not None:
            pairs = [farthest_pairs(tree)]
            if not tree.merged and (same := same_places(tree.embedding, 1)):
                pairs.append((np.array([same[0][0]]), np.array([same[0][1]])))
            return _extreme(self, iter(pairs), least=False)
        return _extreme(self, all_pairs(self.universe.size), least=False)

    @property
    def permitted(self) -> float:
        """The largest finite distance, as an ε of standard DP; for a whole person if people have several rows."""
        return self.farthest.distance * self.universe.rows_each if self.farthest else 0.0

    @cached_property
    def has_infinite(self) -> bool:
        """Whether some distance is infinite, so that the difference is public."""
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
        # The tree, if it contains all records.
        return self.tree if self.tree is not None and self.tree.embedding.size == self.universe.size else None

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Return the canonical description: together with the universe it determines every distance."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of universe and distances."""
        return digest_of({"universe": self.universe.digest, "metric": self.spec()})

    def to_dict(self) -> dict[str, Any]:
        """Return digest and description for JSON."""
        return {"digest": self.digest, "spec": self.spec()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.universe!r})"

    def _finite(self, infinite: bool, value: Fraction) -> Exact:
        return float("inf") if infinite else value


def shared_tick(parts: Sequence[Metric], more: Sequence[Fraction] = ()) -> Fraction | None:
    """Return a common tick of all parts and further numbers; None if a part is irrational, or 60 bits are too few."""
    ticks = [part.tick for part in parts]
    if any(tick is None for tick in ticks):
        return None
    common = common_tick([*(tick for tick in ticks if tick is not None), *more])
    reach = sum(max(part.farthest.distance if part.farthest else 0.0, float(part.tick or 0)) for part in parts)
    return common if (reach + sum(2.0 * float(x) for x in more)) / float(common) < 2.0**60 else None


def all_pairs(n: int, block: int = BLOCK) -> Iterator[Pairs]:
    """Yield all unordered pairs of 0..n-1, in blocks of about `block`.

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
