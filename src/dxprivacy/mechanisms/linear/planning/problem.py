"""A planning problem: rows, policy, budget, earlier costs, targets and weights; and the error objective of its plans.

All scales pass through `privacy/repair.py: repaired`: in `Task.certified`, or next to proportional costs in
`planner.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Bools, Floats
from dxprivacy.exact.rounding import round_up
from dxprivacy.mechanisms.linear.estimators.measured import AsAsked, Measured, all_expected, target_scales
from dxprivacy.mechanisms.linear.planning.constraints import Constraints, constraints
from dxprivacy.mechanisms.linear.planning.pair_limits import limits_of
from dxprivacy.mechanisms.linear.planning.standard_quantiles import standard_sensitivities
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import present
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.objectives import SQUARED, Objective
from dxprivacy.optimize.strategies import Effort
from dxprivacy.privacy import Bound, cover, max_ratio
from dxprivacy.privacy.certificate import Certificate, nothing_left, separates
from dxprivacy.privacy.costs import Cost, LaplaceCost
from dxprivacy.privacy.repair import Allowance, repaired, together
from dxprivacy.universe.answers import Distribution, ErrorOf
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.blocks.block import ENTRIES_AT_ONCE, classes_of_rows
from dxprivacy.universe.workload import Workload

_FEW_MOVES = 200_000  # of candidate pairs, to find the free rows one by one
_ROOM = 1 << 61
_SHORT_PAIRS = 50  # each is tighter than the one before, so a few suffice


@dataclass(frozen=True)
class Proposal:
    """Scales to be certified. `floor` is a lower bound on the objective of any scales for the same rows, if known.

    `measured` describes the rows that the scales belong to, if not the workload's own, and `about` describes the
    strategy.
    """

    scales: Floats
    floor: float | None = None
    measured: Measured | None = None
    about: str = ""


class Noisy(Protocol):
    """Scales of measured rows, with the rows if they are not the workload's own."""

    @property
    def scales(self) -> tuple[float, ...]:
        """One scale for each measured row."""

    @property
    def measured(self) -> Measured:
        """The measured rows and their estimator."""


@dataclass(frozen=True)
class Candidate:
    """Scales with their certificate, the method that proposed them, and the measured rows."""

    method: str
    scales: tuple[float, ...]
    certificate: Certificate
    measured: Measured
    about: str = ""


