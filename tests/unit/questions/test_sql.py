"""Questions in SQL: honest queries are the questions written by hand; whatever is not understood is refused.

Accepted conditions keep the rows that DuckDB keeps.
"""

import datetime
import sys
import time

import duckdb
import pytest
from every_kind import written
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.errors import DxError, QuestionError, UsageError
from dxprivacy.questions.grammar import parse
from dxprivacy.questions.sql import sql_questions
from dxprivacy.verify import verify

POLICY = written("region", "sex", "age", "years", "income", "visit", "scores")
SLASHED = dx.Integers(name="my age/10", low=0, high=5)  # which no policy could name
UNIVERSE = dx.Universe([*dx.Policy.parse(POLICY).universe.attributes, SLASHED])
PEOPLE = dx.Policy.parse(POLICY + '[people]\nkey = "patient"\nat_most = 3\n').universe

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
    ("SELECT MEDIAN(age), QUANTILE_DISC(income, 0.9) FROM t", ["median age", "quantile 0.9 of income"]),
    ("SELECT QUANTILE_DISC(age, [0.25, 0.75]) FROM t", ["quantile 0.25, 0.75 of age"]),
    ("SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age) FROM t", ["quantile 0.9 of age"]),
    (
        "SELECT sex, AVG(CASE WHEN age >= 65 THEN 1 ELSE 0 END) FROM t WHERE region = 'North' GROUP BY sex",
        ["share by sex where age>=65 among region=North"],
    ),
    ("SELECT AVG(CASE WHEN age >= 65 THEN 1.0 ELSE 0.0 END) FROM t", ["share where age>=65"]),
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
]


@pytest.mark.parametrize(("sql", "words"), HONEST)
def test_an_honest_query_is_the_questions_written_by_hand(sql, words):
    assert list(sql_questions(sql, UNIVERSE).questions) == [parse(text) for text in words]


def test_as_gives_the_title():
    asked = sql_questions('SELECT sex AS s, COUNT(*) AS n, AVG(age) "mean age" FROM t GROUP BY sex', UNIVERSE).questions
    assert [q.title for q in asked] == ["n", "mean age"]
    assert [str(q) for q in asked] == ["count by sex", "mean age by sex"]


def test_people_are_counted_by_their_key_alone():
    asked = sql_questions("SELECT sex, COUNT(DISTINCT Patient) FROM t GROUP BY sex", PEOPLE).questions
    assert list(asked) == [parse("count people by sex")]
    for sql, universe in (
        ("SELECT COUNT(DISTINCT patient) FROM t", UNIVERSE),
        ("SELECT COUNT(DISTINCT sex) FROM t", PEOPLE),
        ("SELECT COUNT(DISTINCT patient, sex) FROM t", PEOPLE),
    ):
        with pytest.raises(QuestionError, match="DISTINCT counts people only"):
            sql_questions(sql, universe)


