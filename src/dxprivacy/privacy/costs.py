"""Costs: the privacy loss of a release for every pair of records, as a pseudometric.

Discrete Laplace noise of scale s_k on integer rows A costs `L(i, j) = sum_k |A_ki - A_kj| / s_k`.  A selection by
scores that follow the rows costs the largest of these terms.  Both are exact: the float64 scales are read as rationals.
Costs add under composition.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Floats, Ints, read_only
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Metric
from dxprivacy.privacy.proportional_loss import ProportionalLoss
from dxprivacy.universe.blocks.block import Differences, pieces
from dxprivacy.universe.loss_terms import LossPart, Term, Terms
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload

Closely: TypeAlias = NDArray[np.longdouble]
FINER = max(float(np.finfo(np.longdouble).eps) * 2.0**52, 2.0**-11)
"""Rounding error of long doubles relative to float64: 2^-11 on most machines, 1 if they are the same type."""


class RowsCost(ABC):
    """Base class: a loss that combines the terms |A_ki - A_kj| / s_k of rows with scales.

    `terms` add up to the loss; `alternatives` are sums of terms, and the loss is the largest of these sums.

    A row with scale 0 is answered without noise: the loss is infinite wherever the row differs, so this is allowed only
    where the policy makes the difference public.
    """

    largest: ClassVar[bool]  # the loss is the largest of the rows' losses, not their sum
    may_have_proportional: ClassVar[bool] = False
    slack = Fraction(0)  # its fractions are exact

    def __init__(self, workload: Workload, scales: Sequence[float] | Floats) -> None:
        if len(scales) != workload.rows:
            raise QueryError(f"{len(scales)} scales for {workload.rows} rows")
        self.workload = workload
        self.scales: Floats = read_only(np.array(scales, dtype=np.float64))  # a private copy: certificates use it
        # -0.0 >= 0, but 1 / -0.0 is minus infinity, which would make the loss negative.
        if not np.isfinite(self.scales).all() or np.signbit(self.scales).any():
            raise QueryError("scales must be finite and not negative")
        if workload.proportional and not self.may_have_proportional:
            hints = [("session.plan(…)", "counts people and makes maps, with noise"), ("count …", "counts rows")]
            raise QueryError(
                "people and maps cannot be asked for here: only plans of answers with noise can", hints=hints
            )

    @property
    def universe(self) -> Universe:
        """The universe of possible records."""
        return self.workload.universe

    @property
    def proportional_loss(self) -> ProportionalLoss:
        """The proportional part of the loss, from counts of people and maps (privacy/proportional_costs.py)."""
        return ProportionalLoss()

    def proportional_loss_under(self, metric: Metric) -> ProportionalLoss:  # noqa: ARG002
        """The proportional part of the loss under another policy."""
        return ProportionalLoss()

    @property
    def of_proportional(self) -> float:
        """Worst-case ε of the proportional part."""
        return 0.0

    @property
    def proportional(self) -> frozenset[str]:
        """Names of the proportional parts, for the rule of a certificate."""
        return frozenset()

    @property
    def by_pairs(self) -> "RowsCost | None":
        """The cost without counts of people and maps; None if nothing is left."""
        return self

    @cached_property
    def error(self) -> float:
        """Relative rounding error: one rounding per product, sum and division of non-negative terms.

        Only rows that count one of the two records have a nonzero term.
        """
        changed = sum(min(block.rows, 2 * block.width) for block in self.workload.blocks)
        return (changed + 4) * 2.0**-52

    def with_scales(self, scales: Floats) -> "RowsCost":
        """Return the cost of the same rows with other scales."""
        return type(self)(self.workload, scales)

    @property
    @abstractmethod
    def terms(self) -> Terms:
        """Terms that add up to the loss."""

    @property
    @abstractmethod
    def alternatives(self) -> tuple[Terms, ...]:
        """Sums of terms; the loss is the largest of them."""

    @abstractmethod
    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Return approximate losses of many pairs."""

    def closely(self, i: Ints, j: Ints) -> Closely | None:  # noqa: ARG002  (only some can)
        """Return losses in long double precision, within `error` * FINER; None if not implemented."""
        return None

    @abstractmethod
    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return integers that determine the loss of each pair."""

    @abstractmethod
    def exact(self, i: int, j: int) -> Exact:
        """Return the loss of one pair as a fraction."""

    def per_person(self, i: int, j: int) -> Exact:
        """Bound the privacy loss between two people all of whose rows differ like i and j, as a fraction."""
        return self.exact(i, j) * self.universe.rows_each

    def exacts(self, i: Ints, j: Ints) -> list[Exact]:
        """Return the losses of several pairs as fractions."""
        return [self.exact(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True)]

    @cached_property
    def _weights(self) -> Floats:
        with np.errstate(divide="ignore"):
            return 1.0 / self.scales

    @cached_property
    def _groups(self) -> tuple[Floats, Ints]:
        distinct, group = np.unique(self.scales, return_inverse=True)
        return distinct, group.reshape(-1).astype(np.int64)

    @cached_property
    def parts(self) -> tuple[LossPart, ...]:
        """The blocks with their weights (inverse scales)."""
        blocks = zip(self.workload.blocks, self.workload.offsets, strict=True)
        weighed = [(block, self._weights[start : start + block.rows]) for block, start in blocks]
        return tuple(LossPart.of(block, weights, largest=self.largest) for block, weights in weighed)

    @cached_property
    def identity(self) -> tuple[str, str, bytes]:
        """A key that is equal for the same rows with the same scales."""
        return type(self).__name__, self.workload.digest, self.scales.tobytes()


@final  # a subclass that changed `exact` without `pairwise` would be unsound
class LaplaceCost(RowsCost):
    """The loss of answering a workload with discrete Laplace noise: the sum over the rows.

    A scale of 0 means a noise-free answer.
    """

    largest = False

    @cached_property
    def terms(self) -> Terms:
        """One term per block; they add up."""
        return tuple(Term((part,)) for part in self.parts)

    @property
    def alternatives(self) -> tuple[Terms, ...]:
        return (self.terms,)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        return self.workload.loads(i, j, self._weights)

    def closely(self, i: Ints, j: Ints) -> Closely | None:
        """Return the same sum in long doubles; None if a row that differs has scale 0."""
        out = np.zeros(len(i), dtype=np.longdouble)
        scales = self.scales.astype(np.longdouble)
        for pair, row, amount in self._differences(i, j):
            if (self.scales[row] == 0).any():
                return None
            np.add.at(out, pair, amount.astype(np.longdouble) / scales[row])
        return out

    def _sums(self, i: Ints, j: Ints) -> Ints:
        # For each pair and distinct scale: the integer sum_k |A_ki - A_kj| over the rows with that scale.
        distinct, group = self._groups
        out = np.zeros((len(i), len(distinct)), dtype=np.int64)
        for pair, row, amount in self._differences(i, j):
            np.add.at(out, (pair, group[row]), amount)
        return out

    def _differences(self, i: Ints, j: Ints) -> Iterator[Differences]:
        # In pieces, to bound memory.
        for some in pieces(self.workload.width, len(i)):
            pair, row, amount = self.workload.differences(i[some], j[some])
            yield pair + some.start, row, amount

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return the sums per distinct scale, which determine the loss."""
        if self.workload.largest * 2 * self.workload.rows >= 1 << 62:  # the sums may overflow: use the pair itself
            return self.universe.keys(i, j)
        return self._sums(i, j)

    def exact(self, i: int, j: int) -> Exact:
        return self.exacts(np.array([i]), np.array([j]))[0]

    def exacts(self, i: Ints, j: Ints) -> list[Exact]:
        by_pair: list[dict[float, int]] = [{} for _ in i]
        for pair, row, amount in self._differences(i, j):
            for k, scale, a in zip(pair.tolist(), self.scales[row].tolist(), amount.tolist(), strict=True):
                amounts = by_pair[k]
                amounts[scale] = amounts.get(scale, 0) + a
        return [_over_scales(amounts) for amounts in by_pair]


