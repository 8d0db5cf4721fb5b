"""`dxp plan --sql`."""

import json

import pytest

POLICY = """
title = "T"
dataset = "t"
[attributes.sex]
values = ["F", "M"]
epsilon = 1
[attributes.age]
integers = [0, 99]
epsilon = 1
per = 10
"""
SQL = "SELECT sex, COUNT(*) AS n FROM people WHERE age >= 18 GROUP BY sex"
ASKED = {"ask": "count", "by": ["sex"], "title": "n", "where": [["age", {"from": "18"}]]}


@pytest.fixture(autouse=True)
def policy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "query.sql").write_text(f"{SQL};\n")
    return tmp_path


@pytest.mark.parametrize("query", [SQL, "@query.sql"])
def test_a_query_is_planned_from_the_command_line_and_from_a_file(dxp, query):
    plan = json.loads(dxp("plan", "policy.toml", "count", "--sql", query, "--json").fine().out)
    assert plan["queries"] == [{"ask": "count"}, ASKED]


def test_the_plan_can_be_verified(dxp):
    dxp("plan", "policy.toml", "--sql", SQL, "--out", "plan.json").fine()
    dxp("verify", "plan.json").fine()


def test_no_output_replaces_the_query(dxp, policy):
    called = dxp("plan", "policy.toml", "--sql", "@query.sql", "--out", "query.sql")
    assert called.code
    assert (policy / "query.sql").read_text() == f"{SQL};\n"


@pytest.mark.parametrize(
    ("query", "code", "words"),
    [
        ("SELECT MAX(age) FROM people", 4, ["MAX is not offered", "^^^", "QUANTILE_DISC"]),
        ("@nothing.sql", 2, ["nothing.sql", "no such file"]),
        ("@.", 2, ["cannot be read"]),
        ("@/dev/zero", 2, ["cannot be read"]),
        ("@a\x00b", 2, ["cannot be read"]),
        ("", 2, ["the SQL is empty"]),
    ],
)
def test_a_query_that_cannot_be_asked_is_refused(dxp, query, code, words):
    called = dxp("plan", "policy.toml", "--sql", query)
    assert called.code == code, called
    assert called.out == ""
    for word in words:
        assert word in called.err
