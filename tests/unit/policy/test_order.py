"""Values in an order: distances, queries that follow the order, releases that are verified, and what is refused."""

import itertools
import json
from fractions import Fraction as F

import pandas as pd
import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError, PolicyError, QueryError
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.universe.attribute_matching import relate
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.ordered_values import Ordered
from dxprivacy.verify import verify_data

ORDER = 'order = ["never", "now and then", "often", "3+"]\n'


def one(lines):
    return dx.Policy.parse(f'title = "V"\ndataset = "v"\n[attributes.x]\n{lines}\n')


def refusal(lines):
    with pytest.raises(PolicyError) as caught:
        one(lines)
    return caught.value


@pytest.mark.parametrize(
    ("lines", "at", "price", "cap", "radius"),
    [
        ("epsilon = 0.3\nper = 1", [0, 1, 2, 3], F("0.3"), None, F("0.45")),
        ("epsilon = 0.3\nper = 2", [0, 1, 2, 3], F("0.15"), None, F("0.225")),
        ("epsilon = 1\nper = 3\nplaces = [-0.5, 0, 0.25, 7]", [F(-1, 2), 0, F(1, 4), 7], F(1, 3), None, F(5, 4)),
        ("epsilon = 1\nper = 1\nplaces = [0, 1, 4, 5]\nmax_epsilon = 3", [0, 1, 4, 5], F(1), F(3), F(3, 2)),
        ("epsilon = 1\nper = 1\nplaces = [0, 1, 4, 5]\nother = { epsilon = 2 }", [0, 1, 4, 5], F(1), F(4), F(2)),
    ],
)
def test_distances_are_differences_of_places_in_exact_fractions(lines, at, price, cap, radius):
    metric = one(ORDER + lines).metric
    for i, j in itertools.product(range(4), repeat=2):
        want = price * abs(F(at[i]) - F(at[j]))
        assert metric.exact(i, j) == (want if cap is None else min(want, cap)), (i, j)
    assert {metric.exact(i, 4) for i in range(4)} == {radius}


def test_places_one_apart_are_steps():
    written, counted = one(ORDER + "places = [3, 4, 5, 6]\nepsilon = 1\nper = 1"), one(ORDER + "epsilon = 1\nper = 1")
    assert written.metric.spec() == counted.metric.spec()
    assert written.universe.digest != counted.universe.digest  # their means are not the same


def test_an_infinite_epsilon_makes_the_order_public_and_zero_hides_it():
    assert one(ORDER + "epsilon = inf\nper = 1").metric.has_infinite
    assert one(ORDER + "epsilon = 0\nper = 1\nother = { epsilon = 1 }").metric.exact(0, 3) == 0


POLICY = f"""title = "Habits"
dataset = "habits"
[attributes.smoking]
{ORDER}places = [0, 0.5, 4, 6]
unit = "packs"
epsilon = 1.0
per = 2
trim = true
fold_case = true
aliases = {{ often = "daily" }}
[attributes.mark]
order = [6, 5, 4, 3, 2, 1]
epsilon = 1
per = 1
"""
ASKED = [
    "prefixes smoking",
    "ranges mark",
    "count by smoking/3, mark[6,3]",
    "count where smoking='now and then'..3+",
    "count where smoking=often..'now and then' and mark=2..4",
    "cumulative mark/4",
    "mean smoking",
    "sum smoking by mark",
]
PEOPLE = pd.DataFrame(
    {
        "smoking": ["Never", "now and then ", "daily", "3+", None, "x"] * 50,
        "mark": [1.0, 2, 3, 4, 5, 7] * 50,
    }
)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    ledger = tmp_path_factory.mktemp("order") / "ledger.db"
    with dx.Session(dx.Policy.parse(POLICY), PEOPLE, ledger=ledger, new_ledger=True) as opened:
        yield opened


def test_every_query_that_needs_an_order_is_planned_released_and_verified(session):
    plan = session.plan(*ASKED, budget="20%")
    release = session.release(plan, anyway=True)
    for file in (plan.to_dict(), json.loads(release.to_json())):
        assert list(verify_data(json.loads(json.dumps(file))))
    labels = {}
    for row in release.rows():
        labels.setdefault(row["query"], []).append(row["label"])
    assert labels["prefixes smoking"] == ["never", "never to now and then", "never to often", "never to 3+"]
    assert labels["ranges mark"][:3] == ["6", "6 to 5", "6 to 4"]
    assert labels[ASKED[2]] == ["never to often, 6 to 4", "never to often, 3 to 1", "3+, 6 to 4", "3+, 3 to 1"]
    assert labels["prefixes mark/4"] == ["6 to 3", "6 to 1"]
    (mean,) = [row for row in release.rows() if row["query"] == "mean smoking"]
    assert mean["unit"] == "packs"


