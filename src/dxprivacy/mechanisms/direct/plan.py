"""Planned direct fits: an ordinary plan is released, and a histogram is fitted to its noisy counts.

The plan is the best plan for the queries, or one that counts every possible record that they separate. As a histogram
is wanted, these counts are always a candidate, even if the quick planner would not try them: with many overlapping
queries they win by far. Both are ordinary certified plans for the given queries; the second estimates their answers by
least squares.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import BudgetExceeded, NotCertified
from dxprivacy.mechanisms.direct.run import fit_histogram
from dxprivacy.mechanisms.linear.estimators.least_squares import MOST_CELLS, LeastSquares
from dxprivacy.mechanisms.linear.estimators.measured import NoiseCost
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.linear.strategies.separated_records import classes_of, count_representatives, moves
from dxprivacy.mechanisms.planned import SYNTHESIS, Count, Planned, Progress
from dxprivacy.mechanisms.sampling import Noise
from dxprivacy.mechanisms.spending import Spending
from dxprivacy.mechanisms.synthesis.synthetic_data import Made
from dxprivacy.metrics import Metric
from dxprivacy.privacy.certificate import Certificate
from dxprivacy.privacy.costs import Cost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.strategy_rows import Groups, Tally
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.universe.workload import Workload


def plan_direct(
    queries: Any,
    metric: Metric,
    *,
    n_records: int | None = None,
    budget: object = "100%",
    spent: Cost | None = None,
    seconds: float | None = None,
    title: str = "",
    dataset: str = "",
) -> Plan:
    """Return the certified plan with the least known squared error for a direct fit.

    >>> from dxprivacy import metrics
    >>> boxes = [[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]]
    >>> plan_direct(boxes, metrics.constant(4, 1), n_records=100).counted.rows
    4
    """
    best = make_plan(
        queries, metric, n_records=n_records, budget=budget, spent=spent, seconds=seconds, title=title, dataset=dataset
    )
    by_cells = _counting_cells(best, spent, seconds)
    return best if by_cells is None or _error(best) <= _error(by_cells) else by_cells


def _error(plan: Plan) -> float:
    return float((plan.expected_rmse**2).sum())


def _counting_cells(plan: Plan, spent: Cost | None, seconds: float | None) -> Plan | None:
    """The same queries, estimated from counts of all possible records that they separate; None if that is
    not possible.
    """
    workload, metric = plan.workload, plan.metric
    tally = tally_of(workload)
    if metric.universe.absent is not None or tally is None or workload.rows < 2:
        return None
    try:
        inner = make_plan(
            Stack((tally,)), metric, n_records=plan.records, budget=plan.budget, spent=spent, seconds=seconds
        )
        found = replace(
            plan,
            scales=inner.scales,
            method="matrix",
            measured=LeastSquares(workload, inner.counted_queries),
            about="counts every cell, and works the answers out by least squares",
            planner="auto",
            proof=None,
        )
        found.certificate.require(at_most=plan.budget)
        _ = found.errors  # raises if the workload cannot be estimated from the measured rows
    except (NotCertified, BudgetExceeded):  # another strategy may fit where this one does not
        return None
    return found


def tally_of(workload: Workload) -> Tally | None:
    """Return a count of every possible record that the queries separate; None if there are too many, or none."""
    blocks = workload.blocks
    axes = sorted(set().union(*(moves(b) for b in blocks)))
    if not axes or count_representatives(blocks, axes) > MOST_CELLS:
        return None
    names = workload.universe.names
    classes = {axis: classes_of(blocks, axis) for axis in axes}
    parts = [
        Groups(names[a], tuple(c.tolist()), tuple(np.ones(len(c), dtype=int).tolist())) for a, c in classes.items()
    ]
    return Tally(tuple(parts))


@dataclass(frozen=True, eq=False)
class DirectFit(Planned[Made]):
    """A direct fit. Its plan spends everything: cost, certificate and name of the fit are those of the plan."""

    plan: Plan
    told = SYNTHESIS

    @property
    def metric(self) -> Metric:  # type: ignore[override]
        """The plan's metric."""
        return self.plan.metric

    @property
    def budget(self) -> Fraction:  # type: ignore[override]
        """The plan's budget."""
        return self.plan.budget

    @property
    def title(self) -> str:  # type: ignore[override]
        """The plan's title."""
        return self.plan.title

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The plan's dataset."""
        return self.plan.dataset

    @property
    def workload(self) -> Workload:  # type: ignore[override]
        """The rows of the workload."""
        return self.plan.workload

    @property
    def request(self) -> str:
        """The plan's identifier: if the plan was released before, the fit costs nothing."""
        return self.plan.request

    @property
    def certificate(self) -> Certificate:
        return self.plan.certificate

    @property
    def reserved(self) -> NoiseCost:
        return self.plan.reserved

    @property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        return self.plan.asks

    def payload(self) -> dict[str, Any]:
        return self.plan.payload()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the plan."""
        return self.plan.to_dict()

    def __str__(self) -> str:
        return str(self.plan)

    def uninformative(self, records: int | None = None) -> str:
        return self.plan.uninformative(records)

    def dry_run(self, records: int, ledger_reference: LedgerReference) -> None:
        self.plan.dry_run(records, ledger_reference)

    def run(self, count: Count, noise: Noise, spend: Spending, *, progress: Progress | None = None) -> Made:
        """Make an ordinary release, and fit a histogram to it."""
        release = self.plan.run(count, noise, spend, progress=progress)
        synthetic = fit_histogram(self.plan, release)
        return Made(synthetic, release.answers, {"fit": dict(synthetic.fit or {})}, release)
