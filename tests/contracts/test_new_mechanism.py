"""A mechanism that the package does not know, from outside: planned, checked, paid for by a ledger, replayed.

It needs no file of the package: `Facts` says what it knows, `Planned` how it is carried out (docs/architecture.md).
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import pytest

import dxprivacy as dx
from contracts.check_mechanism import check_mechanism
from dxprivacy.errors import BudgetExceeded, NotCertified, UsageError
from dxprivacy.formats.canonical import digest_of
from dxprivacy.mechanisms.planned import Planned
from dxprivacy.mechanisms.spending import read_kept
from dxprivacy.privacy.certificate import certify
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.queries.asking import gather


@dataclass(frozen=True, eq=False, kw_only=True)
class AtLeast(Planned[bool]):
    """Whether a count is at least so many, as far as noise tells: one noisy count, of which one bit is kept."""

    query: str
    least: int
    metric: dx.metrics.Metric
    budget: Fraction
    title: str = ""
    dataset: str = ""

    told = "threshold was planned", "AtLeast(…)"

    @cached_property
    def queries(self):
        return gather(self.query)

    @cached_property
    def workload(self):
        return self.queries.on(self.metric.universe)

    @cached_property
    def cost(self):
        rows = self.workload
        alone = certify(LaplaceCost(rows, [1.0] * rows.rows), self.metric)
        return LaplaceCost(rows, [float(alone.ratio / self.budget) * (1 + 1e-12)] * rows.rows)

    @property
    def reserved(self):
        return self.cost

    @cached_property
    def certificate(self):
        return certify(self.cost, self.metric)

    @cached_property
    def request(self):
        return digest_of({"mechanism": "at least", **self.payload()})

    def payload(self):
        facts = {"metric": self.metric.digest, "dataset": self.dataset, "budget": str(self.budget)}
        return facts | {"query": self.query, "least": self.least, "scales": [s.hex() for s in self.cost.scales]}

    def dry_run(self, records, ledger_reference):
        if not 0 <= self.least <= records:
            raise UsageError(f"a count of {records:,} records is never {self.least:,}")

    def run(self, count, noise, spend, *, progress=None):
        self.certificate.require(at_most=self.budget)

        def act(_):
            exact = self.cost.workload.answer(count().counts)
            return json.dumps({"at_least": bool((exact + noise.laplace(self.cost.scales))[0] >= self.least)})

        return read_kept(spend.step(self.cost, self.queries, "", act), lambda text: json.loads(text)["at_least"])

    def __str__(self):
        return f"whether {self.query} is at least {self.least:,}"


POLICY = """
title = "Survey"
dataset = "survey"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
"""


@pytest.fixture
def session(tmp_path):
    (tmp_path / "people.csv").write_text("sex\n" + "F\n" * 900 + "M\n" * 100)
    with dx.Session(
        dx.Policy.parse(POLICY), tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as opened:
        yield opened


def planned(session, least=500, budget=Fraction(1, 4)):
    policy = session.policy
    return AtLeast(query="count where sex=F", least=least, metric=policy.metric, budget=budget, dataset=policy.dataset)


def test_it_passes_the_contract_of_all_mechanisms(tmp_path):
    d = dx.metrics.constant(3, "0.7")
    made = AtLeast(query="count where element=0", least=10, metric=d, budget=Fraction(1, 3), dataset="d")
    check_mechanism(made, [20, 30, 50], tmp_path)


def test_a_session_carries_it_out_as_any_other(session):
    mechanism = planned(session)
    assert not session.is_recorded(mechanism)
    first = session.execute(mechanism)
    assert (first.made, first.replayed, first.entries) == (True, False, (1,))
    assert session.is_recorded(mechanism)
    again = session.execute(mechanism)
    assert (again.made, again.replayed, again.entries) == (True, True, (1,))
    assert session.execute(mechanism, request="anew").entries == (2,)
    (one, two) = session.ledger.entries()
    assert one.budget == two.budget
    assert Fraction(1, 4) - Fraction(1, 10**9) < one.budget <= Fraction(1, 4)
    session.ledger.verify()


def test_what_it_refuses_is_refused_before_anything_is_spent(session):
    with pytest.raises(UsageError, match="never"):
        session.execute(planned(session, least=2000))
    other = AtLeast(query="count", least=1, metric=dx.metrics.constant(3, 1), budget=Fraction(1), dataset="survey")
    with pytest.raises(UsageError, match="threshold was planned for another policy"):
        session.execute(other)
    assert session.ledger.entries() == []


def test_the_ledger_decides_over_it(session):
    for request in ("a", "b", "c", "d"):
        session.execute(planned(session), request=request)
    with pytest.raises(BudgetExceeded):
        session.execute(planned(session), request="e")
    assert len(session.ledger.entries()) == 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Careless(AtLeast):
    """Takes twice its budget, and never asks for the proof."""

    @cached_property
    def cost(self):
        return LaplaceCost(self.workload, super().cost.scales / 2)

    def run(self, count, noise, spend, *, progress=None):
        return spend.step(self.cost, self.queries, "", lambda _: json.dumps(int(count().total)))


def test_a_mechanism_that_does_not_ask_for_its_proof_is_asked_by_the_session(session):
    policy = session.policy
    asked = {"query": "count where sex=F", "least": 500, "metric": policy.metric, "dataset": policy.dataset}
    with pytest.raises(NotCertified, match=r"only 0\.25 is granted"):
        session.execute(Careless(budget=Fraction(1, 4), **asked))
    assert session.ledger.entries() == []
