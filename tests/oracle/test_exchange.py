"""Values that are all equally far apart: the pairs that stand for all against all pairs, in exact fractions."""

import random
from fractions import Fraction

import pytest

from contracts.oracle_brute import brute
from dxprivacy.accounting import covering, max_ratio
from dxprivacy.accounting.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.attributes.integers import Integers
from dxprivacy.attributes.values import Values
from dxprivacy.metrics import AttributeSum, alone
from dxprivacy.model.universe import Universe
from dxprivacy.questions.asking import count, gather, mean_of, sum_of, table


def model(rng):
    """A listed attribute of several values, perhaps with `other` at a distance of its own, beside two others."""
    listed = Values(name="zip", values=tuple(f"z{k}" for k in range(rng.randint(3, 8))), has_other=rng.random() < 0.7)
    sex = Values(name="sex", values=("M", "F"), has_other=rng.random() < 0.5)
    age = Integers(name="age", low=-2, high=3, has_other=rng.random() < 0.5)
    other = Fraction(rng.randint(1, 9), 4) if listed.has_other and rng.random() < 0.5 else None
    axes = [
        alone.discrete(Universe([listed]), Fraction(rng.randint(1, 5), 3), other),
        alone.discrete(Universe([sex]), Fraction(1, 2)),
        alone.stepped(Universe([age]), age, Fraction(1, 5)),
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
    monkeypatch.setattr(covering, "EXCHANGED_FROM", 1)
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


def test_tens_of_thousands_of_values_are_counted_by_a_few_pairs():
    zips = Values(name="zip", values=tuple(f"{k:05d}" for k in range(41_000)))
    sex = Values(name="sex", values=("M", "F"))
    axes = [alone.discrete(Universe([a]), Fraction(1)) for a in (zips, sex)]
    metric = AttributeSum(Universe([zips, sex]), axes)
    workload = gather(table("zip"), table("zip", "sex")).on(metric.universe)
    plan = covering.cover(LaplaceCost(workload, [1.0] * workload.rows), metric)
    assert plan.tight
    assert plan.exchanged == (0,)
    assert plan.size < 100
    assert max_ratio(LaplaceCost(workload, [4.0] * workload.rows), metric).upper == 1
