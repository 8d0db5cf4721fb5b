"""Planned selections: how they are made and executed."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dxprivacy.errors import NotCertified, UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import is_whole, round_up
from dxprivacy.formats.canonical import SELECTION_PLAN, sealed
from dxprivacy.mechanisms.linear.plan_facts import LARGEST_SCALE
from dxprivacy.mechanisms.planned import Count, Planned, Progress, target
from dxprivacy.mechanisms.sampling import Noise
from dxprivacy.mechanisms.selection.run import chosen
from dxprivacy.mechanisms.selection.selection_facts import SelectionFacts
from dxprivacy.mechanisms.selection.selection_release import (
    SelectionRelease,
    build_selection,
    dry_run_selection,
    selection_from_json,
)
from dxprivacy.mechanisms.spending import Spending, read_kept
from dxprivacy.mechanisms.uninformative import selection_warning
from dxprivacy.metrics import Metric
from dxprivacy.policy import Policy
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.certificate import separates
from dxprivacy.privacy.costs import Cost, SelectionCost
from dxprivacy.privacy.repair import Allowance, parse_budget, repaired, require_spent
from dxprivacy.queries.kinds.quantiles import Quantiles
from dxprivacy.queries.selections import Pick, as_pick
from dxprivacy.queries.text.selection_grammar import parse_pick
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import Displayed, shown


@dataclass(frozen=True, eq=False, kw_only=True)
class Selection(SelectionFacts, Displayed, Planned[SelectionRelease]):
    """A planned selection: its candidates and certified scale. It costs nothing and holds no data.

    >>> import dxprivacy as dx
    >>> choice = dx.plan_selection(dx.most_common("element"), dx.metrics.constant(4, 1), n_records=100)
    >>> choice.scale, round(choice.shortfall(), 1)  # at most so many records fewer than the best, 95 % of the time
    (1.0, 8.8)
    """

    told = "selection was planned", "session.plan_selection(…)"

    @property
    def reserved(self) -> SelectionCost:
        return self.cost

    @property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        return self.workload.asks

    def uninformative(self, records: int | None = None) -> str:
        return selection_warning(self, records)

    def dry_run(self, records: int, ledger_reference: LedgerReference) -> None:
        """Refuse scores that are too large, and releases whose text cannot be made."""
        self.require_room(records)
        dry_run_selection(self, records, ledger_reference)

    def run(self, count: Count, noise: Noise, spend: Spending, *, progress: Progress | None = None) -> SelectionRelease:  # noqa: ARG002
        """Reserve the cost, count, select and store the outcome; a stored outcome is returned unchanged."""
        self.certificate.require(at_most=self.budget)  # Thm 3, before anything is spent, and again in `chosen`

        def act(ledger_reference: LedgerReference) -> str:
            histogram = count()
            index = chosen(self, histogram, noise)
            return build_selection(self, index, histogram.public_records, ledger_reference).to_json()

        return read_kept(spend.step(self.cost, self.candidates.queries, "", act), selection_from_json)

    def __str__(self) -> str:
        return shown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the sealed JSON document."""
        return sealed({"format": SELECTION_PLAN.written, "title": str(self.pick), **self.payload()})


def certified_scale(cost_of_one: Fraction, budget: Fraction) -> float:
    """Return the least float64 scale that keeps a budget, given the fraction of the policy that scale 1 uses."""
    return round_up(Fraction(cost_of_one) / budget)


def make_selection(
    pick: Pick | Quantiles | str,
    policy: Policy | Metric,
    *,
    budget: object = "100%",
    flip: bool = False,
    n_records: int | None = None,
    spent: Cost | None = None,
    title: str = "",
    dataset: str = "",
) -> Selection:
    """Plan a certified selection; `n_records` is the public number of records, if known.

    `spent` is what was released before (such as `ledger.spent`); the selection then fits next to it on every pair.

    >>> import dxprivacy as dx
    >>> ages = dx.Universe([dx.Integers(name="age", low=0, high=9, has_other=False)])
    >>> choice = dx.plan_selection("median age", dx.metrics.attributes(ages, {"age": {"epsilon": 1, "per": 1}}))
    >>> choice.scale, choice.certificate.ratio, round(choice.shortfall(), 1)
    (2.0, Fraction(1, 1), 10.6)
    """
    metric, title, dataset = target(policy, title, dataset)
    wanted = parse_pick(pick) if isinstance(pick, str) else as_pick(pick) if isinstance(pick, Quantiles) else pick
    if not isinstance(wanted, Pick):
        raise UsageError(
            f"not a selection: {type(wanted).__name__}", hints=['dx.most_common("job")', 'dx.median_of("age")']
        )
    granted = parse_budget(budget)
    wanted.require_honest(metric.universe)
    found = wanted.on(metric.universe)
    bound = max_ratio(SelectionCost(found.workload, np.ones(found.workload.rows)), metric)
    if bound.upper == math.inf:
        raise separates(found.workload, metric, bound.witness)
    allowance = Allowance(metric, granted, require_spent(spent, metric))
    proposed: Floats = np.array([certified_scale(Fraction(bound.upper), granted)])
    (scale,), _ = repaired(proposed, partial(_alike, found.workload), allowance, found.workload)
    if scale >= LARGEST_SCALE:
        raise NotCertified(
            "the smallest scale that keeps the policy exceeds any possible score",
            hints=["raise epsilon in the policy, or ask for wider groups"],
        )
    known = metric.universe.max_records if n_records is None else _whole(n_records)
    selection = Selection(
        pick=wanted,
        candidates=found,
        metric=metric,
        scale=float(scale),
        budget=granted,
        flip=bool(flip),
        title=title,
        dataset=dataset,
        records=known,
    )
    if known is not None:
        selection.require_room(known)
    return selection


def _alike(workload: Workload, scale: Floats) -> SelectionCost:
    """The cost of one scale for all rows."""
    return SelectionCost(workload, np.full(workload.rows, float(scale[0])))


def _whole(n_records: object) -> int:
    if not is_whole(n_records) or n_records < 0:
        raise UsageError(f"n_records is {n_records!r}; the number of records is a whole number")
    return int(n_records)
