"""Conditions: comparisons, not, or, lists; in words, files, Python and JSON; and the verifier reads them alike."""

import json
import operator
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.errors import DxError, NotVerified, QuestionError, UsageError
from dxprivacy.policy.asks import AskFile, read_questions
from dxprivacy.questions.asked import Stack
from dxprivacy.questions.conditions import MOST_DEEP, AllOf, AnyOf, Compared, Not, either, negated, together
from dxprivacy.questions.counts import Count
from dxprivacy.questions.grammar import parse, parse_conditions
from dxprivacy.questions.stored import from_dict
from dxprivacy.questions.written import in_words
from dxprivacy.verify import verify
from dxprivacy.verify.questions import ask
from dxprivacy.verify.universe import Universe as Read

POLICY = dx.Policy.parse("""
title = "T"
dataset = "t"
[attributes.sex]
values = ["F", "M", "X"]
epsilon = 1
[attributes.code]
values = [">50K", "a(b)", "or", "not"]
epsilon = 1
[attributes.age]
integers = [0, 99]
epsilon = 1
per = 10
[attributes.years]
integers = [10, 20]
outside = "clamp"
epsilon = 1
per = 10
[attributes.income]
numbers = [0, 100]
step = 10
epsilon = 1
per = 10
[attributes.weight]
numbers = [40, 60]
step = 5
outside = "clamp"
epsilon = 1
per = 10
[attributes.visit]
dates = ["2026-01-01", "2026-03-31"]
epsilon = 1
per = "7 days"
[attributes.birth]
dates = ["2000-01-01", "2003-12-31"]
step = "1 month"
outside = "clamp"
epsilon = 1
per = "1 year"
[attributes.hour]
hours = [6, 18]
step = "1 hour"
epsilon = 1
per = "1 hour"
[attributes.scores]
columns = ["maths", "physics"]
integers = [0, 4]
epsilon = 1
per = 1
[attributes.load]
columns = ["early", "late"]
numbers = [0, 6]
step = 2
epsilon = 1
per = 2
""")
UNIVERSE = dx.Universe([replace(a, has_other=a.name != "code") for a in POLICY.universe.attributes])
READ = Read(json.loads(json.dumps(UNIVERSE.to_dict())))


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
    ("written", "words"),
    [
        ("age>30", "age>30"),
        ("age > 30", "age>30"),
        ("age >30", "age>30"),
        ("age> 30", "age>30"),
        ("age >= 30 and age < 40", "age>=30 and age<40"),
        ("age>=30", "age>=30"),
        ("age<=-5", "age<=-5"),
        ("age != 3", "not age=3"),
        ("age<>3", "not age=3"),
        ("not sex=F", "not sex=F"),
        ("not not sex=F", "sex=F"),
        ("sex=F,X", "sex=F|X"),
        ("sex in (F, X)", "sex=F|X"),
        ("sex in(F,X)", "sex=F|X"),
        ("sex not in (F, X)", "not sex=F|X"),
        ("sex not in(F,X) and not(age<3)", "not sex=F|X and not age<3"),
        ("sex=F or sex=X", "sex=F|X"),
        ("age<18 or age>65", "age<18 or age>65"),
        ("(age<18 or age>65) and sex=F", "(age<18 or age>65) and sex=F"),
        ("age<18 or (age>65 and age<=70)", "age<18 or (age>65 and age<=70)"),
        ("age<18 or age>65 and age<=70", "age<18 or (age>65 and age<=70)"),
        ("not (age<18 or age>65)", "not (age<18 or age>65)"),
        ("not (age>=18 and age<30)", "not (age>=18 and age<30)"),
        ("code=>50K", "code=>50K"),
        ("code=a(b)", "code=a(b)"),
        ("not code=a(b)", "not code='a(b)'"),
        ("(code=a(b) or age>3)", None),
        ("code=or", "code=or"),
        ("not code=or", "not code='or'"),
        ("'my age'>3", "'my age'>3"),
        ("'a>b'=3", "a>b=3"),
        ("'a>'=3", "'a>'=3"),
        ("'(a'=3", "'(a'=3"),
        ("'not'=3", "'not'=3"),
        ("not=3", "'not'=3"),
        ("in=3 and or=4", "in=3 and or=4"),
        ("'or'>3", "'or'>3"),
        ("visit>2026-02", "visit>2026-02-28"),
        ("visit<=2026-02", "visit<=2026-02-28"),
        ("visit>=2026-02 and visit<2026-03", "visit>=2026-02-01 and visit<2026-03-01"),
        ("birth<2001", "birth<2001"),
        ("hour>=08:30", "hour>=8.5"),
    ],
)
def test_conditions_are_read_and_their_words_are_read_again(written, words):
    if words is None:
        with pytest.raises(QuestionError, match="“or” is about one attribute"):
            parse_conditions(written)
        return
    found = parse_conditions(written)
    assert in_words(found) == words
    assert parse_conditions(words) == found
    question = parse(f"count by sex where {written} within 3")
    assert parse(str(question)) == question
    assert from_dict(json.loads(json.dumps(question.to_dict()))) == question


