"""Where pairs are too many: one scale for each table, from what tables need by themselves along each attribute."""

import random
from fractions import Fraction

import numpy as np
import pytest

from contracts.line_models import asked, one_distance_each
from contracts.oracle_brute import brute
from dxprivacy.mechanisms.linear.planning.constraints import constraints, constraints_by_direction
from dxprivacy.mechanisms.linear.planning.planner import make_plan, prepare
from dxprivacy.metrics import attributes, with_absent
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.search import generating_pairs
from dxprivacy.queries.asking import count, gather, mean_of, sum_of, table
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


@pytest.mark.parametrize("seed", range(40))
def test_what_keeps_to_the_directions_keeps_to_all_pairs(seed):
    rng = random.Random(f"directions {seed}")
    metric = one_distance_each(rng)
    metric = with_absent(metric, Fraction(rng.randint(1, 8), 3), max_records=100) if rng.random() < 0.4 else metric
    workload = asked(rng).on(metric.universe)
    system = constraints_by_direction(workload, metric, Fraction(1))
    w = np.array([rng.random() * rng.choice([0.01, 1, 5]) for _ in range(system.count)])
    scales = (1 / w)[system.variable] * float(system.pairs.used(w).max())
    assert float(brute(LaplaceCost(workload, scales), metric)) <= 1 + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_its_plans_are_certified_and_not_better_than_the_best(seed):
    rng = random.Random(f"certified {seed}")
    metric = one_distance_each(rng)
    queries = gather(asked(rng), table("g"))
    plan = make_plan(queries, metric, n_records=1_000, method="by-table")
    best = make_plan(queries, metric, n_records=1_000, method="optimal")
    assert plan.certificate.ratio <= 1
    assert brute(plan.cost, metric) <= 1
    _, task = prepare(queries, metric, n_records=1_000)
    assert task.objective_of(plan.scales) >= task.objective_of(best.scales) * (1 - 1e-6)


def test_facts_of_very_many_values_do_not_ruin_one_another():
    """No two of 7,000 places stand for all, so pairs are too many; one scale for everything would be hopeless."""
    rng = random.Random(3)
    facts = (
        Property("people", tuple(str(rng.randint(0, 5_000_000)) for _ in range(7_000))),
        Property("height", tuple(str(rng.randint(0, 5_000)) for _ in range(7_000))),
    )
    place = Values(name="place", values=tuple(f"p{k}" for k in range(7_000)), facts=facts)
    g = Values(name="g", values=("a", "b"))
    metric = attributes(Universe([place, g]), {"place": 5, "g": 1})
    queries = gather(mean_of("place.people"), mean_of("place.height"), table("place.height"), table("g"))
    one, by_table, auto = (
        make_plan(queries, metric, n_records=100_000, method=method) for method in ("same-scale", "by-table", "auto")
    )
    assert by_table.errors[1].half_width * 100 < one.errors[1].half_width
    assert auto.errors[1].rmse <= by_table.errors[1].rmse * (1 + 1e-6)
    alone = make_plan(table("g"), metric, n_records=100_000, method="optimal")
    assert by_table.errors[-1].half_width == alone.errors[-1].half_width  # nothing else moves along g


@pytest.mark.parametrize("absent", [False, True])
def test_everybody_is_counted_beside_a_large_table(absent):
    """A row that looks at no attribute has none that could be exchanged."""
    place, sex = (
        Values(name="place", values=tuple(f"p{k}" for k in range(1_600))),
        Values(name="sex", values=("M", "F")),
    )
    metric = attributes(Universe([place, sex]), {"place": 1, "sex": 1})
    metric = with_absent(metric, 1, max_records=10_000) if absent else metric
    plan = make_plan(gather(count(), table("place", "sex")), metric, n_records=None if absent else 300)
    assert plan.certificate.ratio <= 1
    assert (plan.scales[0] > 0) is absent


@pytest.mark.parametrize("seed", range(30))
def test_where_records_may_be_absent_one_variable_stands_for_all_rows_that_one_record_stands_for(monkeypatch, seed):
    """Too many records to look at the presence of each: those of the same weights are alike, so their rows must be."""
    monkeypatch.setattr(generating_pairs, "MAX_PAIRS", 1)
    rng = random.Random(f"presence {seed}")
    names = tuple("abcd"[: rng.randint(2, 4)])
    facts = [Property("height", tuple(str(rng.randint(1, 3)) for _ in names))]
    facts += [Property(fact, tuple(rng.choice(["x", "y"]) for _ in names)) for fact in ("state", "river")]
    town = Values(name="town", values=names, facts=tuple(facts), has_other=False)
    metric = with_absent(Constant(Universe([town]), Fraction(3, 4)), Fraction(1, 2), max_records=100)
    workload = gather(table("town.state"), sum_of("town.height", by="town.river")).on(metric.universe)
    system = constraints(workload, metric, Fraction(1))
    for _ in range(20 if system is not None else 0):
        w = np.array([rng.choice([0.001, 1, rng.random(), 10]) for _ in range(system.count)])
        scales = (1 / w)[system.variable] * float(system.pairs.used(w).max())
        assert float(brute(LaplaceCost(workload, scales), metric)) <= 1 + 1e-9
