"""Conditions in JSON: old files mean what they meant, damaged and deep ones are refused by both readers."""

from fractions import Fraction

import pytest
from every_kind import READ, UNIVERSE

import dxprivacy as dx
from dxprivacy.errors import NotVerified, QueryError, UsageError
from dxprivacy.queries.conditions import MOST_DEEP
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.verify.queries import ask


def test_old_files_mean_what_they_meant():
    old = {"ask": "count", "where": [["age", {"from": "18", "to": "65"}], ["sex", ["F", "X"]]]}
    assert from_dict(old).where == (("age", (Fraction(18), Fraction(65))), ("sex", ("F", "X")))
    assert from_dict(old).to_dict() == old


@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"above": 3},
        {"above": "3", "below": "5"},
        {"from": "3", "to": "5", "not": ["F"]},
        {"beyond": "3"},
        {"above": "1e5"},
        {"not": {"not": ["F"]}},
        {"not": []},
        {"any": []},
        {"any": [["F"]]},
        {"any": [["F"], ["X"]]},
        {"any": [{"any": [{"above": "3"}, ["F"]]}, {"below": "2"}]},
        {"all": [{"above": "3"}, {"below": "5"}]},
        {"any": [{"all": [{"above": "3"}]}, {"below": "2"}]},
        {"any": "F"},
        {"not": "F"},
        "F",
        [],
        [3],
        None,
    ],
)
def test_damaged_conditions_are_refused_by_both(condition):
    data = {"ask": "count", "where": [["age", condition]]}
    with pytest.raises(QueryError):
        from_dict(data)
    with pytest.raises(NotVerified):
        ask([data], READ)


def nested(deep):
    inner = ["1"]
    for k in range(deep):
        inner = {"any": [inner, {"above": "3"}]} if k % 2 else {"not": inner}
    return {"ask": "count", "where": [["age", inner]]}


def test_depth_is_bounded_everywhere():
    assert from_dict(nested(MOST_DEEP)).on(UNIVERSE).rows == 1
    assert ask([nested(MOST_DEEP)], READ).rows == 1
    for deep in (MOST_DEEP + 1, 900):
        with pytest.raises(QueryError):
            from_dict(nested(deep))
        with pytest.raises(NotVerified):
            ask([nested(deep)], READ)
    for text in ("(" * 100_000, "not " * 100_000 + "age=1", "(" * 1000 + "age=1" + ")" * 1000):
        with pytest.raises(QueryError):
            parse(f"count where {text}")
    with pytest.raises(QueryError, match="more than 200 conditions"):
        parse("count where " + " or ".join(["age>3"] * 50_000))
    made = dx.above(3)
    for _ in range(MOST_DEEP // 2):
        made = dx.any_of(dx.none_of(made), dx.below(2))
    with pytest.raises(UsageError, match="deep"):
        dx.none_of(made)
