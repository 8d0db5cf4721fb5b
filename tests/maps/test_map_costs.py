"""What maps cost is never less than what any pair of records loses, in exact fractions; and is verified."""

import json
import math
import random
import tracemalloc
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from map_models import random_maps, random_policy

import dxprivacy as dx
from contracts.long_forms import mostly_slow, slow
from dxprivacy import metrics
from dxprivacy.errors import DxError, NotCertified, QueryError, SeparatesIdentical, TooLarge
from dxprivacy.exact.normal import below
from dxprivacy.ledger.leftover import Leftover
from dxprivacy.mechanisms.linear.planning.method_comparison import compare_methods
from dxprivacy.mechanisms.linear.planning.planner import make_plan, prepare
from dxprivacy.metrics.attribute_metrics import discrete
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.place_metrics import PLACES, Euclidean
from dxprivacy.privacy import map_costs, max_ratio
from dxprivacy.privacy.costs import SumCost
from dxprivacy.privacy.proportional_costs import laplace_cost
from dxprivacy.privacy.proportional_loss import ProportionalLoss
from dxprivacy.privacy.search.value_classes import restricted_to
from dxprivacy.queries.asking import gather
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import reading, verify_data
from dxprivacy.verify.queries import ask
from dxprivacy.verify.universe import Universe as Read
from ledger.spendable import require_spendable

REFUSED = (QueryError, SeparatesIdentical, TooLarge)


def losses(plan):
    """Every pair of records with its distance and its loss: all differences, added up by scale, then as fractions."""
    metric = plan.metric
    scales, group = np.unique(np.array(plan.scales), return_inverse=True)
    order = np.argsort(group, kind="stable")
    columns = plan.counted.columns(np.arange(metric.universe.size))[order]
    starts = np.searchsorted(group[order], np.arange(len(scales)))
    inverse = [1 / F(s) if s else math.inf for s in scales.tolist()]
    for i in range(1, metric.universe.size):
        apart = np.add.reduceat(np.abs(columns[:, i : i + 1] - columns[:, :i]), starts, axis=0)
        for j, amounts in enumerate(apart.T.tolist()):
            loss = sum((a * x for a, x in zip(amounts, inverse, strict=True) if a), F(0))
            yield i, j, metric.exact(i, j), loss


def check_all_pairs(seed: int, *, two: bool = False) -> float | None:
    rng = random.Random(seed)
    metric, length = random_policy(rng, two=two)
    budget = F(rng.randint(1, 10), 10)
    try:
        plan = make_plan(gather(*random_maps(rng, metric, length)), metric, n_records=100, budget=budget)
    except REFUSED:
        return None
    tightest = F(0)
    i, j = np.tril_indices(metric.universe.size, -1)
    near = iter(plan.cost.pairwise(i, j).tolist())
    for i, j, allowed, loss in losses(plan):
        about = next(near)
        assert loss == math.inf or float(loss) <= plan.worst_epsilon * (1 + 1e-9)
        if allowed < math.inf:
            assert loss <= allowed * budget
            stated = plan.cost.exact(i, j)
            assert loss <= stated
            assert abs(about - float(stated)) <= max(1e-9 * float(stated), 1e-12)
            tightest = max(tightest, F(loss) / F(allowed) / budget) if allowed else tightest
    assert max_ratio(plan.cost, metric).upper <= budget
    assert [c.name for c in verify_data(json.loads(json.dumps(plan.to_dict())))][-1] == "worst case"
    return float(tightest)


@pytest.mark.parametrize("start", mostly_slow(range(0, 160, 20), [80]))
def test_no_pair_loses_more_than_a_map_is_charged_for_and_it_is_verified(start):
    found = [x for seed in range(start, start + 20) if (x := check_all_pairs(seed)) is not None]
    assert len(found) >= 10
    assert np.median(found) > 0.7  # and not much less: it is no wild bound


@pytest.mark.parametrize(("start", "number"), [(0, 2), *(slow(start, 15) for start in range(0, 60, 15))])
def test_no_pair_loses_more_than_two_maps_are_charged_for_and_they_are_verified(start, number):
    """Homes and works, whose distances add up or of which the larger one counts."""
    found = [x for seed in range(start, start + number) if (x := check_all_pairs(seed, two=True)) is not None]
    assert len(found) >= number // 2 + (number > 2)
    assert np.median(found) > 0.6


@pytest.mark.parametrize("seed", [1515])
def test_a_map_of_one_region_tells_nothing_and_is_verified(seed):
    """All places count alike in it, by a little more than one: what is rounded up in many cells adds up."""
    assert check_all_pairs(seed) == 0.0


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 7_000, 200))
def test_no_pair_of_many_models_loses_more_than_a_map_is_charged_for(start):
    for seed in range(start, start + 200):
        check_all_pairs(seed, two=seed % 4 == 0)


