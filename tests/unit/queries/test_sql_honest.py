"""Honest queries in SQL are the queries written by hand."""

import math

import pytest
from sql_cases import PEOPLE, UNIVERSE

import dxprivacy as dx
from dxprivacy.errors import QueryError
from dxprivacy.queries.grouping import group
from dxprivacy.queries.sql import sql_queries
from dxprivacy.queries.text.query_grammar import parse

HONEST = [
    (
        "SELECT region, COUNT(*), AVG(income) FROM people WHERE age BETWEEN 18 AND 65 GROUP BY region",
        ["count by region where age=18..65", "mean income by region where age=18..65"],
    ),
    ("SELECT COUNT(*) FROM people", ["count"]),
    ("select count(*) from people;", ["count"]),
    ("SELECT COUNT(*) FROM main.people AS p WHERE p.sex = 'F'", ["count where sex=F"]),
    ("SELECT SEX, COUNT(*) FROM people GROUP BY people.Sex", ["count by sex"]),
    (
        "SELECT COUNT(*) FROM t WHERE sex IN ('F', 'X') AND age >= 30 AND 40 > age",
        ["count where sex=F|X and age>=30 and age<40"],
    ),
    ("SELECT COUNT(*) FROM t WHERE sex = 'F' OR sex = 'X'", ["count where sex=F|X"]),
    (
        "SELECT COUNT(*) FROM t WHERE (age < 18 OR age > 65) AND region = 'it''s'",
        ['count where (age<18 or age>65) and region="it\'s"'],
    ),
    ("SELECT COUNT(*) FROM t WHERE sex <> 'F'", ["count where not sex=F|other"]),
    ("SELECT COUNT(*) FROM t WHERE sex != 'other'", ["count where not sex=other"]),
    ("SELECT COUNT(*) FROM t WHERE NOT (age BETWEEN 18 AND 65)", ["count where not (age=18..65 or age=other)"]),
    ("SELECT COUNT(*) FROM t WHERE NOT NOT sex = 'F'", ["count where sex=F"]),
    ("SELECT COUNT(*) FROM t WHERE sex NOT IN ('F')", ["count where not sex=F|other"]),
    ("SELECT SUM(income) FROM t WHERE income >= 50", ["sum income where income>=50"]),
    ("SELECT VAR_POP(age), STDDEV_POP(age) FROM t", ["variance age", "sd age"]),
    (
        "SELECT sex, COVAR_POP(age, income), CORR(age, income) FROM t GROUP BY sex",
        ["covariance age, income by sex", "correlation age, income by sex"],
    ),
    ("SELECT MEDIAN(age), QUANTILE_DISC(income, 0.9) FROM t", ["median age", "quantile 0.9 of income width 0"]),
    ("SELECT QUANTILE_DISC(age, [0.25, 0.75]) FROM t", ["quantile 0.25, 0.75 of age width 0"]),
    ("SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age) FROM t", ["quantile 0.9 of age width 0"]),
    (
        "SELECT sex, AVG(CASE WHEN age >= 65 THEN 1 ELSE 0 END) FROM t WHERE region = 'North' GROUP BY sex",
        ["proportion by sex where age>=65 among region=North"],
    ),
    ("SELECT AVG(CASE WHEN age >= 65 THEN 1.0 ELSE 0.0 END) FROM t", ["proportion where age>=65"]),
    ("SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) FROM t WHERE age > 3", ["count where age>3 and sex=F"]),
    ("SELECT COUNT(age) FROM t WHERE sex = 'F'", ["count where sex=F and not age=other"]),
    ("SELECT FLOOR(age / 10), COUNT(*) FROM t GROUP BY FLOOR(age / 10)", ["count by age/10"]),
    ("SELECT FLOOR(age / 10) AS tens, sex, COUNT(*) FROM t GROUP BY tens, 2", ["count by age/10, sex"]),
    ("SELECT DATE_TRUNC('month', visit), COUNT(*) FROM t GROUP BY 1", ["count by visit/month"]),
    (
        "SELECT COUNT(*) FROM t WHERE visit >= DATE '2026-02-01' AND visit < '2026-03-01'",
        ["count where visit>=2026-02-01 and visit<2026-03-01"],
    ),
    (
        "SELECT COUNT(*) FROM t WHERE visit BETWEEN '2026-02-01' AND '2026-02-28'",
        ["count where visit=2026-02-01..2026-02-28"],
    ),
    ("SELECT COUNT(*) FROM t WHERE years BETWEEN 12 AND 15", ["count where years>=12 and years<=15"]),
    ("SELECT COUNT(*) FROM t WHERE income BETWEEN 50 AND 100", ["count where income>=50 and income<=100"]),
    ("SELECT scores.maths, COUNT(*) FROM t WHERE physics > 2 GROUP BY maths", ["count by maths where physics>2"]),
    ("SELECT COUNT(*) FROM t WHERE scores.maths <> 3", ["count where not scores.maths=3 and not scores=other"]),
    ("SELECT COUNT(*) FROM t GROUP BY sex", ["count by sex"]),
    ("SELECT FLOOR(age / 10) * 10, COUNT(*) FROM t GROUP BY FLOOR(age / 10) * 10", ["count by age/10"]),
    ("SELECT 10 * FLOOR(age / 10.0) AS tens, COUNT(*) FROM t GROUP BY tens", ["count by age/10"]),
    ("SELECT FLOOR(age / 10) * 10, AVG(income) FROM t GROUP BY 1", ["mean income by age/10"]),
    ("SELECT COUNT(*) FILTER (WHERE sex = 'F') FROM t", ["count where sex=F"]),
    (
        "SELECT sex, COUNT(*) FILTER (WHERE age >= 18), COUNT(*) FROM t WHERE region = 'North' GROUP BY sex",
        ["count by sex where region=North and age>=18", "count by sex where region=North"],
    ),
    ("SELECT AVG(income) FILTER (WHERE NOT sex = 'F') FROM t", ["mean income where not sex=F|other"]),
    ("SELECT COUNT(age) FILTER (WHERE sex = 'F') FROM t", ["count where sex=F and not age=other"]),
    (
        "SELECT AVG(CASE WHEN age >= 65 THEN 1.0 ELSE 0 END) FILTER (WHERE sex = 'F') FROM t",
        ["proportion where age>=65 among sex=F"],
    ),
    (
        "SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age) FILTER (WHERE sex = 'F') FROM t",
        ["quantile 0.9 of age where sex=F width 0"],
    ),
]


