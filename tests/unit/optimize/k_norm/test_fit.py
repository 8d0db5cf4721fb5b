"""Nested counts with weights: within the limits, and better than anything independent that is known."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dxprivacy.optimize.k_norm.hierarchy_fit import MOST_CELLS, OrderedFit, consistent, halvings
from dxprivacy.optimize.strategies import StrategyProblem, choose
from dxprivacy.universe.hierarchy import nest_of


def ranges(cells):
    i = np.arange(1, cells + 1)
    return np.minimum.outer(i, i) * (cells + 1.0 - np.maximum.outer(i, i)) - 1


def pairs(cells, reach):
    i, j = np.triu_indices(cells, 1)
    near = j - i <= reach
    return i[near], j[near]


@pytest.mark.parametrize(
    ("cells", "reach", "most"), [(64, 63, 144_000), (64, 4, 48_500), (256, 255, 5.6e6)], ids=["all", "within 4", "256"]
)
def test_totals_of_all_ranges_on_whole_numbers(cells, reach, most):
    found = consistent(OrderedFit(ranges(cells), reach, 1.0))
    assert found.total <= most


def test_total_of_prefixes_of_a_thousand_values():
    lower = np.tril(np.ones((1024, 1024)))[:-1]
    assert consistent(OrderedFit(lower.T @ lower, 1023, 1.0)).total <= 231_000


@pytest.mark.parametrize(("cells", "reach", "limit"), [(12, 11, 1), (12, 3, 1), (9, 2, 0.3), (17, 16, 4), (10, 5, 2)])
def test_no_pair_shows_more_than_its_limit(cells, reach, limit):
    found = consistent(OrderedFit(ranges(cells), reach, float(limit)))
    assert nest_of(found.rows) is not None
    loads = [
        sum(Fraction(w) for w, row in zip(found.weights.tolist(), found.rows, strict=True) if row[i] != row[j])
        for i, j in combinations(range(cells), 2)
        if j - i <= reach
    ]
    assert max(loads) <= Fraction(limit) * (1 + Fraction(1, 10**12))
    assert max(loads) >= Fraction(limit) * Fraction(999, 1000), "nothing is left unused"


@pytest.mark.parametrize(("cells", "reach"), [(31, 30), (40, 3), (48, 6)])
def test_other_sizes_gain_a_twentieth_at_least(cells, reach):
    first, second = pairs(cells, reach)
    before = choose(StrategyProblem(ranges(cells), first, second, np.ones(len(first))), effort="quick").total
    assert consistent(OrderedFit(ranges(cells), reach, 1.0)).total <= 0.95 * before


@pytest.mark.parametrize(("cells", "reach"), [(1, 0), (5, 1), (MOST_CELLS + 1, MOST_CELLS)])
def test_lines_single_cells_and_too_many_have_none(cells, reach):
    assert consistent(OrderedFit(np.eye(cells), reach, 1.0)) is None


def test_halves_end_in_single_cells():
    for cells in range(2, 40):
        assert halvings(0, cells)[-1] == list(range(cells + 1))
