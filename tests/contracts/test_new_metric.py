"""A metric that the package does not know, from outside: checked, planned under, kept by a ledger and read back."""

from fractions import Fraction

import numpy as np
import pytest

import dxprivacy as dx
from contracts.check_metric import check_metric
from dxprivacy.errors import MetricError, UsageError
from dxprivacy.exact.rounding import written_fraction
from dxprivacy.ledger.adoption import stored_policy
from dxprivacy.metrics import stored_metrics
from dxprivacy.metrics.attribute_metrics import without_other
from dxprivacy.metrics.metric import Metric
from dxprivacy.metrics.stored_metrics import metric_from_spec, register_metric
from dxprivacy.metrics.with_other import WithOther

HOURS = dx.Universe([dx.Integers(name="hour", low=0, high=23, has_other=False)])


class Clock(Metric):
    """Hours on a clock: midnight is next to eleven at night."""

    kind = "clock"

    def __init__(self, universe, per_hour):
        super().__init__(universe)
        self.per_hour = Fraction(per_hour)

    @property
    def tick(self):
        return self.per_hour

    def ticks(self, i, j):
        apart = np.abs(i - j)
        return np.minimum(apart, self.universe.size - apart)

    def pairwise(self, i, j):
        return self.ticks(i, j) * float(self.per_hour)

    def exact(self, i, j):
        apart = abs(i - j)
        return min(apart, self.universe.size - apart) * self.per_hour

    def generators(self, block=1 << 16):
        """Neighbors on the clock: shortest paths go along its rim."""
        hours = np.arange(self.universe.size, dtype=np.int64)
        yield hours, (hours + 1) % self.universe.size

    @property
    def generator_count(self):
        return self.universe.size

    def spec(self):
        return {"kind": self.kind, "per_hour": str(self.per_hour)}


@pytest.fixture
def known():
    register_metric(Clock, lambda spec, universe: Clock(universe, written_fraction(spec["per_hour"])))
    yield
    del stored_metrics._KINDS[Clock.kind]


def test_it_fulfils_what_every_metric_must():
    check_metric(Clock(HOURS, Fraction(1, 3)))


def test_it_is_planned_under_kept_by_a_ledger_and_read_back(known, tmp_path):
    hours = dx.Universe([dx.Integers(name="hour", low=0, high=23)])
    d = WithOther(hours, Clock(without_other(24), Fraction(1, 2)), Fraction(3))  # invalid entries have a place, too
    policy = dx.Policy.recorded("Calls", "calls", "1", d)
    (tmp_path / "calls.csv").write_text("hour\n" + "".join(f"{h}\n" for h in range(24) for _ in range(20)))
    with dx.Session(policy, tmp_path / "calls.csv", ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        plan = session.plan("count by hour/6", "count where hour=22..23", budget="50%")
        assert plan.certificate.ratio <= Fraction(1, 2)
        release = session.release(plan)
        assert len(release.rows()) == 5
        # Six in the evening and midnight are told apart like six hours, not eighteen.
        assert session.ledger.between({"hour": 18}, {"hour": 0}).allowed == pytest.approx(3.0)
        session.ledger.verify()
    again = stored_policy(tmp_path / "ledger.db")
    assert (again.digest, again.metric.exact(23, 0)) == (d.digest, Fraction(1, 2))
    with dx.Session(again, tmp_path / "calls.csv", ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        assert session.release(session.plan("count by hour/6", "count where hour=22..23", budget="50%")) == release


def test_unknown_means_refuse():
    with pytest.raises(MetricError, match="clock"):
        metric_from_spec(Clock(HOURS, 1).spec(), HOURS)


def test_one_word_means_one_thing(known):
    with pytest.raises(UsageError, match="already"):
        register_metric(Clock, lambda spec, universe: None)
    with pytest.raises(UsageError, match="extends Metric"):
        register_metric(dict, lambda spec, universe: None)
