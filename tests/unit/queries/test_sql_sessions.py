"""Sessions plan and release what SQL asks, as they do what words ask."""

import sys

import pytest
from sql_cases import NAMES, POLICY, RECORDS, UNIVERSE

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.queries.sql import sql_queries
from dxprivacy.verify import verify


@pytest.fixture
def files(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    names = ("region", *NAMES, "maths", "physics")
    rows = [",".join(("North", *("" if x is None else str(x) for x in record), "2", "3")) for record in RECORDS]
    (tmp_path / "people.csv").write_text("\n".join([",".join(names), *rows]))
    return tmp_path


SQL = "SELECT sex, COUNT(*) AS n FROM people WHERE age >= 18 GROUP BY sex"


def test_a_session_plans_sql_as_it_plans_words(files):
    session = dx.Session(files / "policy.toml", files / "people.csv", ledger=files / "ledger.db", new_ledger=True)
    plan = session.sql(SQL, budget="50%")
    by_hand = session.plan("count by sex where age>=18", budget="50%")
    assert plan.scales == by_hand.scales
    release = session.release(plan, anyway=True)
    assert [row["groups"] for row in release.rows()] == [{"sex": "F"}, {"sex": "M"}, {"sex": "X"}]


def test_a_release_of_sql_is_verified_with_its_ledger(files):
    session = dx.Session(files / "policy.toml", files / "people.csv", ledger=files / "ledger.db", new_ledger=True)
    sql = "SELECT COUNT(*), AVG(age) AS old FROM t WHERE sex <> 'F' AND (income < 50 OR income >= 90)"
    session.release(session.sql(sql, budget="50%"), anyway=True).save(files / "release.json")
    assert [check.found for check in verify(files / "release.json", files / "ledger.db")]


def test_without_sqlglot_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(UsageError, match="need sqlglot") as caught:
        sql_queries("SELECT COUNT(*) FROM t", UNIVERSE)
    assert caught.value.hints[0][0] == 'pip install "dxprivacy[sql]"'
