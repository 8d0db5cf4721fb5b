"""What is left for a pair: the reduced graph against Floyd-Warshall over all records, in exact fractions."""

import itertools
import math
import random
from fractions import Fraction as F

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn, slow
from contracts.methods import standard_plan
from contracts.random_models import random_metric, random_queries, random_scales, rational
from dxprivacy.errors import QueryError, SeparatesIdentical
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.ledger_budget import bracket
from dxprivacy.ledger.leftover import Leftover
from dxprivacy.metrics import attribute_metrics, with_absent
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.queries.asking import gather
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


def closure(spent, metric):
    """Floyd-Warshall of d - spent, in whole numbers over a common denominator."""
    n = metric.universe.size
    left = [[F(0)] * n for _ in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        d = metric.exact(i, j)
        left[i][j] = left[j][i] = math.inf if d == math.inf else d - spent.exact(i, j)
    common = math.lcm(*(x.denominator for row in left for x in row if x != math.inf))
    whole = [[x if x == math.inf else int(x * common) for x in row] for row in left]
    for k in range(n):
        for i in range(n):
            step = whole[i][k]
            if step != math.inf:  # infinity and a whole number beyond all floats cannot be added
                way = [y if y == math.inf else step + y for y in whole[k]]
                whole[i] = [min(x, y) for x, y in zip(whole[i], way, strict=True)]
    return [[x if x == math.inf else F(x, common) for x in row] for row in whole]


def compare(spent, metric, rng=None):
    truth, leftover, n = closure(spent, metric), Leftover(spent, metric), metric.universe.size
    pairs = list(itertools.combinations(range(n), 2))
    for i, j in pairs if rng is None or len(pairs) < 60 else rng.sample(pairs, 60):
        way = leftover.between(i, j)
        assert way.left == pytest.approx(float(truth[i][j]), abs=1e-9)
        assert (way.cells[0], way.cells[-1]) == (i, j)
        if math.isfinite(way.left):  # the way it names is one
            steps = itertools.pairwise(way.cells)
            length = sum((metric.exact(a, b) - spent.exact(a, b) for a, b in steps), F(0))
            assert float(length) == pytest.approx(way.left, abs=1e-9)
        detour = leftover.detour(way)
        direct = metric.exact(i, j) - spent.exact(i, j) if metric.exact(i, j) != math.inf else math.inf
        if detour is None:
            assert way.left == pytest.approx(float(direct), abs=1e-9)
        else:
            assert way.left < direct
            assert detour in way.cells[1:-1]


def long_metric(rng):
    """Longer lines and more values than the common random models have: there is something to leave out."""
    attributes, parts = [], []
    for k in range(rng.randint(1, 2)):
        other = F(rng.randint(1, 9), 4) if rng.random() < 0.3 else None
        has_other = rng.random() < 0.8
        if rng.random() < 0.5:
            attribute = Integers(name=f"a{k}", low=0, high=rng.randint(3, 9), has_other=has_other)
            part = attribute_metrics.stepped(Universe([attribute]), attribute, rational(rng, zero=0.02), other)
        else:
            texts = tuple("PQRSTU"[: rng.randint(2, 6)])
            attribute = Values(name=f"a{k}", values=texts, has_other=has_other)
            universe = Universe([attribute])
            if rng.random() < 0.5:
                part = attribute_metrics.discrete(universe, rational(rng), other)
            else:
                part = attribute_metrics.valued(universe, attribute, {t: rational(rng) for t in texts}, other)
        attributes.append(attribute)
        parts.append(part)
    universe = Universe(attributes)
    draw = rng.random()
    if draw < 0.1:
        return Constant(universe, F(rng.randint(1, 9), 4))
    if len(parts) == 1:
        return parts[0]
    return (AttributeMax if draw < 0.3 else AttributeSum)(universe, parts)


@drawn(st.randoms(use_true_random=False), fast=6, full=25, suppress=[HealthCheck.too_slow])
def test_what_is_left_is_the_closure_for_random_metrics_and_queries(rng):
    check_left(rng)


@pytest.mark.soak
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_what_is_left_is_the_closure_for_many_random_metrics_and_queries(rng):
    check_left(rng)


def check_left(rng):
    metric = long_metric(rng) if rng.random() < 0.7 else random_metric(rng, axes=2)
    if rng.random() < 0.2 and metric.universe.absent is None:
        metric = with_absent(metric, rational(rng, zero=0, infinite=0), max_records=99)
    if metric.universe.size > 60:
        return
    try:
        plans = [
            standard_plan(random_queries(rng, metric.universe), metric, n_records=9, budget=F(rng.randint(1, 5), 10))
            for _ in range(rng.randint(1, 2))
        ]
    except SeparatesIdentical:
        return
    costs = [p.cost for p in plans]
    costs = [
        c if rng.random() < 0.6 else SelectionCost(c.workload, c.scales) for c in costs
    ]  # a selection loses no more
    compare(SumCost(metric.universe, costs), metric, rng)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_scales_of_every_row_its_own_change_nothing_about_that(rng):
    metric = long_metric(rng)
    workload = random_queries(rng, metric.universe).on(metric.universe)
    kind = rng.choice([LaplaceCost, SelectionCost])
    cost = kind(workload, random_scales(rng, workload))
    if metric.universe.size > 60 or metric.identical or metric.has_infinite:
        return

    scale = float(max_ratio(cost, metric).upper) or 1.0
    compare(SumCost(metric.universe, [kind(workload, cost.scales * scale * 1.01)]), metric, rng)


@pytest.mark.parametrize(("regions", "towns"), [(20, 150), slow(100, 990)])
def test_of_a_table_hardly_any_value_is_needed(regions, towns):
    region = Values(name="region", values=tuple(f"r{k}" for k in range(regions)))
    town = Values(name="town", values=tuple(f"t{k}" for k in range(towns)))
    u = Universe([region, town])
    d = dx.metrics.attributes(u, {"region": 1, "town": 2})
    plan = standard_plan("table region by town", d, budget="50%")
    leftover = Leftover(SumCost(u, [plan.cost]), d)
    assert leftover.between(0, 5).left == pytest.approx(float(d.exact(0, 5) - plan.cost.exact(0, 5)))
    assert leftover.between(0, (towns + 1) * 3 + 5).left == pytest.approx(2.0)  # two moves, half of each used
    assert all(len(graph.nodes) < 50 for graph in leftover._graphs.values())


def test_a_graph_is_prepared_once_for_many_queries():
    d = dx.metrics.line(50, 1)
    spent = SumCost(d.universe, [standard_plan("count where element=7", d, budget="50%").cost])
    leftover = Leftover(spent, d)
    first = leftover.between(3, 20)
    graphs = dict(leftover._graphs)
    assert leftover.between(3, 20) == first
    assert leftover._graphs == graphs


def test_the_ledger_names_the_record_over_which_less_is_left(tmp_path):
    u = Universe([Integers(name="age", low=0, high=9, has_other=False)])
    d = dx.metrics.attributes(u, {"age": {"epsilon": 1, "per": 1}})
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        plan = standard_plan("count where age=5", d)
        ledger.reserve(plan.cost, plan.queries, request="a")
        told = ledger.between({"age": 4}, {"age": 6})
        assert (told.allowed, told.spent, told.left, told.by_way_of) == (2.0, 0.0, 0.0, "age 5")
        near = ledger.between({"age": 1}, {"age": 3})
        assert (near.left, near.by_way_of) == (2.0, None)
        direct = ledger.between({"age": 4}, {"age": 5})
        assert (direct.left, direct.by_way_of) == (0.0, None)
        assert ledger.remaining(4, 6) == 0


def test_too_many_linked_records_are_refused_and_not_guessed():
    names = [f"a{k}" for k in range(5)]
    u = Universe([Integers(name=n, low=0, high=9) for n in names])
    d = dx.metrics.attributes(u, {n: {"epsilon": 1, "per": 1} for n in names})
    workload = gather(dx.table(*names)).on(u)
    spent = SumCost(u, [LaplaceCost(workload, [4.0] * workload.rows)])
    with pytest.raises(QueryError, match="more than can be searched"):
        Leftover(spent, d).between(0, u.size - 1)


@pytest.mark.parametrize("seed", range(40))
def test_where_it_is_not_searched_what_is_left_lies_in_its_bracket(seed):
    rng = random.Random(seed)
    d = random_metric(rng, plain=True)
    if d.universe.size < 2:
        return
    workload = random_queries(rng, d.universe).on(d.universe)
    cost = LaplaceCost(workload, random_scales(rng, workload))
    part = max_ratio(cost, d).upper
    if part in (0, math.inf):
        return
    spent = SumCost(
        d.universe, [LaplaceCost(workload, [s * float(part) * rng.choice([1.01, 2, 5]) for s in cost.scales])]
    )
    leftover = Leftover(spent, d)
    for _ in range(10):
        i, j = rng.sample(range(d.universe.size), 2)
        low, high = bracket(spent, d, [(i, j)])
        assert low * (1 - 1e-9) <= leftover.between(i, j).left <= high * (1 + 1e-9) + 1e-12


def test_a_way_may_lead_through_a_line_on_which_no_value_is_told_from_another():
    age, sex = Integers(name="age", low=0, high=3), Values(name="sex", values=("M", "F"), has_other=False)
    near = attribute_metrics.stepped(Universe([age]), age, F(1, 20), F(1, 10))
    d = AttributeSum(Universe([age, sex]), [near, attribute_metrics.discrete(Universe([sex]), F(1), None)])
    spent = SumCost(d.universe, [LaplaceCost(gather("count by sex where age=0..3").on(d.universe), [10.0, 10.0])])
    other_m, other_f = (int(x) for x in d.universe.index([{"age": "x", "sex": s} for s in "MF"]))
    assert Leftover(spent, d).between(other_m, other_f).left == pytest.approx(0.8)  # directly 1
    compare(spent, d)


def test_presence_is_searched_with_all_attributes_together():
    region = Values(name="region", values=tuple(f"r{k}" for k in range(40)))
    age = Integers(name="age", low=0, high=99)
    base = dx.metrics.attributes(Universe([region, age]), {"region": 1, "age": {"epsilon": 1, "per": 10}})
    d = dx.metrics.with_absent(base, 3, max_records=1000)
    u = d.universe
    spent = SumCost(u, [standard_plan(["table region by age/10", "count"], d, budget="50%").cost])
    leftover = Leftover(spent, d)
    assert 0 < leftover.between(7, u.absent).left <= float(d.exact(7, u.absent) - spent.exact(7, u.absent)) + 1e-9
    far = leftover.between(0, u.cells - 2)
    assert far.left <= leftover.between(0, u.absent).left + leftover.between(u.absent, u.cells - 2).left + 1e-9
    assert all(len(graph.nodes) < 500 for graph in leftover._graphs.values())


def test_a_value_whose_presence_shows_more_is_not_left_out_for_one_whose_presence_shows_less():
    u = Universe([Values(name="v", values=tuple("abyx"), has_other=False)])
    base = dx.metrics.from_matrix([[0, 1, 0.6, 0.6], [1, 0, 0.6, 0.6], [0.6, 0.6, 0, 1], [0.6, 0.6, 1, 0]], universe=u)
    d = dx.metrics.with_absent(base, 1, max_records=9)
    spent = SumCost(d.universe, [LaplaceCost(gather([[1, 1, 0, 2]]).on(d.universe), [2.0])])
    assert Leftover(spent, d).between(0, d.universe.absent).left == pytest.approx(0.1)  # over x; directly 0.5
    compare(spent, d)