def test_lists_groups_and_clauses_stand_in_any_order():
    assert parse("count by age where sex in (F, X)") == dx.table("age", where={"sex": ["F", "X"]})
    assert parse("count where age=1,2 by sex by code within 3").by == ("sex", "code")
    assert str(parse("share where age>=65 among not sex=F by code")) == "share by code where age>=65 among not sex=F"


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
        ("load.total>3", "nothing compares it", ["mean load.total", "sum load.total"]),
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
    question = parse(f"count where {words}")
    with pytest.raises(QuestionError) as caught:
        question.on(UNIVERSE)
    assert what in caught.value.what
    if hints is not None:
        assert [hint for hint, _ in caught.value.hints] == hints
    with pytest.raises(NotVerified):
        ask(json.loads(json.dumps([question.to_dict()])), READ)


def test_conditions_that_cannot_hold_together_are_refused_in_new_questions():
    with pytest.raises(QuestionError, match="fulfils all conditions on age"):
        parse("count where age<18 and age>65").require_honest(UNIVERSE)
    parse("count where age>18 and age<65").require_honest(UNIVERSE)


def test_what_was_refused_by_itself_is_refused_inside_of_others():
    with pytest.raises(QuestionError, match="outside the range"):
        parse("count where not years=5").require_honest(UNIVERSE)
    with pytest.raises(QuestionError, match="inside a step"):
        parse("count where early=1..3 or early>=4").require_honest(UNIVERSE)


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("not sex=F", "count where sex not F (other included)"),
        ("sex!=F and sex!=other", "count where sex not F (other included) and not sex=other"),
        ("not code=or", "count where not code='or'"),
        ("age<18 or age>65", "count where age<18 or age>65"),
        ("income>=50", "count where income>=50"),
        ("not income=7", "count where income not 0 to below 10 (other included)"),
        ("income<20 or income=95", "count where income <20 or 90 to 100"),
        ("(income<20 or income=95) and sex=F", "count where (income <20 or 90 to 100) and sex=F"),
        ("not (age<18 or age=20..30)", "count where age not (<18 or 20..30) (other included)"),
        ("years=20 or years<12", "count where years 20 or more or <12"),
    ],
)
def test_labels_say_what_is_counted(words, label):
    question = parse(f"count where {words}")
    assert [a.label for a in question.on(UNIVERSE).answers] == [label]
    assert [a.label for a in ask([question.to_dict()], READ).answers] == [label]