HOSTILE = [
    ("SELECT * FROM t", "never shown"),
    ("SELECT t.* FROM t", "column that the policy declares"),
    ("SELECT age FROM t", "no group"),
    ("SELECT sex, age, COUNT(*) FROM t GROUP BY sex", "no group"),
    ("SELECT sex FROM t GROUP BY sex", "nothing is counted"),
    ("SELECT 1 FROM t", "not something to ask"),
    ("SELECT COUNT(*)", "FROM is missing"),
    ("SELECT COUNT() FROM t", "COUNT of what?"),
    ("SELECT COUNT(*) FROM (SELECT * FROM t) p", "by its name"),
    ("SELECT (SELECT COUNT(*) FROM t) FROM t", "inside of queries"),
    ("SELECT COUNT(*) FROM t WHERE age IN (SELECT age FROM u)", "not understood"),
    ("SELECT COUNT(*) FROM t WHERE age = (SELECT MAX(age) FROM t)", "constant is needed"),
    ("SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1)", "not understood"),
    ("SELECT COUNT(*) FROM t JOIN u ON t.a = u.a", "one table"),
    ("SELECT COUNT(*) FROM t, u", "one table"),
    ("SELECT COUNT(*) FROM t CROSS JOIN u", "one table"),
    ("SELECT COUNT(*) FROM t, LATERAL (SELECT 1)", ""),
    ("SELECT sex, COUNT(*) FROM t GROUP BY sex HAVING COUNT(*) > 3", "must not hang on the data"),
    ("SELECT sex, COUNT(*) FROM t GROUP BY sex ORDER BY COUNT(*)", "order that the policy declares"),
    ("SELECT COUNT(*) FROM t LIMIT 1", "must not hang on the data"),
    ("SELECT COUNT(*) FROM t OFFSET 1", "must not hang on the data"),
    ("SELECT COUNT(*) OVER (PARTITION BY sex) FROM t", "window functions"),
    ("SELECT SUM(age) OVER w FROM t WINDOW w AS (ORDER BY age)", "window functions"),
    ("SELECT DISTINCT COUNT(*) FROM t", "DISTINCT"),
    ("SELECT AVG(DISTINCT age) FROM t", "column that the policy declares"),
    ("SELECT COUNT(*) FROM t TABLESAMPLE 10%", "not understood"),
    ("SELECT COUNT(*) FROM t USING SAMPLE 10%", "samples"),
    ("SELECT COUNT(*) FROM t QUALIFY 1 = 1", "QUALIFY"),
    ("SELECT COUNT(*) FILTER (WHERE sex = 'F') FROM t", "FILTER"),
    ("SELECT COUNT(*) FROM t PIVOT (SUM(age) FOR sex IN ('F'))", "not understood"),
    ("SELECT COUNT(*) FROM t AT (VERSION => 3)", "not understood"),
    ("SELECT COUNT(*) FROM t FOR UPDATE", "locked"),
    ("SELECT COUNT(*) INTO u FROM t", ""),
    ("SELECT COUNT(*) FROM t p(a, b)", "not understood"),
    ("WITH p AS (SELECT * FROM t) SELECT COUNT(*) FROM p", "WITH"),
    ("WITH RECURSIVE p AS (SELECT 1 UNION ALL SELECT 1 FROM p) SELECT COUNT(*) FROM p", "WITH"),
    ("SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM t", "one SELECT"),
    ("(SELECT COUNT(*) FROM t)", "one SELECT"),
    ("SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t", "one SELECT at a time"),
    ("SELECT COUNT(*) FROM t; DROP TABLE t", "one SELECT at a time"),
    ("SELECT COUNT(*) FROM t;;", "one SELECT at a time"),
    ("DROP TABLE t", "one SELECT"),
    ("INSERT INTO t SELECT COUNT(*) FROM t", "one SELECT"),
    ("UPDATE t SET age = 3", "one SELECT"),
    ("DELETE FROM t", "one SELECT"),
    ("COPY t TO 'x.csv'", "one SELECT"),
    ("ATTACH 'x.db'", "one SELECT"),
    ("PRAGMA database_list", "one SELECT"),
    ("SET threads = 1", "one SELECT"),
    ("EXPLAIN SELECT COUNT(*) FROM t", "one SELECT"),
    ("SELECT COUNT(*) -- all of them\nFROM t", "comments"),
    ("SELECT COUNT(*) /* sex = 'F' */ FROM t", "comments"),
    ("/* x */ SELECT COUNT(*) FROM t", "comments"),
    ("SELECT COUNT(*) FROM t -- x", "comments"),
    ("SELECT /*+ FULL(t) */ COUNT(*) FROM t", "comments"),
    ("SELECT COUNT(*) FROM 'people.csv'", "no file"),
    ("SELECT COUNT(*) FROM read_csv('/etc/passwd')", "by its name"),
    ("SELECT COUNT(*) FROM range(10)", "by its name"),
    ("SELECT nextval('s'), COUNT(*) FROM t", "not something to ask"),
    ("SELECT pg_sleep(10) FROM t", "not something to ask"),
    ("SELECT COUNT(*) FROM t WHERE random() < 0.5", "column that the policy declares"),
    ("SELECT COUNT(*) FROM t WHERE age = setseed(0.5)", "constant is needed"),
    ("SELECT SUM(age + 1) FROM t", "column that the policy declares"),
    ("SELECT SUM(-age) FROM t", "column that the policy declares"),
    ("SELECT SUM(age) / COUNT(*) FROM t", "quotients"),
    ("SELECT SUM(age) + 1 FROM t", "not something to ask"),
    ("SELECT CAST(SUM(age) AS INT) FROM t", "not something to ask"),
    ("SELECT SUM(age::DOUBLE) FROM t", "column that the policy declares"),
    ("SELECT COUNT(*) FROM t WHERE CAST(age AS TEXT) = '3'", "column that the policy declares"),
    ("SELECT COUNT(*) FROM t WHERE age = '3'::INT", "constant is needed"),
    ("SELECT COUNT(*) FROM t WHERE visit > TIMESTAMP '2026-02-01 00:00:00'", "constant is needed"),
    ("SELECT COUNT(*) FROM t WHERE lower(sex) = 'f'", "column that the policy declares"),
    ("SELECT COUNT(*) FROM t WHERE sex LIKE 'F%'", "not understood"),
    ("SELECT COUNT(*) FROM t WHERE sex IS NULL", "not understood"),
    ("SELECT COUNT(*) FROM t WHERE sex IS NOT NULL", "not understood"),
    ("SELECT COUNT(*) FROM t WHERE sex = NULL", "NULL"),
    ("SELECT COUNT(*) FROM t WHERE sex IN ('F', NULL)", "NULL"),
    ("SELECT COUNT(*) FROM t WHERE TRUE", "not understood"),
    ("SELECT COUNT(*) FROM t WHERE 1 = 1", "column that the policy declares"),
    ("SELECT COUNT(*) FROM t WHERE age", "not understood"),
    ("SELECT COUNT(*) FROM t WHERE age > years", "compared with a constant"),
    ("SELECT COUNT(*) FROM t WHERE age BETWEEN years AND 30", "constant is needed"),
    ("SELECT COUNT(*) FROM t WHERE age BETWEEN SYMMETRIC 30 AND 20", "not understood"),
    ("SELECT COUNT(*) FROM t WHERE age BETWEEN 30 AND 20", "is empty"),
    ("SELECT COUNT(*) FROM t WHERE (sex = 'F') IS TRUE", "not understood"),
    ("SELECT COUNT(*) FROM t WHERE (sex, age) = ('F', 3)", "column that the policy declares"),
    ("SELECT COUNT(*) FROM t WHERE sex = ANY (['F'])", "constant is needed"),
    ("SELECT COUNT(*) FROM t WHERE sex = $1", "constant is needed"),
    ("SELECT COUNT(*) FROM t WHERE sex = ?", "constant is needed"),
    ("SELECT COUNT(*) FROM t WHERE sex = 'F' OR age > 3", "one attribute"),
    ("SELECT COUNT(*) FROM t WHERE NOT (sex = 'F' AND age > 3)", "one attribute"),
    ("SELECT COUNT(*) FROM t WHERE sex = 'Y'", "no value 'Y'"),
    ("SELECT COUNT(*) FROM t WHERE sex <> 'Y'", "no value 'Y'"),
    ("SELECT COUNT(*) FROM t WHERE sex IN ('F', 'f')", "no value 'f'"),
    ("SELECT COUNT(*) FROM t WHERE age = 100", "no value"),
    ("SELECT COUNT(*) FROM t WHERE age > 99", "no possible record"),
    ("SELECT COUNT(*) FROM t WHERE age < 18 AND age > 65", "all conditions on age"),
    ("SELECT COUNT(*) FROM t WHERE income = 7", "more than it says"),
    ("SELECT COUNT(*) FROM t WHERE income > 50", "inside a step"),
    ("SELECT COUNT(*) FROM t WHERE income BETWEEN 10 AND 50", "inside a step"),
    ("SELECT COUNT(*) FROM t WHERE years = 20", "more than it says"),
    ("SELECT COUNT(*) FROM t WHERE years = 25", "more than it says"),
    ("SELECT COUNT(*) FROM t WHERE years <= 20", "beyond the range"),
    ("SELECT COUNT(*) FROM t WHERE years BETWEEN 10 AND 15", "beyond the range"),
    ("SELECT COUNT(*) FROM t WHERE zip = 3", "no attribute"),
    ('SELECT COUNT(*) FROM t WHERE "AGE" = 3', "no attribute"),
    ("SELECT COUNT(*) FROM t WHERE u.age = 3", "no attribute"),
    ("SELECT COUNT(*) FROM t WHERE a.b.age = 3", "not understood"),
    ("SELECT COUNT(*) FROM age AS p WHERE age.age = 3", "both the table and an attribute"),
    ('SELECT COUNT(*) FROM t GROUP BY "my age/10"', "cannot name an attribute"),
    ("SELECT VARIANCE(age) FROM t", "sample variance"),
    ("SELECT VAR_SAMP(age) FROM t", "sample variance"),
    ("SELECT STDDEV(age) FROM t", "sample deviation"),
    ("SELECT STDDEV_SAMP(age) FROM t", "sample deviation"),
    ("SELECT COVAR_SAMP(age, income) FROM t", "sample covariance"),
    ("SELECT MAX(age), MIN(age) FROM t", "MAX"),
    ("SELECT QUANTILE_CONT(age, 0.5) FROM t", "numbers that records have"),
    ("SELECT APPROX_QUANTILE(age, 0.5) FROM t", "numbers that records have"),
    ("SELECT QUANTILE_DISC(age, 1.5) FROM t", "between 0 and 1"),
    ("SELECT QUANTILE_DISC(age, years) FROM t", "which quantile"),
    ("SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age DESC) FROM t", "not understood"),
    ("SELECT STRING_AGG(sex, ',') FROM t", "not something to ask"),
    ("SELECT ARRAY_AGG(age) FROM t", "not something to ask"),
    ("SELECT ANY_VALUE(age) FROM t", "not something to ask"),
    ("SELECT SUM(age ORDER BY sex) FROM t", "column that the policy declares"),
    ("SELECT AVG(age) IGNORE NULLS FROM t", "not something to ask"),
    ("SELECT SUM(sex) FROM t", "has no numbers"),
    ("SELECT AVG(CASE WHEN age > 3 THEN 2 ELSE 0 END) FROM t", "1 is needed"),
    ("SELECT AVG(CASE WHEN age > 3 THEN 1 END) FROM t", "an ELSE"),
    ("SELECT AVG(CASE sex WHEN 'F' THEN 1 ELSE 0 END) FROM t", "not understood"),
    ("SELECT AVG(CASE WHEN age > 3 THEN 1 WHEN age > 2 THEN 1 ELSE 0 END) FROM t", "one WHEN"),
    ("SELECT COUNT(*) FROM t GROUP BY ROLLUP (sex)", "no group"),
    ("SELECT COUNT(*) FROM t GROUP BY CUBE (sex, age)", "no group"),
    ("SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ((sex), ())", "no group"),
    ("SELECT sex, COUNT(*) FROM t GROUP BY ALL", "one by one"),
    ("SELECT COUNT(*) FROM t GROUP BY 5", "no such column"),
    ("SELECT COUNT(*) FROM t GROUP BY 1", "no group"),
    ("SELECT COUNT(*) FROM t GROUP BY age / 10", "no group"),
    ("SELECT COUNT(*) FROM t GROUP BY age // 10", "no group"),
    ("SELECT COUNT(*) FROM t GROUP BY FLOOR(age / 0)", "a width is positive"),
    ("SELECT COUNT(*) FROM t GROUP BY FLOOR(income / 15)", "inside a step"),
    ("SELECT COUNT(*) FROM t GROUP BY FLOOR(visit / 7)", "has no numbers"),
    ("SELECT COUNT(*) FROM t GROUP BY DATE_TRUNC('hour', visit)", "by week, month"),
    ("SELECT COUNT(*) FROM t GROUP BY DATE_TRUNC('month', age)", "holds no dates"),
    ("SELECT COUNT(*) FROM t GROUP BY lower(sex)", "no group"),
    ("SELECT COUNT(*) FROM t GROUP BY sex, sex", "only once"),
    (f'SELECT COUNT(*) AS "{"a" * 200}" FROM t', "at most 120"),
    ('SELECT COUNT(*) AS "a\u202eb" FROM t', "one line"),
    ("SELEC COUNT(*) FRM t", "one SELECT"),
    ("SELECT COUNT(*) FRM t u v", "no SQL"),
    ("SELECT COUNT(*)) FROM t", "no SQL"),
    ("SELECT COUNT(* FROM t", "no SQL"),
    ("SELECT 'abc FROM t", "not closed"),
    ("hello", ""),
    ("SELECT COUNT(*) FROM t WHERE sex = 'F\x00'", "no value"),
    ("SELECT\x00COUNT(*) FROM t", ""),
]


