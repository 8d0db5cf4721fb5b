"""Budgets, values and ranges that are none: each error names the line, what is wrong, and how to mend it."""

from functools import partial

import pytest
from wrong_policies import AGES, HEAD, VALUES, attribute, refusal

from dxprivacy.errors import TooLarge
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.policy import Policy, check


@pytest.mark.parametrize(
    ("epsilon", "what"),
    [
        ("-1", "epsilon is -1; it must be positive"),
        ("-0.5", "epsilon is -0.5; it must be positive"),
        ("nan", "epsilon is NaN; a finite number is needed"),
        ("-inf", "epsilon is -Infinity; a finite number is needed"),
        ("1e10", "epsilon is 1E+10; it must be from 1e-9 to 1e9"),
        ("1e-10", "epsilon is 1E-10; it must be from 1e-9 to 1e9"),
        ("1e300", "epsilon is 1E+300; that is beyond the range of numbers we work with"),
        ("1e-300", "epsilon is 1E-300; that is beyond the range of numbers we work with"),
        ("1e999", "1e999 is beyond the range of numbers we work with"),
        ("1e99999999999999999999", "1e99999999999999999999 is beyond the range of numbers we work with"),
        ("0." + "3" * 60, "0.3333"),
        ("9" * 30, "a whole number has more than 64 bits"),
        ("9" * 5000, "a whole number has more than 64 bits"),
        ("0x" + "f" * 5000, "a whole number has more than 64 bits"),
        ('"1.0"', "epsilon is the text '1.0'; a number is written without quotes"),
        ('"inf"', "epsilon is the text 'inf'; a number is written without quotes"),
        ("true", "epsilon is True; a number is needed"),
        ("false", "epsilon is False; a number is needed"),
        ("2026-01-01", "epsilon is 2026-01-01; a number is needed"),
        ("[1]", "epsilon is one number here"),
    ],
)
@pytest.mark.parametrize("kind", [VALUES, AGES, 'points = "cities.csv"\nper = "1 km"\n'])
def test_an_epsilon_that_is_no_budget_is_refused_in_every_kind_of_attribute(kind, epsilon, what, folder):
    error = refusal(attribute(f"{kind}epsilon = {epsilon}"), folder)
    assert error.what.startswith(what)
    assert error.where == f"policy.toml:{kind.count(chr(10)) + 4}"
    assert error.hints
    assert max(map(len, str(error).splitlines())) < 140


@pytest.mark.parametrize(
    ("epsilon", "what", "mend"),
    [
        ("{}", "x: no epsilon for a, b", "epsilon = { a = 1.0, b = 1.0 }"),
        ("{ a = 1 }", "x: no epsilon for b", "epsilon = { a = 1.0, b = 1.0 }"),
        ("{ a = 1, b = 1, c = 1 }", "x has no value 'c'", ""),
        ("{ a = 1, B = 1 }", "x has no value 'B'", ""),
        ("{ a = 1, b = -1 }", "epsilon of b is -1; it must be positive", "epsilon = 1.0"),
        ("{ a = 1, b = nan }", "epsilon of b is NaN", "epsilon = 1.0"),
        ('{ a = 1, b = "2" }', "epsilon of b is the text '2'", "epsilon = 1.0"),
        ("{ a = 1, b = { c = 1 } }", "epsilon of b is one number here", "epsilon = 1.0"),
    ],
)
def test_a_values_own_budget_must_fit_the_values(epsilon, what, mend):
    error = refusal(attribute(f"{VALUES}epsilon = {epsilon}"))
    assert (error.where, error.what[: len(what)]) == ("policy.toml:5", what)
    assert mend in str(error)


def test_a_zero_budget_is_allowed_and_explained():
    page = check(Policy.parse(attribute(VALUES + "epsilon = 0")))
    assert [w.kind for w in page.warnings] == ["identical"]
    assert page.worst_case == 0


@pytest.mark.parametrize("extreme", ["1e-9", "1e9"])
@pytest.mark.parametrize("per", ["1e-15", "1e15"])
def test_the_most_extreme_numbers_that_are_let_in_are_computed_with(extreme, per):
    policy = Policy.parse(attribute(f"integers = [0, 9]\nepsilon = {extreme}\nper = {per}"))
    page = check(policy)
    assert 0 < page.rows[0].strictest_epsilon < page.rows[0].loosest_epsilon < float("inf")


