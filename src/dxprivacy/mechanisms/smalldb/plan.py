"""Planned small databases: how they are made and drawn."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError, TooLarge, UsageError
from dxprivacy.exact.answer_grid import fits_scores
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import is_whole, round_up
from dxprivacy.mechanisms.linear.planning.budget_remedies import guesses
from dxprivacy.mechanisms.planned import SYNTHESIS, Count, Planned, Progress, require_number, target
from dxprivacy.mechanisms.sampling import Noise
from dxprivacy.mechanisms.smalldb.as_histogram import small_histogram
from dxprivacy.mechanisms.smalldb.routes import (
    Route,
    database_size,
    log_databases,
    require_alpha,
    require_beta,
    route,
)
from dxprivacy.mechanisms.smalldb.run import small_database
from dxprivacy.mechanisms.smalldb.smalldb_facts import ComparedRows, SmallDbFacts, asked_rows, flatter_rows, scales_of
from dxprivacy.mechanisms.spending import Spending
from dxprivacy.mechanisms.synthesis.histogram_answers import require_all_cells
from dxprivacy.mechanisms.synthesis.synthetic_data import Made, bounded_rows
from dxprivacy.metrics import Metric
from dxprivacy.policy import Policy
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.certificate import separates
from dxprivacy.privacy.costs import Cost, SelectionCost
from dxprivacy.privacy.repair import Allowance, parse_budget, repaired, require_spent
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import json_text, shown

_SHARP = 2.0**40  # ratio of score to scale where the policy sets no limit


@dataclass(frozen=True, eq=False, kw_only=True)
class SmallDbPlan(SmallDbFacts, Planned[Made]):
    """A planned small database: size, scale, route, certificate and error. It costs nothing and holds no data.

    >>> import dxprivacy as dx
    >>> plan = dx.plan_smalldb([[1, 1, 0], [0, 1, 1]], dx.metrics.constant(3, 1), n_records=600, alpha=0.4)
    >>> plan.size, plan.scale
    (5, 1.0)
    """

    told = SYNTHESIS
    in_steps = True  # one named step

    @property
    def whole_cost(self) -> SelectionCost | None:
        """The cost of its one step; None if nothing depends on the data."""
        return None if self.free else self.cost

    @property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        return self.rows.workload.asks

    def uninformative(self, records: int | None = None) -> str:  # noqa: ARG002 - it is made for one number of them
        known = guesses(self.workload, self.records)
        if all(bound >= guess for bound, guess in zip(self.bounds.tolist(), known, strict=True)):
            return "uninformative: a constant for each answer errs as little"
        return ""

    def dry_run(self, records: int, ledger_reference: LedgerReference) -> None:  # noqa: ARG002
        """Refuse another number of records; check that the report's facts can be written."""
        require_number(self.records, records)
        json_text(self.payload())

    def run(self, count: Count, noise: Noise, spend: Spending, *, progress: Progress | None = None) -> Made:  # noqa: ARG002
        small = small_database(self, count, noise, spend)
        released = bounded_rows(self.workload, small.answers, self.bounds)
        return Made(small_histogram(small), released, {"plan": self.payload()})

    def __str__(self) -> str:
        return shown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the public facts."""
        return self.payload()


def make_smalldb(
    queries: Any,
    policy: Policy | Metric,
    *,
    n_records: int,
    alpha: float | None = 0.5,
    beta: float = 0.05,
    budget: object = "100%",
    flatten: bool | None = None,
    spent: Cost | None = None,
    title: str = "",
    dataset: str = "",
) -> SmallDbPlan:
    """Plan a small database for n = `n_records` records.

    `alpha=None` takes the size with the least error bound among those that can be drawn. `flatten` compares the
    candidates by flatter rows from the exact envelope; None does so if that lowers the bound. `spent` is what was
    released before; the database then fits next to it on every pair.

    >>> import dxprivacy as dx
    >>> plan = dx.plan_smalldb([[1, 1, 0, 0]], dx.metrics.constant(4, 1), n_records=1000, alpha=0.2)
    >>> plan.size, plan.scale, plan.route.name
    (9, 1.0, 'enumeration')
    """
    metric, title, dataset = target(policy, title, dataset)
    n, granted = _records(n_records, metric), parse_budget(budget)
    require_all_cells(metric.universe, "a small database")
    before = require_spent(spent, metric)
    require_beta(beta)
    if alpha is not None:
        require_alpha(alpha)
    asked = gather(queries)
    asked.require_honest(metric.universe)
    workload = asked.on(metric.universe)
    if any(a.recipe.single is None for a in workload.answers):
        raise QueryError("means of groups are ratios; a small database answers counts and sums", hints=["sum …"])
    plans = []
    refusal: TooLarge | None = None
    for flat in (False, True) if flatten is None else (bool(flatten),):
        if flat:
            found = flatter_rows(asked, workload, metric, n, granted, beta, needed=flatten is True)
        else:
            found = asked_rows(asked, workload)
        if found is None and flatten is None:
            continue
        try:
            rows_put = found or asked_rows(asked, workload)  # constant rows cannot get flatter
            plans.append(_planned(asked, workload, rows_put, metric, n, alpha, beta, granted, before, title, dataset))
        except TooLarge as error:
            refusal = refusal or error
    if not plans:
        raise refusal or TooLarge("no small database can be drawn")
    return min(plans, key=lambda plan: plan.relative_bound)


def _planned(
    asked: Stack, workload: Workload, found: ComparedRows, metric: Metric, n: int, alpha: float | None, beta: float,
    budget: Fraction, spent: Cost | None, title: str, dataset: str,
) -> SmallDbPlan:  # fmt: skip
    scale = _certified_scale(found, metric, budget, n, spent)
    sizes = [database_size(alpha, len(found.weights))] if alpha is not None else _SIZES
    best: SmallDbPlan | None = None
    refusal: TooLarge | None = None
    for size in sizes:
        try:
            way = _way(found, metric, scale, size, n)
        except TooLarge as error:
            refusal = error
            break  # larger sizes are not easier
        if best is not None and not way.quick:
            break  # a slow route is used only for a requested size
        plan = SmallDbPlan(
            queries=asked,
            workload=workload,
            rows=found,
            metric=metric,
            scale=scale,
            size=size,
            records=n,
            beta=beta,
            budget=budget,
            route=way,
            title=title,
            dataset=dataset,
        )
        if best is None or plan.relative_bound < best.relative_bound:
            best = plan
    if best is None:
        raise refusal or TooLarge("no small database can be drawn")
    best.certificate.require(at_most=budget)
    return best


_SIZES = tuple(sorted({round(1.15**k) for k in range(1, 60)}))


def _way(found: ComparedRows, metric: Metric, scale: float, size: int, n: int) -> Route:
    """Return the route, after refusing everything that could exceed exact numbers."""
    largest, spans = found.workload.largest, found.spans()
    widest = max(spans)
    if not (fits_scores(2 * largest * max(found.weights) * n * size, 0) and fits_scores(widest * n, scale)):
        raise TooLarge(
            f"{n:,} records times {size:,} are too many for exact scores", where="smalldb", hints=["a larger alpha"]
        )
    cells = metric.universe.cells
    exponent = widest * n / (2 * scale)
    raw = [span // weight for span, weight in zip(spans, found.weights, strict=True)]
    return route(cells, size, len(spans), raw, exponent, log_databases(cells, size))


def _certified_scale(found: ComparedRows, metric: Metric, budget: Fraction, n: int, spent: Cost | None) -> float:
    """Return the least float64 s at which the loss stays within the budget."""
    if found.constant:
        return 1.0  # all candidates have the same score, so any scale is valid
    bound = max_ratio(SelectionCost(found.workload, scales_of(1.0, found.weights)), metric)
    if bound.upper == math.inf:
        raise separates(found.workload, metric, bound.witness)
    scale = round_up(Fraction(bound.upper) / budget)
    if scale == 0:  # rows differ only where the policy is public
        return max(found.spans()) * n / _SHARP
    proposed: Floats = np.array([scale])
    allowance = Allowance(metric, budget, spent)
    (found_scale,), _ = repaired(proposed, partial(_weighted, found), allowance, found.workload)
    return float(found_scale)


def _weighted(found: ComparedRows, scale: Floats) -> SelectionCost:
    return SelectionCost(found.workload, scales_of(float(scale[0]), found.weights))


def _records(n_records: object, metric: Metric) -> int:
    if metric.universe.absent is not None:
        raise UsageError(
            "a small database is rescaled to the number of records, which is private under this policy",
            hints=[("--method direct", "fits records to noisy answers instead")],
        )
    if not is_whole(n_records) or n_records < 0:
        raise UsageError(f"n_records is {n_records!r}; the number of records is a whole number")
    if n_records == 0:
        raise UsageError("there are no records to learn from", hints=["n_records=1000"])
    return int(n_records)
