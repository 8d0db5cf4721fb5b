"""The distribution of a weighted sum of Laplace noises: intervals made from its variance cover what they say.

For sums of independent Laplace variables the characteristic function is a product, so tail probabilities follow by
numerical inversion: no simulation, no approximation beyond the integral.
"""

import math

import numpy as np
import pytest

from dxprivacy.mechanisms.linear.noise.noise_distributions import Blend


def _tail(parts: np.ndarray, width: float) -> float:
    """P(|sum of parts_k Laplace(1)| > width), by Gil-Pelaez."""
    t = np.linspace(1e-6, 400 / width, 400_001)
    phi = np.exp(-np.log1p(np.outer(t * t, parts**2)).sum(axis=1)) if len(parts) < 9 else _phi(t, parts)
    inside = 2 / math.pi * np.trapezoid(phi * np.sin(t * width) / t, t)
    return float(1 - inside)


def _phi(t: np.ndarray, parts: np.ndarray) -> np.ndarray:
    out = np.zeros(len(t))
    for p in parts:
        out -= np.log1p((t * p) ** 2)
    return np.exp(out)


SHAPES = [
    [1.0, 1.0],
    [1.0, 0.5],
    [1.0, 0.2],
    [1.0, 0.05, 0.05],
    [1.0, 0.7, 0.3, 0.1],
    [1.0] * 4,
    [1.0] * 12,
    [1.0] + [0.1] * 40,
    [0.9**k for k in range(20)],
]


@pytest.mark.parametrize("parts", SHAPES, ids=lambda p: f"{len(p)} parts, {p[1]:g}")
@pytest.mark.parametrize("coverage", [0.95, 0.975])
def test_a_blend_is_covered_at_least_as_often_as_guaranteed(parts: list[float], coverage: float) -> None:
    parts_ = np.array(parts)
    distribution = Blend(2 * float(parts_ @ parts_))
    tail = _tail(parts_, float(distribution.half_width(coverage)))
    assert tail <= (1 - coverage) * (1 + 2e-3)
    assert tail >= (1 - coverage) * 0.3  # and is not absurdly wide


def test_random_blends_are_covered() -> None:
    rng = np.random.default_rng(20261116)
    for _ in range(40):
        parts = rng.dirichlet(np.full(rng.integers(2, 8), rng.choice([0.2, 1.0, 5.0])))
        distribution = Blend(2 * float(parts @ parts))
        assert _tail(parts, float(distribution.half_width())) <= 0.05 * (1 + 2e-3)


def test_the_mean_size_is_not_understated() -> None:
    rng = np.random.default_rng(3)
    for parts in ([1.0], [1.0, 1.0], [1.0] * 10):
        sums = rng.laplace(size=(200_000, len(parts))) @ np.array(parts)
        assert np.abs(sums).mean() <= Blend(2.0 * len(parts)).mean_absolute * 1.01