def test_python_says_the_same():
    assert dx.count(age=dx.above(30)) == parse("count where age>30")
    assert dx.count(age=dx.at_least(30), sex=dx.none_of("F")) == parse("count where age>=30 and not sex=F")
    assert dx.count(age=dx.any_of(dx.below(18), dx.at_most(20), (60, 65))) == parse(
        "count where age<18 or age<=20 or age=60..65"
    )
    assert dx.count(visit=dx.above(date(2026, 2, 1))) == parse("count where visit>2026-02-01")
    assert dx.table("sex", where="age<18 or age>65") == parse("count by sex where age<18 or age>65")
    assert dx.mean_of("age", where="not sex=F") == parse("mean age where not sex=F")
    assert dx.share_of("age>=65", among="sex=F") == parse("share where age>=65 among sex=F")
    assert dx.count(sex=">= 30").where == (("sex", (">= 30",)),)  # a text is a value, as ever
    with pytest.raises(UsageError, match="compares with a number"):
        dx.above("F")
    with pytest.raises(UsageError, match="at least one"):
        dx.any_of()


def test_files_say_the_same():
    text = '[[ask]]\ncount = true\nby = "sex"\nwhere = "age >= 30 and not sex=F"'
    (asked,) = read_questions(AskFile.parse(text), UNIVERSE).questions
    assert asked == parse("count by sex where age>=30 and not sex=F")
    with pytest.raises(QuestionError, match="questions:3 · “or” is about one attribute"):
        read_questions(AskFile.parse('[[ask]]\ncount = true\nwhere = "age>3 or sex=F"'))


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
    with pytest.raises(QuestionError):
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
        with pytest.raises(QuestionError):
            from_dict(nested(deep))
        with pytest.raises(NotVerified):
            ask([nested(deep)], READ)
    for text in ("(" * 100_000, "not " * 100_000 + "age=1", "(" * 1000 + "age=1" + ")" * 1000):
        with pytest.raises(QuestionError):
            parse(f"count where {text}")
    with pytest.raises(QuestionError, match="more than 200 conditions"):
        parse("count where " + " or ".join(["age>3"] * 50_000))
    made = dx.above(3)
    for _ in range(MOST_DEEP // 2):
        made = dx.any_of(dx.none_of(made), dx.below(2))
    with pytest.raises(UsageError, match="deep"):
        dx.none_of(made)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("age>", "what?"),
        ("age>F", "compares with a number"),
        ("(age>3", "not closed"),
        ("age in 3", "in which values?"),
        ("age in (3", "not closed"),
        ("age in ()", "in which values?"),
        ("age between 18 and 65", "needs “=”"),
        ("sex=F, age=3", "equals what?"),
        ("not (sex=F and age>3)", "“not” is about one attribute"),
        ("sex=F and age<18 or age>65", "“or” is about one attribute"),
        ("age>3 age<5", "unexpectedly"),
        ("or age>3", ""),
        ("()", ""),
        ("age>3)", ""),
        (">3", ""),
        ("age!=", "what?"),
        ("not", ""),
        ("age in", "in which values?"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_question(text, what):
    with pytest.raises(QuestionError) as caught:
        parse(f"count where {text}")
    assert what in caught.value.what
    assert caught.value.where.startswith("question")


NUMBERS = st.fractions(min_value=-5, max_value=110, max_denominator=2)
SIGNS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["age", "years", "income", "weight"]), st.sampled_from(sorted(SIGNS)), NUMBERS, NUMBERS)
def test_a_comparison_that_is_taken_holds_for_exactly_the_entries_that_it_says(name, sign, end, entry):
    """Of every entry that the data may hold, also beyond a range that clamps."""
    question = Count(where=((name, Compared(sign, end)),))
    try:
        (block,) = question.on(UNIVERSE).blocks
    except QuestionError:
        return
    axis = UNIVERSE.names.index(name)
    written = int(entry) if name in ("age", "years") else float(entry)
    place = int(UNIVERSE.attributes[axis].encode([written])[0])
    if place < UNIVERSE.attributes[axis].listed:
        assert (block.factors[axis].groups[place] >= 0) == SIGNS[sign](Fraction(written), end)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["visit", "birth"]),
    st.sampled_from(sorted(SIGNS)),
    st.integers(-400, 1700),
    st.integers(-400, 1700),
)
def test_a_comparison_of_days_holds_for_exactly_the_days_that_it_says(name, sign, end, entry):
    first = UNIVERSE.attributes[UNIVERSE.names.index(name)].first
    end, entry = (first + timedelta(days=k) for k in (end, entry))
    try:
        (block,) = Count(where=((name, Compared(sign, end)),)).on(UNIVERSE).blocks
    except QuestionError:
        return
    axis = UNIVERSE.names.index(name)
    place = int(UNIVERSE.attributes[axis].encode([entry])[0])
    if place < UNIVERSE.attributes[axis].listed:
        assert (block.factors[axis].groups[place] >= 0) == SIGNS[sign](entry, end)


