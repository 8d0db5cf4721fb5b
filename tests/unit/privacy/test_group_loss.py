"""Group loss against brute force over all matchings, its bounds, and bad input."""

import itertools
import math
import random
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy.errors import TooLarge, UsageError
from dxprivacy.privacy import transport
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost


def records(counts):
    return [cell for cell, count in enumerate(counts) for _ in range(count)]


def cheapest_matching(loss, x, x2):
    """Every way to pair the records off, common ones included, in exact fractions."""
    known = {(i, j): loss.exact(i, j) if i != j else F(0) for i in set(records(x)) for j in set(records(x2))}
    first = records(x)
    return min(sum((known[i, j] for i, j in zip(first, other, strict=True)), F(0)) for other in orders(records(x2)))


def orders(cells):
    return set(itertools.permutations(cells))


def random_data(rng, size, total):
    counts = [0] * size
    for _ in range(total):
        counts[rng.randrange(size)] += 1
    return counts


def random_loss(rng):
    """A policy metric, or a cost of one or more releases over one."""
    metric = random_metric(rng, places=True)
    kind = rng.choice(["metric", "laplace", "selection", "sum"])
    if kind == "metric":
        return metric
    workload = random_queries(rng, metric.universe).on(metric.universe)
    laplace = LaplaceCost(workload, random_scales(rng, workload))
    if kind == "laplace":
        return laplace
    if kind == "selection":
        return SelectionCost(workload, random_scales(rng, workload))
    return SumCost(metric.universe, [laplace, LaplaceCost(workload, random_scales(rng, workload))])


def test_group_loss_equals_the_cheapest_of_all_matchings_on_200_cases():
    rng = random.Random(5)
    for _ in range(200):
        loss = random_loss(rng)
        total = rng.choice([1, 2, 3, 4, 4, 4, 5])
        x, x2 = (random_data(rng, loss.universe.cells, total) for _ in range(2))
        found = dx.group_loss(loss, x, x2)
        slack = 1 + F(getattr(loss, "slack", 0))
        best = cheapest_matching(loss, x, x2)
        assert best <= found.upper <= best * slack  # of many equally cheap ways any will do
        assert found.lower <= best
        assert found.exact
        assert found.simple >= found.upper  # the paper's bound, with k/2 replacements, is never below it
        assert found.replacements == np.abs(np.subtract(x, x2)).sum() // 2


def test_the_way_found_leads_from_one_data_set_to_the_other():
    rng = random.Random(6)
    for _ in range(50):
        metric = random_metric(rng, plain=True)
        x, x2 = (random_data(rng, metric.universe.cells, 6) for _ in range(2))
        there = np.array([*x, *([0] if metric.universe.absent is not None else [])])
        for i, j, count in dx.group_loss(metric, x, x2).moves:
            there[i] -= count
            there[j] += count
        assert there[: len(x2)].tolist() == x2


def test_group_loss_is_a_distance_between_data_sets():
    rng = random.Random(7)
    for _ in range(60):
        metric = random_metric(rng, plain=True)
        a, b, c = (random_data(rng, metric.universe.cells, 5) for _ in range(3))
        ab, bc, ac, ba = (dx.group_loss(metric, *pair).upper for pair in ((a, b), (b, c), (a, c), (b, a)))
        assert ac <= (ab + bc) * (1 + metric.slack)
        assert ab == ba
        assert dx.group_loss(metric, a, a).upper == 0


def test_large_differences_are_found_by_the_programme_with_the_same_cost(monkeypatch):
    rng = random.Random(8)
    for _ in range(15):
        loss = random_loss(rng)
        x, x2 = (random_data(rng, loss.universe.cells, 40) for _ in range(2))
        one = dx.group_loss(loss, x, x2)
        with monkeypatch.context() as patch:
            patch.setattr(transport, "MOST_UNITS", 3)
            other = dx.group_loss(loss, x, x2)
        assert float(other.upper) == pytest.approx(float(one.upper), rel=1e-12)
        assert other.exact


def test_a_million_records_are_moved_as_one_programme():
    metric = dx.metrics.line(30, 1)
    x, x2 = np.full(30, 1_000_000), np.full(30, 1_000_000)
    x[0] += 700_000
    x2[29] += 500_000
    x2[10] += 200_000
    found = dx.group_loss(metric, x, x2)
    assert found.upper == 29 * 500_000 + 10 * 200_000
    assert found.exact


def test_rounded_flows_are_repaired_before_they_are_believed():
    supply, demand = np.array([3, 2]), np.array([1, 4])
    for wrong in ([[0, 0], [0, 0]], [[3, 3], [3, 3]], [[0, 3], [0, 2]], [[3, 0], [0, 2]]):
        flow = transport._repaired(np.array(wrong), supply, demand)
        assert (flow >= 0).all()
        assert flow.sum(axis=1).tolist() == supply.tolist()
        assert flow.sum(axis=0).tolist() == demand.tolist()