@pytest.mark.parametrize(
    ("words", "smoking", "mark"),
    [
        ("count where smoking='now and then'..3+", {1, 2, 3}, set(range(7))),
        ("count where smoking=3+..never", {0, 1, 2, 3}, set(range(7))),
        ("count where smoking=often..often and mark=2..4", {2}, {2, 3, 4}),
        ("count where mark=6..6", set(range(5)), {0}),
    ],
)
def test_a_range_is_its_two_ends_and_all_between_them(words, smoking, mark):
    universe = dx.Policy.parse(POLICY).universe
    (row,) = parse(words).on(universe).dense().tolist()
    cells = [(s, m) for s in range(5) for m in range(7)]
    assert row == [int(s in smoking and m in mark) for s, m in cells]


@pytest.mark.parametrize("words", [*ASKED, "count where smoking='a..b'..'by'", "count where smoking=1..3+"])
def test_words_and_files_give_the_query_again(words):
    query = parse(words)
    assert parse(str(query)) == query
    assert from_dict(json.loads(json.dumps(query.to_dict()))) == query


def test_two_numbers_are_the_values_that_are_written_so_or_the_only_ones_that_are_these_numbers():
    order = Ordered(name="x", values=("1", "01", "02", "3.0", "3+")).order()
    assert list(order.inside(F(1), F(2))) == [0, 1, 2]
    assert list(order.inside(F(3), F(2))) == [2, 3]
    with pytest.raises(QueryError):
        Ordered(name="x", values=("01", "1.0", "2")).order().inside(F(1), F(2))


def test_the_median_is_a_value(session):
    for words in ("median mark", "quantile 0.9 of smoking", "3 bins of smoking", "2 bins of mark/2"):
        plan = session.plan_selection(words, budget="1%")
        chosen = session.select(plan, anyway=True)
        assert list(verify_data(json.loads(json.dumps(plan.to_dict()))))
        assert list(verify_data(json.loads(chosen.to_json())))
        if words == "median mark":
            assert chosen.chosen in map(str, range(1, 7))


@pytest.mark.parametrize("words", ["mean mark", "sum mark", "median mark", "variance mark", "covariance mark, smoking"])
def test_steps_are_no_numbers_and_the_refusal_says_what_to_do(session, words):
    with pytest.raises(QueryError) as caught:
        session.plan(words)
    assert any("places = [1, 2, 3, 4, …]" in hint[0] for hint in caught.value.hints), caught.value.hints


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("count where mark=a..b", "mark has no value 'a'"),
        ("count where smoking=nevr..often", "smoking has no value 'nevr'"),
        ("count where mark=2026-01-01..2026-01-02", "mark has no value"),
        ("count where smoking=0..4", "smoking has no value '0'"),  # places are no names
        ("count by smoking/x", "cannot group smoking"),
        ("count by smoking/0", "cannot group smoking"),
        ("count by smoking/1.5", "cannot group smoking"),
        ("count by smoking[often,never]", "the edges of smoking must grow"),
        ("count by smoking[0,4]", "smoking has no value '0'"),
    ],
)
def test_what_the_order_does_not_have_is_refused(session, words, what):
    with pytest.raises(DxError) as caught:
        session.plan(words)
    assert what in caught.value.what
    assert caught.value.hints


def test_names_are_no_ends_where_there_are_numbers_days_or_no_order():
    policy = dx.Policy.parse(
        'title = "V"\ndataset = "v"\n[attributes.age]\nintegers = [0, 9]\nepsilon = 1\nper = 1\n'
        '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
        '[attributes.day]\ndates = ["2026-01-01", "2026-01-09"]\nepsilon = 1\nper = "1 day"\n'
    )
    for words, what in (
        ("count where age=young..old", "age holds numbers; 'young' is not a number"),
        ("count where sex=F..M", "sex has no order"),
        ("count where day=early..late", "day holds dates"),
    ):
        with pytest.raises(QueryError) as caught:
            parse(words).on(policy.universe)
        assert what in caught.value.what


