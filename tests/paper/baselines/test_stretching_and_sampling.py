"""Baselines: certificates, errors with their bias, refusals."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import slow
from dxprivacy.errors import NotCertified, QueryError, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.paper.baselines.sampled import KeptLoss

BOTH = {"stretching": dx.baselines.stretching, "sampling": dx.baselines.sampling}
BUDGETS = ["0.1", "0.5", 1, 2]
ROWS = [[1, 1, 0, 1], [3, 0, 2, 1]]


@pytest.fixture(params=BOTH)
def make(request):
    return BOTH[request.param]


@pytest.mark.parametrize("rounds", [5, slow(30)])
def test_the_least_scale_is_never_above_the_printed_one(make, rounds):
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        rows = rng.integers(-3, 4, (int(rng.integers(1, 4)), 4))
        if rows.any():
            found = make(rows, BUDGETS)
            assert found.scale <= found.printed * (1 + F(1, 10**12))
            assert found.certificate.ratio <= 1


def test_a_share_costs_noise(make):
    whole, half = make(ROWS, BUDGETS), make(ROWS, BUDGETS, budget="50%")
    assert half.scale > 1.5 * whole.scale
    assert half.certificate.ratio <= F(1, 2)


def test_scales_that_were_changed_afterwards_release_nothing(make):
    found = make(ROWS, BUDGETS)
    with pytest.raises(NotCertified):
        replace(found, scale=found.scale / 2).release([1, 2, 3, 4])


def test_no_certificate_is_carried_along_to_other_probabilities():
    found = dx.baselines.sampling(ROWS, BUDGETS)
    _ = found.certificate
    with pytest.raises(NotCertified):
        replace(found, parts=(F(1),) * 4).release([1, 2, 3, 4])


def test_equal_budgets_are_standard_dp_without_bias(make):
    found = make(ROWS, [1, 1, 1, 1])
    assert set(found.parts) == {1}
    assert not found.bias([5, 6, 7, 8]).any()
    plain = dx.plan(ROWS, dx.metrics.per_element([1, 1, 1, 1]), method="same-scale")
    assert float(found.scale) == pytest.approx(plain.scales[0], rel=1e-9)
    assert found.rmse([5, 6, 7, 8]) == pytest.approx(plain.expected_rmse, rel=1e-6)


def test_public_records_count_in_full_and_those_without_a_budget_not_at_all(make):
    found = make([[1, 1, 1]], [0, 1, "inf"])
    assert found.parts == (0, 1, 1)
    assert found.certificate.ratio <= 1


def test_errors_are_those_of_many_releases(make):
    """4,000 releases: five standard errors of the mean."""
    found, counts = make(ROWS, BUDGETS), [40, 30, 20, 10]
    truth = np.array(ROWS) @ counts
    drawn = np.array([found.release(counts) - truth for _ in range(4_000)])
    mean, var = drawn.mean(axis=0), found.variance(counts)
    assert mean == pytest.approx(found.bias(counts), abs=5 * float(np.sqrt(var.max() / len(drawn))))
    assert drawn.var(axis=0) == pytest.approx(var, rel=0.2)
    assert np.sqrt((drawn**2).mean(axis=0)) == pytest.approx(found.rmse(counts), rel=0.05)


def test_the_worst_case_is_that_of_equal_records(make):
    found = make(ROWS, BUDGETS)
    corners = [found.rmse([7 * (k == c) for k in range(4)]) for c in range(4)]
    assert found.worst_rmse(7) == pytest.approx(np.max(corners, axis=0))
    rng = np.random.default_rng(1)
    for _ in range(50):
        assert (found.rmse(rng.multinomial(7, [0.25] * 4)) <= found.worst_rmse(7) + 1e-9).all()


def test_budgets_without_a_common_denominator_are_rounded_down():
    found = dx.baselines.stretching([[1, 1]], [F(1, 3**20), 1])
    assert 0 <= F(1, 3**20) - found.parts[0] < F(1, 1 << 20)
    assert found.certificate.ratio <= 1


def test_numbers_with_fractions_have_their_own_units(make):
    found = make([[F(1, 2), F(3, 4), 0, 1], [100, 0, 50, 0]], BUDGETS)
    twice = make([[1, F(3, 2), 0, 2], [200, 0, 100, 0]], BUDGETS)
    assert float(twice.scale / found.scale) == pytest.approx(2, rel=1e-9)
    assert twice.rmse([100, 0, 0, 0])[1] == pytest.approx(2 * found.rmse([100, 0, 0, 0])[1], rel=1e-3)


def test_queries_of_a_universe_are_taken_too(make):
    u = dx.Universe([dx.Values(name="job", values=("cook", "judge"), has_other=False)])
    found = make(dx.table("job"), ["0.1", 1], metric=dx.metrics.attributes(u, {"job": 1}))
    assert len(found.scales) == 2
    assert found.release([10, 10]).shape == (2,)


def test_it_does_not_print_counts(make):
    assert repr(make(ROWS, BUDGETS)).endswith("(2 rows over 4 cells)")


@pytest.mark.parametrize(
    "budgets", [[], [0, 0, 0, 0], ["inf"] * 4, "0.1", 1, [-1, 1, 1, 1], [None] * 4, ["x"] * 4, [float("nan")] * 4]
)
def test_budgets_that_make_no_sense_are_refused(make, budgets):
    with pytest.raises(UsageError):
        make(ROWS, budgets)


@pytest.mark.parametrize("records", [-1, 2.5, True, "7"])
def test_a_number_of_records_is_whole(make, records):
    with pytest.raises(UsageError, match="whole number"):
        make(ROWS, BUDGETS).worst_rmse(records)


def test_metrics_of_other_records_are_refused(make):
    with pytest.raises(UsageError, match="budgets for"):
        make(ROWS, BUDGETS, metric=dx.metrics.constant(5, 1))
    with pytest.raises(UsageError, match="public"):
        make(ROWS, BUDGETS, metric=dx.metrics.with_absent(dx.metrics.constant(4, 1), 1, max_records=10))
    with pytest.raises(UsageError, match="a metric is needed"):
        make(ROWS, BUDGETS, metric=BUDGETS)


def test_only_counts_and_sums_are_taken(make):
    u = dx.Universe([dx.Integers(name="age", low=0, high=3, has_other=False)])
    d = dx.metrics.attributes(u, {"age": 1})
    for query in (dx.mean_of("age"), dx.ratio_of("age"), dx.median_of("age")):
        with pytest.raises(QueryError):
            make(query, BUDGETS, metric=d)
    with pytest.raises(QueryError, match="all queries are zero"):
        make([[0, 0, 0, 0]], BUDGETS)


def test_records_that_a_metric_calls_identical_must_not_be_told_apart(make):
    with pytest.raises(SeparatesIdentical):
        make([[1, 0]], [1, 1], metric=dx.metrics.constant(2, 0))


@pytest.mark.parametrize("threshold", [0, -1, 501, "x"])
def test_thresholds_that_make_no_sense_are_refused(threshold):
    with pytest.raises(UsageError):
        dx.baselines.sampling(ROWS, BUDGETS, threshold=threshold)


def test_a_lower_threshold_keeps_more_and_costs_noise():
    low, high = (dx.baselines.sampling(ROWS, BUDGETS, threshold=t) for t in (1, 2))
    assert low.parts[0] > high.parts[0]
    assert low.printed > high.printed
    assert low.parts[3] == 1


def test_numbers_that_leave_no_room_for_weights_are_refused(monkeypatch):
    monkeypatch.setattr("dxprivacy.paper.baselines.stretched._LARGEST_ENTRY", 1 << 30)
    dx.baselines.stretching([[1 << 20, 1]], ["0.1234567", "0.7654321"])
    with pytest.raises(TooLarge):
        dx.baselines.stretching([[1 << 23, 1]], ["0.1234567", "0.7654321"])


def test_counts_of_another_universe_are_refused(make):
    other = dx.Histogram.of(dx.metrics.constant(3, 1).universe, [1, 2, 3])
    with pytest.raises(UsageError, match="other records"):
        make(ROWS, BUDGETS).release(other)


@pytest.mark.parametrize("seed", range(6))
def test_floats_of_the_loss_of_sampling_are_as_close_as_they_say(seed):
    """Chances near 0 and 1 and near one another, and records that stand far above the noise."""
    rng = np.random.default_rng(seed)
    size = 12
    rows = rng.integers(-3, 4, (2, size))
    rows[:, ::4] = rows[:, 1::4]  # some count alike
    chances = rng.choice([0, 1, 1 << 30, 1 << 61, (1 << 61) + 1, (1 << 61) + (1 << 20), (1 << 62) - 1, 1 << 62], size)
    scales = tuple(float(s) for s in rng.choice([0.01, 0.3, 7.0, 1e5], 2))
    if max(np.abs(rows / np.array(scales)[:, None]).sum(axis=0)) > 500:
        scales = (0.1, 0.1)
    loss = KeptLoss(dx.metrics.constant(size, 1).universe, rows, scales, chances)
    i, j = np.triu_indices(size, 1)
    floats = loss.pairwise(i, j)
    for a, b, value in zip(i.tolist(), j.tolist(), floats.tolist(), strict=True):
        exact = loss.exact(a, b)
        assert exact == loss.exact(b, a)
        assert value == pytest.approx(float(exact), rel=loss.error, abs=1e-50)


def test_a_record_far_above_the_noise_is_told_by_what_it_counts():
    found = dx.baselines.sampling([[0, 1]], [100, 300])
    assert float(found.certificate.ratio) == pytest.approx(1, abs=1e-9)
    with pytest.raises(TooLarge, match="would exceed"):
        KeptLoss(found.metric.universe, np.array([[1, 0]]), (0.001,), np.array([1, 1]))
