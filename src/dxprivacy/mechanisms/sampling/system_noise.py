"""The source of randomness. It is passed in, so that tests can replace it; the production API has no seed."""

import os
from typing import Protocol

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.sampling.discrete_laplace import discrete_laplace
from dxprivacy.mechanisms.sampling.exact_selection import Entropy, permute_and_flip, sample_exponential


class DrawnBlockMax(Protocol):
    """Noise of several counts that is drawn together: a hierarchy of counts, or block-max tables."""

    @property
    def size(self) -> int:
        """The number of counts."""

    def draw(self, entropy: Entropy = ...) -> Ints:
        """Return an exact sample."""


class Noise(Protocol):
    """A source of noise."""

    def laplace(self, scales: Floats) -> Ints:
        """Return one discrete Laplace sample per scale; 0 where the scale is 0."""

    def together(self, family: DrawnBlockMax) -> Ints:
        """Return a sample of k-norm noise, one number per count."""

    def select(self, scores: Ints, scales: Floats, *, flip: bool = False) -> int:
        """Return an index with probability proportional to exp(scores / (2 scales)); with `flip`, by
        permute-and-flip.
        """

    def entropy(self, count: int) -> bytes:
        """Return this many random bytes, for exact samplers that request them as needed."""


class SystemNoise:
    """Exact samples from the operating system's entropy."""

    def laplace(self, scales: Floats) -> Ints:
        """Return one exact sample per positive scale, 0 where the scale is 0."""
        if not np.isfinite(scales).all() or np.signbit(scales).any():
            raise UsageError("a noise scale is finite and not negative")
        out = np.zeros(len(scales), dtype=np.int64)
        noisy = scales > 0
        if noisy.any():
            out[noisy] = discrete_laplace(scales[noisy])
        return out

    def together(self, family: DrawnBlockMax) -> Ints:
        """Return an exact sample."""
        return family.draw(self.entropy)

    def select(self, scores: Ints, scales: Floats, *, flip: bool = False) -> int:
        """Return an exactly sampled index."""
        return permute_and_flip(scores, scales) if flip else sample_exponential(scores, scales)

    def entropy(self, count: int) -> bytes:
        """Return bytes of the operating system."""
        return os.urandom(count)
