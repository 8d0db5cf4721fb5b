"""Universes and queries: indices both ways, structured rows against dense ones, words and JSON both ways."""

import json
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.check_workload import check_workload
from contracts.long_forms import drawn, slow
from contracts.random_models import random_metric, random_queries
from dxprivacy.errors import DxError, QueryError, TooLarge, UsageError
from dxprivacy.exact.answer_grid import grid_of_rows, require_room, to_grid
from dxprivacy.exact.rounding import exact
from dxprivacy.queries.asking import count, gather, marginals, matrix, mean_of, prefixes, ranges, sum_of, table
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import verify_data


def survey() -> Universe:
    home = Points(
        name="home",
        ids=("1", "2", "3"),
        coordinates=np.array([[0.0, 0], [1, 1], [2, 2]]),
        facts=(
            Property("name", ("Ahaus", "Bonn", "Bonn")),
            Property("state", ("NW", "NW", "RP")),
            Property("elevation", ("50", "60.5", "-3"), "m"),
        ),
    )
    return Universe([Values(name="sex", values=("M", "F")), Integers(name="age", low=0, high=99, unit="years"), home])


def test_index_and_record_are_inverse():
    u = survey()
    cells = np.arange(u.size)
    assert np.array_equal(u.index(u.records(cells)), cells)


def test_unlisted_values_go_to_other_and_unicode_is_ordinary():
    u = Universe([Values(name="größe", values=("klein", "groß", "🙂"))])
    assert u.index([{"größe": "🙂"}, {"größe": None}, {"größe": "GROẞ"}]).tolist() == [2, 3, 3]


def test_names_that_occur_twice_are_told_apart_by_a_property():
    home = survey().attributes[2]
    assert [home.label(k) for k in range(4)] == ["Ahaus", "Bonn, NW", "Bonn, RP", "other"]


@drawn(st.randoms(use_true_random=False), fast=10, full=40)
def test_structured_queries_equal_their_dense_matrix(rng):
    metric = random_metric(rng, places=True)
    asked = random_queries(rng, metric.universe)
    workload = asked.on(metric.universe)
    check_workload(workload)
    again = gather(*[from_dict(q) for q in asked.to_dict()]).on(metric.universe)
    assert np.array_equal(again.dense(), workload.dense())
    assert again.units == workload.units


def test_a_table_counts_each_listed_combination_once():
    w = table("sex", "age/50").on(survey())
    assert [a.label for a in w.answers] == ["M, 0–49", "M, 50–99", "F, 0–49", "F, 50–99"]
    assert w.dense().sum(axis=0).max() == 1


def test_a_where_range_includes_both_ends():
    u = survey()
    row = count(age=(18, 65)).on(u).dense()[0].reshape(u.shape)
    assert row[0, 17, 0] == 0
    assert row[0, 18, 0] == 1
    assert row[0, 65, 0] == 1
    assert row[0, 66, 0] == 0


def test_properties_are_found_by_short_and_by_long_name():
    u = survey()
    assert np.array_equal(table("state").on(u).dense(), table("home.state").on(u).dense())
    assert [a.label for a in table("state").on(u).answers] == ["NW", "RP"]


def test_prefixes_ranges_and_marginals_are_labeled_by_what_they_cover():
    u = survey()
    assert [a.label for a in prefixes("age/50").on(u).answers] == ["0–49", "0–99"]
    assert [a.label for a in ranges("age[0,18,65]").on(u).answers][:3] == ["0–17", "0–64", "0–99"]
    labels = [a.label for a in marginals(1).on(u).answers]
    assert labels[0] == "sex: M"
    assert len(labels) == 2 + 100 + 3
    assert marginals(3).on(u).rows == 600


def test_too_many_ranges_are_refused():
    u = Universe([Integers(name="n", low=0, high=5_000)])
    with pytest.raises(QueryError, match="too many"):
        ranges("n").on(u)


def test_decimals_stay_exact_on_the_grid():
    w = sum_of("elevation").on(survey())
    numbers = {int(a) * w.units[0] for a in w.dense()[0]}
    assert numbers == {50, F("60.5"), -3, 0}  # the last is for `other`
    assert w.answers[0].unit == "m"