@pytest.mark.parametrize(("sql", "what"), HOSTILE)
def test_what_is_not_understood_is_refused_with_a_word_or_a_remedy(sql, what):
    with pytest.raises(QuestionError) as caught:
        sql_questions(sql, UNIVERSE)
    error = caught.value
    assert what in error.what
    assert error.where or error.hints
    if error.where.startswith("SQL line"):
        line, marks = error.details[:2]
        assert set(marks) <= {" ", "^"}
        assert marks.strip()
        assert len(line) <= 76


def test_there_are_enough_of_both():
    assert len(HONEST) >= 15
    assert len(HOSTILE) >= 30


def test_the_marks_stand_below_the_word():
    with pytest.raises(QuestionError) as caught:
        sql_questions("SELECT COUNT(*)\n  FROM people\n WHERE age > 3 AND lower(sex) = 'f'", UNIVERSE)
    assert caught.value.where == "SQL line 3, character 20"
    assert caught.value.details[:2] == (" WHERE age > 3 AND lower(sex) = 'f'", " " * 19 + "^" * 9)


@pytest.mark.parametrize("empty", ["", "   ", "\n"])
def test_nothing_is_no_query(empty):
    with pytest.raises(UsageError, match="empty"):
        sql_questions(empty, UNIVERSE)


