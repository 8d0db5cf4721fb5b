"""What every structured workload must fulfil, against its own dense matrix."""

import numpy as np

from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.universe.workload import Workload


def check_workload(workload: Workload) -> None:
    universe = workload.universe
    assert universe.size <= 3_000, "this check makes the matrix dense"
    Q = workload.dense()
    assert Q.shape == (workload.rows, universe.size)
    assert workload.largest >= np.abs(Q).max(initial=0)
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 1000, universe.size)
    assert np.array_equal(workload.answer(counts), Q @ counts)
    assert {r for a in workload.answers for r in a.rows} == set(range(workload.rows))
    _differences_match(workload, Q, rng)
    k = int(rng.integers(0, workload.rows))
    alone = workload.row(k)
    assert np.array_equal(alone.dense(), Q[k : k + 1])
    assert alone.units == workload.units[k : k + 1]
    assert np.array_equal(alone.answer(counts), Q[k : k + 1] @ counts)
    for block in workload.blocks:
        _classes_are_sound(block, rng)
        _reach_is_sound(block, rng)


def _differences_match(workload, Q, rng) -> None:
    i, j = rng.integers(0, Q.shape[1], (2, 200))
    dense = np.zeros((len(i), workload.rows), dtype=np.int64)
    pair, row, amount = workload.differences(i, j)
    assert (amount > 0).all()
    np.add.at(dense, (pair, row), amount)
    assert np.array_equal(dense, np.abs(Q[:, i] - Q[:, j]).T)
    assert np.array_equal(workload.columns(i), Q[:, i])
    weights = rng.uniform(0.1, 5, workload.rows)
    expected = np.abs(Q[:, i] - Q[:, j]).T @ weights
    assert np.allclose(workload.loads(i, j, weights), expected, rtol=1e-12)
    cost = LaplaceCost(workload, 1 / weights)
    for a, b in zip(i[:20].tolist(), j[:20].tolist(), strict=True):
        assert abs(float(cost.exact(a, b)) - expected[list(zip(i, j, strict=True)).index((a, b))]) <= 1e-9 * (
            1 + expected.max()
        )


def _classes_are_sound(block, rng) -> None:
    universe = block.universe
    dense = block.dense()
    assert not dense[:, universe.cells :].any()  # nobody counts who is absent
    Q = dense[:, : universe.cells].reshape(block.rows, *universe.shape)
    for axis, n in enumerate(universe.shape):
        slices = np.moveaxis(Q, axis + 1, 0).reshape(n, -1)
        moving = block.moving(axis)
        for u, v in rng.integers(0, n, (30, 2)):
            if moving[u] == moving[v]:
                assert np.array_equal(slices[u], slices[v])
        for uniform in (True, False):
            _contexts_are_sound(block, axis, uniform, rng)


def _contexts_are_sound(block, axis, uniform, rng) -> None:
    """Contexts of one class change the effect of a move along another attribute not at all."""
    universe = block.universe
    classes = block.context(axis, uniform=uniform)
    weights = np.full(block.rows, 1.7) if uniform else rng.uniform(1, 2, block.rows)
    for _ in range(20):
        u, v = rng.integers(0, universe.shape[axis], 2)
        if classes[u] != classes[v] or len(universe.shape) == 1:
            continue
        other = rng.choice([a for a in range(len(universe.shape)) if a != axis])
        base = np.array([rng.integers(0, n) for n in universe.shape])
        move = rng.integers(0, universe.shape[other], 2)
        losses = []
        for context in (u, v):
            base[axis] = context
            cells = []
            for value in move:
                base[other] = value
                cells.append(int(np.ravel_multi_index(base, universe.shape)))
            pair, row, amount = block.differences(np.array(cells[:1]), np.array(cells[1:]))
            losses.append(float((amount * weights[row]).sum()))
        assert abs(losses[0] - losses[1]) < 1e-9


def _reach_is_sound(block, rng) -> None:
    weights = rng.uniform(0.5, 2, block.rows)
    Q = block.dense()
    i, j = rng.integers(0, Q.shape[1], (2, 500))
    losses = np.abs(Q[:, i] - Q[:, j]).T * weights
    assert losses.sum(axis=1).max() <= block.reach(weights) * (1 + 1e-12)
    assert np.allclose(block.peaks(i, j, weights), losses.max(axis=1), rtol=1e-12)
    assert losses.max() <= block.summit(weights) * (1 + 1e-12)
    weights[0] = np.inf  # an exact answer: 0 times infinity is nothing
    assert np.array_equal(np.isinf(block.peaks(i, j, weights)), Q[0, i] != Q[0, j])
    if (ends := block.ends(absent=True)) is not None:
        rows = np.arange(block.rows)
        assert np.array_equal(Q[rows, ends[0]], Q.min(axis=1))
        assert np.array_equal(Q[rows, ends[1]], Q.max(axis=1))
