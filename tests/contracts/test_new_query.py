"""A kind of query that the package does not know, from outside: in words, planned, released, kept and read back."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import dxprivacy as dx
from contracts.check_workload import check_workload
from dxprivacy.errors import DxError, QueryError, UsageError
from dxprivacy.policy.query_files import AskFile, read_queries
from dxprivacy.queries.assembling import ASKS, register_query
from dxprivacy.queries.grouping import resolve
from dxprivacy.queries.query import Query
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.blocks import AlongAxis
from dxprivacy.universe.workload import Answer, Workload

POLICY = """
title = "Survey"
dataset = "survey"
[attributes.age]
integers = [0, 9]
epsilon = 1.0
per = 2
"""


@dataclass(frozen=True)
class Beyond(Query):
    """How many records lie above each value: the tails of a distribution."""

    ask = "beyond"
    whole = True

    def grouped(self):
        return (self.of,)

    def rows_on(self, universe):
        ref = resolve(self.of, universe)
        listed = ref.attribute.listed
        rows = np.zeros((listed, universe.shape[ref.axis]), dtype=np.int64)
        rows[:, :listed] = np.arange(listed)[:, None] < np.arange(listed)
        labels = [f"above {ref.attribute.label(k)}" for k in range(listed)]
        answers = tuple(Answer(label, 0, Linear(k, Fraction(1)), "", self.within) for k, label in enumerate(labels))
        return Workload(universe, (AlongAxis(universe, ref.axis, rows),), answers, (str(self),))


@pytest.fixture
def known():
    register_query(Beyond)
    yield
    del ASKS[Beyond.ask]


@pytest.fixture
def session(tmp_path):
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{k}\n" for k in range(10) for _ in range(50)))
    with dx.Session(
        dx.Policy.parse(POLICY), tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as opened:
        yield opened


def test_it_fulfils_what_every_workload_must():
    check_workload(Beyond("age").on(dx.Policy.parse(POLICY).universe))


def test_in_words_and_back(known):
    query = dx.plan("beyond age within 30 weight 2", dx.Policy.parse(POLICY).metric).queries.queries[0]
    assert query == Beyond("age", within=Fraction(30), weight=Fraction(2))
    assert str(query) == "beyond age within 30 weight 2"
    assert from_dict(query.to_dict()) == query


def test_in_a_file_of_queries(known):
    (asked,) = read_queries(AskFile.parse('[[query]]\nbeyond = "age"\nwithin = 30\n'), None).queries
    assert asked == Beyond("age", within=Fraction(30))
    with pytest.raises(QueryError, match=r"this \[\[query\]\] has no query"):
        read_queries(AskFile.parse('[[query]]\ntitle = "none"\n'), None)


def test_it_is_planned_released_kept_and_read_back(known, session):
    plan = session.plan("beyond age", dx.table("age/5"), budget="50%")
    release = session.release(plan)
    assert [row["label"] for row in release.rows()][:2] == ["above 0", "above 1"]
    plan.save(session.ledger.path.parent / "plan.json")
    again = session.load_plan(session.ledger.path.parent / "plan.json")
    assert again.request == plan.request
    assert session.answer(again).replayed
    session.ledger.verify()
    assert "beyond age" in str(plan)


def test_unknown_means_refuse(session):
    with pytest.raises(QueryError, match="not a query"):
        session.plan("beyond age")
    with pytest.raises(QueryError, match="not a query"):
        from_dict({"ask": "beyond", "of": "age"})


def test_a_ledger_that_holds_an_unknown_kind_is_not_spent_from(session):
    register_query(Beyond)
    try:
        session.release(session.plan("beyond age", budget="10%"))
    finally:
        del ASKS[Beyond.ask]
    with pytest.raises(DxError), dx.Ledger.open(session.ledger.path, session.policy, new_ledger=True) as ledger:
        ledger.entries()


def test_one_word_means_one_thing(known):
    @dataclass(frozen=True)
    class Other(Query):
        ask = "beyond"

    with pytest.raises(UsageError, match="already"):
        register_query(Other)
    with pytest.raises(UsageError, match="extends Query"):
        register_query(dict)


def test_a_kind_with_an_unknown_field_is_refused_before_it_is_registered():
    @dataclass(frozen=True)
    class Top(Query):
        ask = "top"
        also = ("depth",)
        depth: int = 10

    with pytest.raises(UsageError, match="unknown further field “depth”"):
        register_query(Top)
    assert "top" not in ASKS
