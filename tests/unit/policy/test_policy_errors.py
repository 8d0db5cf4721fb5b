"""Policies that are wrong: every error names the file, the line or key, what is wrong, and how to mend it."""

import random
import re
from functools import partial

import pytest

from dxprivacy.errors import DxError, PolicyError, TooLarge
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.policy import Policy, check

HEAD = 'title = "T"\ndataset = "d"\n'
PLACES = "id,name,latitude,longitude,elevation\n1,Hoboken,40.7,-74.0,9\n2,New York,40.8,-74.1,10\n3,Derby,41,-73,2\n"
VALID = """# A policy with one of everything.
title = "Survey"
dataset = "survey-1"
version = 2
unit = "replace"

[attributes.sex]
values = ["M", "F"]
epsilon = 1.0

[attributes.status]
column = "STATUS"
values = ["asylum", "citizen", "resident"]
epsilon = { asylum = 0.1, citizen = 2.0, resident = 2.0 }
other = { epsilon = 5 }

[attributes.age]
integers = [0, 120]
unit = "years"
epsilon = 0.5
per = 10
other = { epsilon = 5, value = 40 }

[attributes.home]
points = "cities.csv"
id = "id"
epsilon = 1.0
per = "100 km"
metric = "great-circle"
units = { elevation = "m" }

[combine]
how = "sum"
"""


def refusal(text, folder="."):
    """The error of a policy, checked for the form that all of them have."""
    with pytest.raises(DxError) as caught:
        Policy.parse(text, folder=folder)
    error = caught.value
    assert type(error) is PolicyError
    assert error.exit_code == 3
    assert error.where.startswith("policy.toml")
    assert error.what.strip()
    assert str(error)
    assert error.__cause__ is None
    return error


def attribute(body, name="x"):
    return f"{HEAD}[attributes.{name}]\n{body}\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cities.csv").write_text(PLACES, encoding="utf-8")
    return tmp_path


VALUES = 'values = ["a", "b"]\n'
AGES = "integers = [0, 9]\nper = 1\n"
ADD_REMOVE = 'unit = "add-remove"\n'
CELLS = "numbers = [0, 10]\n"
DAYS = 'dates = ["2026-01-01", "2026-12-31"]\n'


