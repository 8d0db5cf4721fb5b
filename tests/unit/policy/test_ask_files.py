"""Queries in files: fields and words make the same queries; every error names its file and line."""

import pytest

import dxprivacy as dx
from dxprivacy.errors import QueryError
from dxprivacy.policy.query_files import AskFile, read_queries
from dxprivacy.queries.text.query_grammar import parse

POLICY = dx.Policy.parse(
    'title = "T"\ndataset = "t"\n'
    '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
    '[attributes.age]\nintegers = [0, 99]\nunit = "years"\nepsilon = 1\nper = 10\n'
)


def read(text, universe=None):
    return read_queries(AskFile.parse(text), universe).queries


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("count = true", "count"),
        ('count = true\nby = "sex"', "count by sex"),
        ('count = true\nby = ["sex", "age/10"]\nwithin = 2.5', "count by sex, age/10 within 2.5"),
        ('sum = "age"\nby = "age[0,18,65]"', "sum age by age[0,18,65]"),
        ('mean = "age"\nwhere = { sex = "F" }\nwithin = "2 years"', "mean age where sex=F within 2 years"),
        ('count = true\nwhere = { age = "18..65" }', "count where age=18..65"),
        ("count = true\nwhere = { age = [18, 65] }", "count where age=18|65"),
        ('count = true\nwhere = { age = 7, sex = ["M", "other"] }', "count where age=7 and sex=M|other"),
        ("count = true\nwhere = { sex = true }", "count where sex=true"),
        ('count = true\nwhere = { sex = ["1..2"] }', "count where sex='1..2'"),
        ('count = true\nwhere.sex = "F"', "count where sex=F"),
        ('prefixes = "age/10"', "prefixes age/10"),
        ('ranges = "age/10"\nwithin = 5', "ranges age/10 within 5"),
        ("marginals = 2", "marginals 2"),
        ('text = "count by sex within 10"', "count by sex within 10"),
    ],
)
def test_fields_and_words_make_the_same_query(fields, words):
    assert read(f"[[query]]\n{fields}\n") == (parse(words),)


def test_a_title_is_shown_and_changes_no_plan_and_no_request():
    (plain,) = read('[[query]]\ntext = "count by sex"')
    (titled,) = read('[[query]]\ntitle = "Women and men"\ntext = "count by sex"')
    one, two = (dx.plan(q, POLICY.metric) for q in (plain, titled))
    assert two.workload.titles == ("Women and men",)
    assert (one.request, one.scales) == (two.request, two.scales)
    assert two.to_dict()["queries"][0]["title"] == "Women and men"
    (one,) = read('[[query]]\ntitle = "Women"\ncount = true\nwhere = { sex = "F" }')
    assert one.on(POLICY.universe).answers[0].label == "Women"


