"""Optimal plans of many random instances: the gap closed, no strategy better, no pair overspent, in integers."""

import numpy as np
import pytest

from contracts.plan_instances import instance, overspent
from dxprivacy.mechanisms.linear.planning.methods import best_of_own_rows
from dxprivacy.mechanisms.linear.planning.planner import chosen, prepare


def check(number, **sizes):
    case = instance(number, **sizes)
    _, task = prepare(case.queries, case.metric, objective=case.loss)
    best = chosen(task, "optimal")
    assert np.isfinite(best.scales).all(), case.name
    assert overspent(task.workload, best.scales, case.metric) == [], case.name
    mine = task.objective_of(best.scales)
    assert task.system.by_row, case.name
    assert best.certificate.gap <= 1e-6, (case.name, best.certificate.gap)
    assert best.certificate.lower_bound <= mine + 1e-12 * abs(mine), case.name
    for method in ("equal-split", "same-scale", "psa"):
        other = chosen(task, method)
        assert np.isfinite(other.scales).all(), case.name
        assert other.certificate.ratio <= 1
        size = float(task.weights.sum()) if case.loss == "geometric" else task.objective_of(other.scales)
        assert mine <= task.objective_of(other.scales) + 1e-9 * size, (case.name, method)
    assert not task.better(task.merit(best), task.merit(best_of_own_rows(task)[0])), case.name


@pytest.mark.parametrize("start", range(0, 32, 8))
def test_the_gap_is_closed_and_no_strategy_is_better(start):
    for number in range(start, start + 8):
        check(number, most_cells=40, most_rows=15)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(0, 500, 20))
def test_five_hundred_instances_up_to_two_hundred_cells_and_sixty_rows(start):
    for number in range(start, start + 20):
        check(number)
