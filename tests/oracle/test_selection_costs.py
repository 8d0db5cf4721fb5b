"""Losses of selections (the largest row) by structure against all pairs, in exact fractions; alone and in sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.oracle_brute import brute
from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy import metrics
from dxprivacy.errors import NotCertified
from dxprivacy.privacy import largest_loss, max_ratio, sensitivity
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.privacy.search import generating_pairs
from dxprivacy.queries.asking import count, gather, marginals, matrix, prefixes, sum_of, table
from dxprivacy.queries.strategy_rows import Groups, Picked, Tally
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


def _cost(rng, metric, kind):
    workload = random_queries(rng, metric.universe).on(metric.universe)
    return kind(workload, random_scales(rng, workload))


def _some_metric(rng):
    """Of any kind; sometimes the same distance everywhere, sometimes with absence."""
    metric = random_metric(rng, places=rng.random() < 0.3)
    if rng.random() < 0.25:
        metric = metrics.Constant(metric.universe, Fraction(rng.randint(1, 9), 4))
    if rng.random() < 0.2 and metric.universe.absent is None:
        metric = metrics.with_absent(metric, Fraction(rng.randint(5, 9), 4), max_records=99)
    return metric


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([None, 0]))
def test_the_largest_loss_of_a_choice_equals_all_pairs_in_fractions(rng, few):
    """Its blocks together, and (forced by `few`) one by one."""
    metric = _some_metric(rng)
    loss = _cost(rng, metric, SelectionCost)
    if rng.random() < 0.1:
        scales = loss.scales.copy()
        scales[rng.randrange(len(scales))] = 0.0
        loss = SelectionCost(loss.workload, scales)
    with pytest.MonkeyPatch.context() as patch:
        if few is not None:
            patch.setattr(generating_pairs, "_FEW_PAIRS", few)
        bound = max_ratio(loss, metric)
    assert bound.upper == brute(loss, metric)
    if not metric.slack:
        assert bound.lower == bound.upper
    if bound.witness is not None and bound.upper not in (0, math.inf):
        assert loss.exact(*bound.witness) / metric.exact(*bound.witness) == bound.upper


@settings(max_examples=35, deadline=None)
@given(st.randoms(use_true_random=False))
def test_choices_and_noisy_answers_add_up_pair_by_pair(rng):
    metric = _some_metric(rng)
    costs = [_cost(rng, metric, rng.choice([SelectionCost, LaplaceCost])) for _ in range(rng.randint(1, 3))]
    costs += [rng.choice(costs) for _ in range(rng.randint(0, 3))]  # adaptive mechanisms spend the same again and again
    total = SumCost(metric.universe, costs)
    assert max_ratio(total, metric).upper == brute(total, metric)
    i, j = np.array([[rng.randrange(metric.universe.size) for _ in range(5)] for _ in range(2)])
    assert [total.exact(a, b) for a, b in zip(i, j, strict=True)] == [
        sum((c.exact(a, b) for c in costs), Fraction(0)) for a, b in zip(i, j, strict=True)
    ]
    assert np.allclose(total.pairwise(i, j), [float(total.exact(a, b)) for a, b in zip(i, j, strict=True)])


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_where_contexts_are_too_many_the_bound_is_sound_and_says_so(rng):
    metric = random_metric(rng, axes=3) if rng.random() < 0.7 else _some_metric(rng)
    costs = [_cost(rng, metric, kind) for kind in rng.choice([(SelectionCost,), (SelectionCost, LaplaceCost)])]
    loss = SumCost(metric.universe, costs)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MAX_PAIRS", "_CONSTANT_COLUMNS", "_FEW_PAIRS"):
            patch.setattr(generating_pairs, name, 0)
        bound, largest = max_ratio(loss, metric), largest_loss(loss)[0]
    truth = brute(loss, metric)
    assert bound.upper >= truth >= bound.lower
    if bound.upper > truth:
        assert "upper bound" in bound.rule
    plain = brute(loss, metrics.Constant(metric.universe, Fraction(1)))
    assert largest >= float(plain) * (1 - 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_loss_of_a_choice_is_a_pseudometric(rng):
    metric = random_metric(rng)
    loss = _cost(rng, metric, SelectionCost)
    for _ in range(20):
        i, j, k = (rng.randrange(metric.universe.size) for _ in range(3))
        assert loss.exact(i, i) == 0
        assert loss.exact(i, j) == loss.exact(j, i) <= loss.exact(i, k) + loss.exact(k, j)


@settings(max_examples=35, deadline=None)
@given(st.randoms(use_true_random=False))
def test_equal_keys_mean_equal_losses(rng):
    """Also where two rows come so close that floats cannot say which is the larger."""
    metric = random_metric(rng)
    workload = random_queries(rng, metric.universe).on(metric.universe)
    scales = np.array(random_scales(rng, workload))
    if rng.random() < 0.5:
        scales = np.full(workload.rows, 3.0)
        scales[rng.randrange(workload.rows)] = np.nextafter(3.0, rng.choice([0.0, 4.0]))
    loss = SelectionCost(workload, scales)
    n = metric.universe.size
    i, j = (x.astype(np.int64) for x in np.triu_indices(n, 1))
    seen: dict[bytes, Fraction] = {}
    for key, a, b in list(zip(loss.keys(i, j), i.tolist(), j.tolist(), strict=True))[:120]:
        assert seen.setdefault(key.tobytes(), loss.exact(a, b)) == loss.exact(a, b)


SIGNED = Universe([Values(name="a", values=("x", "y", "z"), has_other=False), Integers(name="b", low=0, high=3)])


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize(
    "query",
    [
        Tally((Groups("a", (0, 0, 1), (2, -3, 1)), Groups("b", (0, 1, 1, -1, 0), (1, -2, 5, 7, 1)))),
        Tally((Groups("a", (0, 0, 0), (2, 3, 5)),)),
        Tally((Groups("a", (0, 0, 0), (-2, -3, -5)), Groups("b", (0, 0, 0, 0, 0), (1, 2, 3, 4, 5)))),
        Tally((Groups("a", (0, 2, 2), (1, 1, 1)),)),  # nobody is in the middle group
        Tally((Groups("a", (-1, -1, 0), (1, 1, 1)),)),
        count(),
        prefixes("b"),
        Picked(sum_of("b", by="a"), 1),
        matrix(np.arange(60).reshape(4, 15) % 7 + 2),
        matrix(-1 - np.arange(15)),
    ],
    ids=str,
)
def test_the_ends_of_each_row_are_found(query, absent):
    universe = Universe(SIGNED.attributes, max_records=9 if absent else None)
    (block,) = query.on(universe).blocks
    Q = block.dense()
    low, high = block.ends(absent=absent)
    rows = np.arange(block.rows)
    assert (Q[rows, low] == Q.min(axis=1)).all()
    assert (Q[rows, high] == Q.max(axis=1)).all()
    low, high = block.ends(absent=False)  # also where there is absence, but it is looked at elsewhere
    assert max(low.max(), high.max()) < universe.cells
    present = Q[:, : universe.cells]
    assert ((Q[rows, low], Q[rows, high]) == np.array([present.min(axis=1), present.max(axis=1)])).all()


def test_a_row_that_nobody_leaves_counts_against_absence_and_among_the_present():
    """2 against 5 where d is 1, and 5 against nobody where d is 10: the first decides."""
    universe = Universe([Values(name="a", values=("x", "y"), has_other=False)])
    metric = metrics.with_absent(metrics.Constant(universe, Fraction(1)), 10, max_records=9)
    loss = SelectionCost(Tally((Groups("a", (0, 0), (2, 5)),)).on(metric.universe), [1.0])
    assert max_ratio(loss, metric).upper == 3 == brute(loss, metric)


def test_a_choice_among_all_marginals_of_a_million_cells_is_certified_without_looking_at_them():
    names = "abcdef"
    u = Universe([Values(name=n, values=tuple(map(str, range(10))), has_other=False) for n in names])
    workload = marginals(3).on(u)
    d = metrics.attributes(u, {n: k + 1 for k, n in enumerate(names)})
    alike = SelectionCost(workload, np.full(workload.rows, 4.0))
    assert max_ratio(alike, d).upper == Fraction(1, 4)
    assert max_ratio(alike, metrics.Constant(u, Fraction(2))).upper == Fraction(1, 8)
    assert largest_loss(alike)[0] == pytest.approx(0.25)
    different = SelectionCost(workload, 4.0 + np.arange(workload.rows) % 977)
    assert max_ratio(different, d).upper == Fraction(1, 4)
    bound = max_ratio(SumCost(u, [alike] * 40), d)
    assert (bound.upper, bound.rule) == (10, "one attribute at a time")


def test_the_sensitivity_of_the_largest_row_is_that_of_the_worst_row_alone():
    u = Universe([Integers(name="age", low=0, high=5, has_other=False)])
    d = metrics.Constant(u, Fraction(1, 2))
    asked = gather(table("age"), sum_of("age"), [[0.5, 0, 0, 0, 0, 0.25]])
    alone = max(sensitivity(q, d).upper for q in (table("age"), sum_of("age"), [[0.5, 0, 0, 0, 0, 0.25]]))
    assert sensitivity(asked, d, norm="max").upper == 10
    assert alone == 10
    assert sensitivity(table("age"), d).upper == 4
    assert sensitivity(table("age"), d, norm="max").upper == 2


def test_places_that_only_all_queries_together_tell_apart_are_covered_query_by_query():
    """Together the queries tell all places apart, whose pairs are too many here; each by itself has two groups."""
    rng = np.random.default_rng(3)
    d = metrics.euclidean(rng.uniform(0, 100, (300, 2)), epsilon_per_unit=1)
    halves = [matrix(row) for row in (rng.random((12, 300)) < 0.5).astype(int)]
    workload = gather(*halves).on(d.universe)
    truth = max_ratio(SelectionCost(workload, np.full(12, 2.0)), d)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating_pairs, "MAX_ALL_PAIRS", 10_000)
        patch.setattr(generating_pairs, "_FEW_PAIRS", 1_000)
        alone = max_ratio(SelectionCost(workload, np.full(12, 2.0)), d)
        assert (alone.upper, alone.witness) == (truth.upper, truth.witness)
        with pytest.raises(NotCertified):
            max_ratio(LaplaceCost(workload, np.full(12, 2.0)), d)
