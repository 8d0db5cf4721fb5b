"""Rounding to whole records: totals exact, cells off by less than one, sums over many cells by little more."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxprivacy.errors import UsageError
from dxprivacy.synthetic.controlled_rounding import whole_counts


def tables(shape, seed=0):
    """A flat, a random and a skewed histogram."""
    rng = np.random.default_rng(seed)
    cells = int(np.prod(shape))
    return [np.ones(cells), rng.gamma(1.0, size=cells), np.exp(2.5 * rng.normal(size=cells))]


def largest_remainder(y, total):
    out = np.floor(y).astype(np.int64)
    out[np.argsort(out - y, kind="stable")[: total - out.sum()]] += 1
    return out


def margin_errors(error, shape, order):
    grid = error.reshape(shape)
    axes = range(len(shape))
    kept = itertools.combinations(axes, order)
    return np.concatenate([np.abs(grid.sum(axis=tuple(set(axes) - set(k)))).ravel() for k in kept])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(0, 300),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.5]),
)
def test_the_total_is_exact_and_every_cell_is_rounded_down_or_up(shape, total, seed, empty):
    rng = np.random.default_rng(seed)
    y = rng.gamma(0.3, size=int(np.prod(shape))) * (rng.random(int(np.prod(shape))) >= empty)
    y[0] += 0.1
    y *= max(total, 1) / y.sum()
    counts = whole_counts(y, shape, total)
    assert counts.sum() == total
    assert counts.min() >= 0
    if total:
        assert np.abs(counts - y).max() < 1 + 1e-6
        assert not counts[y == 0].any()


@pytest.mark.parametrize("y", tables((500,)), ids=["flat", "random", "skewed"])
def test_every_range_over_one_attribute_is_off_by_less_than_one(y):
    y = y * (170 / y.sum())
    prefixes = np.cumsum(np.r_[0, whole_counts(y, (500,), 170) - y])
    assert np.ptp(prefixes) < 1 + 1e-9


@pytest.mark.parametrize(("shape", "total"), [((10, 10, 10, 10), 2_000), ((2, 3, 50, 20), 1_500)])
@pytest.mark.parametrize("kind", [0, 1, 2], ids=["flat", "random", "skewed"])
def test_sums_over_many_cells_lose_little_where_rounding_the_largest_fractions_loses_much(shape, total, kind):
    y = tables(shape)[kind]
    y *= total / y.sum()
    ours = whole_counts(y, shape, total) - y
    plain = largest_remainder(y, total) - y
    for order in (1, 2):
        error = margin_errors(ours, shape, order)
        assert error.mean() < 0.6
        assert error.max() < 4
    for axis, size in enumerate(shape):  # ranges of one attribute
        others = tuple(k for k in range(len(shape)) if k != axis)
        assert np.abs(np.cumsum(ours.reshape(shape).sum(axis=others))).max() < 4, size
    assert margin_errors(plain, shape, 1).mean() > 4 * margin_errors(ours, shape, 1).mean()


def test_the_same_histogram_is_rounded_in_the_same_way():
    y = tables((6, 7, 8))[2]
    first = whole_counts(y, (6, 7, 8), 90)
    assert (first == whole_counts(y.copy(), (6, 7, 8), 90)).all()
    assert (first == whole_counts(8 * y, (6, 7, 8), 90)).all()


def test_whole_numbers_stay_as_they_are():
    counts = np.arange(60) % 7
    assert (whole_counts(counts.astype(float), (3, 4, 5), int(counts.sum())) == counts).all()


def test_huge_counts_keep_their_total():
    y = np.random.default_rng(1).random(1_000) * 1e12
    assert whole_counts(y, (10, 100), 10**14).sum() == 10**14


@pytest.mark.parametrize(
    ("y", "shape", "records", "word"),
    [
        ([1.0, float("nan")], (2,), 1, "finite"),
        ([1.0, float("inf")], (2,), 1, "finite"),
        ([1.0, -0.5], (2,), 1, "negative"),
        ([1.0], (2,), 1, "shape"),
        ([[1.0, 1.0]], (2,), 1, "shape"),
        (["a", "b"], (2,), 1, "numbers"),
        (None, (2,), 1, "shape|numbers"),
        ([0.0, 0.0], (2,), 1, "empty"),
        ([1.0, 1.0], (2,), -1, "records"),
        ([1.0, 1.0], (2,), 1.5, "records"),
        ([1.0, 1.0], (2,), True, "records"),
        ([1.0, 1.0], (2,), 1 << 60, "records"),
    ],
)
def test_what_is_no_histogram_is_refused(y, shape, records, word):
    with pytest.raises(UsageError, match=word):
        whole_counts(y, shape, records)


def test_no_records_need_no_histogram():
    assert whole_counts([0.0, 0.0], (2,), 0).tolist() == [0, 0]
