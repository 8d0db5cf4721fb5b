"""Whatever is written as SQL, however long: queries or an error of ours, soon."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sql_cases import UNIVERSE

from dxprivacy.errors import DxError, QueryError
from dxprivacy.queries.sql import sql_queries
from dxprivacy.queries.text.query_grammar import parse

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
    with pytest.raises(QueryError):
        sql_queries(sql, UNIVERSE)
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
        "FILTER (WHERE",
        "UNION",
        ";",
        "--",
        "/*",
        "'",
        '"',
        "\x00",
    ),
    *(
        "JOIN",
        "ON",
        "FILTER (WHERE",
        "NULL",
        "IS",
        "OVER",
        "LIMIT",
        "::",
        "[",
        "]",
        "{",
        "$1",
        "?",
        "\u202e",
        "🏠",
        "²",
        "\\",
        "`",
        "%",
    ),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text(max_size=60))
@example("SELECT COUNT(*) FROM t WHERE \ud800 = 3")
@example("SELECT COUNT(*) FROM t WHERE sex = '\ud800'")
def test_whatever_is_written_gives_queries_or_an_error_of_ours(text):
    for sql in (text, f"SELECT COUNT(*) FROM t WHERE {text}", f"SELECT {text} FROM t"):
        try:
            asked = sql_queries(sql, UNIVERSE)
        except DxError:
            continue
        for query in asked.queries:
            assert parse(str(query)).rows_only() == query.rows_only()
