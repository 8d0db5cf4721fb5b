"""The envelope of lines against brute force, and the problem of SmallDB and MWEM against a fine grid."""

import math

import numpy as np
import pytest

from dxprivacy.errors import UsageError
from dxprivacy.optimize.biased import envelope, surrogate


@pytest.mark.parametrize("kind", ["any", "whole", "wide"])
def test_the_envelope_is_the_largest_line_everywhere(kind):
    rng = np.random.default_rng(len(kind))
    for _ in range(100):
        m = int(rng.integers(1, 40))
        delta = rng.uniform(0, 1, m) if kind != "whole" else rng.integers(0, 4, m).astype(float)
        d = {"any": rng.uniform(0.01, 3, m), "whole": rng.integers(1, 5, m) * 1.0, "wide": 10 ** rng.uniform(-6, 6, m)}[
            kind
        ]
        c, value = envelope(delta, d)
        assert c[0] == 0
        assert value[-1] == 0
        assert value[0] == delta.max()
        assert (np.diff(c) > 0).all()
        assert (np.diff(value) < 0).all()
        slopes = np.diff(value) / np.diff(c)
        assert (np.diff(slopes) >= -1e-9 * np.abs(slopes[1:])).all()
        for at in np.r_[c, rng.uniform(0, 1.2, 20) * c[-1], (c[1:] + c[:-1]) / 2]:
            exact = max(0.0, float((delta - at * d).max()))
            assert np.interp(at, c, value) == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_an_envelope_of_nothing_is_zero():
    for delta, d in (([], []), ([0, 0], [1, 2]), ([5, 3], [math.inf, math.inf])):
        c, value = envelope(delta, d)
        assert (c.tolist(), value.tolist()) == ([0], [0])


def test_infinite_distances_and_signs_do_not_matter():
    c, value = envelope([9, -1, 1, 0.5], [math.inf, 2, 2, 3])
    assert (c.tolist(), value.tolist()) == ([0, 0.5], [1, 0])


@pytest.mark.parametrize("bad", [([1], [0.0]), ([1], [-1.0]), ([1], [math.nan]), ([math.nan], [1]), ([1, 2], [1])])
def test_bad_lines_are_refused(bad):
    with pytest.raises(UsageError):
        envelope(*bad)


@pytest.mark.parametrize("kappa", [0, 1e-3, 1.0, 30.0, 1e3, 1e6])
def test_no_scale_on_a_fine_grid_has_a_lower_bound(kappa):
    rng = np.random.default_rng(7)
    i, j = np.triu_indices(20, 1)
    for n in (1, 100, 10**6):
        for scale in (0.01, 1.0):
            at = rng.uniform(0, 100, (20, 2))
            d = np.hypot(*(at[i] - at[j]).T) * scale
            Q = rng.uniform(0, 1, (5, 20))
            found = surrogate(Q, i, j, d, n, kappa)
            delta = np.abs(Q[:, i] - Q[:, j]).max(0)
            top = (delta / d).max()
            grid = np.r_[0, np.geomspace(top * 1e-9, top, 3000), np.linspace(0, top, 3000)]
            bounds = n / 2 * np.maximum((delta - grid[:, None] * d).max(1), 0) + kappa * np.cbrt(grid)
            assert found.value <= bounds.min() * (1 + 1e-9) + 1e-9 * (kappa == 0)
            away = np.abs(found.rows - Q).max()
            assert n * away + kappa * np.cbrt(found.c) == pytest.approx(found.value, rel=1e-6, abs=1e-6)
            assert (np.abs(found.rows[:, i] - found.rows[:, j]) <= found.c * d * (1 + 1e-14)).all()
            assert found.constant == (found.c == 0)
            if found.constant:
                assert (found.rows == found.rows[:, :1]).all()
                assert "constant" in found.words


def test_a_price_of_nothing_asks_the_rows_as_they_are():
    found = surrogate([[0, 1, 5], [2, 2, 2]], [0, 1, 0], [1, 2, 2], [1, 2, 3], n=10, kappa=0)
    assert found.rows.tolist() == [[0, 1, 5], [2, 2, 2]]
    assert (found.c, found.value, found.constant) == (2, 0, False)


def test_rows_that_never_differ_where_it_matters_are_free():
    found = surrogate([[0, 0, 5]], [0], [1], [1.0], n=10, kappa=3)
    assert (found.c, found.value, found.constant) == (0, 0, True)
    assert found.rows.tolist() == [[0, 0, 5]]
    assert "nothing is spent" in found.words


@pytest.mark.parametrize(
    "change",
    [
        {"Q": []},
        {"Q": [0, 1]},
        {"Q": [[]]},
        {"Q": [[0, math.nan]]},
        {"kappa": -1},
        {"kappa": math.nan},
        {"kappa": [1, 2]},
        {"kappa": "much"},
        {"n": 0},
        {"distances": [0]},
        {"second": [7]},
    ],
)
def test_bad_problems_are_refused(change):
    with pytest.raises(UsageError):
        surrogate(**({"Q": [[0, 1]], "first": [0], "second": [1], "distances": [1], "n": 5, "kappa": 1} | change))