# -- keys --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "what", "mend"),
    [
        ('dataset = "d"\n', None, "a policy needs a title", 'title = "Household survey 2026"'),
        ('title = "T"\n', None, "a policy needs a dataset", 'dataset = "household-2026"'),
        ('title = ""\ndataset = "d"\n', 1, "a policy needs a title", "title = "),
        ('title = 5\ndataset = "d"\n', 1, "title is a text", "title = "),
        ('title = "T"\ndataset = ["d"]\n', 2, "dataset is a text", "dataset = "),
        ('title = "a\\nb"\ndataset = "d"\n', 1, "title is one line without control characters", "title = "),
        ('title = "T"\ndataset = "a\\u202eb"\n', 2, "dataset is one line", "dataset = "),
        (HEAD, None, "a policy needs at least one attribute", "[attributes.sex]"),
        (HEAD + "attributes = 3\n", 3, "a policy needs at least one attribute", "[attributes.sex]"),
        (HEAD + "[attributes]\n", 3, "a policy needs at least one attribute", "[attributes.sex]"),
        (HEAD + "[attributes]\nsex = 1\n", 4, "sex must be a table", "[attributes.sex]"),
        (HEAD + "[[attributes.sex]]\nvalues = [1]\n", None, "sex must be a table", "[attributes.sex]"),
        ('titel = "T"\ndataset = "d"\n', 1, "“titel” means nothing here", "title   did you mean this?"),
        (HEAD + "zzzzzz = 1\n", 3, "“zzzzzz” means nothing here", "known: title, dataset"),
        (HEAD + "version = [1]\n", 3, "version is a number or a text", "version = "),
        (HEAD + 'unit = "add-remove"\n', 3, "add-remove needs epsilon_presence", "epsilon_presence = 1.0"),
        (HEAD + ADD_REMOVE + "epsilon_presence = 1\n", 3, "add-remove needs max_records", "max_records = 1000000"),
        (HEAD + ADD_REMOVE + "epsilon_presence = 0\nmax_records = 9\n", 4, "epsilon_presence must be positive", ""),
        (HEAD + ADD_REMOVE + "epsilon_presence = inf\nmax_records = 9\n", 4, "epsilon_presence must be", "replace"),
        (HEAD + ADD_REMOVE + "epsilon_presence = nan\nmax_records = 9\n", 4, "epsilon_presence is NaN", ""),
        (HEAD + ADD_REMOVE + 'epsilon_presence = "1"\nmax_records = 9\n', 4, "epsilon_presence is the text", ""),
        (HEAD + ADD_REMOVE + "epsilon_presence = 1\nmax_records = 0\n", 5, "max_records must be a positive", "max"),
        (HEAD + ADD_REMOVE + "epsilon_presence = 1\nmax_records = 1.5\n", 5, "max_records must be a positive", ""),
        (HEAD + ADD_REMOVE + "epsilon_presence = 1\nmax_records = true\n", 5, "max_records must be a positive", ""),
        (HEAD + "max_records = 9\n", 3, "max_records means nothing where", "add-remove"),
        (HEAD + "unit = 5\n", 3, "no unit “5”", 'unit = "replace"'),
        (HEAD + '[combine]\nhow = "product"\n', 4, "combining attributes by “product” is not supported", 'how = "sum"'),
        (HEAD + "[combine]\nhow = [1]\n", 4, "combining attributes by “[1]” is not supported", 'how = "sum"'),
        (HEAD + "combine = 1\n", 3, "combine is a table", "[combine]"),
        (HEAD + "[combine]\nhwo = 1\n", 4, "“hwo” means nothing here", "how"),
    ],
)
def test_what_is_wrong_with_the_whole_policy_is_said_with_line_and_remedy(text, line, what, mend):
    error = refusal(text)
    assert error.what.startswith(what)
    assert mend in str(error)
    if line:
        assert error.where == f"policy.toml:{line}"
        assert f"{line} │ " in error.details[0]


