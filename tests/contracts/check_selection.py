"""What every selection must pass: its distribution, outcome by outcome, and the exact probabilities it is compared
with.

Probabilities are intervals (mpmath) that enclose the true ones, so that a ratio of two is enclosed too.
"""

import itertools

import numpy as np
from mpmath import iv
from scipy import stats

iv.dps = 60


def law_is(counts, chances, alpha=1e-6):
    """Do the counts fit these probabilities?  Wrongly False with probability at most alpha.

    Half of alpha goes to exact binomial tests of each outcome (Bonferroni), which see one wrong outcome; chi-square,
    over outcomes expected often enough, sees many small errors, and is asked for ten times less than it may use.
    """
    counts, chances = np.asarray(counts), np.asarray(chances, dtype=float)
    chances = chances / chances.sum()
    size = int(counts.sum())
    each = stats.binom(size, chances)
    one = 2 * np.minimum(each.cdf(counts), each.sf(counts - 1)).min() * len(chances)
    often = size * chances >= 20
    seen, expected = counts[often].astype(float), size * chances[often]
    if not often.all():
        seen, expected = np.append(seen, counts[~often].sum()), np.append(expected, size * chances[~often].sum())
        if expected[-1] < 20:
            seen, expected = seen[:-1], expected[:-1]
            expected = expected * seen.sum() / expected.sum()
    together = stats.chisquare(seen, expected).pvalue if len(seen) > 1 else 1.0
    return bool(one > alpha / 2 and together > alpha / 20)


def exponential_law(scores, scale):
    """exp(u / (2c)), normalized."""
    top = max(scores)
    weights = [iv.exp(-(iv.mpf(int(top - u))) / (2 * iv.mpf(scale))) for u in scores]
    total = sum(weights, iv.mpf(0))
    return [w / total for w in weights]


def flip_law(scores, scale):
    """The first head in a random order is uniform among the heads: p_r times the integral of prod (1 - p_j + p_j t)."""
    top = max(scores)
    p = [iv.exp(-(iv.mpf(int(top - u))) / (2 * iv.mpf(scale))) for u in scores]
    out = []
    for r, mine in enumerate(p):
        poly = [iv.mpf(1)]
        for j, other in enumerate(p):
            if j != r:
                grown = [iv.mpf(0)] * (len(poly) + 1)
                for power, c in enumerate(poly):
                    grown[power] += c * (1 - other)
                    grown[power + 1] += c * other
                poly = grown
        out.append(mine * sum((c / (power + 1) for power, c in enumerate(poly)), iv.mpf(0)))
    return out


def histograms(cells, records):
    """All histograms of so many records."""
    for members in itertools.combinations_with_replacement(range(cells), records):
        yield np.bincount(members, minlength=cells).astype(np.int64)


def exceeds(distribution, other, loss):
    """Whether some outcome's probability under `distribution` is certainly not within exp(loss) times that under
    `other`.
    """
    limit = iv.exp(iv.mpf(loss.numerator) / iv.mpf(loss.denominator)) * (1 + iv.mpf(10) ** -40)
    return any((a / b).b > limit.b for a, b in zip(distribution, other, strict=True))


def middles(distribution):
    """The probabilities as floats."""
    return np.array([float(p.mid) for p in distribution])
