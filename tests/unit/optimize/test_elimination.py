"""Elimination with exact noughts against fractions, and the triangle that complete pivoting guarantees."""

import numpy as np
import pytest

from contracts.exact_least_squares import wild_rows
from dxprivacy.optimize.pair_constraints import PRIME, directions


def rank(rows):
    """In whole numbers: fraction-free elimination."""
    rows, found = [[int(x) for x in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        at = next((k for k in range(found, len(rows)) if rows[k][column]), None)
        if at is None:
            continue
        rows[found], rows[at] = rows[at], rows[found]
        top = rows[found]
        for k in range(found + 1, len(rows)):
            factor = rows[k][column]
            rows[k] = [x * top[column] - factor * y for x, y in zip(rows[k], top, strict=True)]
        found += 1
    return found


@pytest.mark.parametrize("seed", range(20))
def test_there_are_as_many_directions_as_independent_rows_however_they_weigh(seed):
    rng = np.random.default_rng(seed)
    counted, noises = wild_rows(rng, int(rng.integers(2, 9)))
    order = np.argsort(noises > 0, kind="stable")
    rows, sure = counted[order], int((noises == 0).sum())
    weights = 1 / np.sqrt(noises[order][sure:])
    found = directions(rows, sure, weights)
    assert len(found.rows) == rank(rows)
    assert found.preferred == rank(rows[:sure])
    assert set(found.rows[: found.preferred].tolist()) <= set(range(sure))
    units = weights[found.rows[found.preferred :] - sure]
    scaled = found.of_rows[sure:, found.preferred :] * (weights[:, None] / units)
    assert np.abs(scaled).max(initial=0.0) <= 1 + 1e-9
    parts, missing = found.parts(rows)
    assert not missing.any()
    assert np.allclose(parts, found.of_rows, rtol=1e-6, atol=1e-9 * np.abs(found.of_rows).max())
    assert ((parts == 0) == (found.of_rows == 0)).all()


def test_what_other_rows_do_not_tell_is_missing():
    found = directions(np.array([[1, 1, 1, 1], [1, 1, 0, 0]]), 1, np.ones(1))
    missing = found.parts(np.array([[0, 0, 1, 1], [0, 0, 1, 0], [3, 3, -2, -2], [0, 0, 0, 0]]))[1]
    assert missing.tolist() == [False, True, False, False]


def test_multiples_of_the_prime_are_not_taken_for_nothing():
    found = directions(np.array([[1, 1], [PRIME, 0]]), 1, np.ones(1))
    assert found.parts(np.array([[PRIME, 0], [1, 1 + PRIME]]))[1].all()  # refused, but not wrong


def test_no_rows_tell_nothing():
    found = directions(np.zeros((0, 3), dtype=np.int64), 0, np.zeros(0))
    assert len(found.rows) == 0
    assert found.parts(np.array([[0, 0, 0], [1, 0, 0]]))[1].tolist() == [False, True]
