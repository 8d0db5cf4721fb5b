"""A direct fit as a mechanism: an ordinary plan is released, and a histogram fitted to its noisy counts."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dxprivacy.accounting.certificate import Certificate
from dxprivacy.accounting.costs import LaplaceCost
from dxprivacy.mechanisms.direct.run import fit_histogram
from dxprivacy.mechanisms.laplace.plan import Plan
from dxprivacy.mechanisms.noise import Noise
from dxprivacy.mechanisms.planned import SYNTHESIS, Count, Planned, Progress
from dxprivacy.mechanisms.spending import Spending
from dxprivacy.mechanisms.synthesis.made import Made
from dxprivacy.metrics import Metric
from dxprivacy.model.workload import Workload
from dxprivacy.release.booking import Booking


@dataclass(frozen=True, eq=False)
class DirectFit(Planned[Made]):
    """All that is spent is spent by the plan: its cost, proof and name are those of the fit."""

    plan: Plan
    told = SYNTHESIS

    @property
    def metric(self) -> Metric:  # type: ignore[override]
        """That of the plan."""
        return self.plan.metric

    @property
    def share(self) -> Fraction:  # type: ignore[override]
        """That of the plan."""
        return self.plan.share

    @property
    def title(self) -> str:  # type: ignore[override]
        """That of the plan."""
        return self.plan.title

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """That of the plan."""
        return self.plan.dataset

    @property
    def workload(self) -> Workload:  # type: ignore[override]
        """The rows that were asked for."""
        return self.plan.workload

    @property
    def request(self) -> str:
        """That of the plan: whoever released it before gets the fit for nothing."""
        return self.plan.request

    @property
    def certificate(self) -> Certificate:
        """That of the plan."""
        return self.plan.certificate

    @property
    def reserved(self) -> LaplaceCost:
        """That of the plan."""
        return self.plan.reserved

    def essence(self) -> dict[str, Any]:
        """That of the plan."""
        return self.plan.essence()

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the plan."""
        return self.plan.to_dict()

    def rehearse(self, records: int, booking: Booking) -> None:
        """As the plan."""
        self.plan.rehearse(records, booking)

    def run(self, count: Count, noise: Noise, spend: Spending, *, progress: Progress | None = None) -> Made:
        """An ordinary release, and a histogram that fits it."""
        release = self.plan.run(count, noise, spend, progress=progress)
        return Made(fit_histogram(self.plan, release), release.answers, {}, release)