TEXTS = {
    "sex": ["F", "M", "X", "other", "Y"],
    "code": [">50K", "a(b)", "or", "not"],
    "age": ["0", "7", "99", "other", "100"],
    "years": ["10", "15", "20", "other"],
    "income": ["0", "55", "100", "other"],
    "weight": ["40", "52", "60", "other"],
    "visit": ["2026-01-01", "2026-02-03", "2026-02", "other"],
    "birth": ["2000-01", "2001-07", "2003", "other"],
    "hour": ["6", "08:30", "other"],
    "maths": ["0", "3"],
    "late": ["1", "2", "5"],
    "load.total": ["6"],
    "scores.total": ["0", "5"],
}
ENDS = {
    "visit": [date(2026, 1, 1), date(2026, 2, 15), date(2026, 3, 31)],
    "birth": [date(2001, 7, 1), date(2002, 1, 31)],
}
GRID = [Fraction(x) for x in (-3, 0, 2, 4, 6, 7, 10, 15, 20, 45, 50, 60, 80, 100)] + [Fraction(5, 2), Fraction(2002)]


@st.composite
def one_condition(draw, name):
    ends = st.sampled_from([*ENDS.get(name, []), *GRID] if name not in ENDS or draw(st.booleans()) else ENDS[name])
    values = st.lists(st.sampled_from(TEXTS[name]), min_size=1, max_size=3).map(tuple)
    leaf = st.one_of(values, st.builds(Compared, st.sampled_from(sorted(SIGNS)), ends))
    if name not in ENDS:
        leaf |= st.tuples(st.sampled_from(GRID), st.sampled_from(GRID)).map(lambda x: (min(x), max(x)))
    inner = st.recursive(
        leaf,
        lambda part: st.one_of(
            part.map(negated),
            st.lists(part, min_size=2, max_size=3).map(either),
            st.lists(part, min_size=2, max_size=2).map(together),
        ),
        max_leaves=5,
    )
    wanted = draw(inner)
    return draw(leaf) if isinstance(wanted, AllOf) else wanted


questions = st.lists(
    st.sampled_from(sorted(TEXTS)).flatmap(lambda name: st.tuples(st.just(name), one_condition(name))),
    min_size=1,
    max_size=3,
).map(lambda where: Count(where=tuple(where)))


@settings(max_examples=300, deadline=None)
@given(questions)
def test_words_files_and_verifier_agree_about_any_conditions(question):
    assert parse(str(question)) == question
    data = json.loads(json.dumps(question.to_dict()))
    assert from_dict(data) == question
    try:
        bound = Stack((question,)).on(UNIVERSE)
    except DxError:
        with pytest.raises(NotVerified):
            ask([data], READ)
        return
    read = ask([data], READ)
    assert read.words == [str(question)]
    assert [a.label for a in read.answers] == [a.label for a in bound.answers]
    (ours,), (theirs,) = bound.blocks, read.blocks
    assert {axis: f.groups.tolist() for axis, f in ours.factors.items()} == dict(theirs.groups)


def test_a_plan_with_all_of_them_is_verified(tmp_path):
    plan = dx.plan(
        ["count where age<18 or age>65", "count by sex where income>=50", "mean age where not sex=F"],
        POLICY.metric,
        rows=1000,
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
