"""Both forms of a test exist: the short one is not slow, and the long one is."""

import pytest
from hypothesis import example
from hypothesis import strategies as st

from contracts.long_forms import drawn, mostly_slow, seeds, slow

SEEN = []


def is_slow(values):
    return [any(mark.name == "slow" for mark in value.marks) for value in values]


def test_some_parameters_are_not_slow():
    assert is_slow(seeds(4)) == [False, False, True, True]
    assert is_slow(mostly_slow("abc", ["b"])) == [True, False, True]
    assert is_slow(mostly_slow("abcd", slice(0, None, 2))) == [False, True, False, True]
    assert is_slow([slow(1)]) == [True]


def test_a_tuple_is_several_parameters_or_one():
    assert [value.values for value in mostly_slow([(1, 2), (3, 4)], 1)] == [(1, 2), (3, 4)]
    assert [value.values for value in mostly_slow([(1, 2), (3, 4)], 1, one=True)] == [((1, 2),), ((3, 4),)]


def test_marks_and_names_that_were_there_stay():
    (value,) = mostly_slow([pytest.param(1, id="one", marks=pytest.mark.soak)], 1)
    assert (value.id, [mark.name for mark in value.marks]) == ("one", ["soak"])


@pytest.mark.parametrize("fast", [0, [], ["d"]])
def test_a_short_form_must_be_there(fast):
    with pytest.raises(ValueError, match="no short form"):
        mostly_slow("abc", fast)


@pytest.mark.parametrize("word", ["a"])
@drawn(st.integers(), fast=3, full=30)
@example(number=-1)
def test_property_tests_have_two_forms(word, tmp_path, number):
    SEEN.append(number)


def test_property_tests_run_their_examples():
    assert not SEEN or (len(SEEN) >= 3 and SEEN[0] == -1)
