"""Small universes for strategies: ranges under a threshold, random connected pairs with random workloads, trees."""

import numpy as np

from dxprivacy.optimize.strategies import StrategyProblem


def all_ranges(n):
    """All ranges of n cells in an order, as rows."""
    cells = np.arange(n)
    return np.array([(cells >= a) & (cells <= b) for a in range(n) for b in range(a, n)], dtype=float)


def range_gram(n):
    """The Gram matrix of all ranges, in closed form."""
    i = np.arange(1, n + 1)
    return np.minimum.outer(i, i) * (n + 1.0 - np.maximum.outer(i, i))


def threshold_problem(n, reach, rows=None, order=None):
    """All ranges (or some rows) with the pairs at most `reach` apart, limit 1; the cells renamed by an order."""
    first, second = np.triu_indices(n, 1)
    near = second - first <= reach
    gram = range_gram(n) if rows is None else rows.T @ rows
    problem = StrategyProblem(gram, first[near], second[near], np.ones(int(near.sum())))
    return problem if order is None else problem.renamed(order)


def random_problem(rng, cells=None):
    """A random tree with random further pairs and limits, and a random workload (returned too)."""
    n = int(rng.integers(3, 9)) if cells is None else cells
    first, second = random_tree(rng, n)
    more = int(rng.integers(0, n))
    a = rng.integers(0, n, more)
    b = (a + rng.integers(1, n, more)) % n
    first, second = np.concatenate([first, a]), np.concatenate([second, b])
    limits = rng.choice([np.ones(len(first)), rng.uniform(0.2, 3, len(first))])
    W = rng.choice([rng.normal(size=(n + 2, n)), rng.integers(0, 2, (n + 2, n)).astype(float)])
    W = W[: int(rng.integers(1, n + 3))]
    return StrategyProblem(W.T @ W, first, second, limits), W


def random_tree(rng, n):
    """The ends of the edges of a random tree with random names."""
    names = rng.permutation(n)
    return names[1:], names[[int(rng.integers(0, i)) for i in range(1, n)]]


def grid_problem(axes, gram=None, order=None):
    """Places along axes, as (values, limit of a step, limit of `other` or None), or (values, limit) for a list.

    All products of ranges unless a Gram matrix is given; `other` is the last place of its axis, and in no range.
    """
    sizes = [a[0] + (len(a) == 3 and a[2] is not None) for a in axes]
    cells = np.arange(int(np.prod(sizes))).reshape(sizes)
    first, second, limits = [], [], []
    for k, axis in enumerate(axes):
        n = axis[0]
        if len(axis) == 2:
            steps = [(u, v, axis[1]) for u in range(n) for v in range(u + 1, n)]
        else:
            steps = [(u, u + 1, axis[1]) for u in range(n - 1)]
            steps += [(u, n, axis[2]) for u in range(n)] if axis[2] is not None else []
        for u, v, limit in steps:
            first.append(cells.take(u, k).ravel())
            second.append(cells.take(v, k).ravel())
            limits.append(np.full(len(first[-1]), float(limit)))
    if gram is None:
        gram = np.ones((1, 1))
        for axis, size in zip(axes, sizes, strict=True):
            mine = np.zeros((size, size))
            mine[: axis[0], : axis[0]] = range_gram(axis[0]) if len(axis) == 3 else np.eye(axis[0])
            gram = np.kron(gram, mine)
    problem = StrategyProblem(gram, np.concatenate(first), np.concatenate(second), np.concatenate(limits))
    return problem if order is None else problem.renamed(order)