def test_public_differences_tell_data_sets_apart_without_limit():
    metric = dx.metrics.from_matrix([[0, 1, math.inf], [1, 0, math.inf], [math.inf, math.inf, 0]])
    found = dx.group_loss(metric, [1, 1, 0], [0, 1, 1])
    assert (found.upper, found.lower, found.factor, found.simple) == (math.inf,) * 4
    assert not found.moves
    assert dx.group_loss(metric, [2, 0, 3], [0, 2, 3]).upper == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "MOST_UNITS", 0)
        assert dx.group_loss(metric, [1, 1, 0], [0, 1, 1]).upper == math.inf


def test_added_records_are_matched_with_absence():
    metric = dx.metrics.with_absent(dx.metrics.line(3, 1), "0.6", max_records=100)
    found = dx.group_loss(metric, [1, 0, 0], [1, 0, 2])
    assert (found.upper, found.replacements) == (F(12, 10), 2)
    assert found.moves == ((3, 2, 2),)
    assert dx.group_loss(metric, {0: 1}, {2: 1}).upper == F(12, 10)  # away and back is shorter than along the line


def test_removed_records_cost_as_much_as_added_ones():
    metric = dx.metrics.with_absent(dx.metrics.line(3, 1), "0.6", max_records=100)
    found = dx.group_loss(metric, [1, 0, 2], [1, 0, 0])
    assert (found.upper, found.replacements, found.moves) == (F(12, 10), 2, ((2, 3, 2),))
    workload = dx.table("element").on(metric.universe)
    cost = LaplaceCost(workload, np.full(workload.rows, 4.0))
    assert dx.group_loss(cost, [3, 0, 0], [0, 0, 0]).upper == F(3, 4)
    assert dx.group_loss(cost, [0, 0, 0], [3, 0, 0]).upper == F(3, 4)
    rng = random.Random(9)
    for _ in range(30):  # both ways, with some replaced and some removed
        base = random_metric(rng, plain=True)
        metric = base if base.universe.absent is not None else dx.metrics.with_absent(base, 1, max_records=9)
        x, x2 = (random_data(rng, metric.universe.cells, total) for total in (4, rng.randint(0, 3)))
        there, back = dx.group_loss(metric, x, x2), dx.group_loss(metric, x2, x)
        gone = [*x2, sum(x) - sum(x2)]
        assert there.upper == back.upper == cheapest_matching(metric, [*x, 0], gone)


def test_the_factor_is_rounded_up_and_overflows_to_infinity():
    found = dx.group_loss(dx.metrics.constant(2, 1), [1, 0], [0, 1])
    assert found.factor >= math.e
    assert found.factor == pytest.approx(math.e, rel=1e-14)
    assert dx.group_loss(dx.metrics.constant(2, 1000), [1, 0], [0, 1]).factor == math.inf


@pytest.mark.parametrize(
    "bad",
    [
        [1, 0], [1, 0, 0, 0], [1, -1, 1], [0.5, 0.5, 0], [math.nan, 1, 0], [math.inf, 0, 0], ["1", "0", "0"],
        [[1, 0, 0]], None, "abc", [True, False, False], [2**53, 0, 0], {3: 1}, {-1: 1}, {"a": 1}, {0: -1}, {0: "x"},
        {0: True}, {0.5: 1}, [1, None, 0], [1 + 2j, 0, 0],
    ],
)  # fmt: skip
def test_bad_counts_are_refused_without_showing_any(bad):
    metric = dx.metrics.line(3, 1)
    for pair in ((bad, [1, 0, 0]), ([1, 0, 0], bad)):
        with pytest.raises((UsageError, TooLarge)) as caught:
            dx.group_loss(metric, *pair)
        assert "nan" not in str(caught.value)


def test_data_sets_of_different_size_losses_of_no_kind_and_too_much_are_refused(monkeypatch):
    metric = dx.metrics.line(3, 1)
    with pytest.raises(UsageError, match="different numbers of records"):
        dx.group_loss(metric, [1, 0, 0], [1, 1, 0])
    for loss in (None, 3, "line", [[0, 1], [1, 0]]):
        with pytest.raises(UsageError, match="a loss is needed"):
            dx.group_loss(loss, [1, 0, 0], [0, 1, 0])
    monkeypatch.setattr(transport, "MOST_UNITS", 1)
    monkeypatch.setattr(transport, "MOST_ROUTES", 1)
    with pytest.raises(TooLarge):
        dx.group_loss(metric, [2, 1, 0], [0, 2, 1])


def test_the_representation_shows_no_records():
    assert "moves" not in repr(dx.group_loss(dx.metrics.line(3, 1), [7, 0, 0], [0, 7, 0]))


def test_counts_may_have_whole_floats_and_empty_data_sets_are_the_same():
    metric = dx.metrics.line(3, 1)
    assert dx.group_loss(metric, [1.0, 0.0, 0.0], np.array([0, 0, 1], dtype=np.uint8)).upper == 2
    found = dx.group_loss(metric, [0, 0, 0], {})
    assert (found.upper, found.lower, found.simple, found.factor) == (0, 0, 0, pytest.approx(1))