@pytest.mark.parametrize(
    ("body", "line", "what", "mend"),
    [
        ("", 3, "x needs one of values, order, integers, numbers", 'values = ["M", "F"]'),
        ("epsilon = 1", 3, "x needs one of values, order, integers, numbers", "integers = [0, 120]"),
        ("value = [1]\nepsilon = 1", 4, "“value” means nothing here", "values   did you mean this?"),
        ("numbers = [0, 9]\nepsilon = 1", 4, "x: numbers need the width of a cell", "add   step = 1000"),
        ("numbers = 9\nepsilon = 1", 4, "x: numbers needs two ends", "numbers = [0, 200000]"),
        ('numbers = ["a", 9]\nepsilon = 1', 4, "an end is the text 'a'", "numbers = [0, 200000]"),
        ("numbers = [0, nan]\nepsilon = 1\nstep = 1", 4, "an end is NaN", "numbers = [0, 200000]"),
        (CELLS + "epsilon = 1\nstep = 0", 6, "step is 0; it must be positive", "step = 1000"),
        (CELLS + "epsilon = 1\nper = 1\nstep = 4", 4, "x from 0 to 10 cannot be cut into steps of 4", "whole number"),
        (CELLS + "epsilon = 1\nper = 1\nstep = 1e-9", 4, "x has more values than we can hold", "wider steps"),
        (CELLS + "epsilon = 1\nstep = 1", 5, "x has a distance but no unit", "add   per = 10"),
        (CELLS + "epsilon = 1\nper = 1\nstep = 1\noutside = 3", 8, "outside is '3'", 'outside = "clamp"'),
        (CELLS + 'epsilon = 1\nper = 1\nstep = 1\nformat = "x"', 4, "format is 'x'", 'format = "1.234,5"'),
        (CELLS + "epsilon = 1\nper = 1\nstep = 1\nformat = 3", 8, "format must be a text", "format"),
        ("numbers = [9, 0]\nepsilon = 1\nper = 1\nstep = 1", 4, "x runs from 9 to 0, which is empty", ""),
        ('dates = ["2026-01-01"]\nepsilon = 1', 4, "x: dates needs a first and a last day", "2026-12-31"),
        ('dates = ["2026-02-30", "2026-03-01"]\nepsilon = 1', 4, "x: dates needs a first and a last day", "2026"),
        ('dates = ["2026-03-01", "2026-02-01"]\nepsilon = 1\nper = "1 day"', 4, "x runs from 2026-03-01", ""),
        (DAYS + "epsilon = 1", 5, "x has a distance but no unit", 'add   per = "7 days"'),
        (DAYS + "epsilon = 1\nper = 7", 6, "per is '7'; a time with its unit is needed", 'per = "7 days"'),
        (DAYS + 'epsilon = 1\nper = "7 km"', 6, "per is '7 km'; a time with its unit", "units: day, days, week, weeks"),
        (DAYS + 'epsilon = 1\nper = "1 month"', 6, "months and years have no fixed length", 'per = "30 days"'),
        (DAYS + 'epsilon = 1\nper = "1 day"\nat_most = 0', 7, "at_most must be positive", "at_most = 3"),
        (DAYS + 'epsilon = 1\nper = "1 day"\nat_most = 0.5', 7, "at_most is below one step", "at_most = 3"),
        (DAYS + 'epsilon = 1\nper = "1 day"\ntimezone = "Mars/X"', 4, "x: no time zone “Mars/X”", "Europe/Berlin"),
        (DAYS + 'epsilon = 1\nper = "1 day"\nformat = "%d.%m"', 4, "format is '%d.%m'; it needs", "%d.%m.%Y"),
        (DAYS + 'epsilon = 1\nper = "1 day"\nformat = "%q"', 4, "format has '%q', which we do not know", "%Y %m %d"),
        (DAYS + 'epsilon = 1\nper = "1 day"\nunit = "days"', 7, "dates are counted in days", ""),
        (DAYS + 'epsilon = 1\nper = "1 day"\ncolumns = ["a"]', 7, "a series of dates is not supported", "integers"),
        (AGES + "epsilon = 1\ncolumns = 3", 7, "columns is a list of names", 'columns = ["jan"'),
        (AGES + "epsilon = 1\ncolumns = []", 7, "columns is a list of names", 'columns = ["jan"'),
        (AGES + 'epsilon = 1\ncolumns = ["a", "a"]', 4, "x lists a column twice", ""),
        (AGES + 'epsilon = 1\ncolumns = ["a"]\ncolumn = "b"', 8, "a series has columns, not a column", ""),
        (
            'integers = [0, 99]\nepsilon = 1\nper = 1\ncolumns = ["a", "b", "c", "d"]',
            4,
            "x: 100 values in each of 4 columns make 100,000,000 series",
            "fewer columns",
        ),
        (VALUES + 'epsilon = 1\nbetween = "sum"', 6, "between says how the budgets", 'between = "smaller"'),
        (VALUES + AGES + "epsilon = 1", 5, "x has both values and integers", "integers = [0, 120]"),
        (VALUES, 3, "x has no epsilon", "epsilon = 1.0"),
        (VALUES + "epsilom = 1", 5, "“epsilom” means nothing here", "epsilon   did you mean this?"),
        (VALUES + "epsilon = 1\nper = 3", 6, "x: values have no distances", "integers = [0, 120]"),
        (VALUES + 'epsilon = 1\ncolumn = ""', 6, "column must be a name", 'column = "inc_eur"'),
        (VALUES + "epsilon = 1\ncolumn = 7", 6, "column must be a name", 'column = "inc_eur"'),
        (VALUES + "epsilon = 1\nunit = []", 6, "unit must be a name", 'unit = "years"'),
        (VALUES + "epsilon = 1\nother = 5", 6, "other is a table", "other = { epsilon = 5 }"),
        (VALUES + "epsilon = 1\nother = { epsilom = 5 }", 6, "“epsilom” means nothing here", "epsilon"),
        (VALUES + "epsilon = 1\nother = { value = 5 }", 6, "only integers and numbers have", "other = { epsilon"),
        (
            VALUES + "epsilon = 1\nother = { epsilon = -1 }",
            6,
            "other's epsilon is -1; it must be positive",
            "epsilon = ",
        ),
        (
            AGES + 'epsilon = 1\nother = { value = 5 }\ncolumns = ["a", "b"]',
            7,
            "only integers and numbers have",
            "other = { epsilon",
        ),
        (AGES + 'epsilon = 1\nother = { value = "q" }', 7, "other's value is the text 'q'", ""),
        (AGES + "epsilon = 1\nother = { value = nan }", 7, "other's value is NaN", ""),
    ],
)
def test_what_is_wrong_with_the_keys_of_an_attribute_is_said_with_line_and_remedy(body, line, what, mend):
    error = refusal(attribute(body))
    assert error.where == f"policy.toml:{line}"
    assert error.what.startswith(what)
    assert mend in str(error)


