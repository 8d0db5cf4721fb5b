"""Synthetic records through the ledger: what is spent, what is kept, and what a second run gives."""

import json

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.engines import open_source
from dxprivacy.errors import BudgetExceeded, DxError, PolicyError, UsageError
from dxprivacy.mechanisms.sampling import SystemNoise

POLICY = """
title = "A small town"
dataset = "town-1"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.age]
integers = [0, 9]
epsilon = 0.5
per = 1
"""
PEOPLE = "sex,age,note\n" + "".join(f"{'MFF'[k % 3]},{k * k % 10},Planted-Person-{k}\n" for k in range(300))
ASKED = ("count by sex", "count by age", "count where sex=F and age=0..4")


class CountedNoise(SystemNoise):
    """Real noise that counts how often it is drawn, and may break down."""

    def __init__(self, breaks_at=None):
        self.draws, self.breaks_at = 0, breaks_at

    def _drawn(self):
        self.draws += 1
        if self.draws == self.breaks_at:
            raise RuntimeError("power cut")

    def laplace(self, scales):
        self._drawn()
        return super().laplace(scales)

    def together(self, family):
        self._drawn()
        return super().together(family)

    def select(self, scores, scales, *, flip=False):
        self._drawn()
        return super().select(scores, scales, flip=flip)


@pytest.fixture
def town(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def session(town):
    with dx.Session(
        town / "policy.toml", town / "people.csv", ledger=town / "ledger.db", noise=CountedNoise(), new_ledger=True
    ) as made:
        yield made


METHODS = ["direct", "mwem"]
OPTIONS = {"direct": {"method": "direct"}, "mwem": {"method": "mwem", "rounds": 4}, "auto": {}}


PLANS = {}


def plan(session, method, budget="100%"):
    """A plan knows no data: one for all tests, unless the policy is another one."""
    key = (session.policy.digest, method, budget)
    if key not in PLANS:
        PLANS[key] = session.plan_synthesis(*ASKED, **OPTIONS[method], budget=budget)
    return PLANS[key]


def test_planning_spends_nothing_and_draws_nothing(session):
    for method in (*METHODS, "auto"):
        plan(session, method)
    assert session.ledger.entries() == []
    assert session._noise.draws == 0


@pytest.mark.parametrize("method", METHODS)
def test_records_are_as_many_as_people_and_read_back(session, method, town):
    made = session.synthesize(plan(session, method, budget="50%"))
    assert made.records.number == 300
    path = made.records.save(town / "synthetic.csv")
    assert (open_source(path).count(session.policy.universe).counts == made.records.counts).all()
    assert len(made.report.answers) == 13
    assert not made.replayed
    spent = sum(entry.budget for entry in session.ledger.entries())
    assert 0 < spent <= 0.5


@pytest.mark.parametrize("method", METHODS)
def test_the_same_plan_again_gives_the_same_records_at_no_cost(session, method):
    first = session.synthesize(plan(session, method, budget="50%"))
    entries, draws = len(session.ledger.entries()), session._noise.draws
    again = session.synthesize(session.plan_synthesis(*ASKED, **OPTIONS[method], budget="50%"))
    assert again.replayed
    assert (again.records.counts == first.records.counts).all()
    assert again.report.to_dict() == first.report.to_dict()
    assert (len(session.ledger.entries()), session._noise.draws) == (entries, draws)
    anew = session.synthesize(plan(session, method, budget="50%"), request="second")
    assert not anew.replayed
    assert len(session.ledger.entries()) == 2 * entries


def test_a_direct_fit_is_an_ordinary_release_and_a_run_of_mwem_two_entries_a_round(session):
    direct = session.synthesize(plan(session, "direct", budget="50%"))
    assert direct.entries == (1,)
    assert direct.release is not None
    assert [a.released for a in direct.report.answers] == list(direct.release.answers)
    rounds = session.synthesize(plan(session, "mwem", budget="50%"))
    assert rounds.entries == tuple(range(2, 10))
    assert rounds.release is None
    assert len(rounds.report.compared) == 4
    data = json.loads(json.dumps(rounds.to_dict()))
    assert data["ledger"] == {"file": "ledger.db", "entries": list(range(2, 10))}
    assert len(data["measurements"]) == 4
    session.ledger.verify()


@pytest.mark.parametrize("method", METHODS)
def test_what_does_not_fit_is_refused_before_anything_is_spent(session, method):
    session.synthesize(plan(session, method))
    before, draws = len(session.ledger.entries()), session._noise.draws
    with pytest.raises(BudgetExceeded, match="nothing spent"):
        session.synthesize(plan(session, method), request="second")
    assert (len(session.ledger.entries()), session._noise.draws) == (before, draws)


def test_rounds_that_fit_only_pair_by_pair_are_made(session):
    session.release(session.plan("count by sex"))  # all of sex, nothing of age
    made = session.synthesize(session.plan_synthesis("count by age", method="mwem", rounds=3), anyway=True)
    assert made.entries == (2, 3, 4, 5, 6, 7)


def test_a_run_that_was_cut_off_draws_nothing_twice(town):
    def attempt(breaks_at):
        noise = CountedNoise(breaks_at)
        with dx.Session(
            town / "policy.toml", town / "people.csv", ledger=town / "ledger.db", noise=noise, new_ledger=True
        ) as session:
            made = session.synthesize(plan(session, "mwem", budget="50%"))
        return noise, made

    with pytest.raises(RuntimeError, match="power cut"):
        attempt(4)  # the second measurement: reserved, and never answered
    with pytest.raises(DxError) as refused:
        attempt(None)
    assert "reserved" in str(refused.value)


def test_a_run_is_taken_up_where_it_stood(town, monkeypatch):
    """A break between two steps loses nothing: kept steps come back, the others follow."""
    from dxprivacy.session import recorded_steps

    def session(noise):
        return dx.Session(
            town / "policy.toml", town / "people.csv", ledger=town / "ledger.db", noise=noise, new_ledger=True
        )

    real, calls = recorded_steps.Recorded.step, []

    def step(self, cost, queries, name, act, *, asked=None):
        calls.append(name)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, cost, queries, name, act)

    with session(CountedNoise()) as first:
        monkeypatch.setattr(recorded_steps.Recorded, "step", step)
        with pytest.raises(KeyboardInterrupt):
            first.synthesize(plan(first, "mwem", budget="50%"))
    monkeypatch.setattr(recorded_steps.Recorded, "step", real)
    noise = CountedNoise()
    with session(noise) as second:
        made = second.synthesize(plan(second, "mwem", budget="50%"))
        assert made.entries == tuple(range(1, 9))
        assert not made.replayed
    assert noise.draws == 8 - 3


