"""What every source of discrete Laplace noise must pass: is this the distribution, and is this the scale?

A check of noise is worth what it rejects: `scale_is` is two-sided, so that too little noise fails and too much as well;
`law_is` compares cell by cell, so that a right scale with a wrong shape fails.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Samples = NDArray[np.int64]


def scale_is(samples: Samples, scale: float, alpha: float = 1e-6) -> bool:
    """Do the samples fit this scale?  Wrongly False with probability at most alpha.

    sum |Z| is sufficient for the scale, so no test of one scale against another is sharper.  Its distribution is known
    exactly: the number of values that are not 0 is binomial, and given that number N, sum |Z| - N is negative binomial.
    """
    p, stop = np.exp(-1 / scale), -np.expm1(-1 / scale)
    total = np.abs(samples).sum(dtype=np.float64)  # 2^52 times many samples would leave int64
    count = stats.binom(samples.size, 2 * p / (1 + p))
    N = np.arange(count.ppf(alpha * 1e-6), count.isf(alpha * 1e-6) + 1)
    weight, extra, N_or_1 = count.pmf(N), total - N, np.maximum(N, 1)
    at_most = np.where(N > 0, stats.nbinom.cdf(extra, N_or_1, stop), extra >= 0)
    at_least = np.where(N > 0, stats.nbinom.sf(extra - 1, N_or_1, stop), extra <= 0)
    return bool(2 * min(weight @ at_most, weight @ at_least) > alpha)


def law_is(samples: Samples, scale: float, alpha: float = 1e-6) -> bool:
    """Do the samples fit the discrete Laplace distribution of this scale?  Wrongly False with probability at most
    alpha.

    Half of alpha goes to exact binomial tests of each cell (Bonferroni), which see one wrong cell.  The rest goes to
    chi-square, which sees many small errors; it is asymptotic, so it is asked for ten times less than it may use.
    """
    edges, chance = cells(scale, samples.size, expected=min(1000, samples.size // 10))
    counts = counts_in(edges, samples)
    count = stats.binom(samples.size, chance)
    one_cell = 2 * np.minimum(count.cdf(counts), count.sf(counts - 1)).min() * chance.size
    all_cells = stats.chisquare(counts, samples.size * chance).pvalue
    return bool(one_cell > alpha / 2 and all_cells > alpha / 20)


def cells(scale: float, size: int, expected: int, per_side: int = 25) -> tuple[Samples, NDArray[np.float64]]:
    """Edges and chances of cells, the same on both sides of 0; each tail is a cell that expects so many or more."""
    p = np.exp(-1 / scale)
    levels = np.linspace(1, min(1, expected / size * (1 + p)), per_side)
    positive = np.unique(np.floor(-scale * np.log(levels)).clip(1)).astype(np.int64)
    if size * np.tanh(0.5 / scale) < expected:  # 0 alone is too rare to be a cell of its own
        positive = positive[1:]
    tail = np.exp(-positive / scale) / (1 + p)  # P(Z >= edge)
    side = -np.diff(tail, append=0)
    chance = np.concatenate([side[::-1], [1 - 2 * tail[0]], side])
    return np.concatenate([1 - positive[::-1], positive]), chance


def counts_in(edges: Samples, samples: Samples) -> Samples:
    """How many samples lie in each cell: below the first edge, between two, from the last edge on."""
    return np.bincount(np.searchsorted(edges, samples, side="right"), minlength=edges.size + 1)
