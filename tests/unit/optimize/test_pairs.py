"""The pairs that limit the precision: both shapes tell the same, and the same as the pairs one by one."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from contracts.oracle_brute import brute
from dxprivacy.errors import SeparatesIdentical
from dxprivacy.mechanisms.linear.planning.constraints import constraints
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics.metric import all_pairs
from dxprivacy.optimize.pair_constraints import DensePairs, SparsePairs


def both(rng, n=9, k=5, *, complete=True, constant=True):
    """The same pairs in both shapes; a row that never changes, and pairs that some rows do not change along."""
    from scipy.sparse import csr_array

    lines = rng.integers(0, 3, (n, k)).astype(float)
    if constant:
        lines[:, 1] = 2.0
    first, second = np.triu_indices(n, 1)
    if not complete:
        some = rng.permutation(len(first))[: len(first) // 2]
        first, second = first[some], second[some]
    limits = rng.uniform(0.1, 2.0, len(first))
    loads = np.abs(lines[first] - lines[second])
    return SparsePairs(csr_array(loads), limits), DensePairs(lines, first, second, limits), loads / limits[:, None]


@pytest.mark.parametrize("complete", [True, False])
def test_both_shapes_tell_the_same_as_the_pairs_one_by_one(complete):
    rng = np.random.default_rng(11)
    for _ in range(20):
        sparse, dense, rows = both(rng, complete=complete)
        w, room = rng.uniform(0, 1, rows.shape[1]), rng.uniform(0.1, 1, len(rows))
        w[0] = 0.0
        chosen = rng.permutation(len(rows))[:4]
        with np.errstate(divide="ignore"):
            own = np.min(np.where(rows > 0, 1 / rows, np.inf), axis=0)
            left = np.min(np.where(rows > 0, room[:, None] / rows, np.inf), axis=0)
        for pairs in (sparse, dense):
            assert pairs.used(w) == pytest.approx(rows @ w)
            assert pairs.rows(chosen) == pytest.approx(rows[chosen])
            assert pairs.own()[0] == pytest.approx(own)
            assert pairs.own(room)[0] == pytest.approx(left)
            assert pairs.worst(room) == pytest.approx(np.max(np.where(rows > 0, room[:, None], 0), axis=0))
            assert (pairs.touched(chosen) == (rows[chosen] > 0).any(axis=0)).all()
            assert not pairs.touched(chosen[:0]).any()
            limited = np.flatnonzero(np.isfinite(own))
            at = pairs.own()[1][limited]
            assert rows[at, limited] == pytest.approx(1 / own[limited])
            assert pairs.among(limited).used(w[limited]) == pytest.approx(rows[:, limited] @ w[limited])
            assert (pairs.count, pairs.size) == (rows.shape[1], len(rows))
            assert pairs.used(np.zeros(pairs.count)).max() == 0


def test_a_pair_without_limit_asks_for_nothing():
    _, dense, rows = both(np.random.default_rng(2))
    free = replace(dense, limits=np.where(np.arange(dense.size) % 2, np.inf, dense.limits))
    kept = rows * (np.arange(dense.size) % 2 == 0)[:, None]
    assert free.used(np.ones(5)) == pytest.approx(kept.sum(axis=1))
    with np.errstate(divide="ignore"):
        assert free.own()[0] == pytest.approx(1 / kept.max(axis=0))


def test_nothing_left_on_a_pair_leaves_nothing_to_who_changes_along_it():
    for pairs in both(np.random.default_rng(3))[:2]:
        room = np.ones(pairs.size)
        room[0] = 0.0
        own, at = pairs.own(room)
        touched = pairs.touched(np.array([0]))
        assert (own[touched] == 0).all()
        assert (at[touched] == 0).all()
        assert (own[~touched] > 0).all()


def test_matrices_and_ranges_are_dense_and_tables_are_sparse():
    d = dx.metrics.line(12, "0.5")
    shapes = {
        "matrix": (dx.matrix(np.random.default_rng(0).uniform(0, 1, (4, 12))), DensePairs),
        "ranges": (dx.ranges("element"), DensePairs),
        "table": (dx.table("element"), SparsePairs),
    }
    for query, shape in shapes.values():
        system = constraints(query.on(d.universe), d, F(1))
        assert isinstance(system.pairs, shape)
        assert system.by_row


@pytest.mark.parametrize("method", ["optimal", "psa", "fill", "equal-split", "auto"])
@pytest.mark.parametrize("kind", ["euclidean", "line", "infinite", "product", "absent"])
def test_dense_plans_keep_the_policy_on_all_pairs_in_fractions(kind, method):
    rng = np.random.default_rng(8)
    if kind == "euclidean":
        d = dx.metrics.euclidean(rng.uniform(0, 9, (15, 2)), epsilon_per_unit="0.1")
    elif kind == "line":
        d = dx.metrics.line(15, "0.25")
    elif kind == "infinite":
        apart = np.full((15, 15), np.inf)
        apart[:8, :8] = apart[8:, 8:] = 1.0
        np.fill_diagonal(apart, 0)
        d = dx.metrics.from_matrix(apart)
    else:
        u = dx.Universe([dx.Integers(name="age", low=0, high=4), dx.Values(name="sex", values=("M", "F", "X"))])
        d = dx.metrics.attributes(u, {"age": {"epsilon": "0.5", "per": 1}, "sex": 1})
        if kind == "absent":
            d = dx.Policy.parse(
                'title = "T"\ndataset = "t"\nneighbors = "add-remove"\nepsilon_presence = 1\nmax_records = 100\n'
                "[attributes.age]\nintegers = [0, 13]\nepsilon = 0.5\nper = 1\n"
            ).metric
    asked = dx.matrix(rng.uniform(0, 1, (6, d.universe.cells)))
    plan = make_plan(asked, d, method=method)
    assert isinstance(constraints(plan.workload, d, F(1)).pairs, DensePairs)
    assert brute(plan.cost, d) == plan.certificate.ratio <= 1
    assert method == "equal-split" or plan.certificate.ratio > F(99, 100)


def test_dense_rows_that_separate_identical_records_are_refused_and_others_are_not():
    d = dx.metrics.euclidean([[0, 0], [0, 0], [1, 1], [3, 1]], epsilon_per_unit=1)
    fine = make_plan([[1, 1, 0, 5], [2, 2, 1, 0], [0, 0, 3, 4]], d, method="optimal")
    assert brute(fine.cost, d) <= 1
    with pytest.raises(SeparatesIdentical, match="have ε 0"):
        make_plan([[1, 2, 0, 5], [2, 2, 1, 0], [0, 0, 3, 4]], d, method="optimal")


def test_seven_hundred_places_and_a_hundred_rows_are_planned_to_the_optimum():
    rng = np.random.default_rng(741)
    d = dx.metrics.euclidean(rng.uniform(0, 100, (741, 2)), epsilon_per_unit="0.01")
    plan = make_plan(rng.uniform(0, 1, (100, 741)), d)
    assert plan.method == "optimal"
    assert plan.certificate.gap <= 1e-6
    assert sum(len(i) for i, _ in all_pairs(741)) == 274_170
