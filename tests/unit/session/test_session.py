"""The whole path: nothing before the reservation, nothing twice, nothing true in the open."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import dxprivacy as dx
from contracts.nest_cases import foreseen
from dxprivacy.errors import BudgetExceeded, DataError, LedgerError, NotCertified, UsageError

POLICY = """
title = "Survey"
dataset = "survey-1"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.age]
integers = [0, 99]
unit = "years"
epsilon = 0.5
per = 10
"""


class Shift:
    """Noise that tests can foresee: always the same odd number."""

    def __init__(self, by=1_000_003):
        self.by, self.calls = by, 0

    def laplace(self, scales):
        self.calls += 1
        return np.where(scales > 0, self.by, 0)

    def together(self, family):
        self.calls += 1
        return foreseen(family, self.by)


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    rng = np.random.default_rng(4)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "sex", "age"])
        for k in range(2_000):
            writer.writerow([f"person-{k}", rng.choice(["M", "F", "?"]), rng.integers(0, 110)])
    return tmp_path


def open_session(folder, **more):
    return dx.Session(
        folder / "policy.toml", folder / "people.csv", ledger=folder / "ledger.db", **more, new_ledger=True
    )


def test_a_plan_that_takes_more_than_its_share_is_refused_before_anything_is_reserved(survey):
    with open_session(survey) as session:
        plan = session.plan("count by sex", budget="50%")
        cheat = replace(plan, scales=tuple(s * 0.9 for s in plan.scales))
        with pytest.raises(NotCertified):
            session.release(cheat)
        assert session.ledger.entries() == []


def test_table_count_sum_and_mean_end_to_end(survey):
    with open_session(survey) as session:
        plan = session.plan(
            dx.table("sex"),
            dx.count(sex="F", age=(18, 65)),
            dx.sum_of("age", by="sex"),
            dx.mean_of("age"),
            budget="50%",
        )
        release = session.release(plan)
    assert [r["label"] for r in release.rows()] == [
        "M", "F", "count where sex=F and age=18..65", "sum age, M", "sum age, F", "mean age",
    ]  # fmt: skip
    assert all(r["low"] <= r["value"] <= r["high"] for r in release.rows())
    assert 30 < release.rows()[-1]["value"] < 70
    assert release.records == 2_000
    frame = release.to_pandas()
    assert list(frame.columns) == ["query", "sex", "value", "low", "high", "unit", "note", "label"]
    assert list(frame["sex"]) == ["M", "F", "", "M", "F", ""]


def test_the_same_plan_returns_the_stored_release_and_draws_no_noise(survey):
    noise = Shift()
    with open_session(survey, noise=noise) as session:
        plan = session.plan("count by sex")
        first = session.release(plan)
        second = session.answer(plan)
        assert noise.calls == 1
        assert second.replayed
        assert second.release.to_dict() == first.to_dict()
    with open_session(survey, noise=noise) as session:
        assert session.release(session.plan("count by sex")).to_dict() == first.to_dict()
        assert len(session.ledger.entries()) == 1


def test_a_named_request_answers_anew_at_full_cost(survey):
    with open_session(survey) as session:
        plan = session.plan("count by sex", budget="50%")
        session.release(plan)
        session.release(plan, request="again")
        assert len(session.ledger.entries()) == 2
        with pytest.raises(BudgetExceeded):
            session.release(plan, request="third")


@pytest.mark.parametrize("method", ["same-scale", "k-norm"])
def test_nothing_is_counted_before_the_reservation(survey, method):
    with open_session(survey) as session:
        steps = []
        reserve, count = session.ledger.reserve, session.source.count
        session.ledger.reserve = lambda *a, **k: (steps.append("reserve"), reserve(*a, **k))[1]
        session.source.count = lambda u: (steps.append("count"), count(u))[1]
        draws = {
            "laplace": lambda _, scales: (steps.append("noise"), np.zeros(len(scales), int))[1],
            "together": lambda _, family: (steps.append("noise"), np.zeros(family.size, int))[1],
        }
        session._noise = type("N", (), draws)()
        finish = session.ledger.finish
        session.ledger.finish = lambda *a: (steps.append("finish"), finish(*a))[1]
        session.release(session.plan("count by sex", method=method))
        assert steps == ["reserve", "count", "noise", "finish"]


def test_a_refused_budget_reads_no_data(survey):
    with open_session(survey) as session:
        session.release(session.plan("count by sex", budget="100%"))
        session.source.count = lambda u: pytest.fail("data was read")
        with pytest.raises(BudgetExceeded):
            session.release(session.plan("count by sex, age/10"), anyway=True)


def test_a_crash_after_the_reservation_burns_budget_and_answers_nothing(survey):
    with open_session(survey) as session:
        plan = session.plan("count by sex", budget="50%")
        session.source.count = lambda u: (_ for _ in ()).throw(KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            session.release(plan)
    with open_session(survey) as session:
        assert len(session.ledger.entries()) == 1
        with pytest.raises(LedgerError, match="never answered"):
            session.release(session.plan("count by sex", budget="50%"))
        session.release(session.plan("count by sex", budget="50%"), request="second try")


def test_no_true_answer_and_no_record_is_in_any_file(survey):
    universe = dx.Policy.load(survey / "policy.toml").universe
    counts = __import__("dxprivacy.engines").engines.open_source(survey / "people.csv").count(universe).counts
    with open_session(survey, noise=Shift()) as session:
        plan = session.plan("count by sex", "sum age", "sum age by sex")
        exact = [str(v) for v in plan.workload.answer(counts).tolist() if v > 9_999]  # shorter ones occur by chance
        assert exact
        release = session.release(plan)
        release.save(survey / "release.json")
        release.save(survey / "release.csv")
        plan.save(survey / "plan.json")
        shown = str(release) + str(plan) + repr(release) + repr(plan) + repr(session)
    written = b"".join(p.read_bytes() for p in survey.iterdir() if p.name not in ("people.csv", "policy.toml"))
    for secret in [*exact, "person-17"]:
        assert secret.encode() not in written
        assert secret not in shown.replace(",", "")


def test_a_release_file_holds_what_is_needed_to_check_it(survey):
    with open_session(survey) as session:
        release = session.release(session.plan("count by sex", method="same-scale"))
        release.save(survey / "r.json")
    data = json.loads((survey / "r.json").read_text())
    assert data["format"] == "dxprivacy-release/5"
    assert len(data["guarantee"]) == 3
    assert data["certificate"]["ratio"] == "1/10"
    assert data["ledger"]["entry"] == 1
    assert {"request", "universe", "scales", "queries", "policy", "budget", "worst_case_epsilon"} <= set(data)


def test_a_release_that_cannot_be_written_is_not_lost(survey):
    with open_session(survey) as session:
        plan = session.plan("count by sex")
        release = session.release(plan)
        with pytest.raises(UsageError, match="cannot write"):
            release.save(survey / "nowhere" / "r.json")
        with pytest.raises(UsageError):
            release.save(survey / "r.xlsx")
        assert session.release(plan).to_dict() == release.to_dict()


def test_a_plan_of_another_policy_is_refused(survey):
    with open_session(survey) as session:
        foreign = dx.plan([[1, 0]], dx.metrics.constant(2, 1))
        with pytest.raises(UsageError, match="another policy"):
            session.release(foreign)


def test_a_schema_that_does_not_fit_is_refused_at_once(survey):
    (survey / "people.csv").write_text("name,gender\nx,M\n")
    with pytest.raises(DataError, match="no column"):
        open_session(survey)
    assert not (survey / "ledger.db").exists()


def test_a_frame_serves_as_data(survey):
    import pandas as pd

    frame = pd.DataFrame({"sex": ["M", "F", None] * 50, "age": list(range(150))})
    with dx.Session(survey / "policy.toml", frame, ledger=survey / "l2.db", noise=Shift(0), new_ledger=True) as session:
        release = session.release(session.plan("count by sex"))
    assert [r["value"] for r in release.rows()] == [50, 50]


def test_an_empty_table_is_answered_too(survey):
    (survey / "people.csv").write_text("sex,age\n")
    with open_session(survey) as session:
        release = session.release(session.plan("count by sex"), anyway=True)
    assert release.records == 0
