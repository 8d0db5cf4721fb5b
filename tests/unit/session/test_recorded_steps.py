"""MWEM on a ledger: every step an entry, replayed after a crash, refused where a step has no answer."""

import numpy as np
import pytest

from dxprivacy import metrics
from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.histogram import Histogram
from dxprivacy.ledger import Ledger
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.mwem.run import run_mwem
from dxprivacy.mechanisms.sampling import SystemNoise
from dxprivacy.queries.asking import gather
from dxprivacy.session.recorded_steps import Recorded
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

D = metrics.line(6, 1)
ROWS = [[1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]]


def counted():
    return Histogram.of(D.universe, [40, 10, 0, 5, 25, 20])


class Never:
    def laplace(self, scales):
        raise AssertionError("drawn twice")

    def together(self, family):
        raise AssertionError("drawn twice")

    def select(self, scores, scales, *, flip=False):
        raise AssertionError("drawn twice")


class CrashesAt(SystemNoise):
    def __init__(self, turn):
        self.left = turn

    def laplace(self, scales):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return super().laplace(scales)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.db", D, dataset="d", new_ledger=True) as opened:
        yield opened


def test_a_run_is_reserved_step_by_step_and_stays_within_its_share(ledger):
    plan = plan_mwem(ROWS, D, n_records=100, rounds=3, budget="60%")
    found = run_mwem(plan, counted, Recorded(ledger, plan.request[:16]), SystemNoise())
    entries = ledger.entries()
    assert [e.request.split(" ", 1)[1] for e in entries][:2] == ["round 1 selection", "round 1 measurement"]
    assert len(entries) == 6
    assert sum(e.budget for e in entries) <= plan.budget
    for i, j in ((0, 1), (1, 4), (0, 5)):
        assert ledger.spent.exact(i, j) == found.cost.exact(i, j) <= plan.budget * D.exact(i, j)
    ledger.verify()


def test_the_same_run_again_returns_what_was_kept_and_spends_nothing(ledger):
    plan = plan_mwem(ROWS, D, n_records=100, rounds=2)
    first = run_mwem(plan, counted, Recorded(ledger, "r"), SystemNoise())
    again = run_mwem(plan, lambda: pytest.fail("data read again"), Recorded(ledger, "r"), Never())
    assert np.array_equal(first.histogram, again.histogram)
    assert first.measurements == again.measurements
    assert len(ledger.entries()) == 4


def test_after_a_crash_answered_steps_stay_and_the_one_in_between_is_spent(ledger):
    plan = plan_mwem(ROWS, D, n_records=100, rounds=2)
    with pytest.raises(KeyboardInterrupt):
        run_mwem(plan, counted, Recorded(ledger, "r"), CrashesAt(2))
    assert len(ledger.entries()) == 4  # all reserved, the last one without an answer
    with pytest.raises(LedgerError, match="never answered"):
        run_mwem(plan, counted, Recorded(ledger, "r"), Never())


def test_rows_of_tables_sums_and_ranges_are_kept_as_what_they_are(tmp_path):
    universe = Universe(
        [
            Values(name="sex", values=("M", "F")),
            Integers(name="age", low=0, high=5),
            Values(name="w", values=("a", "b")),
        ]
    )
    d = metrics.attributes(universe, {"sex": 1, "age": {"epsilon": 1, "per": 2}, "w": "inf"})
    asked = gather("count by w", "marginals 2", "sum age by sex", "prefixes age", "mean age where sex=F")
    counts = np.random.default_rng(0).integers(0, 9, universe.size)
    plan = plan_mwem(asked, d, n_records=int(counts.sum()), rounds=12, passes=3)
    with Ledger.open(tmp_path / "more.db", d, dataset="d", new_ledger=True) as ledger:
        found = run_mwem(plan, lambda: Histogram.of(universe, counts), Recorded(ledger, "r"), SystemNoise())
        assert [e.request for e in ledger.entries()][:2] == ["r public answers", "r round 1 selection"]
        assert len(found.measurements) == 12 + len(plan.public) > 12
        assert sum(e.budget for e in ledger.entries()) <= 1
        ledger.verify()
    assert found.answers().shape == (len(plan.workload.answers),)


def test_a_second_run_does_not_fit_beside_a_full_one(ledger):
    plan = plan_mwem(ROWS, D, n_records=100, rounds=2)
    run_mwem(plan, counted, Recorded(ledger, "one"), SystemNoise())
    before = len(ledger.entries())

    def until_refused():
        for turn in range(9):  # some pairs were not used up: a step or two may still fit
            run_mwem(plan, counted, Recorded(ledger, f"more {turn}"), SystemNoise())

    with pytest.raises(BudgetExceeded):
        until_refused()
    assert len(ledger.entries()) < before + 4
    ledger.verify()


def test_what_was_kept_of_a_step_is_checked(ledger):
    plan = plan_mwem(ROWS, D, n_records=100, rounds=1)

    class Kept:
        def __init__(self, text):
            self.text = text

        def step(self, cost, queries, name, act, *, asked=None):
            return self.text

    for text in ("", "{}", '{"row": 7}', '{"row": -1}', '{"row": true}', '{"row": "0"}', "[1]"):
        with pytest.raises(LedgerError, match="stored outcome"):
            run_mwem(plan, counted, Kept(text), Never())