def test_a_small_database_is_one_entry_and_its_bounds_are_the_intervals(session):
    planned = session.plan_synthesis("count by sex", method="smalldb", budget="100%")
    made = session.synthesize(planned)
    assert made.entries == (1,)
    assert made.records.number == 300
    for answer, bound in zip(made.report.answers, planned.made.bounds, strict=True):
        assert answer.released.high - answer.released.value == pytest.approx(bound)
    again = session.synthesize(session.plan_synthesis("count by sex", method="smalldb", budget="100%"))
    assert again.replayed
    assert (again.records.counts == made.records.counts).all()


def test_what_does_not_depend_on_the_data_costs_nothing(session):
    made = session.synthesize(session.plan_synthesis("count", method="smalldb"), anyway=True)
    assert made.entries == ()
    assert made.records.number == 300
    assert session.ledger.entries() == []


def test_progress_tells_round_numbers_only(session):
    told = []
    session.synthesize(plan(session, "mwem", budget="50%"), progress=lambda *news: told.append(news))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_more_or_fewer_records_stand_for_the_same_people(session):
    made = session.synthesize(plan(session, "direct"), records=3_000)
    assert made.records.number == 3_000
    total = sum(a.synthetic for a in made.report.answers[:2])
    assert 200 < total <= 300


@pytest.mark.parametrize("records", [0, -1, 1.5, True, "many", 10**12])
def test_impossible_numbers_of_records_are_refused_before_anything_is_spent(session, records):
    with pytest.raises(UsageError, match="records"):
        session.synthesize(plan(session, "direct"), records=records)
    assert session.ledger.entries() == []


def test_nothing_shows_a_record_or_a_true_answer(session):
    made = session.synthesize(plan(session, "mwem", budget="50%"))
    for text in (repr(made), str(made), json.dumps(made.to_dict()), repr(made.synthetic), repr(made.records)):
        assert "Planted" not in text
    assert "counts" not in repr(made)


def test_other_plans_and_other_policies_are_refused(session, town):
    with pytest.raises(UsageError, match="plan of synthetic records"):
        session.synthesize(session.plan("count by sex"))
    (town / "other.toml").write_text(POLICY.replace("epsilon = 1.0", "epsilon = 2.0"), encoding="utf-8")
    with dx.Session(town / "other.toml", town / "people.csv", ledger=town / "other.db", new_ledger=True) as other:
        theirs = plan(other, "direct")
    with pytest.raises(UsageError, match="another policy"):
        session.synthesize(theirs)
    assert session.ledger.entries() == []


def test_where_the_number_of_records_is_private_only_a_direct_fit_works(town):
    text = 'neighbors = "add-remove"\nepsilon_presence = 1.0\nmax_records = 1000' + POLICY
    (town / "private.toml").write_text(text, encoding="utf-8")
    with dx.Session(town / "private.toml", town / "people.csv", ledger=town / "private.db", new_ledger=True) as session:
        with pytest.raises(UsageError, match="private"):
            plan(session, "mwem")
        made = session.synthesize(plan(session, "auto"))
        assert made.method == "direct"
        assert made.synthetic.records is None
        assert 0 <= made.records.number <= 1000
        assert made.records.counts.shape == (session.policy.universe.cells,)


def test_two_attributes_of_one_column_are_refused_before_anything_is_spent(town):
    text = POLICY + '[attributes.old]\ncolumn = "age"\nvalues = ["9"]\nepsilon = 1.0\n'
    (town / "twice.toml").write_text(text, encoding="utf-8")
    with dx.Session(town / "twice.toml", town / "people.csv", ledger=town / "twice.db", new_ledger=True) as session:
        made = session.plan_synthesis("count by sex", method="direct")
        with pytest.raises(PolicyError, match="is read by"):
            session.synthesize(made)
        assert session.ledger.entries() == []


def test_synthetic_answers_are_close_to_released_ones(session):
    made = session.synthesize(plan(session, "direct"))
    assert made.report.inside >= 0.8 * len(made.report.compared)
    assert np.isfinite([a.synthetic for a in made.report.answers]).all()


def test_where_the_number_of_records_is_private_nobody_is_made_up_where_nothing_was_counted(town):
    text = 'neighbors = "add-remove"\nepsilon_presence = 1.0\nmax_records = 1000' + POLICY
    (town / "private.toml").write_text(text, encoding="utf-8")
    with dx.Session(town / "private.toml", town / "people.csv", ledger=town / "private.db", new_ledger=True) as session:
        made = session.synthesize(session.plan_synthesis("count by sex", method="direct"))
    total = sum(a.released.value for a in made.report.answers)
    assert made.records.number == pytest.approx(total, abs=2)
