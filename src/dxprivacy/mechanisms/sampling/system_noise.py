"""Where randomness comes from.  It is passed in, so that tests can replace it; the production API has no seed."""

import os
from typing import Protocol

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.sampling.discrete_laplace import discrete_laplace
from dxprivacy.mechanisms.sampling.exact_selection import Entropy, choose, permute_and_flip


class DrawnTogether(Protocol):
    """Noise of several counts that is drawn together: counts in counts, or tables that one record changes."""

    @property
    def size(self) -> int:
        """Of how many counts."""

    def draw(self, entropy: Entropy = ...) -> Ints:
        """An exact draw from its law."""


class Noise(Protocol):
    """A source of noise."""

    def laplace(self, scales: Floats) -> Ints:
        """One discrete Laplace sample per scale; none where the scale is 0."""

    def together(self, family: DrawnTogether) -> Ints:
        """The noise of counts that agree with one another, by their numbers."""

    def choose(self, scores: Ints, scales: Floats, *, flip: bool = False) -> int:
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

    def together(self, family: DrawnTogether) -> Ints:
        """An exact draw."""
        return family.draw(self.entropy)

    def choose(self, scores: Ints, scales: Floats, *, flip: bool = False) -> int:
        """An exact choice."""
        return permute_and_flip(scores, scales) if flip else choose(scores, scales)

    def entropy(self, count: int) -> bytes:
        """Bytes of the operating system."""
        return os.urandom(count)
