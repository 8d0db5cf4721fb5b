"""Ordinary random numbers from a seed in place of exact noise: for made-up tables only, never for data."""

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.sampling.system_noise import DrawnTogether


class SimulatedNoise:
    """Noise from a seed, in floats: for simulated data only."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def laplace(self, scales: Floats) -> Ints:
        """Discrete Laplace: the difference of two geometric numbers."""
        p = -np.expm1(-1.0 / np.where(scales > 0, scales, 1.0))
        two = self._rng.geometric(p, (2, len(p)))
        return np.where(scales > 0, two[0] - two[1], 0).astype(np.int64)

    def together(self, family: DrawnTogether) -> Ints:
        """From ordinary random bytes."""
        return family.draw(self.entropy)

    def choose(self, scores: Ints, scales: Floats, *, flip: bool = False) -> int:
        """The largest of scores / (2 scales) with Gumbel noise: the exponential mechanism; or exponential, flipped."""
        noise = self._rng.exponential(size=len(scores)) if flip else self._rng.gumbel(size=len(scores))
        return int((scores / (2.0 * scales) + noise).argmax())

    def entropy(self, count: int) -> bytes:
        """Ordinary random bytes."""
        return self._rng.bytes(count)
