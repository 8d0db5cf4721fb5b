"""Conditions that are taken in SQL keep the rows that DuckDB keeps."""

import math
from fractions import Fraction as F

import duckdb
import pytest
from hypothesis import example
from hypothesis import strategies as st
from sql_cases import NAMES, RECORDS, UNIVERSE

import dxprivacy as dx
from contracts.long_forms import drawn
from dxprivacy.errors import QueryError
from dxprivacy.queries.sql import sql_queries


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


def counted(query):
    """How many of the records a count counts, by what the policy reads their entries as."""
    (block,) = query.on(UNIVERSE).blocks
    total = 0
    places = {
        name: UNIVERSE.attributes[UNIVERSE.names.index(name)].encode([r[k] for r in RECORDS])
        for k, name in enumerate(NAMES)
    }
    for k in range(len(RECORDS)):
        total += all(factor.groups[places[UNIVERSE.names[axis]][k]] >= 0 for axis, factor in block.factors.items())
    return total


@drawn(where=CONDITIONS, fast=60, full=400)
@example(where="NOT (sex <> 'F')")
@example(where="NOT (age > 17 AND age < 65)")
def test_conditions_that_are_taken_keep_the_rows_that_duckdb_keeps(table, where):
    sql = f"SELECT COUNT(*) FROM t WHERE {where}"
    try:
        (query,) = sql_queries(sql, UNIVERSE).queries
    except QueryError:
        return
    assert counted(query) == table.execute(sql).fetchone()[0]


@drawn(where=CONDITIONS, kept=CONDITIONS, fast=25, full=100)
@example(where="age < 65", kept="NOT (age < 18)")
def test_filter_keeps_the_rows_that_it_keeps_in_duckdb(table, where, kept):
    sql = f"SELECT COUNT(*) FILTER (WHERE {kept}) FROM t WHERE {where}"
    try:
        (query,) = sql_queries(sql, UNIVERSE).queries
    except QueryError:
        return
    assert counted(query) == table.execute(sql).fetchone()[0]


@pytest.mark.parametrize("first", [-9, 3])
@pytest.mark.parametrize("width", ["10", "2.5", "0.5", "7", "1e3"])
def test_groups_of_numbers_hold_what_they_hold_in_duckdb_but_for_the_end_of_the_range(table, width, first):
    """That one counts in the last group, as docs/queries.md says; floats next to an edge on their own side of it."""
    step, groups = F(width), 6
    low, high = first * step, (first + groups) * step
    amounts = dx.Numbers(name="x", low=low, high=high, step=step)
    edges = [float(low + k * step) for k in range(groups + 1)]
    near = [
        y for e in edges for y in (math.nextafter(e, -math.inf), e, math.nextafter(e, math.inf), e + float(step) / 3)
    ]
    records = [y for y in near if low <= y <= high]
    (query,) = sql_queries(f"SELECT COUNT(*) FROM t GROUP BY FLOOR(x / {width})", dx.Universe([amounts])).queries
    (block,) = query.on(dx.Universe([amounts])).blocks
    mine = [int(block.factors[0].groups[k]) for k in amounts.encode(records)]
    sql = f"SELECT FLOOR(x::DOUBLE / {width}::DOUBLE) FROM (SELECT UNNEST(?::DOUBLE[]) AS x)"
    theirs = [int(row[0]) - first for row in table.execute(sql, [records]).fetchall()]
    assert mine == [min(k, groups - 1) for k in theirs]
    assert theirs.count(groups) == 1  # the end itself