TWO = """
title = "t"
dataset = "d"
[attributes.home]
grid = 5
box = [0, 0, 10, 10]
coordinates = ["x", "y"]
epsilon = 0.1
per = 1
[attributes.work]
grid = 5
box = [0, 0, 10, 10]
coordinates = ["u", "v"]
epsilon = 0.1
per = 1
[combine]
how = "max"
"""
MAPS_OF_TWO = ["density home width 5 every 5", "density work width 5 every 5"]


def test_two_maps_take_twice_as_much_where_the_larger_distance_counts(monkeypatch):
    """Whoever moves in both counts in both maps: the verifier accepts the sum and refuses half of the noise."""
    metric = dx.Policy.parse(TWO).metric
    honest = dx.plan(MAPS_OF_TWO, metric, n_records=100)
    assert max(loss / allowed for _, _, allowed, loss in losses(honest)) == pytest.approx(1)
    data = json.loads(json.dumps(honest.to_dict()))
    assert [c.name for c in verify_data(data)][-1] == "worst case"

    def half(block, metric, whole=map_costs.unit_part):
        part = whole(block, metric)
        return ProportionalLoss(part.everywhere / 2, {axis: x / 2 for axis, x in part.along.items()})

    monkeypatch.setattr(map_costs, "unit_part", half)
    forged = dx.plan(MAPS_OF_TWO, metric, n_records=100)
    assert max(loss / allowed for _, _, allowed, loss in losses(forged)) == pytest.approx(2)
    with pytest.raises(DxError, match="told apart by 2 of its distance"):
        list(verify_data(json.loads(json.dumps(forged.to_dict()))))


GRID = """
title = "t"
dataset = "d"
[attributes.home]
grid = "10 km"
box = [47, 10, 48, 12]
coordinates = ["lat", "lon"]
epsilon = 0.01
per = "1 km"
[attributes.sex]
values = ["F", "M"]
epsilon = 1
"""


def test_attributes_that_add_up_are_charged_each_for_itself():
    """A map tells nothing about sexes, so that counts of these get all of the policy beside it."""
    metric = dx.Policy.parse(GRID).metric
    beside = dx.plan(["density home width 20 km", "count by sex"], metric, n_records=1000)
    assert beside.scales[-2:] == pytest.approx([2.0, 2.0])
    assert beside.scales[0] == pytest.approx(dx.plan("density home width 20 km", metric, n_records=1000).scales[0])
    assert not beside.cost.proportional_loss.everywhere
    assert set(beside.cost.proportional_loss.along) == {0}


def test_costs_of_several_maps_add_up_in_a_ledger(tmp_path):
    data = pd.DataFrame({"lat": [47.1, 47.2, 47.9], "lon": [10.1, 11.9, 11.0], "sex": ["F", "M", "F"]})
    with dx.Session(dx.Policy.parse(GRID), data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        session.release(session.plan("density home width 20 km", budget="40%"), anyway=True)
        session.release(session.plan("count by home", budget="20%"), anyway=True)
        session.release(session.plan("density home width 40 km", budget="40%"), anyway=True)
        session.release(session.plan("count by sex", budget="100%"), anyway=True)  # of which nothing is spent
        with pytest.raises(dx.errors.BudgetExceeded):
            session.release(session.plan("density home width 20 km", budget="10%"), anyway=True)


def test_scales_of_cells_that_differ_are_charged_by_the_smallest():
    """Whoever makes the noise of one cell smaller pays for it as if all had so little."""
    metric = dx.Policy.parse(GRID).metric
    plan = dx.plan("density home width 20 km", metric, n_records=1000)
    scales = np.array(plan.scales)
    scales[len(scales) // 2] /= 2
    assert float(max_ratio(laplace_cost(plan.counted, scales, metric), metric).upper) == pytest.approx(2, rel=1e-6)
    scales[len(scales) // 2] = 0
    assert max_ratio(laplace_cost(plan.counted, scales, metric), metric).upper == math.inf


def test_attributes_beside_a_map_are_looked_at_too():
    metric = dx.Policy.parse(GRID).metric
    workload = gather("density home width 20 km", "count by sex").on(metric.universe)
    scales = [2.0**60] * (workload.rows - 2) + [0.1, 0.1]
    assert float(max_ratio(laplace_cost(workload, scales, metric), metric).upper) == pytest.approx(20)


def test_a_metric_of_other_places_is_refused():
    """Distances must be those of the places that the map shows: a policy cannot pretend that they are far apart."""
    shown = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]])
    universe = Universe([Points(name="home", ids=("a", "b", "c"), coordinates=shown, has_other=False)])
    with pytest.raises(NotCertified, match="needs distances between its places"):
        make_plan(gather("density home width 1"), Euclidean(universe, shown * 1000, F(1)), n_records=10)


