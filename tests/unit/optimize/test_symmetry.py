"""Variables of one role share a value: the small problem has the optimum of the large one."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import dxprivacy as dx
from dxprivacy.mechanisms.linear.planning.planner import prepare
from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.pair_constraints import SparsePairs
from dxprivacy.optimize.variable_symmetry import reduced


def orbit_problem(rng):
    """Pairs that are closed under a random permutation of the variables, with limits and weights that follow it."""
    n = int(rng.integers(3, 9))
    turn = rng.permutation(n)
    rows, limits = [], []
    for _ in range(int(rng.integers(2, 5))):
        row, limit = rng.integers(0, 3, n).astype(float), float(rng.integers(1, 6))
        row[int(rng.integers(n))] += 1
        for _ in range(60):  # the order of any permutation of so few
            rows.append(row)
            limits.append(limit)
            row = row[turn]
    cover = np.eye(n)  # every variable is limited
    for k in range(n):
        rows.append(cover[k])
        limits.append(4.0)
    label = np.full(n, -1)
    for start in range(n):
        k = start
        while label[k] < 0:
            label[k] = start
            k = int(turn[k])
    weight = rng.integers(1, 4, n)[label]
    kept = np.unique(np.column_stack([rows, limits]), axis=0)
    return SparsePairs(csr_array(kept[:, :-1]), kept[:, -1]), weight.astype(np.int64), weight.astype(float)


@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("seed", range(25))
def test_one_value_for_each_role_loses_nothing(seed, power):
    pairs, alike, weight = orbit_problem(np.random.default_rng(seed))
    whole = optimize(pairs, weight, power, np.full(pairs.count, np.inf))
    small = reduced(pairs, alike)
    if small is None:
        return
    a = np.bincount(small.variable, weight)
    found = optimize(small.pairs, a, power, np.full(small.pairs.count, np.inf))
    assert found.loss == pytest.approx(whole.loss, rel=1e-7, abs=1e-7)
    assert pairs.used(found.w[small.variable]).max() <= 1 + 1e-9


def test_what_differs_in_the_loss_is_never_put_together():
    star = SparsePairs(csr_array(np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]])), np.ones(3))
    assert reduced(star, np.array([0, 0, 0])).pairs.count == 1
    first, second, third = reduced(star, np.array([0, 0, 1])).variable.tolist()
    assert first == second != third
    assert reduced(star, np.array([0, 1, 2])) is None


def test_limits_tell_roles_apart():
    lines = SparsePairs(csr_array(np.eye(3)), np.array([1.0, 1.0, 2.0]))
    first, second, third = reduced(lines, np.zeros(3, dtype=np.int64)).variable.tolist()
    assert first == second != third


@pytest.mark.parametrize("loss", ["squared", "absolute", "geometric"])
def test_a_table_of_exchangeable_values_is_planned_by_a_handful_of_variables(loss, tmp_path):
    (tmp_path / "policy.toml").write_text(
        'title = "t"\ndataset = "t"\n'
        f"[attributes.job]\nvalues = {[*'abcdefgh']}\nepsilon = 1.0\n"
        "[attributes.month]\nintegers = [1, 6]\nepsilon = 1.0\nper = 2\n"
    )
    policy = dx.Policy.load(tmp_path / "policy.toml")
    _, task = prepare(["count by job, month", "count by job"], policy.metric, objective=loss, n_records=1000)
    assert task.system.count == 8 * 6 + 8
    assert task.small_system.count <= 4
    plan = dx.plan(
        ["count by job, month", "count by job"], policy.metric, objective=loss, method="optimal", n_records=1000
    )
    full = optimize(
        task.system.pairs,
        task.weights / task.reference ** (task.objective.power or 0),
        task.objective.power,
        np.full(task.system.count, np.inf),
    )
    assert task.objective_of(plan.scales) <= task.objective_of(1 / full.w) * (1 + 1e-6) + 1e-6
