"""Conditions as they are written: comparisons, not, or, lists; in words, Python and files."""

import json
from datetime import date

import pytest
from every_kind import UNIVERSE

import dxprivacy as dx
from dxprivacy.errors import QueryError, UsageError
from dxprivacy.policy.query_files import AskFile, read_queries
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse, parse_conditions
from dxprivacy.queries.text.written_names import in_words


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
        ("not (age<3 and (age<3 or age='a'|'b'))", "not (age<3 and (age<3 or age=a|b))"),
        ("not (age<3 and (age<3 or age in ('a', 'b')))", "not (age<3 and (age<3 or age=a|b))"),
        ("not (age<3 and (age<3 or age>'5'))", "not (age<3 and (age<3 or age>5))"),
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
        with pytest.raises(QueryError, match="“or” is about one attribute"):
            parse_conditions(written)
        return
    found = parse_conditions(written)
    assert in_words(found) == words
    assert parse_conditions(words) == found
    query = parse(f"count by sex where {written} within 3")
    assert parse(str(query)) == query
    assert from_dict(json.loads(json.dumps(query.to_dict()))) == query


def test_lists_groups_and_clauses_stand_in_any_order():
    assert parse("count by age where sex in (F, X)") == dx.table("age", where={"sex": ["F", "X"]})
    assert parse("count where age=1,2 by sex by code within 3").by == ("sex", "code")
    assert (
        str(parse("proportion where age>=65 among not sex=F by code"))
        == "proportion by code where age>=65 among not sex=F"
    )


def test_python_says_the_same():
    assert dx.count(age=dx.above(30)) == parse("count where age>30")
    assert dx.count(age=dx.at_least(30), sex=dx.none_of("F")) == parse("count where age>=30 and not sex=F")
    assert dx.count(age=dx.any_of(dx.below(18), dx.at_most(20), (60, 65))) == parse(
        "count where age<18 or age<=20 or age=60..65"
    )
    assert dx.count(visit=dx.above(date(2026, 2, 1))) == parse("count where visit>2026-02-01")
    assert dx.table("sex", where="age<18 or age>65") == parse("count by sex where age<18 or age>65")
    assert dx.mean_of("age", where="not sex=F") == parse("mean age where not sex=F")
    assert dx.proportion_of("age>=65", among="sex=F") == parse("proportion where age>=65 among sex=F")
    assert dx.count(sex=">= 30").where == (("sex", (">= 30",)),)  # a text is a value, as ever
    with pytest.raises(UsageError, match="compares with a number"):
        dx.above("F")
    with pytest.raises(UsageError, match="at least one"):
        dx.any_of()


def test_files_say_the_same():
    text = '[[query]]\ncount = true\nby = "sex"\nwhere = "age >= 30 and not sex=F"'
    (asked,) = read_queries(AskFile.parse(text), UNIVERSE).queries
    assert asked == parse("count by sex where age>=30 and not sex=F")
    with pytest.raises(QueryError, match="queries:3 · “or” is about one attribute"):
        read_queries(AskFile.parse('[[query]]\ncount = true\nwhere = "age>3 or sex=F"'))


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
def test_what_cannot_be_read_is_refused_with_the_query(text, what):
    with pytest.raises(QueryError) as caught:
        parse(f"count where {text}")
    assert what in caught.value.what
    assert caught.value.where.startswith("query")
