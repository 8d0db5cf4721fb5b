"""Plans depend on the query, not on how busy the machine is; and what is printed is true of the rounded rows."""

import re
from functools import cache

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow, slow
from dxprivacy.mechanisms.linear.strategies.matrix_mechanism import _without_offset
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies import StrategyProblem
from dxprivacy.optimize.strategies.p_identity import search
from dxprivacy.universe.blocks import SoftTable


def all_ranges(n):
    return [[int(a <= k <= b) for k in range(n)] for a in range(n) for b in range(a, n) if b - a < n - 1]


def total(plan):
    return float((plan.expected_rmse**2).sum())


CELLS = [6, slow(14)]


def of_all_ranges(*, cells, thorough):
    metric = dx.metrics.blowfish(np.arange(float(cells))[:, None], threshold=3, epsilon=0.6)
    return dx.plan(all_ranges(cells), metric, method="matrix", thorough=thorough)


made_once = cache(of_all_ranges)

LOANS = dx.Universe(
    [
        dx.Numbers(name="income", low=0, high=500_000, step=1000),
        dx.Values(name="verified", values=("no", "some", "yes")),
    ]
)
LENT = dx.metrics.attributes(LOANS, {"income": {"epsilon": 1, "per": 10_000}, "verified": 1})


@pytest.mark.parametrize(
    "asked",
    mostly_slow(
        [
            "median income width 0",
            "median income by verified width 0",
            "density income by verified",
            "density income",
        ],
        1,
    ),
)
def test_plans_and_their_comparisons_look_at_few_pairs(asked, monkeypatch):
    """Of 500 steps in three groups: the screen of such a plan took minutes, for all pairs of records several times."""
    looked = []
    monkeypatch.setattr(SoftTable, "differences", _counting(SoftTable.differences, looked))
    assert str(dx.plan(asked, LENT, n_records=10_000))
    assert sum(looked) < 1_000_000


# Not made small: fewer records are compared in another way.
def test_a_spread_over_many_records_is_compared_table_by_table_and_the_plan_says_so():
    plan = dx.plan("variance income by verified", LENT, n_records=10_000)
    assert plan.baselines.queries[0].by_table
    assert "very many answers or records are measured as asked" in " ".join(str(plan).split())


def _counting(looking, looked):
    def differences(self, i, j):
        looked.append(len(i))
        return looking(self, i, j)

    return differences


def test_a_search_leaves_no_offset_behind():
    n = 8
    gram = np.array(all_ranges(n)).T @ np.array(all_ranges(n)).astype(float)
    first, second = np.triu_indices(n, 1)
    near = second - first <= 3
    problem = StrategyProblem(gram, first[near], second[near], np.ones(int(near.sum())))
    found = search(problem, np.eye(n) + 1000.0, watch=Watch(), iterations=30)
    assert np.abs(found).max() <= 2 * np.ptp(found, axis=1).max()
    assert problem.total(found) <= problem.total(np.eye(n)) * (1 + 1e-6)


def test_offsets_go_before_rows_are_rounded():
    rows = np.array([[21253.0, 21253.36, 21253.1], [0, 1, 1], [5, 6, 6], [-1, 0, 1]])
    kept = _without_offset(rows)
    assert np.abs(kept[0]).max() == pytest.approx(0.18)
    assert kept[1:].tolist() == [[0, 1, 1], [0, 1, 1], [-1, 0, 1]]
    assert np.allclose(np.diff(kept, axis=1), np.diff(rows, axis=1))


@pytest.mark.parametrize("cells", CELLS)
def test_the_printed_distance_from_the_limit_is_that_of_the_rounded_rows(cells):
    for thorough in (False, True):
        plan = made_once(cells=cells, thorough=thorough)
        times = float(re.search(r"at most ([0-9.]+) times", plan.about)[1])
        # The limit is for continuous noise: no less than what the counted rows, as rounded, give with it.
        weights = plan.measured.workload.dense() / np.array(plan.scales)[:, None]
        weights = weights - weights.mean(axis=1, keepdims=True)
        asked = np.array(all_ranges(cells), dtype=float)
        asked = asked - asked.mean(axis=1, keepdims=True)
        continuous = 2 * np.trace(asked @ np.linalg.pinv(weights.T @ weights, rcond=1e-12, hermitian=True) @ asked.T)
        assert total(plan) == pytest.approx(continuous, rel=0.02)
        assert times > 1


@pytest.mark.parametrize("cells", CELLS)
def test_searching_longer_never_ends_worse(cells):
    short, long = (made_once(cells=cells, thorough=t) for t in (False, True))
    assert total(long) <= total(short) * (1 + 1e-9)


@pytest.mark.soak
def test_searching_longer_never_ends_worse_where_rows_drift():
    """Ranges of 56 under Blowfish 5, 0.6: rows drifted to 21,253 and were rounded to nothing (173,345)."""
    metric = dx.metrics.blowfish(np.arange(56.0)[:, None], threshold=5, epsilon=0.6)
    quick, slow = (dx.plan(all_ranges(56), metric, method="matrix", thorough=t) for t in (False, True))
    assert total(slow) <= 165_400 < total(quick)


@pytest.mark.parametrize("cells", CELLS)
def test_a_plan_is_the_same_however_slow_the_machine_is(cells, monkeypatch):
    """A clock that runs a million times too fast changes nothing: nobody looks at it."""
    import time

    usual = made_once(cells=cells, thorough=True)
    now = time.monotonic
    for name in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, name, lambda: now() * 1e6)
    assert of_all_ranges(cells=cells, thorough=True).scales == usual.scales


def test_a_plan_that_was_stopped_says_so():
    metric = dx.metrics.blowfish(np.arange(16.0)[:, None], threshold=3, epsilon=0.6)
    plan = dx.plan(all_ranges(16), metric, method="matrix", seconds=1e-9)
    assert "stopped looking for less noise after 1e-09 s" in plan.about
    assert "stopped" not in dx.plan(all_ranges(16), metric, method="matrix", seconds=600).about
