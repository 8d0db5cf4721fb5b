"""Generators come in blocks: what lies across the end of a block is as protected as everything else."""

from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from contracts.check_metric import pairs_in
from dxprivacy import metrics
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics.closed_forms import LineMetric
from dxprivacy.metrics.metric import BLOCK, all_pairs
from dxprivacy.privacy import sensitivity
from dxprivacy.privacy.search import candidate_pairs
from dxprivacy.queries.asking import count
from dxprivacy.universe.universe import Universe

LONG = 70_000


def scattered(size):
    """A line whose values are not listed in their order, so that neighbors have to be looked up."""
    return LineMetric(Universe.listed(range(size)), [(k * 7919) % size for k in range(size)], F(1))


@pytest.mark.parametrize("threshold", [1, BLOCK - 1, BLOCK, BLOCK + 1, LONG - 1])
def test_a_threshold_at_the_end_of_a_block_of_a_line_needs_as_much_noise_as_any_other(threshold):
    row = (np.arange(LONG) >= threshold).astype(float)
    d = metrics.line(LONG, 1)
    assert sensitivity(row, d).upper == 1
    plan = make_plan([row], d)
    assert plan.scales == (1.0,)


@pytest.mark.parametrize("threshold", [BLOCK - 1, BLOCK, BLOCK + 1])
def test_a_threshold_at_the_end_of_a_block_of_looked_up_neighbors_too(threshold):
    d = scattered(LONG)
    assert sensitivity((d.positions >= threshold).astype(float), d).upper == 1


@pytest.mark.parametrize("threshold", [BLOCK - 1, BLOCK, BLOCK + 1])
def test_a_count_in_a_long_range_of_integers_is_protected_at_the_end_of_a_block(threshold):
    u = Universe([dx.Integers(name="income", low=0, high=LONG - 1)])
    d = metrics.attributes(u, {"income": {"epsilon": 1, "per": 1}})
    assert sensitivity(count(income=(threshold, LONG - 1)), d).upper == 1


@pytest.mark.parametrize("block", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_a_line_in_short_blocks_is_the_same_line(block, size):
    for d in (metrics.line(size, 1), scattered(size)):
        assert sorted(pairs_in(d.generators(block=block))) == sorted(pairs_in(d.generators()))
        assert len(pairs_in(d.generators(block=block))) == size - 1


@pytest.mark.parametrize("block", [1, 3, 4])
def test_all_pairs_in_short_blocks_are_all_pairs(block):
    for size in range(12):
        found = pairs_in(all_pairs(size, block))
        assert sorted(found) == [(i, j) for i in range(size) for j in range(i + 1, size)]


def everyone():
    """One metric of each kind that has generators of its own, or passes on those of others."""
    sex = Universe([dx.Values(name="sex", values=tuple("abcdefg"))])
    with_other = metrics.attributes(sex, {"sex": 1})
    grid = metrics.series_linf([4, 4, 3], 1, per=1)
    two = Universe([dx.Values(name="v", values=tuple("abc")), dx.Integers(name="n", low=0, high=4)])
    product = metrics.attributes(two, {"v": 1, "n": {"epsilon": 1, "per": 1}})
    places = metrics.euclidean([[0, 0], [3, 4], [6, 1], [2, 2], [9, 9]], epsilon_per_unit=1)
    return {
        "constant": metrics.constant(8, 1),
        "graph": metrics.graph([(str(k), str(k + 1), 1) for k in range(9)]),
        "places": places,
        "with other": with_other,
        "grid": grid,
        "product": product,
        "with absent": metrics.with_absent(product, 1, max_records=9),
        "scaled": metrics.scaled(grid, 2),
        "capped": metrics.capped(metrics.line(9, 1), 3),
        "not capped": metrics.capped(metrics.line(9, 1), 30),
        "restricted": metrics.restricted(metrics.line(9, 1), [0, 3, 4, 8]),
        "block-max": metrics.summed(metrics.line(9, 1), metrics.constant(9, 1)),
    }


@pytest.mark.parametrize("kind", everyone())
@pytest.mark.parametrize("block", [1, 2, 3])
def test_no_pair_of_any_metric_is_lost_between_two_blocks(kind, block):
    d = everyone()[kind]
    whole = pairs_in(d.generators())
    assert sorted(pairs_in(d.generators(block=block))) == sorted(set(whole)) == sorted(whole)


def test_moves_in_short_blocks_are_the_same_moves():
    values = ((np.array([0, 1, 2]), np.array([1, 2, 3])), (np.array([0]), np.array([3])))
    move = candidate_pairs.CandidatePairs(0, 100, values, np.arange(11, dtype=np.int64))
    whole = sorted(
        (u * 100 + c, v * 100 + c) for us, vs in values for u, v in zip(us, vs, strict=True) for c in range(11)
    )
    for block in (1, 2, 5, 1000):
        assert sorted(pairs_in(move.pairs(block))) == whole
