"""SQL as tools write it: ORDER BY, trailing semicolons and aliases are accepted; QUANTILE_DISC is discrete."""

import json
from fractions import Fraction

import pytest
from sql_cases import UNIVERSE

import dxprivacy as dx
from dxprivacy.errors import QueryError
from dxprivacy.queries.asking import gather
from dxprivacy.queries.sql import sql_queries
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import verify_data

NOTE = "ORDER BY is ignored: answers come in the order of the policy"
POLICY = """
title = "T"
dataset = "t"
[attributes.sex]
values = ["M", "F"]
epsilon = 1
[attributes.age]
integers = [0, 40]
epsilon = 1
per = 1
[attributes.income]
numbers = [0, 100]
step = 2.5
epsilon = 1
per = 5
"""


@pytest.mark.parametrize(
    "order",
    ["n", "n DESC, sex", "1, 2 DESC", "COUNT(*)", "sex NULLS LAST", "t.sex"],
)
def test_order_by_is_accepted_with_a_note(order):
    asked = sql_queries(f"SELECT t.sex, COUNT(*) AS n FROM t GROUP BY sex ORDER BY {order};", UNIVERSE)
    assert [str(q) for q in asked.queries] == ["count by sex"]
    assert asked.notes == (NOTE,)
    assert sql_queries("SELECT COUNT(*) FROM t", UNIVERSE).notes == ()


def test_the_plan_shows_the_note_and_notes_change_no_query():
    policy = dx.Policy.parse(POLICY)
    asked = sql_queries("SELECT sex, COUNT(*), MEDIAN(age) FROM t GROUP BY sex ORDER BY 2", policy.universe)
    assert NOTE in str(dx.plan(asked, policy.metric, n_records=100))
    both = gather("count", asked, [asked])
    assert both.notes == (NOTE, NOTE)
    assert sql_queries("SELECT sex, COUNT(*), MEDIAN(age) FROM t GROUP BY sex", policy.universe) == asked


@pytest.mark.parametrize("end", [";", ";;", " ; ;\n", "\n;\n"])
def test_trailing_semicolons_are_accepted(end):
    assert [str(q) for q in sql_queries(f"SELECT COUNT(*) FROM t{end}", UNIVERSE).queries] == ["count"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT p.sex s, COUNT(*) n FROM people p GROUP BY s ORDER BY s",
        'SELECT sex AS "gender", COUNT(*) AS "n" FROM people AS p GROUP BY "gender" ORDER BY "n"',
        "SELECT sex AS age, COUNT(*) AS n FROM people GROUP BY sex ORDER BY 1",
    ],
)
def test_aliases_are_accepted(query):
    (asked,) = sql_queries(query, UNIVERSE).queries
    assert (str(asked), asked.title) == ("count by sex", "n")


def test_a_discrete_quantile_is_a_value_that_records_can_have(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    rows = "".join(f"{'MF'[k % 2]},{k * k % 41},{k * 7 % 100}\n" for k in range(200))
    (tmp_path / "data.csv").write_text(f"sex,age,income\n{rows}")
    files = (tmp_path / "policy.toml", tmp_path / "data.csv")
    with dx.Session(*files, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        query = "SELECT sex, QUANTILE_DISC(age, [0.1, 0.5, 0.85]), QUANTILE_DISC(income, 0.37) FROM t GROUP BY sex"
        release = session.release(session.sql(query, budget="100%"), anyway=True)
    assert [row.query for row in release.answers][-1] == "quantile 0.37 of income by sex width 0"
    middles = {Fraction(5, 4) + k * Fraction(5, 2) for k in range(40)}
    for row in release.answers:
        assert row.value in middles if "income" in row.label else row.value == int(row.value)
    assert list(verify_data(json.loads(release.to_json())))


def test_a_discrete_quantile_of_numbers_with_gaps_is_refused():
    heights = Property("height", ("3", "10", "11"))
    homes = Points(name="home", ids=("a", "b", "c"), coordinates=[[0, 0], [3, 4], [6, 8]], facts=(heights,))
    with pytest.raises(QueryError, match="not evenly spaced"):
        sql_queries("SELECT QUANTILE_DISC(height, 0.5) FROM t", Universe([homes]))
