"""Conditions count what they say, or are refused; the verifier reads them alike."""

import json
from fractions import Fraction

import numpy as np
import pytest
from every_kind import POLICY, READ, UNIVERSE

import dxprivacy as dx
from dxprivacy.errors import NotVerified, QueryError
from dxprivacy.queries.conditions import AnyOf, Compared, Not, either, negated, together
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.verify import verify
from dxprivacy.verify.queries import ask


def chosen(words):
    """The places of the values that a condition keeps."""
    (block,) = parse(f"count where {words}").on(UNIVERSE).blocks
    ((axis, factor),) = block.factors.items()
    return axis, set(np.flatnonzero(factor.groups >= 0).tolist())


def kept(words):
    axis, found = chosen(words)
    attribute = UNIVERSE.attributes[axis]
    return [attribute.label(k) for k in sorted(found)]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("age>97", ["98", "99"]),
        ("age<=1", ["0", "1"]),
        ("age>=18 and age<20", ["18", "19"]),
        ("age<2 or age>98", ["0", "1", "99"]),
        ("not age<98", ["98", "99", "other"]),
        ("not (age<98 or age=other)", ["98", "99"]),
        ("not sex=F", ["M", "X", "other"]),
        ("sex!=F and sex!=other", ["M", "X"]),
        ("not code=or", [">50K", "a(b)", "not"]),
        ("years>=19", ["19", "20"]),
        ("years>18.5", ["19", "20"]),
        ("years<=11", ["10", "11"]),
        ("income>=80", ["80 to 90", "90 to 100"]),
        ("income<20", ["0 to 10", "10 to 20"]),
        ("income<=100 and income>=90", ["90 to 100"]),
        ("weight<50", ["40 to 45", "45 to 50"]),
        ("visit>2026-03-29", ["2026-03-30", "2026-03-31"]),
        ("visit<2026-01-02", ["2026-01-01"]),
        ("birth>2003-11", ["2003-12"]),
        ("birth<2000-03-01", ["2000-01", "2000-02"]),
        ("hour>=16:00", ["16:00–17:00", "17:00–18:00"]),
        ("hour<7", ["06:00–07:00"]),
        ("scores.maths>3 and physics<1", ["4, 0"]),
        ("total>7", ["4, 4"]),
        ("early>=4 and late<2", ["4 to 6, 0 to 2"]),
    ],
)
def test_a_condition_keeps_what_it_says(words, values):
    if words == "total>7":
        words = "scores.total>7"
    assert kept(words) == values


@pytest.mark.parametrize(
    ("words", "what", "hints"),
    [
        ("income>50", "lies inside a step", ["income>=50", "income>=60"]),
        ("income>=55", "lies inside a step", ["income>=50", "income>=60"]),
        ("income<55", "lies inside a step", ["income<50", "income<60"]),
        ("income<=50", "lies inside a step", ["income<50", "income<60"]),
        ("income<100", "lies inside a step", ["income<=100"]),
        ("income>95", "lies inside a step", ["income>=90"]),
        ("income<5", "lies inside a step", ["income<10"]),
        ("hour>8:30", "lies inside a step", ["hour>=08:00", "hour>=09:00"]),
        ("hour<=8", "lies inside a step", ["hour<08:00", "hour<09:00"]),
        ("early>=1", "lies inside a step", ["early>=0", "early>=2"]),
        ("birth>=2001-05-15", "lies inside a step", ["2001-05-01", "2001-05-31"]),
        ("load.total>3", "it cannot be compared", ["mean load.total", "sum load.total"]),
        ("years>5", "beyond the range", None),
        ("years>=10", "beyond the range", None),
        ("years<=20", "beyond the range", None),
        ("years<99", "beyond the range", None),
        ("weight<=60", "beyond the range", None),
        ("weight>=40", "beyond the range", None),
        ("birth>=2000-01-01", "beyond the range", None),
        ("birth<2004", "beyond the range", None),
        ("not years<=20", "beyond the range", None),
        ("years<12 or years>=9", "beyond the range", None),
        ("years>20", "no possible record", None),
        ("age>99", "no possible record", None),
        ("age<2 or age>200", "no possible record", None),
        ("not (age=other or age>=0)", "no possible record", None),
        ("sex>3", "has no numbers", None),
        ("scores>3", "has no numbers", None),
        ("visit>3", "holds dates", None),
        ("age>2026-01-01", "holds numbers, not dates", None),
    ],
)
def test_what_would_count_something_else_is_refused(words, what, hints):
    query = parse(f"count where {words}")
    with pytest.raises(QueryError) as caught:
        query.on(UNIVERSE)
    assert what in caught.value.what
    if hints is not None:
        assert [hint for hint, _ in caught.value.hints] == hints
    with pytest.raises(NotVerified):
        ask(json.loads(json.dumps([query.to_dict()])), READ)


def test_conditions_that_cannot_hold_together_are_refused_in_new_queries():
    with pytest.raises(QueryError, match="fulfils all conditions on age"):
        parse("count where age<18 and age>65").require_honest(UNIVERSE)
    parse("count where age>18 and age<65").require_honest(UNIVERSE)


def test_what_was_refused_by_itself_is_refused_inside_of_others():
    with pytest.raises(QueryError, match="outside the range"):
        parse("count where not years=5").require_honest(UNIVERSE)
    with pytest.raises(QueryError, match="inside a step"):
        parse("count where early=1..3 or early>=4").on(UNIVERSE)


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("not sex=F", "count where sex not F (other included)"),
        ("sex!=F and sex!=other", "count where sex not F (other included) and not sex=other"),
        ("not code=or", "count where not code='or'"),
        ("age<18 or age>65", "count where age <18 (from 0) or >65 (up to 99)"),
        ("income>=50", "count where income>=50 (up to 100)"),
        ("not income=7", "count where income not 0 to below 10 (other included)"),
        ("income<20 or income=95", "count where income <20 (from 0) or 90 to 100"),
        ("(income<20 or income=95) and sex=F", "count where (income <20 (from 0) or 90 to 100) and sex=F"),
        ("not (age<18 or age=20..30)", "count where age not (<18 (from 0) or 20..30) (other included)"),
        ("years=20 or years<12", "count where years 20 or more or <12"),
    ],
)
def test_labels_say_what_is_counted(words, label):
    query = parse(f"count where {words}")
    assert [a.label for a in query.on(UNIVERSE).answers] == [label]
    assert [a.label for a in ask([query.to_dict()], READ).answers] == [label]


def test_a_plan_with_all_of_them_is_verified(tmp_path):
    plan = dx.plan(
        ["count where age<18 or age>65", "count by sex where income>=50", "mean age where not sex=F"],
        POLICY.metric,
        n_records=1000,
    )
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.to_dict()))
    assert [check.found for check in verify(path)]


def test_not_of_not_and_nested_alternatives_have_one_form():
    assert negated(Not(("F",))) == ("F",)
    assert either([AnyOf((("F",), Compared(">", Fraction(3)))), ("X",)]) == AnyOf(
        (("F",), Compared(">", Fraction(3)), ("X",))
    )
    assert together([("F",)]) == ("F",)