def test_a_metric_along_some_attributes_asks_nothing_about_others():
    rng = random.Random(3)
    metric, _ = random_policy(rng)
    while metric.axes is None or len(metric.axes) < 2:
        metric, _ = random_policy(rng)
    parts = [restricted_to(metric, (axis,)) for axis in range(len(metric.axes))]
    workload = gather("count").on(metric.universe)
    assert all(laplace_cost(workload, [1.0], metric).universe == part.universe for part in parts)
    size = metric.universe.size
    for i in range(size):
        for j in range(i):
            finite = [part.exact(i, j) for part in parts if part.exact(i, j) < math.inf]
            assert all(d == metric.exact(i, j) for d in finite)


def places_alone(rows, per="1", kind="euclidean", **how):
    coordinates = np.array(rows, dtype=np.float64)
    ids = tuple(f"p{k}" for k in range(len(rows)))
    home = Points(name="home", ids=ids, coordinates=coordinates, has_other=False, **how)
    return PLACES[kind](Universe([home]), coordinates, F(per))


@pytest.mark.parametrize("far", [1e6, 1e9, 1e15])
@pytest.mark.parametrize("edge", [0.0, 1.0])
def test_a_map_far_larger_than_its_width_counts_what_lies_near_an_edge(far, edge):
    """Beside places that are far away, differences of coordinates must not be lost in floats."""
    near = [[edge + 0.06249, 0.0], [edge + 0.06251, 0.0]]
    metric = places_alone([[-far, 0.0], [far, 0.0], *near])
    plan = make_plan(gather(f"density home width 1 every {far / 10:.0f}"), metric, n_records=100)
    for _, _, allowed, loss in losses(plan):
        assert loss <= allowed
    columns = plan.counted.columns(np.array([2, 3]))
    moved = [below(F(x)) for x, _ in near]  # 0 is an edge
    assert abs(int(np.abs(columns[:, 0] - columns[:, 1]).sum()) - 2 * abs(moved[0] - moved[1])) <= 4 or edge
    assert [c.name for c in verify_data(json.loads(json.dumps(plan.to_dict())))][-1] == "worst case"


def test_steps_are_exact_on_maps_a_million_widths_wide():
    rng = random.Random(5)
    rows = [[F(rng.randint(-(10**6), 10**6)) + F(rng.randint(-9, 9), 10**7) for _ in range(2)] for _ in range(60)]
    rows = [[float(x) for x in row] for row in rows]
    metric = places_alone([[-1e6, -1e6], [1e6, 1e6], *rows])
    asked = gather("density home width 1 every 20000")
    universe = Read(json.loads(json.dumps(metric.universe.to_dict())))
    (theirs,) = ask(json.loads(json.dumps(asked.to_dict())), universe).blocks
    (mine,) = asked.on(metric.universe).blocks
    assert [part.tolist() for part in mine.parts()] == [list(part) for part in theirs.arrays()]


@pytest.mark.parametrize(("every", "rows"), [("4", 625), slow("0.8", 15_625)])
def test_wide_bells_over_many_cells_take_no_memory(every, rows):
    metric = places_alone([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0], [100.0, 100.0], [50.0, 50.0]], per="1/100")
    tracemalloc.start()
    plan = make_plan(gather(f"density home width 50 every {every}"), metric, n_records=1000)
    _ = plan.errors, plan.worst_epsilon
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert plan.workload.rows == rows
    assert peak < 200_000_000


def test_one_spot_in_the_map_and_out_of_it_is_refused():
    side = Property("side", ("A", "B", "A", "B"))
    metric = places_alone([[0.0, 0.0], [0.0, 0.0], [100.0, 0.0], [0.0, 100.0]], per="1/100", facts=(side,))
    with pytest.raises(SeparatesIdentical):
        make_plan(gather("density home where side=A width 20"), metric, n_records=1000)


OPPOSITE, LINE = [[0.0, 0.0], [1e-7, 179.9]], [[0.0, 0.01 * k] for k in range(40)]


@pytest.mark.parametrize("rows", [OPPOSITE, LINE, [[b, 7.0] for _, b in LINE]])
def test_places_in_a_line_or_opposite_each_other_are_verified(rows):
    plan = make_plan(gather("density home width 10"), places_alone(rows, "1/100", "great-circle"), n_records=100)
    assert [c.name for c in verify_data(json.loads(json.dumps(plan.to_dict())))][-1] == "worst case"