def _over_scales(amounts: dict[float, int]) -> Exact:
    """Return the sum of amount / scale; it is reduced once at the end, which is several times faster.

    >>> _over_scales({0.5: 3, 0.75: 1})
    Fraction(22, 3)
    """
    top, bottom = 0, 1
    for scale, a in amounts.items():
        if not scale:
            return float("inf")
        n, d = scale.as_integer_ratio()
        top, bottom = top * n + a * d * bottom, bottom * n
    return Fraction(top, bottom)


class SelectionCost(RowsCost):
    """The loss of a selection by scores that follow the rows: the largest of the |A_ki - A_kj| / s_k.

    Score u_k changes by at most |A_ki - A_kj| if record i is replaced by j, and has weight exp(u_k / (2 s_k)).  Each
    weight and their sum change by a factor of at most exp(L / 2), so the selection has loss L (Theorem 3 of the paper).
    """

    largest = True

    @property
    def error(self) -> float:
        """Relative rounding error: one per product and division; taking the maximum adds none."""
        return 4 * 2.0**-52

    @cached_property
    def terms(self) -> Terms:
        return (Term(self.parts),)

    @cached_property
    def alternatives(self) -> tuple[Terms, ...]:
        """The blocks: the loss is the largest of theirs, so each is searched by itself."""
        return tuple((Term((part,)),) for part in self.parts)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        return self.terms[0].pairwise(i, j)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return amount and scale of the largest row; if another row comes close, the pair itself."""
        found = [self._keys(i[some], j[some]) for some in pieces(self.workload.width, len(i))]
        return np.concatenate(found) if found else np.zeros((0, 2), dtype=np.int64)

    def _keys(self, i: Ints, j: Ints) -> Ints:
        distinct, group = self._groups
        out = np.zeros((len(i), 2), dtype=np.int64)
        pair, row, amount = self.workload.differences(i, j)
        if len(distinct) == 1:
            np.maximum.at(out[:, 0], pair, amount)
            return out
        loss, top = amount * self._weights[row], np.zeros(len(i))
        np.maximum.at(top, pair, loss)
        near = np.flatnonzero(loss >= top[pair] * (1 - 4 * self.error))
        pair, row, amount = pair[near], row[near], amount[near]
        out[pair, 0], out[pair, 1] = amount, group[row]
        other = pair[(out[pair, 0] != amount) | (out[pair, 1] != group[row])]
        named = self.universe.keys(i[other], j[other])
        more = np.zeros((len(i), named.shape[1]), dtype=np.int64)
        more[other] = named + 1
        return np.hstack([out, more])

    def exact(self, i: int, j: int) -> Exact:
        most: Exact = Fraction(0)
        _, row, amount = self.workload.differences(np.array([i]), np.array([j]))
        for scale, a in set(zip(self.scales[row].tolist(), amount.tolist(), strict=True)):
            most = max(most, Fraction(a) / Fraction(scale) if scale else float("inf"))
        return most


class BlockMaxCost(SelectionCost):
    """The loss of block-max noise on tables: the largest of the |A_ki - A_kj| / s_k over the rows of all tables.

    Replacing i by j moves one unit in each table that separates them, and the noise has density exp(-max N / s) over
    the tables (mechanisms/linear/estimators/block_max_tables.py).
    """


class SumCost:
    """The sum of several costs (composition).  A cost that occurs several times as one object is computed once."""

    slack = Fraction(0)

    def __init__(self, universe: Universe, costs: Sequence[RowsCost]) -> None:
        self._universe = universe
        self.costs = tuple(costs)
        for cost in costs:
            if cost.universe != universe:
                raise QueryError("costs over different universes cannot be added")
        counted = Counter(id(cost) for cost in self.costs)
        self._distinct = tuple((cost, counted[key]) for key, cost in {id(cost): cost for cost in self.costs}.items())

    @property
    def universe(self) -> Universe:
        """The universe of possible records."""
        return self._universe

    @property
    def proportional_loss(self) -> ProportionalLoss:
        """The proportional part of the loss, from counts of people and maps."""
        return sum((c.proportional_loss.times(n) for c, n in self._distinct if c.proportional_loss), ProportionalLoss())

    def proportional_loss_under(self, metric: Metric) -> ProportionalLoss:
        """The proportional part of the loss under another policy."""
        return sum(
            (c.proportional_loss_under(metric).times(n) for c, n in self._distinct if c.proportional_loss),
            ProportionalLoss(),
        )

    @property
    def of_proportional(self) -> float:
        """Worst-case ε of the proportional parts."""
        return float(sum(n * c.of_proportional for c, n in self._distinct))

    @property
    def proportional(self) -> frozenset[str]:
        """Names of the proportional parts."""
        return frozenset[str]().union(*(c.proportional for c, _ in self._distinct))

    @property
    def by_pairs(self) -> "SumCost":
        """The costs without counts of people and maps."""
        return SumCost(self._universe, [rows for c in self.costs if (rows := c.by_pairs) is not None])

    @property
    def distinct(self) -> tuple[RowsCost, ...]:
        """Each distinct cost once."""
        return tuple(cost for cost, _ in self._distinct)

    @property
    def counted(self) -> tuple[tuple[RowsCost, int], ...]:
        """Each distinct cost with the number of its occurrences."""
        return self._distinct

    @property
    def error(self) -> float:
        """Relative rounding error: the largest of the costs, and one rounding per sum."""
        return max((c.error for c in self.costs), default=0.0) + len(self.costs) * 2.0**-52

    @cached_property
    def terms(self) -> Terms:
        """The terms of all costs."""
        return tuple(term.times(count) for cost, count in self._distinct for term in cost.terms)

    @property
    def alternatives(self) -> tuple[Terms, ...]:
        """The alternatives of a single cost; several costs are searched together."""
        if len(self._distinct) != 1:
            return (self.terms,)
        ((cost, count),) = self._distinct
        return tuple(tuple(term.times(count) for term in terms) for terms in cost.alternatives)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        return np.asarray(sum((n * c.pairwise(i, j) for c, n in self._distinct), np.zeros(len(i))), dtype=np.float64)

    def closely(self, i: Ints, j: Ints) -> Closely | None:
        """Return sums in long doubles; None if some cost does not implement them."""
        total: Closely = np.zeros(len(i), dtype=np.longdouble)
        for cost, often in self._distinct:
            if (part := cost.closely(i, j)) is None:
                return None
            total += often * part
        return total

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return the keys of all costs side by side."""
        keys = [c.keys(i, j) for c, _ in self._distinct]
        return np.hstack(keys) if keys else np.zeros((len(i), 1), dtype=np.int64)

    def exact(self, i: int, j: int) -> Exact:
        return sum((n * c.exact(i, j) for c, n in self._distinct), Fraction(0))

    def per_person(self, i: int, j: int) -> Exact:
        """Bound the sum of the losses between two people all of whose rows differ like i and j."""
        return sum((n * c.per_person(i, j) for c, n in self._distinct), Fraction(0))

    def exacts(self, i: Ints, j: Ints) -> list[Exact]:
        out: list[Exact] = [Fraction(0)] * len(i)
        for cost, often in self._distinct:
            out = [total + often * loss for total, loss in zip(out, cost.exacts(i, j), strict=True)]
        return out


Cost = RowsCost | SumCost
