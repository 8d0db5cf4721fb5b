"""Planned mechanisms: values made without data, which state their cost and can be executed.

Every mechanism that spends budget is a package of its own. Its facts hold what is known before anything is spent (cost,
certificate, expected error); `run` holds what is done with the data; and `plan` holds the value that joins both, and
how it is made. All of them are executed in one way (`Session.execute`): data is counted and noise drawn only inside a
step whose cost `spend` has reserved.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

from dxprivacy.errors import UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling import Noise, SystemNoise
from dxprivacy.mechanisms.spending import Spending, Unrecorded
from dxprivacy.metrics import Metric
from dxprivacy.policy import Policy
from dxprivacy.privacy.certificate import Certificate
from dxprivacy.privacy.costs import RowsCost
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import OneLine, percent, plural

# -- Facts of a mechanism before it is executed: certificate, name and policy; no data ---------------------------------


class Facts(OneLine, ABC):
    """The facts of a mechanism that are known before it is executed. They hold no data and cost nothing."""

    metric: Metric
    workload: Workload  # the workload's rows
    budget: Fraction  # upper bound of the policy's fraction for all steps together
    title: str  # of the policy
    dataset: str

    @property
    @abstractmethod
    def request(self) -> str:
        """The identifier: a digest of everything that affects the outcome."""

    @property
    @abstractmethod
    def certificate(self) -> Certificate:
        """The proof that its costs keep the policy. It is always computed from the scales that are used."""

    @property
    def granted(self) -> Fraction:
        """The bound on the certificate's ratio: the budget, or the part of one step if there are several equal ones."""
        return self.budget

    @property
    def name(self) -> str:
        """The first digits of the digest, for people and file names."""
        return self.request[:4]

    def in_short(self) -> str:
        answers = plural(len(self.workload.answers), "answer")
        return f"{self.name!r}, {answers}, {percent(float(self.budget))} of the policy"

    @abstractmethod
    def payload(self) -> dict[str, Any]:
        """Return the JSON fields that its files share."""

    def policy_facts(self) -> dict[str, Any]:
        """Return the JSON fields of the policy and its possible records."""
        return {
            "policy": {
                "title": self.title,
                "dataset": self.dataset,
                "neighbors": self.metric.universe.neighbors,
                "metric": self.metric.to_dict(),
            },
            "universe": self.metric.universe.to_dict(),
        }


# -- A planned mechanism -----------------------------------------------------------------------------------------------


T = TypeVar("T")
Count: TypeAlias = Callable[[], Histogram]
"""Counts the data: called once, inside a reserved step."""
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the step and the number of steps; never with anything about data."""
SYNTHESIS = "plan was made", "session.plan_synthesis(…)"


class Planned(Facts, Generic[T]):
    """Facts that can be executed, with an outcome T."""

    told: ClassVar[tuple[str, str]]  # for errors: what was made, and the call that makes it
    in_steps: ClassVar[bool] = False  # whether its ledger entries are steps with names of their own

    def entry_name(self, request: str) -> str:
        """Return the name of its ledger entry; for several steps, the common prefix of their names."""
        require_request(request)
        if self.in_steps:  # one word, by which the ledger groups the steps of a run
            return f"synth-{self.request[:16]}" + (f"-{quote(request, safe='')}" if request else "")
        return f"{self.request[:16]} {request}".strip()

    @property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        """The attributes to count by, one tuple for each of its tables; by default all attributes."""
        return (tuple(range(len(self.metric.universe.shape))),)

    @property
    def asks_people(self) -> tuple[tuple[int, ...], ...]:
        """The attributes by which to count people, one tuple for each table of people; usually none."""
        return ()

    @property
    def steps(self) -> int:
        """The number of steps."""
        return 1

    @property
    def entries(self) -> int:
        """The number of ledger entries after execution."""
        return self.steps

    def cost_of_steps(self, steps: int) -> RowsCost | None:  # noqa: ARG002
        """An upper bound on the cost of this many steps, whatever they find; None if there is only one step."""
        return None

    @property
    def all_steps(self) -> RowsCost | None:
        """An upper bound on the cost of all steps together; None if there is only one step."""
        return self.cost_of_steps(self.steps)

    @property
    def reserved(self) -> RowsCost | None:
        """The cost of its only step, if known in advance; None if it depends on what is found."""
        return None

    @property
    def whole_cost(self) -> RowsCost | None:
        """An upper bound on everything that it will spend; None if it spends nothing."""
        return self.reserved if self.all_steps is None else self.all_steps

    def uninformative(self, records: int | None = None) -> str:  # noqa: ARG002
        """Return a warning if the whole outcome would be uninformative for this number of records; otherwise empty."""
        return ""

    @abstractmethod
    def dry_run(self, records: int, ledger_reference: LedgerReference) -> None:
        """Raise whatever can be known to fail from public numbers, before anything is spent."""

    def by_hand(self, counts: object, *, noise: Noise | None = None, progress: Progress | None = None) -> T:
        """Execute on a histogram, without a ledger (for researchers); spends at most the budget."""
        universe = self.metric.universe
        histogram = counts if isinstance(counts, Histogram) else Histogram.of(universe, counts)
        spend = Unrecorded(self.metric, self.budget)
        return self.run(lambda: histogram, noise or SystemNoise(), spend, progress=progress)

    @abstractmethod
    def run(self, count: Count, noise: Noise, spend: Spending, *, progress: Progress | None = None) -> T:
        """Execute: `spend` reserves every step before anything is counted or drawn."""


def require_request(request: object) -> None:
    """Refuse request names that are blank or that no ledger could store."""
    if not isinstance(request, str) or (request and not request.strip()):
        raise UsageError("request must be a non-empty string", hints=['request="again"'])
    if any("\ud800" <= c <= "\udfff" for c in request):  # unpaired surrogates
        raise UsageError("the name of a request has characters that a ledger cannot store", hints=['request="again"'])


def require_number(planned: int, records: int) -> None:
    """Refuse a plan that was made for another number of records; both numbers are public."""
    if planned != records:
        raise UsageError(
            f"the plan was made for {planned:,} records, and there are {records:,}",
            hints=["session.plan_synthesis(…)"],
        )


# -- The target of a mechanism: a metric, or a policy with its title and dataset ---------------------------------------


class Target(NamedTuple):
    """The metric to keep, with the title and dataset of its policy."""

    metric: Metric
    title: str
    dataset: str


def target(policy: Policy | Metric, title: str = "", dataset: str = "") -> Target:
    """Return the metric of a policy with its title and dataset, or a metric with those given."""
    if isinstance(policy, Policy):
        return Target(policy.metric, title or policy.title, dataset or policy.dataset)
    if isinstance(policy, Metric):
        return Target(policy, title, dataset)
    raise UsageError(
        f"a policy or a metric is needed, not {type(policy).__name__}",
        hints=['dx.Policy.load("policy.toml")', "dx.metrics.constant(n, 1)"],
    )