LONG = [
    "SELECT COUNT(*) FROM t WHERE " + "(" * 4000 + "age = 1" + ")" * 4000,
    "SELECT COUNT(*) FROM t WHERE " + "NOT " * 4000 + "age = 1",
    "SELECT COUNT(*) FROM t WHERE age = " + "- " * 8000 + "1",
    "SELECT COUNT(*) FROM t WHERE " + " AND ".join(["age>1"] * 1800),
    "SELECT COUNT(*) FROM t WHERE " + " OR ".join(["age>1"] * 1800),
    "SELECT " + "CASE WHEN age = 1 THEN " * 800,
    "SELECT " + "SUM(" * 4000 + "age",
    "SELECT " + ", ".join(["COUNT(*)"] * 1900) + " FROM t",
    "SELECT COUNT(*) FROM t WHERE age IN (" + ", ".join(["1"] * 6000) + ", 'x')",
    "SELECT COUNT(*) FROM t WHERE age < " + "1 < " * 4000 + "1",
    "SELECT COUNT(*) FROM t GROUP BY " + ", ".join(["age"] * 3000),
    "SELECT " + "[" * 9000,
    "SELECT " + "{" * 9000,
    "SELECT " + "(SELECT " * 2000,
    "SELECT " + "x." * 9000,
    "SELECT " + "a -> " * 3000,
    "SELECT CAST(1 AS " + "STRUCT(a " * 2000,
    "SELECT CAST(1 AS " + "MAP<INT, " * 2000,
    "SELECT " + "f(x, " * 12,
    "SELECT COUNT(*) FROM t " + "JOIN t ON 1=1 " * 1000,
    "SELECT COUNT(*) FROM t UNION " * 600,
    ";" * 20_000,
    "'" * 19_999,
    "a" * 20_001,
    "/*" * 9000,
    "$$" * 9001,
]