@pytest.mark.parametrize(
    "name", ['""', '" "', '"a/b"', '"a[0]"', '"a=b"', '"a|b"', '"a,b"', '"it\'s"', '"a\\nb"', '"a\\u001b[2Jb"']
)
def test_names_that_no_question_could_write_are_refused(name):
    error = refusal(attribute(VALUES + "epsilon = 1", name))
    assert "cannot be the name of an attribute" in error.what
    assert "\x1b" not in str(error)
    assert 'column = "inc/eur"' in str(error)


def test_names_in_other_scripts_are_fine_in_quotes_and_the_error_without_them_says_so():
    assert Policy.parse(attribute(VALUES + "epsilon = 1", '"größe"')).universe.names == ("größe",)
    assert Policy.parse(attribute(VALUES + "epsilon = 1", '"年齢"')).universe.names == ("年齢",)
    error = refusal(attribute(VALUES + "epsilon = 1", "größe"))
    assert error.where == "policy.toml:3"
    assert "need quotes" in str(error)


# -- numbers -----------------------------------------------------------------------------------------------------------


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
        ('["a", "other"]', "x lists a value named 'other', which is ours for invalid entries"),
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
    for make, what in ((plan_mwem, "MWEM"), (partial(make_smalldb, rows=100), "a small database")):
        with pytest.raises(TooLarge, match=f"{what} needs a number for each of 1,000,000") as refused:
            make(["count by a1"], policy.metric, **({} if what == "a small database" else {"records": 100}))
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


# -- points ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("per", "what"),
    [
        ("100", "per is '100'; a distance with its unit is needed"),
        ('"100"', "per is '100'; a distance with its unit is needed"),
        ('"km"', "per is 'km'; a distance with its unit is needed"),
        ('"100 parsecs"', "per is '100 parsecs'; a distance with its unit is needed"),
        ('"-1 km"', "per is '-1 km'; a distance with its unit is needed"),
        ('"1.2.3 km"', "per is '1.2.3 km'; a distance with its unit is needed"),
        ('"1e9999 km"', "per is '1e9999 km'; a distance with its unit is needed"),
        ('"0 km"', "per is 0; it must be positive"),
        ('"0.0 m"', "per is 0.0; it must be positive"),
        ('"99999999999999999999 km"', "per is 99999999999999999999; it must be from 1e-15 to 1e15"),
        ("[100]", "per is '[100]'; a distance with its unit is needed"),
    ],
)
def test_per_for_places_is_a_distance_with_its_unit(per, what, folder):
    error = refusal(attribute(f'points = "cities.csv"\nepsilon = 1\nper = {per}'), folder)
    assert (error.where, error.what) == ("policy.toml:6", what)
    assert 'per = "100 km"' in str(error)


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("points = 5\nepsilon = 1", 4, "points must be a name"),
        ("points = []\nepsilon = 1", 4, "points must be a name"),
        ('points = "p\\u0000.csv"\nepsilon = 1', 4, "points must be a name"),
        ('points = "cities.csv"\nepsilon = 1', 5, "x has a distance but no unit"),
        ('points = "cities.csv"\nepsilon = 0\nper = "1 km"', 5, "x: epsilon must be positive and finite"),
        ('points = "cities.csv"\nepsilon = inf\nper = "1 km"', 5, "x: epsilon must be positive and finite"),
        ('points = "cities.csv"\nepsilon = { 1 = 1 }\nper = "1 km"', 5, "epsilon is one number here"),
        (
            'points = "cities.csv"\nepsilon = 1\nper = "1 km"\nmetric = "hexagonal"',
            7,
            "no metric “hexagonal” for points",
        ),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nmetric = ["x"]', 7, "no metric “['x']” for points"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nid = "code"', 4, "no column “code”"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nid = ["id"]', 7, "id must be a name"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nunits = "m"', 7, "units is a table"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nunits = { elevation = 1 }', 7, "units is a table"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nunits = { elevatoin = "m" }', 4, "no property “elevatoin”"),
        (
            'points = "cities.csv"\nepsilon = 1\nper = "1 km"\nother = { value = 0 }',
            7,
            "only integers and numbers have",
        ),
    ],
)
def test_the_keys_of_points_are_checked(body, line, what, folder):
    error = refusal(attribute(body), folder)
    assert error.where == f"policy.toml:{line}"
    assert error.what.startswith(what)
    assert error.hints or error.details[1:]


