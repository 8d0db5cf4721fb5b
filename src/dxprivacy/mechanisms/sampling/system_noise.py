"""Where randomness comes from.  It is passed in, so that tests can replace it; the production API has no seed."""

import os
from typing import Protocol

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.sampling.discrete_laplace import discrete_laplace
from dxprivacy.mechanisms.sampling.exact_selection import Entropy, permute_and_flip, sample_exponential


class DrawnBlockMax(Protocol):
    """Noise of several counts that is drawn together: counts in counts, or tables that one record changes."""

    @property
    def size(self) -> int:
        """Of how many counts."""

    def draw(self, entropy: Entropy = ...) -> Ints:
        """An exact draw from its distribution."""


class Noise(Protocol):
    """A source of noise."""

    def laplace(self, scales: Floats) -> Ints:
        """One discrete Laplace sample per scale; none where the scale is 0."""

    def together(self, family: DrawnBlockMax) -> Ints:
        """The noise of counts that agree with one another, by their numbers."""

    def select(self, scores: Ints, scales: Floats, *, flip: bool = False) -> int:
        """An index with probability proportional to exp(scores / (2 scales)); `flip`: by permute-and-flip."""

    def entropy(self, count: int) -> bytes:
        """So many random bytes, for exact samplers that decide as they go."""


class SystemNoise:
    """Exact samples from the operating system's entropy."""

    def laplace(self, scales: Floats) -> Ints:
        """One exact sample per positive scale, 0 where the scale is 0."""
        if not np.isfinite(scales).all() or np.signbit(scales).any():
            raise UsageError("a noise scale is finite and not negative")
        out = np.zeros(len(scales), dtype=np.int64)
        noisy = scales > 0
        if noisy.any():
            out[noisy] = discrete_laplace(scales[noisy])
        return out

    def together(self, family: DrawnBlockMax) -> Ints:
        """An exact draw."""
        return family.draw(self.entropy)

    def select(self, scores: Ints, scales: Floats, *, flip: bool = False) -> int:
        """An exact choice."""
        return permute_and_flip(scores, scales) if flip else sample_exponential(scores, scales)

    def entropy(self, count: int) -> bytes:
        """Bytes of the operating system."""
        return os.urandom(count)