@pytest.mark.parametrize("sql", LONG)
def test_long_and_deep_queries_are_refused_soon(sql):
    began = time.process_time()
    with pytest.raises(QuestionError):
        sql_questions(sql, UNIVERSE)
    assert time.process_time() - began < 5


WORDS = [
    *("SELECT", "FROM", "WHERE", "GROUP", "BY", "AND", "OR", "NOT", "IN", "BETWEEN", "AS", "COUNT(*)", "AVG(age)", "t"),
    *("sex", "age", "income", "'F'", "3", "10", "(", ")", ",", "=", "<", ">=", "<>", "-", "/", "FLOOR(age / 10)", "*"),
    *(
        "CASE",
        "WHEN",
        "THEN",
        "1",
        "ELSE",
        "0",
        "END",
        "DISTINCT",
        "HAVING",
        "UNION",
        ";",
        "--",
        "/*",
        "'",
        '"',
        "\x00",
    ),
    *("JOIN", "ON", "NULL", "IS", "OVER", "LIMIT", "::", "[", "]", "{", "$1", "?", "\u202e", "🏠", "²", "\\", "`", "%"),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text(max_size=60))
@example("SELECT COUNT(*) FROM t WHERE \ud800 = 3")
@example("SELECT COUNT(*) FROM t WHERE sex = '\ud800'")
def test_whatever_is_written_gives_questions_or_an_error_of_ours(text):
    for sql in (text, f"SELECT COUNT(*) FROM t WHERE {text}", f"SELECT {text} FROM t"):
        try:
            asked = sql_questions(sql, UNIVERSE)
        except DxError:
            continue
        for question in asked.questions:
            assert parse(str(question)).rows_only() == question.rows_only()