@pytest.mark.parametrize(
    ("content", "place", "what", "mend"),
    [
        (None, "p.csv", "no such file", "paths are relative to the policy file"),
        (b"", "p.csv", "needs a header line and at least one point", "id,latitude,longitude"),
        (b"id,latitude,longitude\n", "p.csv", "needs a header line and at least one point", "id,latitude,longitude"),
        (b"id,name\n1,a\n", "p.csv:1", "no coordinates", "columns latitude and longitude, or x and y, are needed"),
        (b"id,latitude\n1,5\n", "p.csv:1", "no coordinates", "columns latitude and longitude"),
        (b"id,id,x\n1,2,3\n", "p.csv:1", "column names must be different and not empty", "rename"),
        (b"id,,x\n1,2,3\n", "p.csv:1", "column names must be different and not empty", "name"),
        (b"id,x,y\na,0,0\nb,1\n", "p.csv:3", "2 fields instead of 3", "quote fields that contain commas"),
        (b"id,x,y\na,0,0\nb,1,2,3\n", "p.csv:3", "4 fields instead of 3", "quote fields that contain commas"),
        (b"id,x\na,0\nb,nan\n", "p.csv:3", "x is no number", "mend"),
        (b"id,x\na,0\n\nb,inf\n", "p.csv:4", "x is no number", "mend"),
        (b"id,x\na,0\nb,\n", "p.csv:3", "x is empty", "mend"),
        (b"id,x\na,0\nb,12km\n", "p.csv:3", "x is no number", "mend"),
        (b"id,lat,lon\na,0,0\nb,91,0\n", "p.csv:3", "lat does not lie between -90 and 90 degrees", "swapped"),
        (b"id,lat,lon\na,0,0\nb,0,-361\n", "p.csv:3", "lon does not lie between -360 and 360", "swapped"),
        (b"id,x\na,0\na,1\n", "p.csv:3", "a point's id is listed twice, first in line 2", "leave one of them out"),
        (b"id,x\n,0\na,1\n", "p.csv:2", "id is empty", "give every point an id"),
        (b"id,x\nother,0\na,1\n", "p.csv:2", "id is “other”, which is ours", "another id"),
        (b"id,x\n\xff\xfea,0\n", "p.csv", "not a CSV file in UTF-8", "save it as UTF-8"),
        ("id,x\na,0\n".encode("utf-16"), "p.csv", "not a CSV file in UTF-8", "save it as UTF-8"),
        (b'id,x\n"a,0\n', "p.csv", "not a CSV file in UTF-8", "save it as UTF-8"),
        (b"PAR1\x15\x04\x15\x00\x80\x90", "p.csv", "not a CSV file in UTF-8", "save it as UTF-8"),
        (b'{"type": "FeatureCollection"}', "p.csv", "needs a header line and at least one point", "for example"),
        (b"id,x\na,1e300\nb,0\n", "", "coordinates must be 0 or between 1e-250 and 1e150 in size", ""),
    ],
)
def test_a_points_file_that_does_not_fit_is_named_with_its_line(content, place, what, mend, tmp_path):
    if content is not None:
        (tmp_path / "p.csv").write_bytes(content)
    error = refusal(attribute('points = "p.csv"\nepsilon = 1\nper = 1'), tmp_path)
    assert error.where == "policy.toml:4"
    assert error.what.startswith(what)
    assert any(line == f"in {tmp_path / place}" for line in error.details) or not place
    assert mend in str(error)


