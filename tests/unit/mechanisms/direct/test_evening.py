"""Of all histograms with the same answers the most even one: records say no more than the answers do."""

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.mechanisms.direct.evening import evened
from dxprivacy.mechanisms.direct.weighted_fit import fit
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.queries.asking import gather

PEOPLE = dx.Universe(
    [
        dx.Values(name="sex", values=("M", "F"), has_other=False),
        dx.Integers(name="age", low=0, high=19, has_other=False),
    ]
)


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_to_the_start_is_found(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (3, 8)).astype(float)
    found = np.where(rng.random(8) < 0.5, 0.0, rng.gamma(1.0, size=8))
    start = np.full(8, found.mean())
    y = evened(rows, found, start, np.full(3, 1e-9))
    assert y.min() >= 0
    assert rows @ y == pytest.approx(rows @ found, abs=1e-8)
    # Nearest: no other histogram with these answers lies on the side of the start (variational inequality).
    for _ in range(200):
        other = np.where(rng.random(8) < 0.5, 0.0, rng.gamma(1.0, size=8))
        other = evened(rows, found, other, np.full(3, 1e-9))
        assert (start - y) @ (other - y) <= 1e-6


def test_steps_that_do_not_suffice_still_keep_the_answers(monkeypatch):
    monkeypatch.setattr("dxprivacy.mechanisms.direct.evening.MOST_STEPS", 1)
    rng = np.random.default_rng(0)
    rows, found = rng.integers(0, 2, (6, 12)).astype(float), np.zeros(12)
    found[[1, 7]] = 9.0, 4.0
    y = evened(rows, found, np.full(12, 13 / 12), np.full(6, 0.01))
    assert np.abs(rows @ y - rows @ found).max() <= 0.01 + 1e-12
    assert y.min() >= 0


def test_a_fit_does_not_tie_attributes_together_that_were_asked_apart():
    asked = gather(["count by sex", "count by age"]).on(PEOPLE)
    table = np.outer([0.4, 0.6], np.linspace(1, 3, 20) / 40).ravel() * 10_000
    noisy = asked.answer(np.rint(table).astype(np.int64)) + np.random.default_rng(0).integers(-9, 10, asked.rows)
    y = fit(Projection(asked), noisy.astype(float), np.full(asked.rows, 30.0), 10_000.0).y.reshape(2, 20)
    assert (y > 0).all()
    assert np.abs((y[1] - y[0]) - (y[1] - y[0]).mean()).max() < 1  # every age differs by sex as all others do
