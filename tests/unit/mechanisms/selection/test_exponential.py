"""`dx.exponential`: declared sensitivities are certified, and whatever is no score is refused."""

from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError, QueryError, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.mechanisms.sampling.exact_selection import below
from dxprivacy.privacy.declared_sensitivity import declared

LINE = dx.metrics.from_matrix([[0, 1, 3], [1, 0, 2], [3, 2, 0]])


@pytest.mark.parametrize(
    ("sensitivity", "scale"),
    [
        (2, 2.0),  # the closest pair is 1 apart
        ("0.5", 0.5),
        ([[0, 1, 3]], 1.0),  # moves as far as the distance everywhere
        (np.array([[0, 0, 4], [0, 1, 0]]), 2.0),
        ([[0, 0.5, 0.5]], 0.5),
        (dx.table("element"), 1.0),
        (dx.table("element").on(LINE.universe), 1.0),
        (LINE, 1.0),
        (dx.metrics.line(LINE.universe, 1), 1.0),
    ],
)
def test_the_scale_is_the_largest_sensitivity_over_the_distance(sensitivity, scale):
    result = dx.exponential([5, 0, 0], sensitivity, LINE)
    assert result.scale == scale
    assert result.certificate.ratio == 1
    again = dx.exponential([5, 0, 0], sensitivity, LINE, budget="25%")
    assert again.scale == 4 * scale


def test_what_is_left_over_of_the_random_bits_is_drawn_again():
    """2^72 is no multiple of 3: the last value would make 0 a little more likely than 1 and 2."""
    drawn = iter([b"\xff" * 9, b"\xff" * 8 + b"\x00"])
    assert below(3, lambda size: next(drawn)[:size]) == (2**64 - 1) % 3
    assert next(drawn, None) is None


def test_the_declared_loss_is_never_below_an_irrational_distance():
    points = dx.metrics.euclidean([[0, 0], [1, 1], [5, 2]], epsilon_per_unit=1)
    loss = declared(points, points)
    result = dx.exponential([0, 1], points, points)
    assert result.scale >= 1  # D = d: an exact scale of 1, rounded up for what the distance rounds down
    assert result.scale < 1 + 1e-9
    assert loss is points


def test_a_sensitivity_of_0_takes_the_best():
    assert dx.exponential([1, 9, 3], 0, LINE).index == 1
    assert dx.exponential([1, 9, 3], 0, LINE).bound == 0


def test_one_candidate_is_taken_and_costs_nothing():
    result = dx.exponential([-3], 1, LINE)
    assert (result.index, result.scale, result.certificate.ratio, result.bound) == (0, 0.0, 0, 0.0)


def test_the_bound_is_the_corrected_one():
    result = dx.exponential([0] * 50, 1, dx.metrics.constant(3, 2))
    assert result.bound == pytest.approx(2 * 0.5 * (np.log(50) + np.log(20)))


@pytest.mark.parametrize("flip", [False, True])
def test_a_clear_winner_wins(flip):
    assert dx.exponential([0, 0, 10**6], 1, LINE, flip=flip).index == 2


@pytest.mark.parametrize(
    "scores",
    [[], [[1, 2]], [1.5, 2], [float("nan"), 1], [float("inf"), 1], ["a"], [None, 1], [True, False], 3, [1, [2]],
     [1j, 2], [10**30, 1], [2**60, 0], [1e300, 0]],
)  # fmt: skip
def test_what_is_no_score_is_refused_and_not_repeated(scores):
    with pytest.raises((QueryError, TooLarge)) as refused:
        dx.exponential(scores, 1, LINE)
    assert "1.5" not in str(refused.value)
    assert "300" not in str(refused.value)


@pytest.mark.parametrize(
    "sensitivity",
    [
        None,
        -1,
        float("nan"),
        float("inf"),
        "much",
        [[1, 2]],
        dx.metrics.constant(7, 1),
        dx.table("age"),
        object(),
        True,
    ],
)
def test_an_undeclared_or_impossible_sensitivity_is_refused(sensitivity):
    with pytest.raises(DxError):
        dx.exponential([1, 2], sensitivity, LINE)


def test_an_undeclared_sensitivity_is_explained():
    with pytest.raises(UsageError, match="must be declared"):
        dx.exponential([1, 2], None, LINE)


def test_scores_that_may_separate_identical_records_are_refused():
    with pytest.raises(SeparatesIdentical):
        dx.exponential([1, 2], 1, dx.metrics.from_matrix([[0, 0], [0, 0]]))


def test_scores_too_large_for_their_scale_are_refused():
    with pytest.raises(TooLarge):
        dx.exponential([2**50, 0], F(1, 10**6), LINE)


@pytest.mark.parametrize("bad", [{"budget": 2}, {"budget": 0}])
def test_bad_shares_are_refused(bad):
    with pytest.raises(UsageError):
        dx.exponential([1, 2], 1, LINE, **bad)


def test_a_metric_is_needed():
    with pytest.raises(UsageError, match="metric"):
        dx.exponential([1, 2], 1, 0.5)