def test_a_directory_is_no_points_file(tmp_path):
    (tmp_path / "p.csv").mkdir()
    error = refusal(attribute('points = "p.csv"\nepsilon = 1\nper = 1'), tmp_path)
    assert error.what == "cannot be read: Is a directory"


def test_great_circles_need_latitude_and_longitude(tmp_path):
    (tmp_path / "p.csv").write_text("id,x,y\na,0,0\nb,1,1\n")
    error = refusal(attribute('points = "p.csv"\nepsilon = 1\nper = "1 km"\nmetric = "great-circle"'), tmp_path)
    assert error.what == "great-circle distance needs columns latitude and longitude"


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "no such file"),
        ('title = "Zürich"'.encode("latin-1"), "not UTF-8 text"),
        ('title = "T"'.encode("utf-16"), "not UTF-8 text"),
        (b"\x00\x01\x02\xff", "not UTF-8 text"),
    ],
)
def test_a_policy_that_cannot_be_read_says_why(content, what, tmp_path):
    path = tmp_path / "policy.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert (caught.value.where, caught.value.what) == (str(path), what)
    assert caught.value.hints


def test_a_directory_and_an_impossible_name_are_no_policies(tmp_path):
    for path in (tmp_path, tmp_path / ("x" * 300), str(tmp_path) + "/a\0b", "/dev/null/policy.toml"):
        with pytest.raises(PolicyError) as caught:
            Policy.load(path)
        assert "\0" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('title = "T"\ntitle = "U"\n', 2, "this key is given twice"),
        (HEAD + "[attributes.a]\n[attributes.a]\n", 4, "this table is given twice"),
        ('title = "T\ndataset = "d"\n', 1, "a text is not closed"),
        ('title = "T', 1, "a text is not closed"),
        ("title = Survey\n", 1, "the value cannot be read; text needs quotes"),
        ('title = "T.1"\nepsilon = .5\n', 2, "a number has digits on both sides of its point: 0.5 for .5"),
        ("epsilon = { yes = 1, no = -.25 } # so\n", 1, "a number has digits on both sides of its point: 0.25 for .25"),
        ("epsilon = 5. # so\n", 1, "a number has digits on both sides of its point: 5.0 for 5."),
        ("title = Wave no .5 # = .5\n", 1, "the value cannot be read; text needs quotes"),
        ("title\n", 1, "“=” is missing after the key"),
        (HEAD + '[attributes.a\nvalues = ["a"]\n', 3, "Expected ']' at the end of a table declaration"),
        (HEAD + '[attributes.a]\nvalues = ["a", "b"\nepsilon = 1\n', 5, "a list is not closed"),
        (HEAD + "[attributes.a]\nepsilon = 1,5\n", 4, "something follows the value on its line"),
        (HEAD + "[attributes.a]\nepsilon = 01\n", 4, "something follows the value on its line"),
        (HEAD + "§\n", 3, "a line is “key = value” or “[table]”"),
    ],
)
def test_syntax_errors_name_their_line_in_plain_words(text, line, what):
    error = refusal(text)
    assert error.where == f"policy.toml:{line}"
    assert error.what.startswith(f"not valid TOML: {what}")
    assert f"{line} │ " in error.details[0]


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 50_000,
        "a = " + "{ a = " * 20_000,
        HEAD + "attributes.a" + ".a" * 2_000 + " = 1",
        HEAD + "[attributes.x]\nvalues = " + "[" * 300 + "]" * 300 + "\nepsilon = 1",
        HEAD + "[attributes.x]\nvalues = [1]\nepsilon = " + "{ a = " * 200 + "1" + " }" * 200,
        "\x00",
        "",
        "\n" * 1000,
        "# only a comment",
        "[" * 1000,
        '"' * 7,
        "=" * 50,
        "é" * 500,
        "a" * 100_000 + " = 1",
        HEAD + f'[attributes."{"a" * 10_000}"]\nvalues = [1, 1]\nepsilon = 1',
    ],
)
def test_the_strangest_texts_get_an_error_of_ours(text):
    assert len(str(refusal(text)).splitlines()[0]) < 12_000


