"""Planned choices: certified scales, honest statements, and nothing about data in what they show."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import NotCertified, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.mechanisms.selection.plan import make_choice
from dxprivacy.mechanisms.selection.run import chosen, pick

AGES = dx.Universe([dx.Integers(name="age", low=0, high=9, has_other=False)])
LINE = dx.metrics.attributes(AGES, {"age": {"epsilon": 1, "per": 1}})


def test_a_choice_whose_scale_was_changed_is_not_made():
    u = dx.Universe([dx.Values(name="city", values=tuple("abcd"))])
    choice = make_choice("most common city", dx.metrics.attributes(u, {"city": "0.3"}), rows=40, share="0.5")
    cheat = replace(choice, scale=choice.scale * (1 - 1e-9))
    with pytest.raises(NotCertified):
        chosen(cheat, Histogram.of(u, [10, 5, 20, 5, 0]), SystemNoise())


def test_the_scale_of_the_most_common_value_under_standard_dp_is_one_over_epsilon():
    d = dx.metrics.constant(4, F(1, 4))
    choice = dx.plan_choice(dx.most_common(dx.matrix(np.eye(4, dtype=int))), d)
    assert (choice.scale, choice.certificate.ratio, choice.worst_epsilon) == (4.0, 1, pytest.approx(0.25))


@pytest.mark.parametrize("share", [F(1), F(1, 3), F(1, 7)])
def test_the_certificate_is_computed_from_the_scale_and_never_above_the_share(share):
    choice = make_choice("median age", LINE, share=share)
    assert choice.certificate.ratio <= share
    assert choice.certificate.ratio > share * (1 - F(1, 10**12))
    worst = max(choice.cost.exact(i, j) / LINE.exact(i, j) for i in range(10) for j in range(i))
    assert choice.certificate.ratio == worst


def test_the_statement_about_the_shortfall_holds_in_records():
    """The chosen median's rank is off by more than the statement in at most 5 % of the draws."""
    x = np.array([5, 9, 30, 2, 14, 8, 25, 1, 3, 3])
    choice = make_choice("median age", LINE)
    data, n = Histogram.of(AGES, x), int(x.sum())
    below, upto = np.cumsum(x) - x, np.cumsum(x)
    off = [max(0, below[k] - n / 2, n / 2 - upto[k]) for k in range(10)]
    draws = [off[chosen(choice, data, SystemNoise())] for _ in range(400)]
    assert np.mean(np.array(draws) >= choice.shortfall()) <= 0.05
    assert choice.shortfall(0.5) < choice.shortfall(0.05)


def test_public_differences_are_chosen_exactly_and_cost_nothing():
    d = dx.metrics.constant(3, "inf")
    choice = make_choice(dx.most_common(dx.matrix(np.eye(3, dtype=int))), d)
    assert (choice.scale, choice.certificate.ratio, choice.shortfall()) == (0.0, 0, 0.0)
    assert chosen(choice, Histogram.of(d.universe, [1, 5, 3]), SystemNoise()) == 1


def test_identical_records_cannot_be_told_apart():
    d = dx.metrics.from_matrix([[0, 0], [0, 0]])
    with pytest.raises(SeparatesIdentical):
        make_choice(dx.most_common(dx.matrix([[1, 0], [0, 1]])), d)


def test_choices_work_where_the_number_of_records_is_private():
    universe = dx.Universe([dx.Integers(name="age", low=0, high=9, has_other=False)], max_records=1000)
    d = dx.metrics.with_absent(LINE, 2, max_records=1000)
    assert d.universe == universe
    choice = make_choice("median age", d)
    absent = universe.size - 1
    worst = max(choice.cost.exact(i, j) / d.exact(i, j) for i in range(11) for j in range(i))
    assert choice.certificate.ratio == worst <= 1
    assert choice.cost.exact(0, absent) == F(1) / F(choice.scale)
    data = Histogram.of(universe, [0, 0, 0, 500, 0, 0, 0, 0, 0, 0, 0])
    assert chosen(choice, data, SystemNoise()) == 3


def test_more_records_than_declared_fail_nowhere():
    d = dx.metrics.with_absent(dx.metrics.constant(2, 1), 1, max_records=10)
    choice = make_choice(dx.most_common(dx.matrix([[1, 0], [0, 1]])), d)
    assert chosen(choice, Histogram.of(d.universe, [1 << 55, 0, 0]), SystemNoise()) == 0


def test_scores_are_clipped_where_the_sampler_ends():
    assert pick(np.array([1 << 60, 0]), 1.0, SystemNoise(), flip=False) == 0
    assert pick(np.array([-(1 << 62), 1 << 62]), 2.0**-20, SystemNoise(), flip=True) == 1


def test_numbers_that_leave_exact_arithmetic_are_refused_from_public_numbers():
    rows = dx.matrix([[2**39, 1], [1, 0]])
    with pytest.raises(TooLarge):
        make_choice(dx.most_common(rows), dx.metrics.constant(2, 1), rows=10**6)


def test_two_choices_that_differ_in_anything_have_different_names():
    same = make_choice("median age", LINE).request
    assert make_choice(dx.median_of("age"), LINE).request == same
    others = [
        make_choice("median age", LINE, flip=True),
        make_choice("median age", LINE, share="50%"),
        make_choice("quantile 0.6 of age", LINE),
        make_choice("median age", LINE, dataset="another"),
        make_choice("median age", dx.metrics.attributes(AGES, {"age": {"epsilon": 2, "per": 1}})),
    ]
    assert len({same, *(c.request for c in others)}) == 6


def test_a_choice_shows_what_it_will_be_like_and_no_more():
    choice = make_choice("median age", LINE, flip=True)
    text = str(choice)
    assert "nothing spent, no data read" in text
    assert "permute-and-flip" in text
    assert "records off in its rank" in text
    assert choice.to_dict()["candidates"] == [str(k) for k in range(10)]
    assert "counts" not in repr(choice)


@pytest.mark.parametrize(
    ("pick_", "metric", "more", "error"),
    [
        (3, LINE, {}, "not a choice"),
        ("median age", "policy", {}, "metric is needed"),
        ("median age", LINE, {"share": 0}, "share"),
        ("median age", LINE, {"share": "nan"}, "share"),
        ("median age", LINE, {"rows": -1}, "rows"),
        ("median age", LINE, {"rows": True}, "rows"),
        (dx.table("age"), LINE, {}, "not a choice"),
    ],
)
def test_bad_input_is_refused(pick_, metric, more, error):
    with pytest.raises(UsageError, match=error):
        make_choice(pick_, metric, **more)


def test_a_histogram_of_another_universe_is_refused():
    choice = make_choice("median age", LINE)
    with pytest.raises(UsageError, match="another universe"):
        chosen(choice, Histogram.of(dx.Universe.listed("abc"), [1, 2, 3]), SystemNoise())


@pytest.mark.parametrize("beta", [0, 1, -1, float("nan")])
def test_a_probability_that_is_none_is_refused(beta):
    with pytest.raises(UsageError):
        make_choice("median age", LINE).shortfall(beta)
