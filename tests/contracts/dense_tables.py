"""Tables on a small product, by brute force: every cell, every pair, a dense matrix and its pseudo-inverse."""

import itertools

import numpy as np


def universe(sizes):
    return np.array(list(itertools.product(*(range(n) for n in sizes))), dtype=np.int64).reshape(-1, len(sizes))


def rows_of(sizes, attributes, halved=()):
    """The integer rows of a table, in the order of its cells, the last attribute fastest."""
    records = universe(sizes)
    whole = [a for a in attributes if a not in halved]
    sign = np.prod([1 - 2 * records[:, a] for a in halved], axis=0) if halved else np.ones(len(records))
    rows = []
    for cell in itertools.product(*(range(sizes[a]) for a in whole)):
        inside = np.all([records[:, a] == v for a, v in zip(whole, cell, strict=True)], axis=0) if whole else True
        rows.append(np.where(inside, sign, 0))
    return np.array(rows, dtype=np.float64)


def strategy(sizes, tables):
    return [rows_of(sizes, t.attributes, t.halved) for t in tables]


def costs(sizes, tables, scales):
    """The privacy loss of every pair of records."""
    A = np.vstack([rows / s for rows, s in zip(strategy(sizes, tables), scales, strict=True)])
    return np.abs(A[:, :, None] - A[:, None, :]).sum(axis=0)


def distances(sizes, budgets):
    """The attribute-sum metric of discrete attributes."""
    records = universe(sizes)
    differ = records[:, None, :] != records[None, :, :]
    return np.where(differ, np.array(budgets, dtype=float), 0.0).sum(axis=2)


def coefficients(sizes, asked, tables, variances):
    """Per asked table the matrix from measured rows to estimates, up to what the public total adds; and per row v."""
    A = np.vstack(strategy(sizes, tables))
    v = np.concatenate([np.full(t.rows(sizes), x) for t, x in zip(tables, variances, strict=True)])
    N = A.shape[1]
    U = np.linalg.svd(np.ones((1, N)))[2][1:].T  # the complement of the constants: the total is public
    B = (A @ U) / np.sqrt(v)[:, None]
    back = U @ np.linalg.pinv(B, rcond=1e-10) / np.sqrt(v)
    return [rows_of(sizes, t) @ back for t in asked], v, A
