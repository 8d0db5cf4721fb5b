"""Queries made of several rows, soft tables among them: fast paths against all pairs, in exact fractions."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from contracts.check_workload import check_workload
from contracts.long_forms import drawn
from contracts.oracle_brute import brute
from contracts.random_models import random_derived, random_metric, random_queries, random_scales
from dxprivacy.errors import QueryError
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost
from dxprivacy.privacy.search import generating_pairs
from dxprivacy.privacy.search.max_ratio import largest_loss
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.blocks import Factor, OneHot, SoftTable
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import RowByRow, Workload


def derived(rng, universe):
    asked = random_derived(rng, universe)
    assume(asked is not None)
    try:
        return asked, asked.on(universe)
    except QueryError:  # nothing valid is left, or a single value
        assume(False)


def random_soft(rng, universe) -> Workload:
    """A soft table along one attribute, beside groups with weights of the others."""
    axis = rng.randrange(len(universe.shape))
    parts = rng.randint(1, 4)
    matrix = np.array([[rng.choice([0, 0, 1, 2, -1]) for _ in range(universe.shape[axis])] for _ in range(parts)])
    factors, sizes = {}, {}
    for other in range(len(universe.shape)):
        if other != axis and rng.random() < 0.7:
            many = rng.randint(1, 2)
            groups = np.array([rng.randint(-1, many - 1) for _ in range(universe.shape[other])], dtype=np.int64)
            factors[other] = Factor(groups, np.array([rng.choice([1, 1, 2, -1]) for _ in groups], dtype=np.int64))
            sizes[other] = many
    block = SoftTable(axis, matrix, OneHot(universe, factors, sizes), unit=F(1, 2))
    return Workload(universe, (block,), RowByRow(block.rows, block.unit), ("soft",))


@drawn(st.randoms(use_true_random=False), fast=15, full=150)
def test_soft_tables_are_their_matrices(rng):
    metric = random_metric(rng, axes=rng.randint(1, 3))
    check_workload(random_soft(rng, metric.universe))


@drawn(st.randoms(use_true_random=False), fast=50, full=200)
def test_the_widest_pair_of_a_soft_table_is_that_of_all_pairs(rng):
    universe = random_metric(rng, axes=rng.randint(1, 3)).universe
    workload = random_soft(rng, universe)
    (block,) = workload.blocks
    absent = universe.absent is not None
    weights = np.full(block.rows, 0.5)
    found = block.widest(weights, absent=absent)
    if found is None:  # one group, or groups that weigh differently: nobody says
        return
    cells = np.arange(universe.size, dtype=np.int64)
    i, j = (side.ravel() for side in np.meshgrid(cells, cells))
    assert block.loads(*found, weights).max() == block.loads(i, j, weights).max()
    if block.rows > 1:
        weights[0] = 1.0
        assert block.widest(weights, absent=absent) is None


@drawn(st.randoms(use_true_random=False), fast=10, full=60)
def test_queries_of_several_rows_are_their_matrices(rng):
    metric = random_metric(rng)
    check_workload(derived(rng, metric.universe)[1])


@drawn(st.randoms(use_true_random=False), fast=20, full=200)
def test_max_ratio_of_soft_tables_equals_all_pairs(rng):
    metric = random_metric(rng)
    workload = random_soft(rng, metric.universe) if rng.random() < 0.5 else derived(rng, metric.universe)[1]
    scales = random_scales(rng, workload)
    if rng.random() < 0.1:
        scales[rng.randrange(len(scales))] = 0.0
    for kind in (LaplaceCost, SelectionCost):
        loss = kind(workload, scales)
        bound = max_ratio(loss, metric)
        assert bound.upper == bound.lower == brute(loss, metric)


@drawn(st.randoms(use_true_random=False), fast=10, full=60)
def test_beside_other_queries_and_irrational_distances(rng):
    metric = random_metric(rng, places=True)
    asked, _ = derived(rng, metric.universe)
    workload = Stack((asked, *random_queries(rng, metric.universe).queries)).on(metric.universe)
    loss = LaplaceCost(workload, random_scales(rng, workload))
    bound = max_ratio(loss, metric)
    assert bound.upper == brute(loss, metric)
    assert bound.exact


@drawn(st.randoms(use_true_random=False), fast=15, full=60)
def test_loose_rules_and_largest_losses_are_not_below_the_truth(rng):
    metric = random_metric(rng, axes=3)
    workload = random_soft(rng, metric.universe) if rng.random() < 0.5 else derived(rng, metric.universe)[1]
    loss = LaplaceCost(workload, random_scales(rng, workload))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating_pairs, "MAX_PAIRS", 0)
        patch.setattr(generating_pairs, "_CONSTANT_COLUMNS", 0)
        bound = max_ratio(loss, metric)
    assert bound.upper >= brute(loss, metric) >= bound.lower
    size = metric.universe.size
    cells = np.arange(size)
    most = max(float(loss.pairwise(np.full(size, k), cells).max()) for k in range(size))
    assert largest_loss(loss)[0] >= most * (1 - 1e-12)


@drawn(st.randoms(use_true_random=False), fast=50, full=150)
def test_stronger_values_of_one_kind_show_more_in_every_row(rng):
    """Beside the stronger of two values of one kind, a move along another attribute changes no row by less."""
    metric = random_metric(rng, axes=rng.randint(2, 3))
    universe = metric.universe
    (block,) = random_soft(rng, universe).blocks
    shape = universe.shape
    dense = np.abs(block.dense()[:, : universe.cells].reshape(block.rows, *shape))
    kinds, sizes = block.strengths(block.axis, uniform=False)
    along = np.moveaxis(dense, block.axis + 1, 0).reshape(shape[block.axis], -1)
    for u in range(shape[block.axis]):
        for v in range(shape[block.axis]):
            if sizes[u] == 0:
                assert not along[u].any()
            elif kinds[u] == kinds[v] and sizes[u] <= sizes[v]:
                assert (along[u] <= along[v]).all()


def test_soft_groups_stand_along_one_attribute_beside_others():
    universe = Universe([Integers(name="age", low=0, high=3), Values(name="sex", values=("F", "M"))])
    beside = OneHot(universe, {}, {})
    with pytest.raises(QueryError, match="column for each value"):
        SoftTable(0, np.ones((2, 3), dtype=np.int64), beside)
    sexes = OneHot(universe, {1: Factor(np.array([0, 1, -1]), np.ones(3, dtype=np.int64))}, {1: 2})
    with pytest.raises(QueryError, match="groups of others"):
        SoftTable(1, np.ones((2, 3), dtype=np.int64), sexes)