# -- the same rows as DuckDB ----------------------------------------------------------------------------------------

RECORDS = [
    (sex, age, income, years, visit)
    for sex in ("F", "M", "X", None)
    for age, income, years, visit in (
        (0, 0.0, -5, datetime.date(2026, 1, 1)),
        (17, 9.99, 10, datetime.date(2026, 1, 31)),
        (18, 10.0, 12, datetime.date(2026, 2, 1)),
        (30, 55.5, 15, datetime.date(2026, 2, 28)),
        (65, 99.0, 20, datetime.date(2026, 3, 1)),
        (99, 100.0, 77, datetime.date(2026, 3, 31)),
        (None, None, None, None),
    )
]
NAMES = ("sex", "age", "income", "years", "visit")


@pytest.fixture(scope="module")
def table():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (sex TEXT, age INT, income DOUBLE, years INT, visit DATE)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", RECORDS)
        yield connection


SIGN = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
CONSTANTS = {
    "sex": ["'F'", "'M'", "'X'"],
    "age": ["0", "17", "18", "17.5", "65", "99"],
    "income": ["0", "10", "50", "55", "100"],
    "years": ["10", "12", "15", "20", "30"],
    "visit": ["'2026-01-31'", "DATE '2026-02-01'", "'2026-03-31'"],
}


