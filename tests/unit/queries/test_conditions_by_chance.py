"""Any conditions: taken ones hold for exactly the entries that they say; words, files and verifier agree."""

import json
import operator
from datetime import date, timedelta
from fractions import Fraction

import pytest
from every_kind import READ, UNIVERSE
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.long_forms import drawn
from dxprivacy.errors import DxError, NotVerified, QueryError
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.conditions import AllOf, Compared, either, negated, together
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.verify.queries import ask

NUMBERS = st.fractions(min_value=-5, max_value=110, max_denominator=2)
SIGNS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["age", "years", "income", "weight"]), st.sampled_from(sorted(SIGNS)), NUMBERS, NUMBERS)
def test_a_comparison_that_is_taken_holds_for_exactly_the_entries_that_it_says(name, sign, end, entry):
    """Of every entry that the data may hold, also beyond a range that clamps."""
    query = Count(where=((name, Compared(sign, end)),))
    try:
        (block,) = query.on(UNIVERSE).blocks
    except QueryError:
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
    except QueryError:
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


queries = st.lists(
    st.sampled_from(sorted(TEXTS)).flatmap(lambda name: st.tuples(st.just(name), one_condition(name))),
    min_size=1,
    max_size=3,
).map(lambda where: Count(where=tuple(where)))


@drawn(queries, fast=20, full=300)
def test_words_files_and_verifier_agree_about_any_conditions(query):
    assert parse(str(query)) == query
    data = json.loads(json.dumps(query.to_dict()))
    assert from_dict(data) == query
    try:
        bound = Stack((query,)).on(UNIVERSE)
    except DxError:
        with pytest.raises(NotVerified):
            ask([data], READ)
        return
    read = ask([data], READ)
    assert read.words == [str(query)]
    assert [a.label for a in read.answers] == [a.label for a in bound.answers]
    (ours,), (theirs,) = bound.blocks, read.blocks
    assert {axis: f.groups.tolist() for axis, f in ours.factors.items()} == dict(theirs.groups)
