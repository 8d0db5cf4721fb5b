"""The path of a selection and of a small database: reserved, counted, drawn, kept; nothing before, nothing twice."""

import json
import re

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, LedgerError, QueryError, UsageError
from dxprivacy.formats.canonical import is_sealed
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.mechanisms.selection.plan import make_selection
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.mechanisms.smalldb.run import small_database
from dxprivacy.session.recorded_steps import Recorded

POLICY = """
title = "Survey"
dataset = "survey-1"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.age]
integers = [0, 9]
epsilon = 1.0
per = 2
"""


class Counting(SystemNoise):
    """Real randomness that knows how often it was asked."""

    calls = 0

    def select(self, scores, scales, *, flip=False):
        self.calls += 1
        return super().select(scores, scales, flip=flip)


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    ages = [*range(10)] * 10 + [7] * 900  # 7 is the most common one by far
    lines = [f"person-{k},{'MF'[k % 2]},{age}" for k, age in enumerate(ages)]
    (tmp_path / "people.csv").write_text("\n".join(["name,sex,age", *lines]) + "\n")
    return tmp_path


def open_session(folder, **more):
    return dx.Session(
        folder / "policy.toml", folder / "people.csv", ledger=folder / "ledger.db", **more, new_ledger=True
    )


@pytest.mark.parametrize("flip", [False, True])
def test_a_choice_is_reserved_chosen_and_kept(survey, flip):
    noise = Counting()
    with open_session(survey, noise=noise) as session:
        selection = session.plan_selection("most common age", budget="30%", flip=flip)
        assert session.ledger.entries() == []
        release = session.select(selection)
        assert (release.chosen, release.index, noise.calls) == ("7", 7, 1)
        (entry,) = session.ledger.entries()
        assert entry.cost.exact(7, 8) == selection.cost.exact(7, 8)
        again = session.chosen(selection)
        assert (again.replayed, noise.calls) == (True, 1)
        assert again.release.to_dict() == release.to_dict()
        assert session.ledger.verify() > 0
        anew = session.chosen(selection, request="second")
        assert (anew.replayed, noise.calls, len(session.ledger.entries())) == (False, 2, 2)


def test_choices_and_answers_add_up_in_one_ledger(survey):
    with open_session(survey) as session:
        selection = session.plan_selection("most common sex", budget="60%")
        plan = session.plan("count by sex", budget="40%", method="same-scale")
        session.select(selection)
        session.release(plan)
        with pytest.raises(BudgetExceeded):
            session.select(session.plan_selection("most common sex", budget="10%"))
        session.select(session.plan_selection("median age"))  # another attribute has its own budget
        told = session.ledger.between({"sex": "M"}, {"sex": "F"})
        assert told.spent == pytest.approx(float(selection.cost.exact(0, 11) + plan.cost.exact(0, 11)))


def test_nothing_is_counted_before_the_reservation(survey):
    with open_session(survey) as session:
        selection = session.plan_selection("median age", budget="30%")
        session.select(selection)
        order = []
        reserve, count = session.ledger.reserve, session.source.count
        session.ledger.reserve = lambda *a, **k: (order.append("reserve"), reserve(*a, **k))[1]
        session.source.count = lambda *a, **k: (order.append("count"), count(*a, **k))[1]
        session.select(selection, request="again")
        assert order == ["reserve", "count"]


def test_a_crash_after_the_reservation_burns_budget_and_chooses_nothing(survey):
    class Broken(SystemNoise):
        def select(self, scores, scales, *, flip=False):
            raise KeyboardInterrupt

    with open_session(survey, noise=Broken()) as session:
        selection = session.plan_selection("median age")
        with pytest.raises(KeyboardInterrupt):
            session.select(selection)
    with open_session(survey) as session:
        with pytest.raises(LedgerError):
            session.select(selection)
        assert len(session.ledger.entries()) == 1


def test_the_file_of_a_choice_holds_no_score_and_no_record(survey):
    with open_session(survey) as session:
        release = session.select(session.plan_selection("median age"))
    written = release.save(survey / "selection.json").read_text()
    data = json.loads(written)
    assert is_sealed(data)
    assert data["format"] == "dxprivacy-selection/1"
    assert data["chosen"] == {"label": release.chosen, "index": release.index}
    assert len(data["guarantee"]) == 3
    assert data["certificate"]["norm"] == "linf"
    assert "person-" not in written
    assert not any(key in data for key in ("scores", "counts", "noisy"))
    said = re.sub(r'"[0-9a-f]{16,}"', "", written)  # digests hold any digits
    assert "910" not in said  # how many are 7
    assert "Guarantee" in str(release)
    with pytest.raises(UsageError, match="json"):
        release.save(survey / "selection.csv")
    with pytest.raises(UsageError, match="cannot write"):
        release.save(survey / "no" / "selection.json")


def test_what_cannot_be_chosen_reserves_nothing(survey):
    with open_session(survey) as session:
        other = make_selection("median age", dx.metrics.constant(session.policy.universe, 1), dataset="survey-1")
        for wrong in (other, make_selection("median age", session.policy.metric), "median age", None):
            with pytest.raises(UsageError):
                session.select(wrong)
        for words in ("median sex", "most common height", "mode of age", "1 bins of age", ""):
            with pytest.raises((QueryError, UsageError)):
                session.plan_selection(words)
        assert session.ledger.entries() == []


def test_a_small_database_is_paid_for_by_the_ledger_and_taken_up_again(survey):
    with open_session(survey) as session:
        queries = [dx.table("sex"), dx.count(age=(5, 9))]
        metric = session.policy.metric
        plan = make_smalldb(queries, metric, n_records=session.n_records, alpha=0.9, budget="50%", flatten=False)
        counted = []

        def count():
            counted.append(1)
            return session.source.count(session.policy.universe)

        first = small_database(plan, count, SystemNoise(), Recorded(session.ledger, plan.request[:16]))
        (entry,) = session.ledger.entries()
        assert entry.budget <= plan.budget + 1e-12
        again = small_database(plan, count, SystemNoise(), Recorded(session.ledger, plan.request[:16]))
        assert (len(counted), len(session.ledger.entries())) == (1, 1)
        assert np.array_equal(first.counts, again.counts)
        assert first.counts.sum() == plan.size
