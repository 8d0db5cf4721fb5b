"""Questions in files: fields and words make the same questions; every error names its file and line."""

import pytest

import dxprivacy as dx
from dxprivacy.errors import QuestionError
from dxprivacy.policy.query_files import AskFile, read_questions
from dxprivacy.queries.text.query_grammar import parse

POLICY = dx.Policy.parse(
    'title = "T"\ndataset = "t"\n'
    '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
    '[attributes.age]\nintegers = [0, 99]\nunit = "years"\nepsilon = 1\nper = 10\n'
)


def read(text, universe=None):
    return read_questions(AskFile.parse(text), universe).questions


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
        ('question = "count by sex within 10"', "count by sex within 10"),
    ],
)
def test_fields_and_words_make_the_same_question(fields, words):
    assert read(f"[[ask]]\n{fields}\n") == (parse(words),)


def test_a_title_is_shown_and_changes_no_plan_and_no_request():
    (plain,) = read('[[ask]]\nquestion = "count by sex"')
    (titled,) = read('[[ask]]\ntitle = "Women and men"\nquestion = "count by sex"')
    one, two = (dx.plan(q, POLICY.metric) for q in (plain, titled))
    assert two.workload.titles == ("Women and men",)
    assert (one.request, one.scales) == (two.request, two.scales)
    assert two.to_dict()["questions"][0]["title"] == "Women and men"
    (one,) = read('[[ask]]\ntitle = "Women"\ncount = true\nwhere = { sex = "F" }')
    assert one.on(POLICY.universe).answers[0].label == "Women"


def test_questions_from_a_file_can_be_asked_with_others(tmp_path):
    file = tmp_path / "questions.toml"
    file.write_text("[[ask]]\ncount = true\n\n[[ask]]\nmarginals = 1\n", encoding="utf-8")
    asked = dx.load_questions(file)
    assert len(dx.plan([asked, "mean age"], POLICY.metric, rows=100).questions.questions) == 3


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 0, "at least one"),
        ("ask = []", 1, "at least one"),
        ("[ask]\ncount = true", 1, "two brackets"),
        ("ask = [1]", 1, "is a table"),
        ('question = "count"', 1, "“question” means nothing here"),
        ("[[ask]]\n", 1, "nothing is asked"),
        ('[[ask]]\nby = "sex"', 1, "nothing is asked"),
        ('[[ask]]\ntable = ["sex"]', 2, "nothing is asked"),
        ("[[ask]]\ncount = true\n[[ask]]\ncount = true\nsum = 'age'", 5, "one thing, not count and sum"),
        ("[[ask]]\ncount = false", 2, "count is true"),
        ('[[ask]]\ncount = "sex"', 2, "count is true"),
        ("[[ask]]\nsum = 3", 2, "name of an attribute"),
        ('[[ask]]\nsum = "a\\u0007"', 2, "name of an attribute"),
        ('[[ask]]\nmarginals = "2"', 2, "number of attributes"),
        ("[[ask]]\nmarginals = 0", 2, "number of attributes"),
        ("[[ask]]\nmarginals = true", 2, "number of attributes"),
        ("[[ask]]\ncount = true\nby = [1]", 3, "by is the name"),
        ("[[ask]]\ncount = true\nby = [[]]", 3, "by is the name"),
        ('[[ask]]\nprefixes = "age"\nby = "sex"', 3, "“by” means nothing here"),
        ('[[ask]]\ncount = true\nwhere = "sex"', 3, "a condition on sex needs “=”"),
        ("[[ask]]\ncount = true\nwhere = 3", 3, "table of conditions"),
        ("[[ask]]\ncount = true\nwhere = { sex = [] }", 3, "at least one value"),
        ("[[ask]]\ncount = true\nwhere = { sex = { a = 1 } }", 3, "a condition on sex"),
        ("[[ask]]\ncount = true\nwhere = { age = nan }", 3, "a condition on age"),
        ('[[ask]]\ncount = true\nwhere = { age = "9..1" }', 3, "is empty"),
        ('[[ask]]\ncount = true\nwhere = { age = "..9" }', 3, "a number is needed"),
        ("[[ask]]\ncount = true\nwithin = 0", 3, "positive"),
        ("[[ask]]\ncount = true\nwithin = -1.5", 3, "positive"),
        ("[[ask]]\ncount = true\nwithin = inf", 3, "a finite number"),
        ("[[ask]]\ncount = true\nwithin = nan", 3, "a finite number"),
        ("[[ask]]\ncount = true\nwithin = true", 3, "within is a number"),
        ('[[ask]]\ncount = true\nwithin = ""', 3, "a number is needed"),
        ("[[ask]]\ncount = true\ntitle = 3", 3, "one line"),
        ('[[ask]]\ncount = true\ntitle = "a\\nb"', 3, "one line"),
        ('[[ask]]\nsum = true\nof = "age"', 3, "“of” means nothing here"),
        ("[[ask]]\ncount = true\nwihtin = 3", 3, "“wihtin” means nothing here"),
        ('[[ask]]\nquestion = "count"\nwithin = 3', 3, "“within” means nothing here"),
        ("[[ask]]\nquestion = 3", 2, "question is a text"),
        ('[[ask]]\nquestion = ""', 2, "is empty"),
        ('# one\n[[ask]]\nquestion = "count"\n\n[[ask]]\nquestion = "cuont"', 6, "“cuont” is not something to ask"),
        ("[[ask]]\ncount = yes", 2, "not valid TOML"),
        ("[[ask]]\ncount = true\nwithin = 1e999", 3, "beyond the range"),
    ],
)
def test_errors_name_the_line_and_a_remedy(text, line, what):
    with pytest.raises(QuestionError) as caught:
        read(text)
    error = caught.value
    assert what in error.what
    assert error.where == (f"questions:{line}" if line else "questions")
    assert error.hints or "not valid TOML" in error.what


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ('count = true\nby = "gender"', 2, "no attribute “gender”"),
        ('mean = "sex"', 2, "no numbers"),
        ('count = true\nwhere = { sex = "X" }', 2, "sex has no value 'X'"),
        ('question = "count by sex within 3 kg"', 2, "the answer has no unit"),
        ("marginals = 3", 2, "do not exist"),
    ],
)
def test_with_a_universe_what_the_policy_does_not_have_has_its_line_too(body, line, what):
    with pytest.raises(QuestionError, match=what) as caught:
        read(f"[[ask]]\n{body}\n", POLICY.universe)
    assert caught.value.where == f"questions:{line}"
    read(f"[[ask]]\n{body}\n")  # unbound, they are questions


def test_files_that_cannot_be_read_say_why(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'[[ask]]\nquestion = "gr\xf6sse"')
    for path, what in [("none.toml", "no such file"), (".", "cannot be read"), ("latin.toml", "not UTF-8")]:
        with pytest.raises(QuestionError, match=what):
            dx.load_questions(tmp_path / path)
    with pytest.raises(QuestionError, match="cannot be a file name"):
        dx.load_questions("a\0b")
