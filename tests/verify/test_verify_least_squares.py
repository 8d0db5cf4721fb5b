"""The verifier's least squares against fractions; what is not told, or contradicts itself, is refused."""

import numpy as np
import pytest

from contracts.exact_least_squares import solved, wild_rows
from dxprivacy.errors import NotVerified, Undecided
from dxprivacy.verify.least_squares import _jumps
from dxprivacy.verify.solved import Solved


def vector(row):
    """Sparse, in Python's whole numbers."""
    return {k: int(x) for k, x in enumerate(row) if x}


def way(counted, noises):
    """The counted rows, solved."""
    return Solved({k: vector(row) for k, row in enumerate(counted)}, len(counted[0]), [float(v) for v in noises])


@pytest.mark.parametrize("seed", range(100, 140))
def test_noises_from_nothing_to_beyond_all_bounds_give_what_fractions_give(seed):
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 9))
    counted, noises = wild_rows(rng, cells)
    x = rng.integers(0, 100, cells)
    noisy = counted @ x + np.rint(rng.laplace(size=len(counted)) * np.sqrt(noises)).astype(np.int64)
    found, records = way(counted, noises), int(x.sum())
    covariance, histogram = found.summed_covariance(), found.histogram(noisy.tolist(), records)
    for row in [*rng.integers(-2, 3, (4, cells)), *counted[:3], np.ones(cells, dtype=np.int64)]:
        expected = solved(row[None], counted, noises, noisy, records)
        if expected is None:
            with pytest.raises(NotVerified, match="do not tell everything"):
                found.exact(vector(row))
            continue
        (value,), (spread,) = expected
        assert found.exact(vector(row)) == (spread == 0)
        assert found.summed(vector(row), histogram) == pytest.approx(float(value), rel=1e-12, abs=1e-12)
        if spread == 0:
            assert found.told(vector(row), noisy.tolist(), records) == value
        else:
            assert found.spread(_jumps(vector(row), cells), covariance) == pytest.approx(float(spread), rel=1e-12)


def test_exact_rows_that_contradict_one_another_are_refused():
    found = way([[1, 0, 0], [0, 1, 0], [2, 2, 0], [1, 2, 3]], [0.0, 0.0, 0.0, 1.0])
    assert found.histogram([3, 4, 14, 20], 10)
    with pytest.raises(NotVerified, match="contradict"):
        found.histogram([3, 4, 15, 20], 10)
    total = way([[1, 1], [1, 0]], [0.0, 1.0])
    assert total.histogram([10, 4], 10)
    with pytest.raises(NotVerified, match="contradict"):
        total.histogram([11, 4], 10)


def test_rows_that_nearly_follow_from_one_another_are_told_apart():
    large = 2**40
    found = way([[large, 1, 0], [large + 1, 1, 0], [0, 0, 1]], [1.0, 1e12, 1e-12])
    assert not found.exact({0: 1})
    rows = np.array([[large, 1, 0], [large + 1, 1, 0], [0, 0, 1]])
    expected = solved(np.eye(3, dtype=np.int64), rows, [1.0, 1e12, 1e-12], [0, 0, 0], 0)
    covariance = found.summed_covariance()
    for k, spread in enumerate(expected[1]):
        assert found.spread(_jumps({k: 1}, 3), covariance) == pytest.approx(float(spread), rel=1e-12)


def test_too_many_digits_for_too_many_cells_are_undecided():
    cells = 300
    counted = np.eye(cells, dtype=np.int64)
    with pytest.raises(Undecided, match="noises of too different sizes"):
        way(counted, [1e-300, *([1.0] * (cells - 1))])


def test_nothing_counted_tells_the_total_alone():
    found = Solved({}, 3, [])
    assert found.exact({0: 2, 1: 2, 2: 2})
    assert found.told({0: 2, 1: 2, 2: 2}, [], 5) == 10
    with pytest.raises(NotVerified, match="do not tell everything"):
        found.exact({0: 1})