def test_errors_in_inline_tables_and_dotted_keys_still_name_the_attribute():
    error = refusal(HEAD + "attributes.age.integers = [0, 9]\nattributes.age.epsilon = 1\n")
    assert (error.where, error.what) == ("policy.toml, attributes.age", "age has a distance but no unit")
    error = refusal(HEAD + "attributes = { age = { integers = [9, 0], epsilon = 1, per = 1 } }\n")
    assert "age runs from 9 to 0" in error.what


def test_the_line_is_right_after_lists_over_several_lines_and_odd_line_breaks():
    text = HEAD + '# a\u2028b\x85c\n[attributes.x]\nvalues = [\n  "a",\n  "b",\n]\nepsilon = -1\n'
    error = refusal(text)
    assert error.where == "policy.toml:9"
    assert "epsilon = -1" in error.details[0]


# -- by chance ---------------------------------------------------------------------------------------------------------

_PIECES = [
    "[",
    "]",
    "{",
    "}",
    '"',
    "'",
    "=",
    ",",
    ".",
    "#",
    "\n",
    " ",
    "-",
    "e",
    "0",
    "9",
    "inf",
    "nan",
    "ε",
    "\\",
    "\t",
]
_PIECES += ["1e400", "0x", "true", "\x00", "\ufeff", "[[a]]", "other", "=[]", "={}", "2026-01-01", "__", "%", "\r"]


def mutated(text, chance):
    lines = text.splitlines(keepends=True)
    for _ in range(chance.choice([1, 1, 2, 3, 8])):
        at = chance.randrange(len(lines))
        match chance.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                new = chance.choice(["-1", "1e308", "nan", '"x"', "[]", "0"])
                lines[at] = re.sub(r"[0-9.]+", lambda _, new=new: new, lines[at])
            case 4:
                new = chance.choice(["5", '""', "true", '["a"]', '"\\u0007"'])
                lines[at] = re.sub(r'"[^"]*"', lambda _, new=new: new, lines[at])
            case _:
                line = lines[at]
                cut = chance.randrange(len(line) + 1)
                piece = chance.choice([*_PIECES, line[:cut], line[cut:], ""])
                lines[at] = line[:cut] + piece + line[cut + chance.choice([0, 1, 1, 5]) :]
        lines = lines or ["\n"]
    return "".join(lines)


def complaint(text, folder):
    """What a policy is refused with, if it is; anything but an error of ours would fail the test here."""
    try:
        str(check(Policy.parse(text, folder=folder)))
    except DxError as error:
        return error
    return None


def test_three_hundred_damaged_policies_raise_nothing_but_errors_of_ours(folder):
    chance = random.Random(20260101)
    texts = [mutated(VALID, chance) for _ in range(300)]
    errors = [complaint(text, folder) for text in texts]
    for text, error in zip(texts, errors, strict=True):
        if error is not None:
            assert type(error) is PolicyError, text
            assert error.what.strip(), text
            assert error.where.startswith("policy.toml"), text
    assert 100 < len([e for e in errors if e]) < 290  # some damage does no harm


def test_three_hundred_damaged_points_files_raise_nothing_but_errors_of_ours(tmp_path):
    chance = random.Random(20260102)
    body = attribute('points = "cities.csv"\nepsilon = 1\nper = "100 km"')
    errors = []
    for _ in range(300):
        (tmp_path / "cities.csv").write_text(mutated(PLACES, chance), encoding="utf-8", newline="")
        errors.append(complaint(body, tmp_path))
    refused = [error for error in errors if error]
    assert all(type(error) is PolicyError and error.what.strip() for error in refused)
    assert 50 < len(refused) < 290
