"""A planned mechanism: a value made without data, that says what it would cost and can be carried out.

Every mechanism that spends is a package of its own: its facts hold what is known before anything is spent (cost,
certificate, expected error), `run` what is done with the data, and `plan` the value that joins both and how it is made.
All of them are executed in one way (`Session.execute`): nothing is counted or drawn but inside a step whose cost
`spend` has reserved.
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

# -- What is known of everything that spends before it is carried out: its proof, its name, its policy.  No data -------


class Facts(OneLine, ABC):
    """What is known of everything that spends, before it is carried out.  It holds no data and costs nothing."""

    metric: Metric
    workload: Workload  # the rows that were asked for
    budget: Fraction  # of the policy, at most, for all its steps together
    title: str  # of the policy
    dataset: str

    @property
    @abstractmethod
    def request(self) -> str:
        """Its own name: a digest of everything that matters to what comes out."""

    @property
    @abstractmethod
    def certificate(self) -> Certificate:
        """The proof that its costs keep the policy; computed from the very scales, never carried along."""

    @property
    def granted(self) -> Fraction:
        """What the certificate has to stay within: the budget, or of several equal steps the part of one."""
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
        """For JSON: what its files say of it."""

    def policy_facts(self) -> dict[str, Any]:
        """For JSON: the policy it was planned for, and its possible records."""
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
"""Told the step and how many there are; never anything about data."""
SYNTHESIS = "plan was made", "session.plan_synthesis(…)"


class Planned(Facts, Generic[T]):
    """Facts that can be carried out, with an outcome T."""

    told: ClassVar[tuple[str, str]]  # what was done to make one, and by what, for whoever holds a wrong one
    in_steps: ClassVar[bool] = False  # whether its entries in a ledger are steps with names of their own

    def entry_name(self, request: str) -> str:
        """What its entry in a ledger is called; of one in steps, what the names of all its entries begin with."""
        require_request(request)
        if self.in_steps:  # one word, by which the ledger shows the steps of a run together
            return f"synth-{self.request[:16]}" + (f"-{quote(request, safe='')}" if request else "")
        return f"{self.request[:16]} {request}".strip()

    @property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        """Attributes to count by, one set for each of its tables; all of them, where a mechanism does not say."""
        return (tuple(range(len(self.metric.universe.shape))),)

    @property
    def asks_people(self) -> tuple[tuple[int, ...], ...]:
        """Attributes by which to tell whose rows they are, one set for each table of people; mostly none."""
        return ()

    @property
    def steps(self) -> int:
        """How many there are."""
        return 1

    @property
    def entries(self) -> int:
        """How many entries of a ledger it comes to, once it was carried out."""
        return self.steps

    def cost_of_steps(self, steps: int) -> RowsCost | None:  # noqa: ARG002
        """Not less than the cost of so many of its steps, whatever they find; None where one step is all."""
        return None

    @property
    def all_steps(self) -> RowsCost | None:
        """Not less than the cost of all its steps together; None where one step is all."""
        return self.cost_of_steps(self.steps)

    @property
    def reserved(self) -> RowsCost | None:
        """What its one step will cost, for those who tell in advance; None where that depends on what is found."""
        return None

    @property
    def whole_cost(self) -> RowsCost | None:
        """Not less than everything it will spend; None where it spends nothing."""
        return self.reserved if self.all_steps is None else self.all_steps

    def uninformative(self, records: int | None = None) -> str:  # noqa: ARG002
        """Say in words if all that it would tell of so many records is uninformative; empty otherwise."""
        return ""

    @abstractmethod
    def dry_run(self, records: int, ledger_reference: LedgerReference) -> None:
        """Refuse whatever can be refused from public numbers, before anything is spent."""

    def by_hand(self, counts: object, *, noise: Noise | None = None, progress: Progress | None = None) -> T:
        """The researcher's view: carry it out on a histogram, without a ledger; never more than the budget."""
        universe = self.metric.universe
        histogram = counts if isinstance(counts, Histogram) else Histogram.of(universe, counts)
        spend = Unrecorded(self.metric, self.budget)
        return self.run(lambda: histogram, noise or SystemNoise(), spend, progress=progress)

    @abstractmethod
    def run(self, count: Count, noise: Noise, spend: Spending, *, progress: Progress | None = None) -> T:
        """Carry it out: every step is reserved by `spend` before anything is counted or drawn."""


def require_request(request: object) -> None:
    """Refuse names of requests that no ledger could keep, or that are none."""
    if not isinstance(request, str) or (request and not request.strip()):
        raise UsageError("a request is called by some letters", hints=['request="again"'])
    if any("\ud800" <= c <= "\udfff" for c in request):  # halves of characters
        raise UsageError("the name of a request has letters that no ledger can keep", hints=['request="again"'])


def require_number(planned: int, records: int) -> None:
    """Refuse a plan that was made for another number of records; both are public."""
    if planned != records:
        raise UsageError(
            f"the plan was made for {planned:,} records, and there are {records:,}",
            hints=["session.plan_synthesis(…)"],
        )


# -- What a mechanism is planned for: a metric, or a policy with its title and dataset ---------------------------------


class Target(NamedTuple):
    """The metric to keep, and what the plan says of the policy it belongs to."""

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