@pytest.mark.parametrize(("sql", "words"), HONEST)
def test_an_honest_query_is_the_queries_written_by_hand(sql, words):
    assert list(sql_queries(sql, UNIVERSE).queries) == [parse(text) for text in words]


def test_as_gives_the_title():
    asked = sql_queries('SELECT sex AS s, COUNT(*) AS n, AVG(age) "mean age" FROM t GROUP BY sex', UNIVERSE).queries
    assert [q.title for q in asked] == ["n", "mean age"]
    assert [str(q) for q in asked] == ["count by sex", "mean age by sex"]


def test_people_are_counted_by_their_key_alone():
    asked = sql_queries("SELECT sex, COUNT(DISTINCT Patient) FROM t GROUP BY sex", PEOPLE).queries
    assert list(asked) == [parse("count people by sex")]
    asked = sql_queries("SELECT COUNT(DISTINCT patient) FILTER (WHERE sex = 'F') FROM t", PEOPLE).queries
    assert list(asked) == [parse("count people where sex=F")]
    for sql, universe in (
        ("SELECT COUNT(DISTINCT patient) FROM t", UNIVERSE),
        ("SELECT COUNT(DISTINCT sex) FROM t", PEOPLE),
        ("SELECT COUNT(DISTINCT patient, sex) FROM t", PEOPLE),
    ):
        with pytest.raises(QueryError, match="DISTINCT counts people only"):
            sql_queries(sql, universe)


def test_steps_below_zero_are_those_of_floor():
    """Both round down: -25 to -21 are the group of -30."""
    universe = dx.Universe([dx.Integers(name="t", low=-25, high=25, has_other=False)])
    (query,) = sql_queries("SELECT FLOOR(t / 10) * 10, COUNT(*) FROM x GROUP BY 1", universe).queries
    (found,) = [group(spec, universe) for spec in query.by]
    of_floor = [math.floor(t / 10) for t in range(-25, 26)]
    assert found.groups.tolist() == [k - min(of_floor) for k in of_floor]


def test_there_are_enough_of_them():
    assert len(HONEST) >= 40
