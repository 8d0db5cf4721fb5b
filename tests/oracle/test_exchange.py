"""Values that are all equally far apart: the pairs that stand for all against all pairs, in exact fractions."""

import random
from fractions import Fraction

import pytest

from contracts.line_models import towns
from contracts.long_forms import slow
from contracts.oracle_brute import brute
from dxprivacy.errors import BudgetExceeded
from dxprivacy.ledger import Ledger
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics import attribute_metrics
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.privacy.search import generating_pairs
from dxprivacy.queries.asking import count, gather, mean_of, sum_of, table
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


def model(rng):
    """A listed attribute of several values, perhaps with `other` at a distance of its own, beside two others."""
    listed = Values(name="zip", values=tuple(f"z{k}" for k in range(rng.randint(3, 8))), has_other=rng.random() < 0.7)
    sex = Values(name="sex", values=("M", "F"), has_other=rng.random() < 0.5)
    age = Integers(name="age", low=-2, high=3, has_other=rng.random() < 0.5)
    other = Fraction(rng.randint(1, 9), 4) if listed.has_other and rng.random() < 0.5 else None
    axes = [
        attribute_metrics.discrete(Universe([listed]), Fraction(rng.randint(1, 5), 3), other),
        attribute_metrics.discrete(Universe([sex]), Fraction(1, 2)),
        attribute_metrics.stepped(Universe([age]), age, Fraction(1, 5)),
    ]
    return AttributeSum(Universe([listed, sex, age]), axes)


def asked(rng):
    every = [
        table("zip"),
        table("zip", "sex"),
        count(zip=["z0", "z1"]),
        count(zip="z2", sex="F"),
        sum_of("age", by="zip"),
        mean_of("age", by=("zip", "sex")),
        table("sex"),
    ]
    return gather(*rng.sample(every, rng.randint(1, 4)))


@pytest.mark.parametrize("seed", range(80))
def test_pairs_that_stand_for_all_tell_the_largest_ratio(monkeypatch, seed):
    monkeypatch.setattr(generating_pairs, "SYMMETRIC_FROM", 1)
    rng = random.Random(seed)
    metric = model(rng)
    costs = []
    for _ in range(rng.randint(1, 2)):
        workload = asked(rng).on(metric.universe)
        by_block = {b: rng.choice([1.0, 2.0, 3.5]) for b in range(len(workload.blocks))}
        scales = [by_block[b] for b in workload.block_of.tolist()]
        if rng.random() < 0.4:  # and rows of several scales
            scales = [s * rng.choice([1.0, 1.0, 2.0]) for s in scales]
        kind = SelectionCost if rng.random() < 0.2 else LaplaceCost
        costs.append(kind(workload, scales))
    loss = SumCost(metric.universe, costs)
    bound = max_ratio(loss, metric)
    assert bound.upper == brute(loss, metric)
    assert bound.lower == bound.upper


@pytest.mark.parametrize("seed", range(150))
def test_values_with_a_scale_of_their_own_are_pairs_like_any_others(monkeypatch, seed):
    """Two single values in one row of some table were once left out, as if there were nothing to move between."""
    monkeypatch.setattr(generating_pairs, "SYMMETRIC_FROM", 1)
    rng = random.Random(seed)
    metric = model(rng)
    listed = [f"z{k}" for k in range(metric.universe.shape[0] - metric.universe.attributes[0].has_other)]
    several = [count(zip=rng.sample(listed, rng.randint(1, len(listed)))) for _ in range(rng.randint(1, 3))]
    workload = gather(table("zip"), *several, *([table("sex")] if rng.random() < 0.3 else [])).on(metric.universe)
    scales = [rng.choice([1.0, 1.01, 1000.0]) if rng.random() < 0.4 else 1000.0 for _ in range(workload.rows)]
    loss = LaplaceCost(workload, scales)
    assert max_ratio(loss, metric).upper == brute(loss, metric)


@pytest.mark.parametrize("seed", range(60))
def test_ends_in_one_row_do_not_stand_for_those_between_them(monkeypatch, seed):
    """Towns of one height each: the lowest and the highest may be in one state, and others between them not."""
    monkeypatch.setattr(generating_pairs, "SYMMETRIC_FROM", 1)
    rng = random.Random(seed)
    metric, queries = towns(rng)
    workload = queries.on(metric.universe)
    scales = [rng.choice([0.3, 1.0, 20.0]) for _ in workload.blocks]
    loss = LaplaceCost(workload, [scales[b] for b in workload.block_of.tolist()])
    bound = max_ratio(loss, metric)
    assert bound.upper == bound.lower == brute(loss, metric)


@pytest.mark.parametrize("values", [200, slow(1_600)])
def test_four_honest_queries_about_two_of_many_values_do_not_fit_one_budget(values, tmp_path):
    zips = Values(name="zip", values=tuple(f"z{k}" for k in range(values)))
    sex = Values(name="sex", values=("M", "F"))
    axes = [attribute_metrics.discrete(Universe([a]), Fraction(1)) for a in (zips, sex)]
    metric = AttributeSum(Universe([zips, sex]), axes)
    asked = [(table("zip"), "10%"), (count(zip=["z0", "z1"]), "1%"), (count(zip="z0"), "85%"), (count(zip="z1"), "85%")]
    plans = [make_plan(query, metric, budget=budget, method="same-scale") for query, budget in asked]
    with Ledger.open(tmp_path / "l.db", metric, dataset="d", new_ledger=True) as ledger:
        for k, plan in enumerate(plans[:3]):
            ledger.reserve(plan.cost, plan.queries, request=str(k))
        with pytest.raises(BudgetExceeded, match="z0 – z1"):
            ledger.reserve(plans[3].cost, plans[3].queries, request="3")


@pytest.mark.parametrize("values", [3_000, slow(41_000)])
def test_tens_of_thousands_of_values_are_counted_by_a_few_pairs(values):
    zips = Values(name="zip", values=tuple(f"{k:05d}" for k in range(values)))
    sex = Values(name="sex", values=("M", "F"))
    axes = [attribute_metrics.discrete(Universe([a]), Fraction(1)) for a in (zips, sex)]
    metric = AttributeSum(Universe([zips, sex]), axes)
    workload = gather(table("zip"), table("zip", "sex")).on(metric.universe)
    plan = generating_pairs.cover(LaplaceCost(workload, [1.0] * workload.rows), metric)
    assert plan.tight
    assert plan.symmetric == (0,)
    assert plan.size < 100
    assert max_ratio(LaplaceCost(workload, [4.0] * workload.rows), metric).upper == 1
