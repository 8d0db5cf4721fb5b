"""Parts of a loss that share no attribute have each its own worst context: compared with all pairs, in fractions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.by_all_pairs import check, read
from contracts.long_forms import drawn
from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy.queries.asking import gather
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import parts
from dxprivacy.verify.blocks import Table
from dxprivacy.verify.certificate import tightest
from dxprivacy.verify.directions import Along
from dxprivacy.verify.loss import ratio_of
from dxprivacy.verify.parts import separate


@pytest.mark.parametrize("choose", [False, True])
@pytest.mark.parametrize("wide", [2_000, 0])
@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_largest_ratio_is_that_of_all_pairs_in_fractions(choose, wide, rng):
    metric = random_metric(rng, axes=3, plain=True)
    queries = random_queries(rng, metric.universe)
    scales = random_scales(rng, queries.on(metric.universe))
    if rng.random() < 0.2:
        scales[rng.randrange(len(scales))] = 0.0
    with pytest.MonkeyPatch.context() as narrow:
        narrow.setattr(parts, "_WIDE", wide)
        check(*read(queries, metric, scales, choose=choose))


@drawn(st.randoms(use_true_random=False), fast=6, full=40)
def test_tables_of_two_of_four_attributes_with_any_scales_are_exact(rng):
    universe = Universe([Integers(name=f"x{k}", low=0, high=2, has_other=False) for k in range(4)])
    metric = dx.metrics.attributes(universe, {f"x{k}": {"epsilon": 1, "per": k + 1} for k in range(4)})
    asked = [dx.marginals(2), dx.sum_of("x0", by="x1"), dx.sum_of("x2", by=("x1", "x3"))]
    queries = gather(*asked[: rng.randint(1, 3)])
    rows = sum(block.rows for block in queries.on(universe).blocks)
    scales = [math.ldexp(rng.randint(1, 40), rng.randint(-3, 3)) for _ in range(rows)]
    check(*read(queries, metric, scales))


def test_blocks_are_separate_only_where_nothing_but_the_moving_attribute_links_them():
    def table(*axes):
        return Table({a: [0, 1] for a in axes}, {a: [1, 1] for a in axes}, dict.fromkeys(axes, 2))

    ab, ac, cd, ae, alone = table(0, 1), table(0, 2), table(0, 2, 3), table(0, 4), table(0)
    found = separate([[ab], [ac], [cd], [ae], [alone]], 0)
    assert sorted(map(len, found)) == [1, 1, 1, 2]
    assert {frozenset(map(id, blocks)) for blocks in found} >= {frozenset(map(id, (ac, cd)))}
    assert sorted(map(len, separate([[ab, ae], [ac], [cd]], 0))) == [2, 2], "the blocks of a selection stay together"
    assert sorted(map(len, separate([[ab], [ac], [table(1, 2)]], 0))) == [3], "one links two that were apart"


def test_linked_tables_are_not_given_contexts_that_exclude_one_another():
    """Two tables that share x1 are precise beside different values of it: no record is in both places."""
    universe = Universe([Integers(name=f"x{k}", low=0, high=1, has_other=False) for k in range(3)])
    metric = dx.metrics.attributes(universe, {f"x{k}": {"epsilon": 1, "per": 1} for k in range(3)})
    queries = gather(dx.table("x0", "x1"), dx.sum_of("x0", by=("x1", "x2")))
    scales = [1.0, 64.0, 1.0, 64.0, 64.0, 64.0, 1.0, 1.0]
    loss, read_metric = read(queries, metric, scales)
    check(loss, read_metric)
    along = Along(loss, read_metric.axes[0], 0)
    assert len(along.parts()) == 1
    assert along.search().low == Fraction(2) + Fraction(1, 64)


def test_many_attributes_have_few_contexts():
    universe = Universe([Integers(name=f"x{k}", low=0, high=9, has_other=False) for k in range(12)])
    metric = dx.metrics.attributes(universe, {f"x{k}": {"epsilon": 1, "per": 1} for k in range(12)})
    queries = gather(dx.marginals(2))
    scales = [8.0 + k % 7 for k in range(6_600)]
    loss, read_metric = read(queries, metric, scales)
    found = tightest(loss, read_metric)
    assert found.exact
    assert found.pairs <= 12 * 11 * 9 * 10
    assert ratio_of(loss, read_metric, *found.pair)[0] == found.low == found.high