@pytest.mark.parametrize(
    ("lines", "line", "what"),
    [
        ("order = []\nepsilon = 1\nper = 1", 4, "attribute x has no values"),
        ('order = ["a", "a"]\nepsilon = 1\nper = 1', 4, "x lists 'a' twice"),
        ('order = ["a", "other"]\nepsilon = 1\nper = 1', 4, "x lists a value named 'other'"),
        ('order = "levels.csv"\nepsilon = 1\nper = 1', 4, "x: order must be a list"),
        ('order = ["a", [1]]\nepsilon = 1\nper = 1', 4, "x: order must be a list"),
        (ORDER + "epsilon = 1", 5, "x has a distance but no unit"),
        (ORDER + "epsilon = { never = 1 }\nper = 1", 5, "epsilon is one number here"),
        (ORDER + 'epsilon = 1\nper = "1 step"', 6, "per is the text '1 step'"),
        (ORDER + "epsilon = 1\nper = 1\nspacing = [1, 2, 1]", 7, "x: values are positioned by places"),
        (ORDER + "epsilon = 1\nper = 1\nplaces = [1, 2, 3]", 7, "places has a number for each of the 4 values; here 3"),
        (ORDER + "epsilon = 1\nper = 1\nplaces = 3", 7, "places has a number for each of the 4 values"),
        (ORDER + "epsilon = 1\nper = 1\nplaces = [1, 2, 2, 3]", 7, "places must grow"),
        (ORDER + "epsilon = 1\nper = 1\nplaces = [1, 2, 3, nan]", 7, "a place is NaN"),
        (ORDER + "epsilon = 1\nper = 1\nplaces = [1, 2, 3, true]", 7, "a place is True"),
        (ORDER + "epsilon = 1\nper = 1\nplaces = [0, 1e-9, 1, 1e9]", 4, "x: its places are too far apart"),
        (ORDER + "epsilon = 1\nper = 1\nmax_epsilon = 0.5", 7, "max_epsilon is below one step"),
        (ORDER + "epsilon = 1\nper = 1\ncomplete = true", 7, "complete is for means"),
        (ORDER + "epsilon = 1\nper = 1\nother = { value = 3 }", 7, "only integers and numbers have a value"),
        (ORDER + "epsilon = 1\nper = 1\ndeclared_public = 3", 7, "declared_public is true or false"),
        (ORDER + 'epsilon = 1\nper = 1\nvalues = ["a"]', 4, "x has both values and order"),
    ],
)
def test_bad_orders_are_refused_with_line_and_remedy(lines, line, what):
    error = refusal(lines)
    assert error.what.startswith(what), error.what
    assert error.where == f"policy.toml:{line}" or (error.where or "").endswith(f":{line}"), error.where


def test_values_may_be_put_into_an_order_later_and_past_costs_follow():
    before, after = Values(name="x", values=("a", "b", "c")), Ordered(name="x", values=("c", "b", "a", "d"))
    related = relate(before, after)
    assert sorted(zip(related.old.tolist(), related.new.tolist(), strict=True)) == [
        (0, 2), (1, 1), (2, 0), (3, 3), (3, 4)
    ]  # fmt: skip


def test_a_policy_in_an_order_is_adopted_diffed_and_checked(tmp_path):
    plain = dx.Policy.parse(
        'title = "V"\ndataset = "v"\nversion = "1"\n[attributes.x]\nvalues = ["a", "b", "c"]\nepsilon = 1\n'
    )
    lines = '[attributes.x]\norder = ["a", "b", "c"]\nepsilon = 1\nper = 2\n'
    ordered = dx.Policy.parse(f'title = "V"\ndataset = "v"\nversion = "2"\n{lines}')
    data = pd.DataFrame({"x": ["a", "b", "c", "z"] * 9})
    assert "stricter" in str(plain.diff(ordered))
    with dx.Session(plain, data, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        session.release(session.plan("count by x", budget="10%"), anyway=True)
        assert session.ledger.adopt(ordered).written is not None
    with dx.Session(ordered, data, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        session.release(session.plan("prefixes x", budget="10%"), anyway=True)
    row = ordered.check().to_dict()["attributes"][0]
    assert (row["strictest_pair"], row["strictest_epsilon"], row["loosest_pair"]) == ("a – b", 0.5, "a – c")


def test_a_damaged_description_is_refused_by_reader_and_verifier(session):
    from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec

    good = Ordered(name="x", values=("a", "b", "c"), places=(0, 1, 4)).spec()
    assert attribute_from_spec(good).spec() == good
    bad_places = (["0", "1"], ["0", "4", "1"], [], ["0", "1", "1e9"], [0, 1, 4], ["0", "1/2", "2/4"])
    changes = [{"places": bad} for bad in bad_places]
    for change in (*changes, {"values": ["a", "a", "b"]}, {"properties": [["p", ["1", "2", "3"]]]}):
        with pytest.raises(PolicyError):
            attribute_from_spec(good | change)
        plan = json.loads(json.dumps(session.plan("count").to_dict()))
        plan["universe"]["attributes"][1] = plan["universe"]["attributes"][1] | change
        with pytest.raises(DxError):
            list(verify_data(plan))