def test_queries_from_a_file_can_be_asked_with_others(tmp_path):
    file = tmp_path / "queries.toml"
    file.write_text("[[query]]\ncount = true\n\n[[query]]\nmarginals = 1\n", encoding="utf-8")
    asked = dx.load_queries(file)
    assert len(dx.plan([asked, "mean age"], POLICY.metric, n_records=100).queries.queries) == 3


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 0, "at least one"),
        ("query = []", 1, "at least one"),
        ("[query]\ncount = true", 1, "two brackets"),
        ("query = [1]", 1, "is a table"),
        ('text = "count"', 1, "unknown key “text”"),
        ("[[query]]\n", 1, "has no query"),
        ('[[query]]\nby = "sex"', 1, "has no query"),
        ('[[query]]\ntable = ["sex"]', 2, "has no query"),
        ("[[query]]\ncount = true\n[[query]]\ncount = true\nsum = 'age'", 5, "one query, not count and sum"),
        ("[[query]]\ncount = false", 2, "count is true"),
        ('[[query]]\ncount = "sex"', 2, "count is true"),
        ("[[query]]\nsum = 3", 2, "name of an attribute"),
        ('[[query]]\nsum = "a\\u0007"', 2, "name of an attribute"),
        ('[[query]]\nmarginals = "2"', 2, "number of attributes"),
        ("[[query]]\nmarginals = 0", 2, "number of attributes"),
        ("[[query]]\nmarginals = true", 2, "number of attributes"),
        ("[[query]]\ncount = true\nby = [1]", 3, "by is the name"),
        ("[[query]]\ncount = true\nby = [[]]", 3, "by is the name"),
        ('[[query]]\nprefixes = "age"\nby = "sex"', 3, "unknown key “by”"),
        ('[[query]]\ncount = true\nwhere = "sex"', 3, "a condition on sex needs “=”"),
        ("[[query]]\ncount = true\nwhere = 3", 3, "table of conditions"),
        ("[[query]]\ncount = true\nwhere = { sex = [] }", 3, "at least one value"),
        ("[[query]]\ncount = true\nwhere = { sex = { a = 1 } }", 3, "a condition on sex"),
        ("[[query]]\ncount = true\nwhere = { age = nan }", 3, "a condition on age"),
        ('[[query]]\ncount = true\nwhere = { age = "9..1" }', 3, "is empty"),
        ('[[query]]\ncount = true\nwhere = { age = "..9" }', 3, "a number is needed"),
        ("[[query]]\ncount = true\nwithin = 0", 3, "positive"),
        ("[[query]]\ncount = true\nwithin = -1.5", 3, "positive"),
        ("[[query]]\ncount = true\nwithin = inf", 3, "a finite number"),
        ("[[query]]\ncount = true\nwithin = nan", 3, "a finite number"),
        ("[[query]]\ncount = true\nwithin = true", 3, "within is a number"),
        ('[[query]]\ncount = true\nwithin = ""', 3, "a number is needed"),
        ("[[query]]\ncount = true\ntitle = 3", 3, "one line"),
        ('[[query]]\ncount = true\ntitle = "a\\nb"', 3, "one line"),
        ('[[query]]\nsum = true\nof = "age"', 3, "unknown key “of”"),
        ("[[query]]\ncount = true\nwihtin = 3", 3, "unknown key “wihtin”"),
        ('[[query]]\ntext = "count"\nwithin = 3', 3, "unknown key “within”"),
        ("[[query]]\ntext = 3", 2, "text is text"),
        ('[[query]]\ntext = ""', 2, "is empty"),
        ('# one\n[[query]]\ntext = "count"\n\n[[query]]\ntext = "cuont"', 6, "“cuont” is not a query"),
        ("[[query]]\ncount = yes", 2, "not valid TOML"),
        ("[[query]]\ncount = true\nwithin = 1e999", 3, "beyond the range"),
    ],
)
def test_errors_name_the_line_and_a_remedy(text, line, what):
    with pytest.raises(QueryError) as caught:
        read(text)
    error = caught.value
    assert what in error.what
    assert error.where == (f"queries:{line}" if line else "queries")
    assert error.hints or "not valid TOML" in error.what


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ('count = true\nby = "gender"', 2, "no attribute “gender”"),
        ('mean = "sex"', 2, "no numbers"),
        ('count = true\nwhere = { sex = "X" }', 2, "sex has no value 'X'"),
        ('text = "count by sex within 3 kg"', 2, "the answer has no unit"),
        ("marginals = 3", 2, "do not exist"),
    ],
)
def test_with_a_universe_what_the_policy_does_not_have_has_its_line_too(body, line, what):
    with pytest.raises(QueryError, match=what) as caught:
        read(f"[[query]]\n{body}\n", POLICY.universe)
    assert caught.value.where == f"queries:{line}"
    read(f"[[query]]\n{body}\n")  # unbound, they are queries


def test_files_that_cannot_be_read_say_why(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'[[query]]\ntext = "gr\xf6sse"')
    for path, what in [("none.toml", "no such file"), (".", "cannot be read"), ("latin.toml", "not UTF-8")]:
        with pytest.raises(QueryError, match=what):
            dx.load_queries(tmp_path / path)
    with pytest.raises(QueryError, match="cannot be a file name"):
        dx.load_queries("a\0b")