def test_other_weighs_nothing_in_sums():
    u = survey()
    row = sum_of("age").on(u).dense()[0].reshape(u.shape)
    assert row[0, 100, 0] == 0
    assert row[0, 99, 0] * sum_of("age").on(u).units[0] == 99


def test_other_weighed_the_middle_in_sums_of_old_files():
    u = survey()
    asked = from_dict({"ask": "sum", "of": "age"})
    row = asked.on(u).dense()[0].reshape(u.shape)
    assert row[0, 100, 0] * asked.on(u).units[0] == F(99, 2)


def test_a_mean_by_group_needs_a_sum_and_a_count():
    w = mean_of("age", by="sex").on(survey())
    assert len(w.blocks) == 2
    assert len(w.answers) == 2


@pytest.mark.parametrize(
    "text",
    [
        "count",
        "count by sex",
        "count by sex, age/10 within 5",
        "mean elevation within 2 m",
        "sum age by state where sex=F and age=18..65",
        "count where state=NW|RP",
        "count where name='New Jersey'",
        "count by age[0,18,65]",
        "prefixes age/10",
        "ranges age[0,18,65] within 5",
        "marginals 2",
        "mean age by sex where home.state=NW within 0.25 years",
    ],
)
def test_words_and_queries_are_inverse(text):
    query = parse(text)
    assert query.words() == text
    assert parse(query.words()) == query
    assert from_dict(query.to_dict()) == query


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("average age", "mean"),
        ("percentile age", "quantile"),
        ("by", "quotes"),
        ("cuont", "count"),
        ("xyz", "count by"),
    ],
)
def test_other_words_get_a_useful_hint(text, hint):
    with pytest.raises(QueryError, match=hint):
        parse(text)


def test_the_words_table_and_of_are_understood():
    assert parse("table sex by age/10").by == ("sex", "age/10")
    assert parse("mean of age").of == "age"
    assert parse("count within 2m").unit == "m"


@pytest.mark.parametrize(
    "text",
    ["", "  ", "cuont by sex", "mean", "table", "count by", "count where", "count where age", "count where age=",
     "count within", "count within x", "count within -3", "count within 0", "count by sex sex", "count by sex,",
     "count where age=9..1", "count where age=..9", "count '", "count by 'sex", "mean by sex", "∞",
     "count within 1e999"],
)  # fmt: skip
def test_unreadable_queries_are_refused_with_our_error(text):
    with pytest.raises(DxError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        ("count by gender", "no attribute"),
        ("count by stat", "did you mean state"),
        ("count where sex=X", "no value"),
        ("count where state=XX", "no value"),
        ("mean sex", "no numbers"),
        ("count by sex/10", "no numbers"),
        ("count by age/0", "steps"),
        ("count by age[9,3]", "grow"),
        ("count by sex, sex", "only once"),
        ("mean elevation within 2 km", "target is in km"),
        ("count within 3 m", "no unit"),
        ("count where age=200..300", "no possible record"),
        ("marginals 9", "do not exist"),
        ("marginals x", "do not exist"),
        ("ranges nothing", "no attribute"),
    ],
)
def test_queries_that_do_not_fit_the_universe_say_why(text, needle):
    with pytest.raises(QueryError, match=needle):
        parse(text).on(survey())


@pytest.mark.parametrize(
    "rows", [[[1, float("nan")]], [[float("inf"), 0]], [[1], [2, 3]], [["x"]], [], [[]], np.zeros((2, 2, 2)), [[1e300]]]
)
def test_bad_matrices_are_refused(rows):
    with pytest.raises(DxError):
        gather(matrix(rows)).on(Universe.listed("ab"))


def test_a_matrix_of_the_wrong_width_is_refused():
    with pytest.raises(QueryError, match="columns"):
        matrix([[1, 2, 3]]).on(Universe.listed("ab"))
    with pytest.raises(QueryError, match="labels"):
        matrix([[1, 2]], labels=["a", "b"])


