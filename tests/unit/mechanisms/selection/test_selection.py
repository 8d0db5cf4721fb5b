"""Planned selections: certified scales, honest statements, and nothing about data in what they show."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import NotCertified, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.mechanisms.selection.plan import make_selection
from dxprivacy.mechanisms.selection.run import chosen, pick

AGES = dx.Universe([dx.Integers(name="age", low=0, high=9, has_other=False)])
LINE = dx.metrics.attributes(AGES, {"age": {"epsilon": 1, "per": 1}})


def test_a_choice_whose_scale_was_changed_is_not_made():
    u = dx.Universe([dx.Values(name="city", values=tuple("abcd"))])
    selection = make_selection(
        "most common city", dx.metrics.attributes(u, {"city": "0.3"}), n_records=40, budget="50%"
    )
    cheat = replace(selection, scale=selection.scale * (1 - 1e-9))
    with pytest.raises(NotCertified):
        chosen(cheat, Histogram.of(u, [10, 5, 20, 5, 0]), SystemNoise())


def test_the_scale_of_the_most_common_value_under_standard_dp_is_one_over_epsilon():
    d = dx.metrics.constant(4, F(1, 4))
    selection = dx.plan_selection(dx.most_common(dx.matrix(np.eye(4, dtype=int))), d)
    assert (selection.scale, selection.certificate.ratio, selection.worst_epsilon) == (4.0, 1, pytest.approx(0.25))


@pytest.mark.parametrize("budget", [F(1), F(1, 3), F(1, 7)])
def test_the_certificate_is_computed_from_the_scale_and_never_above_the_share(budget):
    selection = make_selection("median age", LINE, budget=budget)
    assert selection.certificate.ratio <= budget
    assert selection.certificate.ratio > budget * (1 - F(1, 10**12))
    worst = max(selection.cost.exact(i, j) / LINE.exact(i, j) for i in range(10) for j in range(i))
    assert selection.certificate.ratio == worst


def test_the_statement_about_the_shortfall_holds_in_records():
    """The chosen median's rank is off by more than the statement in at most 5 % of the draws."""
    x = np.array([5, 9, 30, 2, 14, 8, 25, 1, 3, 3])
    selection = make_selection("median age", LINE)
    data, n = Histogram.of(AGES, x), int(x.sum())
    below, upto = np.cumsum(x) - x, np.cumsum(x)
    off = [max(0, below[k] - n / 2, n / 2 - upto[k]) for k in range(10)]
    draws = [off[chosen(selection, data, SystemNoise())] for _ in range(400)]
    assert np.mean(np.array(draws) >= selection.shortfall()) <= 0.05
    assert selection.shortfall(0.5) < selection.shortfall(0.05)


def test_public_differences_are_chosen_exactly_and_cost_nothing():
    d = dx.metrics.constant(3, "inf")
    selection = make_selection(dx.most_common(dx.matrix(np.eye(3, dtype=int))), d)
    assert (selection.scale, selection.certificate.ratio, selection.shortfall()) == (0.0, 0, 0.0)
    assert chosen(selection, Histogram.of(d.universe, [1, 5, 3]), SystemNoise()) == 1


def test_identical_records_cannot_be_told_apart():
    d = dx.metrics.from_matrix([[0, 0], [0, 0]])
    with pytest.raises(SeparatesIdentical):
        make_selection(dx.most_common(dx.matrix([[1, 0], [0, 1]])), d)


def test_choices_work_where_the_number_of_records_is_private():
    universe = dx.Universe([dx.Integers(name="age", low=0, high=9, has_other=False)], max_records=1000)
    d = dx.metrics.with_absent(LINE, 2, max_records=1000)
    assert d.universe == universe
    selection = make_selection("median age", d)
    absent = universe.size - 1
    worst = max(selection.cost.exact(i, j) / d.exact(i, j) for i in range(11) for j in range(i))
    assert selection.certificate.ratio == worst <= 1
    assert selection.cost.exact(0, absent) == F(1) / F(selection.scale)
    data = Histogram.of(universe, [0, 0, 0, 500, 0, 0, 0, 0, 0, 0, 0])
    assert chosen(selection, data, SystemNoise()) == 3


def test_more_records_than_declared_fail_nowhere():
    d = dx.metrics.with_absent(dx.metrics.constant(2, 1), 1, max_records=10)
    selection = make_selection(dx.most_common(dx.matrix([[1, 0], [0, 1]])), d)
    assert chosen(selection, Histogram.of(d.universe, [1 << 55, 0, 0]), SystemNoise()) == 0


def test_scores_are_clipped_where_the_sampler_ends():
    assert pick(np.array([1 << 60, 0]), 1.0, SystemNoise(), flip=False) == 0
    assert pick(np.array([-(1 << 62), 1 << 62]), 2.0**-20, SystemNoise(), flip=True) == 1


def test_numbers_that_leave_exact_arithmetic_are_refused_from_public_numbers():
    rows = dx.matrix([[2**39, 1], [1, 0]])
    with pytest.raises(TooLarge):
        make_selection(dx.most_common(rows), dx.metrics.constant(2, 1), n_records=10**6)


def test_two_choices_that_differ_in_anything_have_different_names():
    same = make_selection("median age", LINE).request
    assert make_selection(dx.median_of("age"), LINE).request == same
    others = [
        make_selection("median age", LINE, flip=True),
        make_selection("median age", LINE, budget="50%"),
        make_selection("quantile 0.6 of age", LINE),
        make_selection("median age", LINE, dataset="another"),
        make_selection("median age", dx.metrics.attributes(AGES, {"age": {"epsilon": 2, "per": 1}})),
    ]
    assert len({same, *(c.request for c in others)}) == 6


def test_a_choice_shows_what_it_will_be_like_and_no_more():
    selection = make_selection("median age", LINE, flip=True)
    text = str(selection)
    assert "nothing spent, no data read" in text
    assert "permute-and-flip" in text
    assert "records off in its rank" in text
    assert selection.to_dict()["candidates"] == [str(k) for k in range(10)]
    assert "counts" not in repr(selection)


@pytest.mark.parametrize(
    ("pick_", "metric", "more", "error"),
    [
        (3, LINE, {}, "not a selection"),
        ("median age", "policy", {}, "metric is needed"),
        ("median age", LINE, {"budget": 0}, "budget"),
        ("median age", LINE, {"budget": "nan"}, "budget"),
        ("median age", LINE, {"n_records": -1}, "records"),
        ("median age", LINE, {"n_records": True}, "records"),
        (dx.table("age"), LINE, {}, "not a selection"),
    ],
)
def test_bad_input_is_refused(pick_, metric, more, error):
    with pytest.raises(UsageError, match=error):
        make_selection(pick_, metric, **more)


def test_a_histogram_of_another_universe_is_refused():
    selection = make_selection("median age", LINE)
    with pytest.raises(UsageError, match="another universe"):
        chosen(selection, Histogram.of(dx.Universe.listed("abc"), [1, 2, 3]), SystemNoise())


@pytest.mark.parametrize("beta", [0, 1, -1, float("nan")])
def test_a_probability_that_is_none_is_refused(beta):
    with pytest.raises(UsageError):
        make_selection("median age", LINE).shortfall(beta)
