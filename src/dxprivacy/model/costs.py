"""What a release costs: a privacy loss for every pair of records, as a pseudometric (MATH section 1).

The cost of discrete Laplace noise of scale s_k on the integer rows A is `L(i, j) = sum_k |A_ki - A_kj| / s_k`, and that
of a choice by scores that follow those rows is the largest of these terms, exactly: the scales are float64 numbers and
count as the rationals that they are.  Costs add under composition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.model.blocks import Block
from dxprivacy.model.numbers import Exact
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Workload


@dataclass(frozen=True, eq=False)
class Term:
    """One block's part of a cost: its rows, their weights 1/s, and whether these are all the same."""

    block: Block
    weights: Floats
    uniform: bool

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """This part's losses."""
        return self.block.loads(i, j, self.weights)


class RowsCost:
    """What the costs of rows with scales have in common: a loss made of the |A_ki - A_kj| / s_k.

    A scale of 0 separates records without limit: the loss is infinite wherever such a row differs, so it is allowed
    only where the policy calls that difference public.
    """

    def __init__(self, workload: Workload, scales: Sequence[float] | Floats) -> None:
        if len(scales) != workload.rows:
            raise QuestionError(f"{len(scales)} scales for {workload.rows} rows")
        self.workload = workload
        self.scales: Floats = np.asarray(scales, dtype=np.float64)
        # -0.0 >= 0, but 1 / -0.0 is minus infinity: a loss that looks like less than nothing.
        if not np.isfinite(self.scales).all() or np.signbit(self.scales).any():
            raise QuestionError("scales must be finite and not negative")

    @property
    def universe(self) -> Universe:
        """The records it speaks about."""
        return self.workload.universe

    @property
    def error(self) -> float:
        """One rounding per product, one per sum, one per division, all terms non-negative."""
        return (self.workload.rows + 4) * 2.0**-52

    @cached_property
    def _weights(self) -> Floats:
        with np.errstate(divide="ignore"):
            return 1.0 / self.scales

    @cached_property
    def _groups(self) -> tuple[Floats, Ints]:
        distinct, group = np.unique(self.scales, return_inverse=True)
        return distinct, group.reshape(-1).astype(np.int64)


class LaplaceCost(RowsCost):
    """The loss of answering a workload with discrete Laplace noise: the sum over the rows.

    A scale of 0 means an exact answer.
    """

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The blocks with their weights."""
        out = []
        for block, start in zip(self.workload.blocks, self.workload.offsets, strict=True):
            weights = self._weights[start : start + block.rows]
            out.append(Term(block, weights, bool((weights == weights[0]).all())))
        return tuple(out)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Approximate losses of many pairs."""
        return self.workload.loads(i, j, self._weights)

    def _sums(self, i: Ints, j: Ints) -> Ints:
        """Per pair and distinct scale: the whole number sum_k |A_ki - A_kj| over the rows with that scale."""
        distinct, group = self._groups
        pair, row, amount = self.workload.differences(i, j)
        out = np.zeros((len(i), len(distinct)), dtype=np.int64)
        np.add.at(out, (pair, group[row]), amount)
        return out

    def keys(self, i: Ints, j: Ints) -> Ints:
        """The sums per distinct scale determine the loss."""
        if self.workload.largest * 2 * self.workload.rows >= 1 << 62:  # the sums might wrap: name the pair instead
            return np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1)
        return self._sums(i, j)

    def exact(self, i: int, j: int) -> Exact:
        """The loss of one pair as a fraction."""
        total: Exact = Fraction(0)
        _, row, amount = self.workload.differences(np.array([i]), np.array([j]))
        amounts: dict[float, int] = {}
        for scale, a in zip(self.scales[row].tolist(), amount.tolist(), strict=True):
            amounts[scale] = amounts.get(scale, 0) + a
        for scale, a in amounts.items():
            total = total + (Fraction(a) / Fraction(scale) if scale else float("inf"))
        return total


class SelectionCost(RowsCost):
    """The loss of choosing by scores that follow the rows: the largest of the |A_ki - A_kj| / s_k.

    A score u_k that moves by at most |A_ki - A_kj| when record i is replaced by j, and the weight exp(u_k / (2 s_k)):
    each weight and their sum move by at most exp(L / 2), so that the choice has the loss L (Theorem 3 of the paper).
    """

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Approximate losses of many pairs."""
        pair, row, amount = self.workload.differences(i, j)
        out = np.zeros(len(i))
        np.maximum.at(out, pair, amount * self._weights[row])
        return out

    def keys(self, i: Ints, j: Ints) -> Ints:
        """The largest amounts per distinct scale determine the loss."""
        distinct, group = self._groups
        pair, row, amount = self.workload.differences(i, j)
        out = np.zeros((len(i), len(distinct)), dtype=np.int64)
        np.maximum.at(out, (pair, group[row]), amount)
        return out

    def exact(self, i: int, j: int) -> Exact:
        """The loss of one pair as a fraction."""
        most: Exact = Fraction(0)
        _, row, amount = self.workload.differences(np.array([i]), np.array([j]))
        for scale, a in set(zip(self.scales[row].tolist(), amount.tolist(), strict=True)):
            most = max(most, Fraction(a) / Fraction(scale) if scale else float("inf"))
        return most


class SumCost:
    """Several costs together: composition."""

    def __init__(self, universe: Universe, costs: Sequence[LaplaceCost]) -> None:
        self._universe = universe
        self.costs = tuple(costs)
        for cost in costs:
            if cost.universe != universe:
                raise QuestionError("costs over different universes cannot be added")

    @property
    def universe(self) -> Universe:
        """The records it speaks about."""
        return self._universe

    @property
    def error(self) -> float:
        """The worst part and one rounding per sum."""
        return max((c.error for c in self.costs), default=0.0) + len(self.costs) * 2.0**-52

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """All blocks of all parts."""
        return tuple(term for cost in self.costs for term in cost.terms)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Sums."""
        return np.asarray(sum((c.pairwise(i, j) for c in self.costs), np.zeros(len(i))), dtype=np.float64)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """The parts' keys side by side."""
        parts = [c.keys(i, j) for c in self.costs]
        return np.hstack(parts) if parts else np.zeros((len(i), 1), dtype=np.int64)

    def exact(self, i: int, j: int) -> Exact:
        """The sum of the parts."""
        return sum((c.exact(i, j) for c in self.costs), Fraction(0))


Cost = LaplaceCost | SelectionCost | SumCost
