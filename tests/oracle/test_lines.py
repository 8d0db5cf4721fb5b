"""Values on lines: the ends against all pairs, in exact fractions: certificate, worst case, plan."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from contracts.by_all_pairs import read
from contracts.line_models import asked, one_distance_each, towns, universe
from contracts.oracle_brute import brute
from dxprivacy.errors import SeparatesIdentical
from dxprivacy.mechanisms.linear.planning.constraints import constraints
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics import attribute_metrics
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.privacy.search import generating_pairs, worst_case
from dxprivacy.privacy.search.candidate_pairs import spread_bound
from dxprivacy.privacy.search.max_ratio import largest_loss
from dxprivacy.privacy.search.value_classes import ends_of
from dxprivacy.queries.asking import count, gather, mean_of, sum_of, table
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.verify.exchange import never_more as verified_bound


def some_loss(rng, whole):
    costs = []
    for _ in range(rng.randint(1, 2)):
        workload = asked(rng).on(whole)
        scales = [rng.choice([1.0, 2.0, 3.5, 40.0])] * workload.rows
        if rng.random() < 0.6:
            scales = [s * rng.choice([1.0, 0.25, 7.0]) for s in scales]
        kind = SelectionCost if rng.random() < 0.2 else LaplaceCost
        costs.append(kind(workload, scales))
    return SumCost(whole, costs)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_along_attributes_of_one_distance(monkeypatch, seed, symmetric):
    if symmetric:
        monkeypatch.setattr(generating_pairs, "SYMMETRIC_FROM", 1)
    rng = random.Random(f"along {seed}")
    metric = one_distance_each(rng)
    loss = some_loss(rng, metric.universe)
    bound = max_ratio(loss, metric)
    assert bound.upper == bound.lower == brute(loss, metric)


@pytest.mark.parametrize("seed", range(60))
def test_under_one_distance_for_all_records(seed):
    rng = random.Random(f"everywhere {seed}")
    metric = Constant(universe(rng), Fraction(rng.randint(1, 5), 3))
    loss = some_loss(rng, metric.universe)
    bound = max_ratio(loss, metric)
    assert bound.upper == bound.lower == brute(loss, metric)


@pytest.mark.parametrize("seed", range(40))
def test_absence_at_the_same_distance(seed):
    rng = random.Random(f"absent {seed}")
    whole = Universe(universe(rng).attributes, max_records=100)
    everybody = LaplaceCost(count().on(whole), [rng.choice([0.05, 1.0])])  # nothing but presence shows in it
    loss, metric = SumCost(whole, [*some_loss(rng, whole).costs, everybody]), Constant(whole, Fraction(1, 2))
    bound = max_ratio(loss, metric)
    assert bound.upper == bound.lower == brute(loss, metric)


@pytest.mark.parametrize("seed", range(150))
def test_records_that_stand_for_all_under_one_distance(monkeypatch, seed):
    monkeypatch.setattr(generating_pairs, "_FEW_COLUMNS", 1)
    rng = random.Random(f"standing {seed}")
    if seed % 2:
        whole = universe(rng)
        loss = some_loss(rng, whole)
    else:
        metric, queries = towns(rng)
        whole, workload = metric.universe, queries.on(metric.universe)
        scales = [rng.choice([0.3, 1.0, 20.0]) for _ in workload.blocks]
        loss = LaplaceCost(workload, [scales[b] for b in workload.block_of.tolist()])
    metric = Constant(whole, Fraction(rng.randint(1, 5), 3))
    bound = max_ratio(loss, metric)
    truth = brute(loss, metric)
    assert bound.upper == bound.lower == truth


def test_records_stand_for_all_whichever_of_two_attributes_is_at_which_end(monkeypatch):
    """The most is shown between the tallest of group a and the smallest of group b, not between equal ends of both."""
    monkeypatch.setattr(generating_pairs, "_FEW_COLUMNS", 1)
    whole = Universe([Integers(name="height", low=0, high=3, has_other=False), Values(name="g", values=("a", "b"))])
    workload = gather(sum_of("height"), sum_of("height", where={"g": "a"}), count(g="a")).on(whole)
    loss, metric = LaplaceCost(workload, [1.0, 1.0, 1.0]), Constant(whole, Fraction(1))
    bound = max_ratio(loss, metric)
    assert bound.upper == bound.lower == brute(loss, metric) == 7


@pytest.mark.parametrize("seed", range(40))
def test_the_worst_case_where_combinations_are_too_many_for_a_table(monkeypatch, seed):
    rng = random.Random(f"worst {seed}")
    whole = universe(rng)
    loss = some_loss(rng, whole)
    truth = float(brute(loss, Constant(whole, Fraction(1))))
    monkeypatch.setattr(worst_case, "MOST_COMBINATIONS", 1)
    assert largest_loss(loss)[0] == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_planned_on_the_ends_holds_everywhere(seed):
    """The systems that planning solves: random precisions that keep to the ends' pairs keep to all."""
    rng = random.Random(f"plan {seed}")
    metric = one_distance_each(rng)
    workload = asked(rng).on(metric.universe)
    system = constraints(workload, metric, Fraction(1))
    assert system is not None
    for _ in range(5):
        w = np.array([rng.random() * rng.choice([0.01, 1, 5]) for _ in range(system.count)])
        used = float(system.pairs.used(w).max())
        scales = (1 / w)[system.variable] * used
        assert float(brute(LaplaceCost(workload, scales), metric)) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_ends_are_what_no_two_others_have_between_them(seed):
    """Every point that is left out lies straight between two of its kind that are kept."""
    rng = random.Random(f"ends {seed}")
    many, width = rng.randint(1, 60), rng.randint(1, 3)
    size = rng.choice([2, 5, 2**50])
    x = [rng.randint(-size, size) for _ in range(many)]
    bends = [[min(v, rng.choice([0, size // 2])) for v in x] for _ in range(width - 1)]
    kinds = np.array([rng.randint(0, 2) for _ in range(many)])
    numbers = [np.array(column, dtype=np.int64) for column in (x, *bends)]
    kept = ends_of(kinds, numbers).tolist()
    points = list(zip(kinds.tolist(), *(column.tolist() for column in numbers), strict=True))
    remaining = {points[k] for k in kept}
    assert len(remaining) == len(kept)
    for point in set(points) - remaining:
        assert any(_between(point, a, b) for a in remaining for b in remaining if a[0] == b[0] == point[0])


def _between(point, a, b):
    """Whether a point is a + t (b - a) for some t from 0 to 1."""
    steps = [(y - x, z - x) for x, y, z in zip(a, b, point, strict=True)]
    parts = {Fraction(there, whole) for whole, there in steps if whole}
    return len(parts) == 1 and all(not there for whole, there in steps if not whole) and 0 <= parts.pop() <= 1


@pytest.mark.parametrize("seed", range(80))
def test_a_bound_on_what_any_two_records_show_is_that_of_the_verifier(seed):
    rng = random.Random(f"never more {seed}")
    metric, queries = towns(rng) if seed % 2 else (one_distance_each(rng), asked(rng))
    workload = queries.on(metric.universe)
    scales = [rng.choice([0.3, 1.0, 20.0]) for _ in workload.blocks]
    each = [scales[b] for b in workload.block_of.tolist()]
    loss, plain = LaplaceCost(workload, each), Constant(metric.universe, Fraction(1))
    bound = spread_bound(loss.terms, metric.universe)
    assert bound is not None
    assert bound >= float(brute(loss, plain)) * (1 - 1e-12)
    assert bound == pytest.approx(float(verified_bound(read(queries, metric, each)[0])), rel=1e-12)


def test_values_at_no_distance_stay_so_where_all_others_are_public(monkeypatch):
    """Distances 0 and infinity alone, and too many pairs: there is no closest pair, and yet no noise is enough."""
    monkeypatch.setattr(generating_pairs, "MAX_PAIRS_OF_ATTRIBUTE", 3)
    town, sex = Values(name="town", values=tuple("abcde")), Values(name="sex", values=("M", "F"))
    axes = [
        attribute_metrics.discrete(Universe([town]), Fraction(0), math.inf),
        attribute_metrics.discrete(Universe([sex]), Fraction(1)),
    ]
    metric = AttributeSum(Universe([town, sex]), axes)
    for query in (table("town"), count(town="a"), table("town", "sex")):
        loss = LaplaceCost(query.on(metric.universe), np.ones(query.on(metric.universe).rows))
        bound = max_ratio(loss, metric)
        assert bound.upper == math.inf == brute(loss, metric)
        assert bound.witness is not None
        assert metric.exact(*bound.witness) == 0 < loss.exact(*bound.witness)
    with pytest.raises(SeparatesIdentical, match="have ε 0"):
        make_plan(table("town"), metric)
    assert max_ratio(LaplaceCost(table("sex").on(metric.universe), [2.0, 2.0]), metric).upper == 1


def test_of_thousands_of_groups_two_stand_for_all_under_standard_dp():
    """A mean by each of 4,043 aircraft: sums and counts get the noise that is best for means, not one scale."""
    tail = Values(name="tail", values=tuple(f"t{k}" for k in range(4_043)))
    delay = Integers(name="delay", low=-60, high=360)
    whole = Universe([delay, tail])
    workload = mean_of("delay", by="tail").on(whole)
    metric = Constant(whole, Fraction(1))
    sums, counts = (b.rows for b in workload.blocks)
    loss = LaplaceCost(workload, [2.0] * sums + [5.0] * counts)
    assert max_ratio(loss, metric).upper == 2 * (Fraction(workload.blocks[0].largest, 2) + Fraction(1, 5))
    system = constraints(workload, metric, Fraction(1))
    assert system is not None
    assert system.count == 2