def test_a_single_place_with_one_distance_costs_nothing_along_it():
    """A grid of one cell has a map, as it reaches somewhere."""
    text = GRID.replace('"10 km"', "5").replace("[47, 10, 48, 12]", "[0, 0, 5, 5]").replace('"1 km"', "1")
    found = dx.Policy.parse(text.replace('["lat", "lon"]', '["x", "y"]\nmetric = "euclidean"'))
    home = replace(found.universe.attributes[0], has_other=False)
    assert home.listed == 1
    sex = Values(name="sex", values=("x", "y"), has_other=False)
    parts = [discrete(Universe([home]), F(1)), discrete(Universe([sex]), F(1))]
    plan = make_plan(gather("density home by sex width 1"), AttributeSum(Universe([home, sex]), parts), n_records=10)
    assert [c.name for c in verify_data(json.loads(json.dumps(plan.to_dict())))][-1] == "worst case"


def test_what_is_left_beside_a_map_is_not_more_than_along_its_neighbors(tmp_path):
    """Where records may be absent, no way over neighbors may be forgotten."""
    rows = [[0.2 * k, 0.0] for k in range(30)]
    metric = metrics.with_absent(places_alone(rows), F(29, 10), max_records=1000)
    plan = make_plan(gather("density home width 0.5"), metric, n_records=100, budget=F(9, 10))
    left = Leftover(SumCost(metric.universe, [plan.cost]), metric)
    steps = [float(metric.exact(k, k + 1)) - float(plan.cost.exact(k, k + 1)) for k in range(29)]
    assert left.between(0, 29).left <= sum(steps) * (1 + 1e-9)


def shortest_ways(metric, spent):
    """What is left between all records, over all ways, from every cost by itself."""
    n = metric.universe.size
    left = [[float(metric.exact(i, j)) - float(spent.exact(i, j)) for j in range(n)] for i in range(n)]
    for k in range(n):
        left = [[min(left[i][j], left[i][k] + left[k][j]) for j in range(n)] for i in range(n)]
    return left


@pytest.mark.parametrize("absent", [None, F(2), F(29, 10), F(12)])
def test_what_is_left_beside_several_maps_can_be_spent(absent):
    """Where records may be absent, decisions charge an attribute and presence alike: left is less than costs leave."""
    metric = places_alone([[0.0, 0.0], [0.4, 0.0], [3.0, 0.0], [9.0, 0.0], [9.0, 5.0]])
    metric = metric if absent is None else metrics.with_absent(metric, absent, max_records=100)
    budgets = (
        ("density home width 0.3", F(3, 10)),
        ("density home width 6", F(3, 10)),
        ("density home width 2", F(1, 10)),
    )
    costs = [make_plan(gather(words), metric, n_records=100, budget=budget).cost for words, budget in budgets]
    spent = SumCost(metric.universe, costs)
    wanted, found = shortest_ways(metric, spent), Leftover(spent, metric)
    for i in range(metric.universe.size):
        for j in range(i):
            left = max(wanted[i][j], 0.0)
            assert found.between(i, j).left <= left * (1 + 1e-9) + 1e-12
            if absent is None:
                assert found.between(i, j).left == pytest.approx(left, rel=1e-9, abs=1e-12)
        assert require_spendable(spent, metric, lambda a, b: found.between(a, b).left, i)


def test_a_certificate_names_what_is_accounted_as_a_whole_and_nothing_else():
    """A rule is what was looked at: it cannot be exchanged for that of other queries."""
    metric = dx.Policy.parse(GRID).metric
    asked = {"count by sex": "", "density home width 20 km": "maps"}
    both = dx.plan(list(asked), metric, n_records=1000)
    alone = {words: dx.plan(words, metric, n_records=1000) for words in asked}
    for plan in (both, *alone.values()):
        data = json.loads(json.dumps(plan.to_dict()))
        assert list(verify_data(json.loads(json.dumps(data))))
        rules = {"maps", "people", "maps and people", "line, and maps", "constant", "line", "constant, and people"}
        rules |= {alone["count by sex"].certificate.rule, f"{alone['count by sex'].certificate.rule}, and people"}
        for rule in rules - {plan.certificate.rule}:
            forged = json.loads(json.dumps(data))
            forged["certificate"]["rule"] = rule
            forged["seal"] = reading.seal_of(forged)
            maps = ["maps"] if plan is not alone["count by sex"] else []
            named = [word for word in ("maps", "people") if word in rule]
            if named == maps and ("," in rule) == (plan is both):
                continue  # another way to look at pairs: the ratio is checked
            with pytest.raises(DxError, match=r"rule"):
                list(verify_data(forged))


def test_methods_of_maps_are_not_compared_and_the_refusal_says_why():
    metric = dx.Policy.parse(GRID).metric
    _, task = prepare(gather(["count by sex", "density home width 20 km"]), metric, n_records=1000)
    with pytest.raises(dx.errors.UsageError, match="no methods to compare") as caught:
        compare_methods(task)
    assert caught.value.where == "query “density home width 20 km”"
