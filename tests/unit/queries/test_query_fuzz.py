"""Queries by chance, in words, in files and in JSON: nothing but errors of ours, each with a place or a remedy."""

import json
from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.errors import DxError, QueryError
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.policy.query_files import AskFile, read_queries
from dxprivacy.queries.assembling import assemble
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse

POLICY = dx.Policy.parse(
    'title = "T"\ndataset = "t"\n'
    '[attributes.sex]\nvalues = ["M", "F", "New Jersey", "it\'s"]\nepsilon = 1\n'
    '[attributes.age]\nintegers = [0, 99]\nunit = "years"\nepsilon = 1\nper = 10\n'
    '[attributes."home place"]\nvalues = ["a", "b"]\nepsilon = 1\n'
)
WORDS = [
    *(
        "count",
        "table",
        "sum",
        "mean",
        "prefixes",
        "ranges",
        "marginals",
        "by",
        "where",
        "within",
        "weight",
        "and",
        "of",
    ),
    *("sex", "age", "age/10", "age[0,18,65]", "age/", "age[", "'home place'", "home place", "nothing", "sex.state"),
    *("or", "not", "in", "(", ")", "<", ">", "<=", ">=", "!=", "<>", "age>30", "age<=18.5", "(F,", "X)", "not(sex=F)"),
    *("=", "|", ",", "'", '"', "..", "18..65", "65..18", "1..", "sex=F", "age=18..65", "sex='New Jersey'|M", "other"),
    *("2", "10", "-1", "0", "1e400", "nan", "inf", "1/3", "2.5", "m", "years", "10years", "1e-999", "9" * 5000),
    *("", " ", "\t", "\n", "\x00", "\u202e", "“", "größe", "🏠", "\ud800", "[", "]", "[]", "(", "%", "\\", "²", "٣"),
]
words = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join) | st.text(max_size=40)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from([*WORDS, 10**30, -1, 0])
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def complaint(action):
    """What is refused, if it is; anything but an error of ours fails the test, and so does one that helps nobody."""
    refused = None
    try:
        action()
    except DxError as error:
        refused = error
    if refused is not None:
        assert refused.what.strip()
        assert refused.hints or refused.where or refused.details, refused.what
        assert isinstance(refused.to_dict(), dict)
    return refused


@settings(max_examples=600, deadline=None)
@given(words)
@example("count where sex='a\"b")
@example("count by 'home place'")
def test_words_by_chance(text):
    asked = []
    error = complaint(lambda: asked.append(parse(text)))
    if error is None:
        complaint(lambda: asked[0].on(POLICY.universe))
        complaint(lambda: parse(str(asked[0])))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["count", "sum age", "mean age", "prefixes age/10", "ranges age/10", "marginals 2"]),
    st.lists(st.sampled_from(["sex", "age/10", "home place", "by", "it's", "of"]), unique=True, max_size=2),
    st.dictionaries(
        st.sampled_from(["sex", "age", "home place"]),
        st.sampled_from(
            [("F",), ("New Jersey", "M"), ("18..65",), ("it's",), ("within",), ("and", "by"), ("a=b|c,d",)]
        ),
    ),
    st.sampled_from([None, "10", "2.5"]),
    st.sampled_from(["1", "2", "0.25"]),
)
def test_what_is_written_is_read_again(ask, by, where, within, weight):
    kind, _, of = ask.partition(" ")
    if kind in ("prefixes", "ranges", "marginals"):
        by, where = [], {}
    conditions = [(name, tuple(c)) for name, c in where.items()]
    target = None if within is None else Fraction(within)
    asked = assemble(kind, of=of, by=by, where=conditions, within=target, weight=Fraction(weight))
    assert parse(str(asked)) == asked
    assert from_dict(json.loads(json.dumps(asked.to_dict()))) == asked


FIELDS = ["query", "count", "sum", "mean", "prefixes", "ranges", "marginals", "by", "where", "within", "weight"]
FIELDS += ["title", "of", "table", "unit", "ask", "größe"]
TOML = ["true", "false", "1", "-1", "0", "2.5", "nan", "inf", "1e400", "''", "'age'", "'sex'", "'age/10'", "'18..65'"]
TOML += [
    "['sex', 'age/10']",
    "[]",
    "[1, [2]]",
    "{}",
    "{ sex = 'F', age = '18..65' }",
    "{ age = [18, 65] }",
    "{ sex = {} }",
]
TOML += [
    "2026-01-01",
    "07:30:00",
    "'count by sex within 10'",
    "'count by'",
    "'2 years'",
    "'\u202e'",
    '"\\u0000"',
    "9" * 25,
]
lines = st.builds("{} = {}".format, st.sampled_from(FIELDS), st.sampled_from(TOML)) | st.sampled_from(
    [
        "[[query]]",
        "[ask]",
        "[[query]] # again",
        "[[ ask ]]",
        "",
        "# ask",
        "[[ask.where]]",
        "where.sex = 'F'",
        "[",
        "ask = [{}]",
    ]
)