# -- values and integers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ("[]", "attribute x has no values"),
        ('"a"', "x: values must be a list"),
        ("5", "x: values must be a list"),
        ("{ a = 1 }", "x: values must be a list"),
        ("[inf]", "x: values must be a list"),
        ('[["a"]]', "x: values must be a list"),
        ("[2026-01-01]", "x: values must be a list"),
        ('["a", "b", "a"]', "x lists 'a' twice"),
        ('[1, "1"]', "x lists '1' twice"),
        ('[true, "true"]', "x lists 'true' twice"),
        ('["a", "other"]', "x lists a value named 'other', which is reserved for invalid entries"),
        ('["a", "b\\n"]', "x: a value has control characters"),
        ('["a\\u001b[31m"]', "x: a value has control characters"),
        ("[" + ", ".join(f'"{k}"' for k in range(3)) + ", 0]", "x lists '0' twice"),
    ],
)
def test_values_must_be_a_list_of_different_texts(values, what):
    error = refusal(attribute(f"values = {values}\nepsilon = 1"))
    assert error.where == "policy.toml:4"
    assert error.what.startswith(what)


@pytest.mark.parametrize(
    ("ends", "what"),
    [
        ("[9, 0]", "x runs from 9 to 0, which is empty"),
        ("[0]", "x: integers needs two ends"),
        ("[0, 1, 2]", "x: integers needs two ends"),
        ("[]", "x: integers needs two ends"),
        ("5", "x: integers needs two ends"),
        ('"0..9"', "x: integers needs two ends"),
        ("[0, 9.5]", "x: integers needs two ends, both whole numbers"),
        ("[0.0, 9.0]", "x: integers needs two ends, both whole numbers"),
        ("[false, true]", "x: integers needs two ends, both whole numbers"),
        ("[0, inf]", "x: integers needs two ends, both whole numbers"),
        ('["0", "9"]', "x: integers needs two ends, both whole numbers"),
        ("[0, 1000000000000]", "x has more values than we can hold"),
        ("[9007199254740992, 9007199254740993]", "x has more values than we can hold"),
        ("[0, 99999999999999999999]", "a whole number has more than 64 bits"),
    ],
)
def test_integers_need_two_ends_in_order_and_of_a_size_that_can_be_held(ends, what):
    error = refusal(attribute(f"integers = {ends}\nepsilon = 1\nper = 1"))
    assert error.where == "policy.toml:4"
    assert error.what.startswith(what)
    assert error.hints


def test_a_policy_may_have_any_number_of_possible_records(tmp_path):
    body = "".join(f"[attributes.a{k}]\nintegers = [0, 998]\nepsilon = 1\nper = 1\n" for k in range(20))
    (tmp_path / "policy.toml").write_text(HEAD + body)
    policy = Policy.load(tmp_path / "policy.toml")
    assert policy.universe.cells == 1000**20
    for make, what in ((plan_mwem, "MWEM"), (partial(make_smalldb, n_records=100), "a small database")):
        with pytest.raises(TooLarge, match=f"{what} needs a number for each of 1,000,000") as refused:
            make(["count by a1"], policy.metric, **({} if what == "a small database" else {"n_records": 100}))
        assert "wider steps" in str(refused.value)


def test_a_distance_without_a_unit_is_the_error_of_the_ux():
    error = refusal(attribute('integers = [0, 120]\nunit = "years"\nepsilon = 0.5', "age"))
    assert str(error).splitlines() == [
        "policy.toml:6 · age has a distance but no unit",
        "      6 │ epsilon = 0.5",
        "  → add   per = 10                 0.5 for every 10 years apart",
    ]


@pytest.mark.parametrize(
    ("per", "what"),
    [
        ("0", "per is 0; it must be positive"),
        ("-3", "per is -3; it must be positive"),
        ("nan", "per is NaN; a finite number is needed"),
        ("inf", "per is Infinity; a finite number is needed"),
        ("1e16", "per is 1E+16; it must be from 1e-15 to 1e15"),
        ("1e-16", "per is 1E-16; it must be from 1e-15 to 1e15"),
        ("1e99999999", "1e99999999 is beyond the range of numbers we work with"),
        ("true", "per is True; a number is needed"),
        ('"10"', "per is the text '10'; a number is written without quotes"),
        ('"10 years"', "per is the text '10 years'; a number is written without quotes"),
        ("[10]", "per is [10]; a number is needed"),
        ("{ a = 1 }", "per is {'a': 1}; a number is needed"),
    ],
)
def test_per_must_be_a_positive_number(per, what):
    error = refusal(attribute(f"integers = [0, 9]\nepsilon = 1\nper = {per}"))
    assert (error.where, error.what) == ("policy.toml:6", what)
    assert error.hints