@dataclass(frozen=True, eq=False)
class Task:
    """One planning problem."""

    workload: Workload
    metric: Metric
    budget: Fraction
    records: int | None = None
    objective: Objective = SQUARED
    spent: Cost | None = None
    watch: Watch = field(default_factory=Watch)
    effort: Effort = "quick"  # how long to search for a strategy

    @cached_property
    def as_asked(self) -> Measured:
        """Measuring the workload itself."""
        return AsAsked(self.workload)

    @cached_property
    def targets(self) -> Floats:
        """Per row, the scale that is good enough; 0 if no target was given."""
        out = np.zeros(self.workload.rows)
        untargeted = {r for a in self.workload.answers if a.within is None for r in a.rows}
        for answer in self.workload.answers:
            for row, scale in target_scales(answer, self.records).items():
                if row not in untargeted:
                    out[row] = min(out[row], scale) if out[row] else scale
        return out

    @cached_property
    def weights(self) -> Floats:
        """Per row, the weight of its squared error: the largest weight of the answers made of it.

        Weights compare queries with one another, so equal weights are treated as none.
        """
        objects = {id(a.weight): a.weight for a in self.workload.answers}  # fractions are slow to hash, and shared
        weighed = {w: float(w) for w in objects.values()}
        if len(weighed) == 1:
            return np.ones(self.workload.rows)
        out = np.zeros(self.workload.rows)
        for answer in self.workload.answers:
            for row in answer.rows:
                out[row] = max(out[row], weighed[answer.weight])
        return np.where(out > 0, out, 1.0)

    @cached_property
    def importance(self) -> Floats:
        """The factor of a row's part of the budget by its weight: the cube root.

        The reason: the minimum of sum a_k / w_k^2 under sum w_k = 1 has w_k proportional to a_k^(1/3).
        """
        return np.cbrt(self.weights)

    @cached_property
    def units(self) -> Floats:
        """The value of one grid step, per row."""
        return np.array([float(u) for u in self.workload.units])

    @cached_property
    def reference(self) -> Floats:
        """The reference of a row's scale: its target, or its query's sensitivity in standard DP.

        A row that only serves others takes its reference from them: group sizes from the ranks that they move.
        """
        plain = np.array([s or 1.0 for s in standard_sensitivities(self.workload)])[self.workload.block_of]
        beside: dict[int, float] = {}
        for answer in self.workload.answers:
            for row, (other, times) in answer.recipe.measured_by.items():
                beside[row] = min(beside.get(row, math.inf), float(plain[other]) * times)
        for row, scale in beside.items():
            plain[row] = max(plain[row], scale)
        return np.where(self.targets > 0, self.targets, plain)

    @cached_property
    def free(self) -> Bools:
        """Rows that no finite distance limits: constant over the universe, or differing only where the policy is
        public.

        Their answers are noise-free. The generating pairs decide row by row. If there are too many pairs, a structured
        block is decided as a whole, and so are rows that count no record.
        """
        workload = self.workload
        free = np.ones(workload.rows, dtype=bool)
        for block, start in zip(workload.blocks, workload.offsets, strict=True):
            free[start : start + block.rows] = self._free(block)
        return free

    def _free(self, block: Block) -> Bools:
        structured = present(self.metric).axes is not None or isinstance(present(self.metric), Constant)
        if structured and not self.metric.has_infinite:  # then any two records that differ in a row limit it
            absent = self.metric.universe.absent is not None
            return np.asarray((block.peak_of_row if absent else block.spans()) == 0, dtype=bool)
        alone = Workload(self.workload.universe, (block,), ())
        # Distinct scales, so that contexts distinguish all rows.
        different = LaplaceCost(alone, np.arange(1.0, block.rows + 1.0))
        pairs = cover(different, self.metric, most=_FEW_MOVES, tree_searches=True)
        if not pairs.tight:
            everything = max_ratio(LaplaceCost(alone, np.ones(block.rows)), self.metric).upper == 0
            return np.asarray((block.peak_of_row == 0) | everything, dtype=bool)
        free = np.ones(block.rows, dtype=bool)
        for i, j in pairs.pairs(max(1, min(1 << 12, ENTRIES_AT_ONCE // block.width))):
            asks = np.isfinite(self.metric.pairwise(i, j))
            free[block.differences(i[asks], j[asks])[1]] = False
            if not free.any():
                break
        return free

    @cached_property
    def system(self) -> Constraints | None:
        """The generating pairs as linear constraints; None if there are too many."""
        return constraints(self.workload, self.metric, self.budget, self.spent)

    def keep(self, system: Constraints | None) -> None:
        """Replace the constraints: pairs that one method found are reused by the others; None for no constraints."""
        self.__dict__["system"] = system

    @cached_property
    def small_system(self) -> Constraints | None:
        """The constraints with one variable per role of rows: any convex objective has the same minimum."""
        if self.system is None:
            return None
        facts = np.stack([self.weights, self.reference, self.targets, self.units, self.free.astype(np.float64)], axis=1)
        return self.system.reduced(classes_of_rows(facts))

    @cached_property
    def even_scales(self) -> tuple[float, ...]:
        """Scales that are equal in the answers' units, where the smallest unit has 1, divided by the cube root of the
        weight.
        """
        units, free = self.workload.units, self.free.tolist()
        noisy = {id(u): u for u, f in zip(units, free, strict=True) if not f}  # shared objects, slow to hash
        smallest = min(noisy.values(), default=Fraction(1))
        by_unit = {key: round_up(smallest / u) for key, u in noisy.items()}
        rows = zip(units, free, self.importance.tolist(), strict=True)
        return tuple(0.0 if f else by_unit[id(u)] / pull for u, f, pull in rows)

    @cached_property
    def even_bound(self) -> Bound:
        """The part of the policy that the even scales use. Raises if no noise could keep the policy."""
        bound = max_ratio(LaplaceCost(self.workload, self.even_scales), self.metric)
        if bound.upper == math.inf:
            raise separates(self.workload, self.metric, bound.witness)
        return bound

    @cached_property
    def growth_beside_spent(self) -> float:
        """The factor by which the even scales must grow to fit next to what was spent, in floats."""
        cost = LaplaceCost(self.workload, self.even_scales)
        plan = cover(together(cost, self.spent), self.metric, tree_searches=True)
        if plan.tree_searches:
            return self._growth_by_search(cost)
        most = 0.0
        for i, j in plan.pairs(1 << 13):
            asks = np.isfinite(self.metric.pairwise(i, j))
            i, j = i[asks], j[asks]
            load, limits = cost.pairwise(i, j), limits_of(self.metric, self.budget, self.spent, i, j)
            moved = load > 0
            if (used_up := moved & (limits <= 0)).any():
                at = int(used_up.argmax())
                raise nothing_left(self.workload, self.metric, (int(i[at]), int(j[at])))
            most = max(most, float((load[moved] / limits[moved]).max(initial=0.0)))
        return most

    def _growth_by_search(self, cost: LaplaceCost) -> float:
        """The same if pairs are searched for: iterate on the most violated pair, which determines the next factor."""
        growth = float(self.even_bound.upper / self.budget)
        for _ in range(_SHORT_PAIRS):
            scaled = LaplaceCost(self.workload, cost.scales * growth)
            pair = max_ratio(together(scaled, self.spent), self.metric).witness
            if self.spent is None or pair is None:
                break
            left = float(self.metric.exact(*pair) - self.spent.exact(*pair))
            wanted = float(cost.exact(*pair))
            if left <= 0 < wanted:
                raise nothing_left(self.workload, self.metric, pair)
            if wanted <= left * growth * (1 + 2.0**-40):
                break
            growth = wanted / left
        return growth

    def certified(self, method: str, proposal: Proposal) -> Candidate:
        """Enlarge the scales by the least common factor that keeps the policy, if any is missing, and certify them."""
        measured = proposal.measured or self.as_asked
        rows = measured.workload
        most = self.records if rows.universe.max_records is None else rows.universe.max_records  # n may be private
        if not measured.as_asked and most and rows.largest * most >= _ROOM:
            raise NotCertified("too many records for counts on so fine a grid", hints=['method="optimal"'])
        proposed: Floats = np.asarray(proposal.scales, dtype=np.float64)
        allowance = Allowance(self.metric, self.budget, self.spent)
        scales, certificate = repaired(proposed, lambda s: measured.cost(s, self.metric), allowance, self.workload)
        return Candidate(method, tuple(scales.tolist()), certificate, measured, proposal.about)

    def merit(self, found: Candidate) -> tuple[int, float]:
        """Return the number of answers that miss their target, and the error objective; less is better."""
        misses = 0
        if (self.targets > 0).any():
            errors = self.errors(found)
            asked = zip(self.workload.answers, errors, strict=True)
            misses = sum(a.within is not None and not e.good_enough(a.within) for a, e in asked)
        return misses, self.objective_of(self.effective(found))

    def errors(self, found: Noisy) -> tuple[ErrorOf, ...]:
        """The expected error of every answer."""
        distributions, shifts = self._noise(found)
        return all_expected(self.workload, distributions, self.records, shifts)

    def _noise(self, found: Noisy) -> tuple[Sequence[Distribution | float], Sequence[float] | None]:
        if found.measured.as_asked:
            return found.scales, None
        return found.measured.distributions(found.scales), found.measured.shifts

    def effective(self, found: Noisy) -> Floats:
        """Per workload row, the Laplace scale whose noise has the same error as the row's estimate, bias included."""
        if found.measured.as_asked:
            return np.asarray(found.scales)
        distributions, shifts = self._noise(found)
        moved: Floats = np.zeros(len(distributions)) if shifts is None else np.array(shifts) * (self.records or 0)
        sizes: Floats = np.array(
            [
                distribution.mean_absolute if not isinstance(distribution, float) else distribution
                for distribution in distributions
            ]
        )
        squares: Floats = np.array(
            [distribution.variance if not isinstance(distribution, float) else 0.0 for distribution in distributions]
        )
        return self.objective.size(squares, sizes, moved)

    def objective_of(self, scales: Sequence[float] | Floats) -> float:
        """The error objective of the noisy rows: each scale is divided by its reference and weighted."""
        s = np.asarray(scales) / self.reference
        noisy = s > 0
        return self.objective.total(s[noisy], self.weights[noisy]) if noisy.any() else 0.0

    def better(self, one: tuple[int, float], other: tuple[int, float], *, by: float = 1e-9) -> bool:
        """Whether one merit is better than another by more than a relative margin."""
        if one[0] != other[0]:
            return one[0] < other[0]
        return one[1] < other[1] - by * self.objective.unit(other[1], float(self.weights.sum()))

    def rated(self, found: Candidate, floor: float | None) -> Candidate:
        """Add the lower bound on the objective of any scales for these rows, and the gap above it, to the
        certificate.
        """
        if floor is None or not math.isfinite(floor) or not found.measured.as_asked:
            return found
        loss = self.objective_of(found.scales)
        noisy = np.asarray(found.scales) > 0
        size = float(self.weights[noisy].sum())
        gap = self.objective.gap(loss, floor, size) if noisy.any() else 0.0
        return replace(found, certificate=replace(found.certificate, lower_bound=floor, gap=gap))
