"""Small nests with random scales, and the distribution of their noise by enumeration."""

import itertools
from fractions import Fraction as F

import numpy as np
from scipy import stats

from dxprivacy.mechanisms.sampling.tree_noise import Family, Split
from dxprivacy.optimize.k_norm.hierarchy_fit import halvings


def random_rows(rng: np.random.Generator, cells: int) -> np.ndarray:
    """Ranges nested at random, in a random order of the cells: every cell, and some unions of neighbors."""
    sets = [{k} for k in range(cells)]
    rows = [frozenset(s) for s in sets]
    while len(sets) > 2:
        at = int(rng.integers(len(sets) - 1))
        joined = sets[at] | sets[at + 1]
        sets[at : at + 2] = [joined]
        if rng.random() < 0.7:
            rows.append(frozenset(joined))
    order = rng.permutation(cells)
    return np.array([[order[c] in row for c in range(cells)] for row in rows], dtype=np.int64)


def chain_rows(cells: int) -> np.ndarray:
    """Single cells, and all counts up to a cell."""
    return np.vstack([np.eye(cells, dtype=np.int64), np.tril(np.ones((cells, cells), dtype=np.int64))[1:-1]])


def halved_rows(cells: int) -> np.ndarray:
    """Ranges halved down to single cells."""
    ends = {(a, b) for borders in halvings(0, cells)[1:] for a, b in itertools.pairwise(borders)}
    place = np.arange(cells)
    return np.array([(a <= place) & (place < b) for a, b in sorted(ends)], dtype=np.int64)


def box(cells: int, reach: int) -> np.ndarray:
    """All noises of the cells that add up to 0, none of the first ones beyond the reach."""
    some = itertools.product(range(-reach, reach + 1), repeat=cells - 1)
    return np.array([(*z, -sum(z)) for z in some], dtype=np.int64)


def distribution(rows: np.ndarray, scales: np.ndarray, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """All z of a box, and their probabilities, as if nothing lay beyond it."""
    z = box(rows.shape[1], reach)
    logs = -(np.abs(z @ rows.T) / scales).sum(axis=1)
    p = np.exp(logs - logs.max())
    return z, p / p.sum()


def chance(family, tables, counts: dict[int, int]) -> tuple[F, F]:
    """The probability of all counts of a nest, by its selections, between two fractions."""
    low = high = F(1)
    for split in family.splits:
        f, g, t = tables.of(split.left), tables.of(split.right), tables.sums(split.left, split.right)
        for k in range(len(split.whole)):
            s, a, b = (abs(counts[int(x[k])]) for x in (split.whole, split.first, split.second))
            low *= F(f.low[a] * g.low[b], t.high[s] << tables.bits)
            high *= F(f.high[a] * g.high[b], t.low[s] << tables.bits)
    return low, high


def drawn_often(family, size: int, draws: int) -> np.ndarray:
    """Many draws at once: copies of one nest beside one another, a line for each."""
    starts = size * np.arange(draws)[:, None]
    copies = [
        Split(s.left, s.right, *((x[None] + starts).ravel() for x in (s.whole, s.first, s.second)))
        for s in family.splits
    ]
    many = Family(size * draws, copies)
    many._tables = family._tables
    return many.draw().reshape(draws, size)


def fits(found: np.ndarray, z: np.ndarray, p: np.ndarray) -> bool:
    """Chi-square of all z that are expected often enough, the rest in one cell."""
    places = {tuple(x): k for k, x in enumerate(z.tolist())}
    often = p * len(found) > 20
    counts = np.zeros(len(z) + 1)
    values, times = np.unique(found, axis=0, return_counts=True)
    for x, n in zip(values.tolist(), times.tolist(), strict=True):
        counts[places.get(tuple(x), len(z))] += n
    seen = np.append(counts[:-1][often], counts.sum() - counts[:-1][often].sum())
    expected = np.append(p[often], 1 - p[often].sum()) * len(found)
    return bool(stats.chisquare(seen, expected).pvalue > 1e-6)


def foreseen(family, by: int, step: int = 0) -> np.ndarray:
    """Noise that agrees and that tests can foresee: the left part of every division gets `by`, and ever more."""
    out, drawn = np.zeros(family.size, dtype=np.int64), 0
    for split in family.splits:
        out[split.first] = by + step * (drawn + np.arange(len(split.first)))
        out[split.second] = out[split.whole] - out[split.first]
        drawn += len(split.first)
    return out
