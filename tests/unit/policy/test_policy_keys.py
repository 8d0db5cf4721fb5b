"""Keys of a policy that are missing, unknown or of the wrong kind: each error names the line, and how to mend it."""

import pytest
from wrong_policies import AGES, HEAD, VALUES, attribute, refusal

from dxprivacy.policy import Policy

ADD_REMOVE = 'neighbors = "add-remove"\n'
CELLS = "numbers = [0, 10]\n"
DAYS = 'dates = ["2026-01-01", "2026-12-31"]\n'


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
        ('titel = "T"\ndataset = "d"\n', 1, "unknown key “titel”", "title   did you mean this?"),
        (HEAD + "zzzzzz = 1\n", 3, "unknown key “zzzzzz”", "known: title, dataset"),
        (HEAD + "version = [1]\n", 3, "version is a number or a text", "version = "),
        (HEAD + 'neighbors = "add-remove"\n', 3, "add-remove needs epsilon_presence", "epsilon_presence = 1.0"),
        (HEAD + ADD_REMOVE + "epsilon_presence = 1\n", 3, "add-remove needs max_records", "max_records = 1000000"),
        (HEAD + ADD_REMOVE + "epsilon_presence = 0\nmax_records = 9\n", 4, "epsilon_presence must be positive", ""),
        (HEAD + ADD_REMOVE + "epsilon_presence = inf\nmax_records = 9\n", 4, "epsilon_presence must be", "replace"),
        (HEAD + ADD_REMOVE + "epsilon_presence = nan\nmax_records = 9\n", 4, "epsilon_presence is NaN", ""),
        (HEAD + ADD_REMOVE + 'epsilon_presence = "1"\nmax_records = 9\n', 4, "epsilon_presence is the text", ""),
        (HEAD + ADD_REMOVE + "epsilon_presence = 1\nmax_records = 0\n", 5, "max_records must be a positive", "max"),
        (HEAD + ADD_REMOVE + "epsilon_presence = 1\nmax_records = 1.5\n", 5, "max_records must be a positive", ""),
        (HEAD + ADD_REMOVE + "epsilon_presence = 1\nmax_records = true\n", 5, "max_records must be a positive", ""),
        (HEAD + "max_records = 9\n", 3, "max_records means nothing where", "add-remove"),
        (HEAD + "neighbors = 5\n", 3, "no neighbors “5”", 'neighbors = "replace"'),
        (HEAD + '[combine]\nhow = "product"\n', 4, "combining attributes by “product” is not supported", 'how = "sum"'),
        (HEAD + "[combine]\nhow = [1]\n", 4, "combining attributes by “[1]” is not supported", 'how = "sum"'),
        (HEAD + "combine = 1\n", 3, "combine is a table", "[combine]"),
        (HEAD + "[combine]\nhwo = 1\n", 4, "unknown key “hwo”", "how"),
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
        ("value = [1]\nepsilon = 1", 4, "unknown key “value”", "values   did you mean this?"),
        ("numbers = [0, 9]\nepsilon = 1", 4, "x: numbers need the width of a bin", "add   step = 1000"),
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
        (DAYS + 'epsilon = 1\nper = "1 day"\nmax_epsilon = 0', 7, "max_epsilon must be positive", "max_epsilon = 3"),
        (DAYS + 'epsilon = 1\nper = "1 day"\nmax_epsilon = 0.5', 7, "max_epsilon is below one step", "max_epsilon = 3"),
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
        (VALUES + "epsilom = 1", 5, "unknown key “epsilom”", "epsilon   did you mean this?"),
        (VALUES + "epsilon = 1\nper = 3", 6, "x: values have no distances", "integers = [0, 120]"),
        (VALUES + 'epsilon = 1\ncolumn = ""', 6, "column must be a name", 'column = "inc_eur"'),
        (VALUES + "epsilon = 1\ncolumn = 7", 6, "column must be a name", 'column = "inc_eur"'),
        (VALUES + "epsilon = 1\nunit = []", 6, "unit must be a name", 'unit = "years"'),
        (VALUES + "epsilon = 1\nother = 5", 6, "other is a table", "other = { epsilon = 5 }"),
        (VALUES + "epsilon = 1\nother = { epsilom = 5 }", 6, "unknown key “epsilom”", "epsilon"),
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
def test_names_that_no_query_could_write_are_refused(name):
    error = refusal(attribute(VALUES + "epsilon = 1", name))
    assert "cannot be the name of an attribute" in error.what
    assert "\x1b" not in str(error)
    assert 'column = "inc/eur"' in str(error)


def test_names_in_other_scripts_are_fine_in_quotes_and_the_error_without_them_says_so():
    assert Policy.parse(attribute(VALUES + "epsilon = 1", '"größe"')).universe.names == ("größe",)
    assert Policy.parse(attribute(VALUES + "epsilon = 1", '"年齢"')).universe.names == ("年齢",)
    for name in ("größe", "Größe", "ÄRZTE-2", "年齢"):
        error = refusal(attribute(VALUES + "epsilon = 1", name))
        assert error.where == "policy.toml:3"
        assert f'→ [attributes."{name}"]   names with letters beyond a to z need quotes' in str(error)
    error = refusal(attribute(VALUES + "epsilon = 1\nGröße = 3"))
    assert '→ "Größe" = …   names with letters beyond a to z need quotes' in str(error)
    assert '→ "Groß"   text needs quotes' in str(refusal(attribute('values = ["klein", Groß]\nepsilon = 1')))