@settings(max_examples=600, deadline=None)
@given(
    st.lists(lines, max_size=8).map("\n".join)
    | st.builds("[[query]]\n{}".format, st.lists(lines, max_size=4).map("\n".join))
)
def test_files_by_chance(text):
    error = complaint(lambda: read_queries(AskFile.parse(text), POLICY.universe))
    if error is not None:
        assert type(error) is QueryError
        assert error.where.startswith("queries")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_file_or_refused(text):
    error = complaint(lambda: read_queries(AskFile.parse(text), POLICY.universe))
    assert error is not None
    assert error.where.startswith("queries")


GOOD = [
    parse("mean age by sex, age/10 where sex=F|M and age=18..65 within 2 years weight 3").to_dict(),
    dx.matrix([[1, 0.5, 0]], labels=["x"], within=2, weight=2).to_dict(),
    parse("prefixes age/10").to_dict(),
]


@st.composite
def damaged(draw):
    data = json.loads(json.dumps(draw(st.sampled_from(GOOD))))
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from([*data, *FIELDS, "rows", "shape"]))
        if draw(st.booleans()):
            data.pop(key, None)
        else:
            data[key] = draw(trees)
    return data


@settings(max_examples=600, deadline=None)
@given(damaged() | st.dictionaries(st.sampled_from(["ask", "of", "by", "where"]), trees) | trees)
def test_json_by_chance(data):
    asked = []
    error = complaint(lambda: asked.append(from_dict(data)))
    assert error is None or type(error) is QueryError
    if error is None:
        complaint(lambda: asked[0].on(POLICY.universe))
        assert from_dict(asked[0].to_dict()).to_dict() == asked[0].to_dict()


PLAN = dx.plan("count by sex", POLICY.metric)


@settings(max_examples=150, deadline=None)
@given(damaged())
def test_damaged_queries_in_a_plan_file_are_refused_by_the_plan(query):
    data = PLAN.to_dict() | {"queries": [query]}
    assert complaint(lambda: load_plan(data, POLICY.metric)) is not None


def test_half_a_character_in_a_title_or_label_is_refused():
    for half in ("\ud800", "Income \udfff of women"):
        titled = assemble("count", by=["sex"], title=half)
        labeled = dx.matrix([[1] + [0] * (POLICY.universe.size - 1)], labels=[half])
        for query in (titled, labeled, from_dict(titled.to_dict())):
            error = complaint(lambda query=query: query.on(POLICY.universe))
            assert isinstance(error, QueryError)
            assert "half of a character" in str(error)
            str(error).encode("utf-8")
    assert assemble("count", by=["sex"], title="Größe 🏠").on(POLICY.universe).titles == ("Größe 🏠",)


texts = st.text(max_size=6) | st.text(alphabet="'\"[]=|,. aby1\n", max_size=8) | st.sampled_from(WORDS)
named = texts.filter(bool)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(named, max_size=3),
    st.lists(st.tuples(named, st.lists(texts, min_size=1, max_size=3).map(tuple)), max_size=2),
    named,
)
@example([], [("name", ('O\'Hara "Red"',))], "a")
@example(["'\"'", '"'], [("''", ("'", '""'))], "it's")
@example(["[a", "b]"], [], "x]")
def test_names_and_values_of_any_kind_are_read_back_as_written(by, where, of):
    for query in (assemble("count", by=by, where=where), assemble("mean", of=of, by=by, where=where)):
        assert parse(str(query)) == query


@example("²")
@example("٣")
@example("9" * 5000)
@example("-1")
@given(st.text(alphabet="0123456789²³٣४ -+_", min_size=1, max_size=5))
def test_the_order_of_marginals_is_a_plain_number_or_refused(order):
    error = complaint(lambda: assemble("marginals", of=order).on(POLICY.universe))
    assert (error is None) == (order.isascii() and order.isdigit() and 1 <= int(order[-4:]) <= 3)