@st.composite
def on_one(draw, name):
    constant = st.sampled_from(CONSTANTS[name])
    leaf = st.one_of(
        st.tuples(SIGN, constant).map(lambda x: f"{name} {x[0]} {x[1]}"),
        st.tuples(constant, SIGN).map(lambda x: f"{x[0]} {x[1]} {name}"),
        st.tuples(st.sampled_from(["", "NOT "]), constant, constant).map(
            lambda x: f"{name} {x[0]}BETWEEN {x[1]} AND {x[2]}"
        ),
        st.tuples(st.sampled_from(["", "NOT "]), st.lists(constant, min_size=1, max_size=3)).map(
            lambda x: f"{name} {x[0]}IN ({', '.join(x[1])})"
        ),
    )
    return draw(
        st.recursive(
            leaf,
            lambda part: st.one_of(
                part.map(lambda x: f"NOT ({x})"),
                st.tuples(part, part).map(lambda x: f"({x[0]}) OR ({x[1]})"),
                st.tuples(part, part).map(lambda x: f"({x[0]}) AND ({x[1]})"),
            ),
            max_leaves=3,
        )
    )


CONDITIONS = st.lists(st.sampled_from(sorted(CONSTANTS)).flatmap(on_one), min_size=1, max_size=2).map(
    lambda parts: " AND ".join(f"({part})" for part in parts)
)


def counted(question):
    """How many of the records a count counts, by what the policy reads their entries as."""
    (block,) = question.on(UNIVERSE).blocks
    total = 0
    places = {
        name: UNIVERSE.attributes[UNIVERSE.names.index(name)].encode([r[k] for r in RECORDS])
        for k, name in enumerate(NAMES)
    }
    for k in range(len(RECORDS)):
        total += all(factor.groups[places[UNIVERSE.names[axis]][k]] >= 0 for axis, factor in block.factors.items())
    return total


@settings(max_examples=400, deadline=None)
@given(where=CONDITIONS)
@example(where="NOT (sex <> 'F')")
@example(where="NOT (age > 17 AND age < 65)")
def test_conditions_that_are_taken_keep_the_rows_that_duckdb_keeps(table, where):
    sql = f"SELECT COUNT(*) FROM t WHERE {where}"
    try:
        (question,) = sql_questions(sql, UNIVERSE).questions
    except QuestionError:
        return
    assert counted(question) == table.execute(sql).fetchone()[0]


# -- session ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    names = ("region", *NAMES, "maths", "physics")
    rows = [",".join(("North", *("" if x is None else str(x) for x in record), "2", "3")) for record in RECORDS]
    (tmp_path / "people.csv").write_text("\n".join([",".join(names), *rows]))
    return tmp_path


SQL = "SELECT sex, COUNT(*) AS n FROM people WHERE age >= 18 GROUP BY sex"


def test_a_session_plans_sql_as_it_plans_words(files):
    session = dx.Session(files / "policy.toml", files / "people.csv", ledger=files / "ledger.db")
    plan = session.sql(SQL, share="50%")
    by_hand = session.plan("count by sex where age>=18", share="50%")
    assert plan.scales == by_hand.scales
    release = session.release(plan)
    assert [row["groups"] for row in release.rows()] == [{"sex": "F"}, {"sex": "M"}, {"sex": "X"}]


def test_a_release_of_sql_is_verified_with_its_ledger(files):
    session = dx.Session(files / "policy.toml", files / "people.csv", ledger=files / "ledger.db")
    sql = "SELECT COUNT(*), AVG(age) AS old FROM t WHERE sex <> 'F' AND (income < 50 OR income >= 90)"
    session.release(session.sql(sql, share="50%")).save(files / "release.json")
    assert [check.found for check in verify(files / "release.json", files / "ledger.db")]


def test_without_sqlglot_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(UsageError, match="need sqlglot") as caught:
        sql_questions("SELECT COUNT(*) FROM t", UNIVERSE)
    assert caught.value.hints[0][0] == 'pip install "dxprivacy[sql]"'
