"""Variances of consistent noise on a star: a margin of equal counts, each divided into groups of equal cells.

Each of n counts u of the margin has the weight e^(-w |u|), and is the sum of a group of m_k cells z of weight
e^(-w_k |z|) for every table k; the counts of the margin add up to 0.  With h_k the sums of m_k cells,

    f(u) = e^(-w |u|) prod over k of h_k(u),        P(u) ~ f(u) o(u),        o the sums of n - 1 other counts,

and E z^2 of a cell of table k is the sum of P(u) E[z^2 | u], E[z^2 | u] h_k(u) = (z^2 e^(-w_k |z|) * h_(m-1))(u).
Everything is a convolution, by Fourier on whole numbers; nothing is divided by a small number.  Errors and plans are
made of these numbers; privacy depends on none of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats

_FADED = 36.0  # e^-36 of a weight is nothing
_WIDTHS = 9.0  # standard deviations of a sum of many cells, behind which it is nothing
MOST_PLACES = 1 << 18


@dataclass(frozen=True)
class Spread:
    """The variance of a count of the margin, and of a cell of each table."""

    margin: float
    cells: tuple[float, ...]


class StarMoments:
    """Spreads of one star's shape for any weights; what one table says is kept while the others change."""

    def __init__(self, values: int, groups: Sequence[int]) -> None:
        self.values, self.groups = values, tuple(groups)
        self._known: dict[tuple[int, float, int], tuple[Floats, Floats]] = {}

    def spread(self, margin: float, weights: Sequence[float]) -> Spread:
        """Of a margin of this weight, 0 for none, and tables of these weights, on the whole numbers.

        >>> two = StarMoments(2, (2,)).spread(0.0, (0.01,))
        >>> print(f"{two.margin * 1e-4:.3f} {two.cells[0] * 1e-4:.3f}")  # four equal cells: 7/8 of three
        1.400 1.050
        """
        size = self._size(margin, weights)
        tables = [self._group(m, w, size) for m, w in zip(self.groups, weights, strict=True)]
        place = np.minimum(np.arange(size), size - np.arange(size))
        own = np.exp(-margin * place)
        f = own * np.prod([h for h, _ in tables], axis=0) if tables else own
        others = np.maximum(np.fft.irfft(np.fft.rfft(f / f.sum()) ** (self.values - 1), size), 0.0)
        law = f * others
        everything = float(law.sum())
        squares = place.astype(np.float64) ** 2
        cells = []
        for k in range(len(tables)):
            rest = np.prod([h for j, (h, _) in enumerate(tables) if j != k], axis=0) * own * others
            cells.append(float(rest @ tables[k][1]) / everything)
        return Spread(float(law @ squares) / everything, tuple(cells))

    def _size(self, margin: float, weights: Sequence[float]) -> int:
        """Places around a circle, so many that nothing comes around it."""
        reach = [_FADED / w + _WIDTHS * math.sqrt(2 * m) / w for m, w in zip(self.groups, weights, strict=True)]
        if margin > 0 and not self.groups:
            reach.append(_FADED / margin)
        wide = min((math.sqrt(2 * m) / w for m, w in zip(self.groups, weights, strict=True)), default=math.inf)
        wide = min(wide, math.sqrt(2) / margin if margin > 0 else math.inf)
        reach.append(_WIDTHS * wide * math.sqrt(self.values))
        size = 1 << (2 * int(max(reach)) + 3).bit_length()
        if size > MOST_PLACES:
            raise NotCertified("noise so wide: too much to work out its error", hints=[('method="matrix"', "")])
        return size

    def _group(self, m: int, weight: float, size: int) -> tuple[Floats, Floats]:
        """h of m cells, and the same times E[z^2 | sum] of one of them."""
        key = (m, weight, size)
        if key not in self._known:
            if len(self._known) > 4 * len(self.groups):
                self._known.clear()
            place = np.minimum(np.arange(size), size - np.arange(size)).astype(np.float64)
            one = np.exp(-weight * place)
            one /= one.sum()
            wave = np.fft.rfft(one)
            rest = wave ** (m - 1)
            h, top = (np.maximum(np.fft.irfft(x, size), 0.0) for x in (rest * wave, rest * np.fft.rfft(one * place**2)))
            self._known[key] = h / h[0], top / h[0]
        return self._known[key]
