"""What a plan knows: the noise each answer will get, its certificate and its expected error.  It costs nothing."""

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
from dxprivacy.mechanisms.linear.estimators.exact_reconstruction import WayBack
from dxprivacy.mechanisms.linear.estimators.measured import Measured, NoiseCost, all_expected
from dxprivacy.mechanisms.linear.planning.standard_baselines import Baselines, Ours, baselines
from dxprivacy.mechanisms.planned import Facts
from dxprivacy.metrics import Metric
from dxprivacy.privacy import largest_loss
from dxprivacy.privacy.certificate import Certificate, certify
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Distribution, ErrorOf, Interval
from dxprivacy.universe.workload import Answer, Workload

LARGEST_SCALE = 2.0**52  # on the grid; answers and noise together stay within 64 bits


@dataclass(frozen=True)
class Proof:
    """A certificate, and the rows, scales and policy that it was computed for: taken for those, and for no others."""

    cost: NoiseCost
    certificate: Certificate

    def holds(self, cost: NoiseCost, metric: Metric) -> bool:
        """Whether it is about this very cost."""
        return self.certificate.metric == metric.digest and self.cost.identity == cost.identity


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanFacts(Facts):
    """Scales for every row that is counted, certified against a policy.

    What is counted are the rows of the workload, or others (`measured`) from which those are worked out.
    """

    queries: Stack
    workload: Workload
    metric: Metric = field(repr=False)
    scales: tuple[float, ...]
    budget: Fraction
    method: str
    records: int | None  # how many there are, or are estimated with for means
    title: str = ""
    dataset: str = ""
    measured: Measured  # what is counted, and how what was asked follows from it
    about: str = ""  # in words: which strategy, and how good it is
    planner: str = "auto"  # the method that was asked for, by which standard DP is planned for comparison as well
    proof: Proof | None = field(default=None, repr=False)  # where planning has just computed it

    def __post_init__(self) -> None:
        if max(self.scales, default=0.0) >= LARGEST_SCALE:
            raise NotCertified("the noise would be larger than any answer", hints=["the policy is too strict for this"])

    @property
    def counted(self) -> Workload:
        """The rows that get noise."""
        return self.measured.workload

    @property
    def counted_queries(self) -> Stack:
        """The queries that are put to the data: those that were asked, or others in their place."""
        return self.measured.put(self.queries)

    @cached_property
    def cost(self) -> NoiseCost:
        """What a release would cost, pair by pair."""
        return self.measured.cost(self.scales, self.metric)

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """The distribution of the noise in each row that was asked for."""
        return self.measured.distributions_of_file(self.scales)

    def estimate(self, noisy: Ints, records: int) -> "list[int | float | Fraction]":
        """The rows that were asked for, from noisy counts: post-processing."""
        return self.measured.estimate(noisy, self.scales, records)

    @property
    def reconstruction(self) -> WayBack | None:
        """The way from counted rows to those that were asked for, where the plan's file carries it."""
        return self.measured.reconstruction(self.scales)

    def format(self, of: Format) -> str:
        """The version of a file that holds this plan, or its release."""
        return of.written if self.reconstruction is None else of.numbered(WITH_RECONSTRUCTION)

    def interval(self, answer: Answer, rows: "Sequence[int | float | Fraction]", records: int) -> Interval:
        """The released value of an answer and its 95 % interval, from estimated rows."""
        shifts = self.measured.shifts
        return answer.recipe.interval(
            rows, self.distributions, records, 0.0 if shifts is None else shifts[answer.rows[0]]
        )

    def is_exact(self, answer: Answer) -> bool:
        """Whether an answer has no noise, and nothing else moves it: shift, rounding, or cells that hide a part."""
        shifts = self.measured.shifts
        recipe = answer.recipe
        hidden = recipe.below or recipe.above or recipe.bias or not recipe.may_be_exact
        return not hidden and all(
            self.distributions[r].variance == 0 and (shifts is None or not shifts[r]) for r in answer.rows
        )

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that these very scales keep the policy; computed from them, never carried along to others."""
        if self.proof is not None and self.proof.holds(self.cost, self.metric):
            return self.proof.certificate
        return certify(self.cost, self.metric)

    @cached_property
    def errors(self) -> tuple[ErrorOf, ...]:
        """Expected error per answer."""
        shifts = self.measured.shifts
        return all_expected(self.workload, self.distributions, self.records, shifts)

    @cached_property
    def worst_case(self) -> tuple[float, tuple[int, int] | None]:
        """The standard-DP reading: the largest loss over all pairs, and its pair."""
        return largest_loss(self.cost)

    @property
    def worst_epsilon(self) -> float:
        """The largest loss over all pairs."""
        return self.worst_case[0]

    @cached_property
    def baselines(self) -> Baselines:
        """What standard differential privacy would give, query by query."""
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
        """Per query: how many times more noise the same planner would need under one ε for all pairs, the least
        that the query tells apart; never below 1 (`baselines` says why), inf where nothing limits it."""
        return tuple(query.gain for query in self.baselines.queries)

    @cached_property
    def improvement(self) -> Floats:
        """Per answer: the error of standard DP as strict as the closest pair that its query tells apart, divided by
        ours; inf for exact answers.

        Of a query as a whole it is at least 1; one of its answers may be given up a little for the others.
        """
        return np.array([_times(theirs, ours) for theirs, ours in zip(self.baselines.strict, self.errors, strict=True)])

    @cached_property
    def written_scales(self) -> list[str]:
        """The scales as files and digests have them; equal ones are one text."""
        known: dict[str, str] = {}
        return [known.setdefault(text, text) for text in map(float.hex, self.scales)]

    @cached_property
    def request(self) -> str:
        """The plan's own name: a digest of everything that matters to a release."""
        return digest_of(
            {
                "metric": self.metric.digest,
                "dataset": self.dataset,
                # A query called otherwise is the same query: its answer is not paid for twice.
                "queries": [{k: v for k, v in q.items() if k != "title"} for q in self.queries.to_dict()],
                "workload": self.workload.digest,
                "scales": self.written_scales,
                "budget": str(self.budget),
                "rows": self.records,
                **({} if self.measured.as_asked else {"measured": [self.measured.how, self.measured.workload.digest]}),
            }
        )

    def payload(self) -> dict[str, Any]:
        """For JSON: what a plan and its release have in common, enough to check both from the file alone."""
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
    """How many times ours, of the widths that a reader sees; by the mean square where 95 % of one's noise is 0."""
    if theirs is None:
        return np.inf
    if min(theirs.half_width, ours.half_width) > 0:
        return theirs.half_width / ours.half_width
    return theirs.rmse / ours.rmse if ours.rmse > 0 else np.inf