def test_only_queries_can_be_asked():
    for nonsense in (5, None, object(), [], {}):
        with pytest.raises(UsageError):
            gather(nonsense)
    with pytest.raises(UsageError):
        table()
    with pytest.raises(UsageError):
        count(within=0)
    with pytest.raises(UsageError):
        count(age=(1, 2, 3))


def test_grids_are_exact_where_they_can_be_and_bounded_where_not():
    assert to_grid([F(1, 10), F(3)]).bias == 0
    assert grid_of_rows([np.array([0.5, 3.0, -1.25])])[0][2].unit == F(1, 4)
    fine = grid_of_rows([np.array([1 / 3, 1.0])])[0][2]
    assert 0 < fine.bias < F(1, 2**30)
    assert abs(F(1 / 3) - int(fine.whole[0]) * fine.unit) <= fine.bias
    third = to_grid([F(1, 3**40), F(1)])
    assert all(
        abs(int(w) * third.unit - x) <= third.bias for w, x in zip(third.whole, [F(1, 3**40), F(1)], strict=True)
    )


def test_overflow_is_refused_from_public_numbers():
    with pytest.raises(TooLarge):
        require_room(1 << 40, 1 << 30, where="plan")
    with pytest.raises(TooLarge):
        require_room(1 << 40, 1 << 21, where="plan")
    require_room((1 << 40) - 1, 1 << 21, where="plan")


@pytest.mark.parametrize("text", ["1_000", "１２", "٣", "0x10", "1e2", "1.0", "--1", "+ 1", "", "1" * 25, "²"])
def test_whole_numbers_are_ascii_digits_with_a_sign(text):
    number = Integers(name="n", low=-2_000, high=2_000)
    assert [number.find(t) for t in ("7", " +7 ", "-7", 7)] == [2_007, 2_007, 1_993, 2_007]
    with pytest.raises(QueryError):
        number.find(text)
    assert number.encode([text]).tolist() == [number.listed]


@pytest.mark.parametrize("text", ["1_000", "１２", "٣.5", "1_0e1"])
def test_exact_numbers_are_ascii_too(text):
    with pytest.raises(UsageError):
        exact(text)
    assert Property("x", ("1", text)).numbers is None


def test_intervals_with_an_open_end_are_labeled_by_their_start():
    u = Universe([Numbers(name="income", low=0, high=40, step=10)])
    assert [a.label for a in prefixes("income[0,10,30]").on(u).answers] == ["0 to 10", "0 to 30", "0 to 40"]


@pytest.mark.parametrize(("number", "pairs", "answers"), [(5, 10, "10,000,000"), slow(12, 66, "220,000,000")])
def test_marginals_of_more_answers_than_anybody_reads_are_refused_from_the_sizes_alone(number, pairs, answers):
    u = Universe([Integers(name=f"x{k}", low=0, high=99, has_other=False) for k in range(number)])
    assert marginals(2).on(u).rows == pairs * 10_000
    with pytest.raises(QueryError, match=f"{answers} answers are more than 2,000,000") as caught:
        marginals(3).on(u)
    assert "marginals 3 of" in str(caught.value)
    assert marginals(3, of=["x0/10", "x1/10", "x2/10", "x3/10"]).on(u).rows == 4 * 1_000


def test_labels_of_marginals_name_attributes_in_the_order_of_their_values():
    """`marginals 2 of married, insurance` once said "married, insurance: no, yes" of the married without it."""
    universe = dx.Universe(
        [dx.Values(name=name, values=("no", "yes"), has_other=False) for name in ("insurance", "married")]
    )
    metric = dx.metrics.attributes(universe, {"insurance": 1, "married": 1})
    plan = dx.plan(["marginals 2 of married, insurance"], metric, method="optimal")
    assert [a.label for a in plan.workload.answers] == [
        f"insurance, married: {x}, {y}" for x in ("no", "yes") for y in ("no", "yes")
    ]
    first = plan.workload.columns(universe.index([{"insurance": "yes", "married": "no"}]))[:, 0]
    assert plan.workload.answers[int(first.argmax())].label == "insurance, married: yes, no"
    assert list(verify_data(json.loads(json.dumps(plan.to_dict()))))
