"""The facts of a plan: noise scales, certificate and expected errors. They cost nothing and need no data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import finite
from dxprivacy.formats.canonical import WITH_RECONSTRUCTION, Format, digest_of
from dxprivacy.mechanisms.linear.estimators.exact_reconstruction import ExactEstimator
from dxprivacy.mechanisms.linear.estimators.measured import Measured, NoiseCost, all_expected
from dxprivacy.mechanisms.linear.planning.standard_baselines import Baselines, Ours, baselines
from dxprivacy.mechanisms.planned import Facts
from dxprivacy.metrics import Metric
from dxprivacy.privacy import largest_loss
from dxprivacy.privacy.certificate import Certificate, certify
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Distribution, ErrorOf, Interval
from dxprivacy.universe.workload import Answer, Workload

LARGEST_SCALE = 2.0**52  # on the answer grid, so that answers plus noise stay within 64 bits


@dataclass(frozen=True)
class Proof:
    """A certificate with the cost that it was computed for. It is used for that cost and policy only."""

    cost: NoiseCost
    certificate: Certificate

    def holds(self, cost: NoiseCost, metric: Metric) -> bool:
        """Whether the certificate was computed for this cost and metric."""
        return self.certificate.metric == metric.digest and self.cost.identity == cost.identity


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanFacts(Facts):
    """Noise scales for every measured row, certified against a policy.

    The measured rows are those of the workload, or rows of a strategy (`measured`) from which the workload is
    estimated.
    """

    queries: Stack
    workload: Workload
    metric: Metric = field(repr=False)
    scales: tuple[float, ...]
    budget: Fraction
    method: str
    records: int | None  # number of records; for means, the number that errors are computed with
    title: str = ""
    dataset: str = ""
    measured: Measured  # the measured rows, and the estimator of the workload
    about: str = ""  # in words: the strategy and its quality
    planner: str = "auto"  # the requested method; standard DP is planned by the same method for comparison
    proof: Proof | None = field(default=None, repr=False)  # set if planning has just computed it

    def __post_init__(self) -> None:
        if max(self.scales, default=0.0) >= LARGEST_SCALE:
            raise NotCertified(
                "the smallest scale that keeps the policy exceeds any possible answer",
                hints=["raise epsilon in the policy, or ask for wider groups"],
            )

    @property
    def counted(self) -> Workload:
        """The measured rows: those that get noise."""
        return self.measured.workload

    @property
    def counted_queries(self) -> Stack:
        """The measured queries: the workload's own, or those of a strategy."""
        return self.measured.measured_queries(self.queries)

    @cached_property
    def cost(self) -> NoiseCost:
        """The cost of a release: its privacy loss on each pair of records."""
        return self.measured.cost(self.scales, self.metric)

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """The noise distribution of each row of the workload."""
        return self.measured.distributions_of_file(self.scales)

    def estimate(self, noisy: Ints, records: int) -> "list[int | float | Fraction]":
        """Estimate the rows of the workload from noisy measurements (post-processing)."""
        return self.measured.estimate(noisy, self.scales, records)

    @property
    def reconstruction(self) -> ExactEstimator | None:
        """The exact estimator matrix, if the plan's file carries one."""
        return self.measured.reconstruction(self.scales)

    def format(self, of: Format) -> str:
        """The format version of a file that holds this plan or its release."""
        return of.written if self.reconstruction is None else of.numbered(WITH_RECONSTRUCTION)

    def interval(self, answer: Answer, rows: "Sequence[int | float | Fraction]", records: int) -> Interval:
        """Return the released value of an answer and its 95 % interval, from estimated rows."""
        shifts = self.measured.shifts
        return answer.recipe.interval(
            rows, self.distributions, records, 0.0 if shifts is None else shifts[answer.rows[0]]
        )

    def is_exact(self, answer: Answer) -> bool:
        """Whether an answer is noise-free and has no other error: no shift, no rounding, no binning error."""
        shifts = self.measured.shifts
        recipe = answer.recipe
        hidden = recipe.below or recipe.above or recipe.bias or not recipe.may_be_exact
        return not hidden and all(
            self.distributions[r].variance == 0 and (shifts is None or not shifts[r]) for r in answer.rows
        )

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that these scales keep the policy. A stored proof is used only if it is for this cost
        and metric.
        """
        if self.proof is not None and self.proof.holds(self.cost, self.metric):
            return self.proof.certificate
        return certify(self.cost, self.metric)

    @cached_property
    def errors(self) -> tuple[ErrorOf, ...]:
        """Expected error of each answer."""
        shifts = self.measured.shifts
        return all_expected(self.workload, self.distributions, self.records, shifts)

    @cached_property
    def worst_case(self) -> tuple[float, tuple[int, int] | None]:
        """The worst-case ε, that is the largest privacy loss over all pairs, and the pair that attains it."""
        return largest_loss(self.cost)

    @property
    def worst_epsilon(self) -> float:
        """The worst-case ε: the largest privacy loss over all pairs."""
        return self.worst_case[0]

    @cached_property
    def baselines(self) -> Baselines:
        """The errors that standard DP would have, query by query."""
        ratio, worst = float(self.certificate.ratio), self.worst_epsilon
        return baselines(
            Ours(
                queries=self.queries,
                workload=self.workload,
                metric=self.metric,
                budget=self.budget,
                records=self.records,
                scales=self.scales,
                measured=self.measured,
                distributions=self.distributions,
                errors=self.errors,
                ratio=ratio,
                worst_epsilon=worst,
                method=self.planner,
            )
        )

    @property
    def expected_rmse(self) -> Floats:
        """Root mean square error per answer."""
        return np.array([e.rmse for e in self.errors])

    @property
    def gains(self) -> tuple[float, ...]:
        """Noise ratio per query: noise of standard DP at the strictest ε, planned by the same method, divided by ours.

        It is never below 1 (`standard_baselines` proves it), and inf if no pair limits the query.
        """
        return tuple(query.gain for query in self.baselines.queries)

    @cached_property
    def improvement(self) -> Floats:
        """Error ratio per answer: standard DP at the strictest ε of the query, divided by ours; inf for noise-free
        answers.

        For a whole query the ratio is at least 1. A single answer may have a smaller one, in favor of the others.
        """
        return np.array([_times(theirs, ours) for theirs, ours in zip(self.baselines.strict, self.errors, strict=True)])

    @cached_property
    def written_scales(self) -> list[str]:
        """The scales as text for files and digests. Equal scales share one string object."""
        known: dict[str, str] = {}
        return [known.setdefault(text, text) for text in map(float.hex, self.scales)]

    @cached_property
    def request(self) -> str:
        """The plan's identifier: a digest of everything that matters to a release."""
        return digest_of(
            {
                "metric": self.metric.digest,
                "dataset": self.dataset,
                # Titles are left out: a renamed query is the same query, and its answer is not charged twice.
                "queries": [{k: v for k, v in q.items() if k != "title"} for q in self.queries.to_dict()],
                "workload": self.workload.digest,
                "scales": self.written_scales,
                "budget": str(self.budget),
                "rows": self.records,
                **({} if self.measured.as_asked else {"measured": [self.measured.how, self.measured.workload.digest]}),
            }
        )

    def payload(self) -> dict[str, Any]:
        """Return the JSON fields that a plan and its release share; they suffice to check either file by itself."""
        return {
            "name": self.name,
            "request": self.request,
            **self.policy_facts(),
            "queries": self.queries.to_dict(),
            "workload": self.workload.digest,
            "rows": self.records,
            "budget": str(self.budget),
            "scales": self.written_scales,
            "certificate": self.certificate.to_dict(),
            "worst_case_epsilon": finite(self.worst_epsilon),
            **({} if self.measured.as_asked else {"measured": self.measured.to_dict() | self._carried()}),
        }

    def _carried(self) -> dict[str, Any]:
        carried = self.reconstruction
        return {} if carried is None else {"reconstruction": carried.to_dict()}


def _times(theirs: ErrorOf | None, ours: ErrorOf) -> float:
    """Ratio of 95 % half-widths, theirs to ours; ratio of root mean squares if a half-width is 0."""
    if theirs is None:
        return np.inf
    if min(theirs.half_width, ours.half_width) > 0:
        return theirs.half_width / ours.half_width
    return theirs.rmse / ours.rmse if ours.rmse > 0 else np.inf
