"""Every function that rounds goes the safe way: distances down, costs up; and never further than one step."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxprivacy import metrics
from dxprivacy.exact.rounding import round_down, round_up, shortened_up
from dxprivacy.ledger.ledger_budget import BUDGET_GRID, round_budget
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.declared_sensitivity import ScaledLoss, declared

fractions = st.fractions(min_value=0, max_value=10**6, max_denominator=10**12)


@given(fractions)
def test_numbers_round_to_the_side_that_their_function_names(x):
    below, above = round_down(x), round_up(x)
    assert F(below) <= x <= F(above)
    assert math.nextafter(below, math.inf) >= above, "no number lies between the two"
    if F(float(x)) != x:
        assert below < above


@given(st.fractions(min_value=0, max_value=1, max_denominator=10**40))
def test_shares_round_up_to_their_grid(x):
    assert x <= round_budget(x) < x + F(1, BUDGET_GRID)


@given(st.integers(1, 10**400), st.integers(1, 10**400))
def test_long_fractions_are_shortened_upwards(p, q):
    x = F(p, q)
    assert x <= shortened_up(x) < x + F(1, 1 << 500)


def closed(rows):
    """Floyd-Warshall in fractions."""
    d = [list(row) for row in rows]
    for k in range(len(d)):
        for i in range(len(d)):
            for j in range(len(d)):
                d[i][j] = min(d[i][j], d[i][k] + d[k][j])
    return d


def table(entries, n):
    rows = [[F(0)] * n for _ in range(n)]
    pairs = [(i, j) for i in range(n) for j in range(i)]
    for (i, j), x in zip(pairs, entries, strict=True):
        rows[i][j] = rows[j][i] = x
    return rows


@settings(max_examples=60, deadline=None)
@given(st.lists(st.fractions(min_value=1, max_value=10**6, max_denominator=10**9), min_size=6, max_size=6))
def test_explicit_fractions_beyond_a_common_grid_are_rounded_down(entries):
    rows = table(entries, 4)
    d, truth = metrics.from_matrix(rows), closed(rows)
    largest = max(entries)
    for i in range(4):
        for j in range(4):
            assert truth[i][j] - largest / 2**55 <= d.exact(i, j) <= truth[i][j]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(min_value=1e-19, max_value=1e-17), min_size=3, max_size=3))
def test_explicit_floats_beyond_a_common_grid_are_rounded_down(small):
    """Beside a distance of 1, tiny ones keep only some of their bits."""
    rows = table([F(small[0]), F(1), F(1), F(1), F(1), F(small[1])], 4)
    d, truth = metrics.from_matrix(np.array(rows, dtype=float)), closed(rows)
    for i in range(4):
        for j in range(4):
            assert truth[i][j] - F(1, 1 << 55) <= d.exact(i, j) <= truth[i][j]


def test_a_distance_that_lies_just_above_a_step_of_the_grid_is_not_rounded_to_it():
    """The nearest step, or the next one, would be above what was written."""
    step = F(1, 1 << 59)  # of the grid for distances up to 1
    for part in (F(1, 10), F(6, 10), F(99, 100)):
        written = 7 * step + part * step
        for rows in ([[0, 1], [1, 0]], [[0, F(1)], [F(1), 0]]):
            big = [[*rows[0], written], [*rows[1], 1], [written, 1, 0]]
            given = big if isinstance(rows[0][1], F) else np.array(big, dtype=float)
            d = metrics.from_matrix(given)
            assert d.exact(0, 2) <= F(given[0][2])


def test_a_declared_pseudometric_is_scaled_upwards():
    """Distances between places round down; as a sensitivity the same number has to be at least the truth."""
    places = np.array([[52.0, 13.0], [52.1, 13.2], [48.8, 2.3]])
    d = metrics.great_circle(places, epsilon_per_km="0.01")
    assert d.slack > 0
    loss = ScaledLoss(declared(d, d), F(3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert loss.exact(i, j) >= d.exact(i, j) * (1 + d.slack) / 3
    assert max_ratio(loss, d).upper >= (1 + d.slack) / 3


ROWS = [[1, 0, 0, 0], [0, 3, 0, 1], [7, 0, 0, 5]]


@pytest.mark.parametrize("scale", [1.0, 0.1, 7.3, 1e-3])
def test_a_small_databases_cost_is_not_below_that_of_its_draw(scale):
    """Candidates are weighted by exp(-S / (2 m s)) with whole weights w; the cost counts s / w, rounded down."""
    plan = replace(make_smalldb(ROWS, metrics.line(4, "0.3"), n_records=20, flatten=False), scale=scale)
    rows = plan.rows.workload.dense()
    assert any(w & (w - 1) for w in plan.rows.weights), "s / w is not always a float64 number"
    for i, j in itertools.combinations(range(4), 2):
        moved = [w * abs(int(row[i]) - int(row[j])) for w, row in zip(plan.rows.weights, rows, strict=True)]
        assert plan.cost.exact(i, j) >= F(max(moved)) / F(scale)


@pytest.mark.parametrize("budget", ["1", "1/3", "0.7"])
def test_a_small_databases_scale_keeps_its_share(budget):
    plan = make_smalldb(ROWS, metrics.line(4, "0.3"), n_records=20, budget=F(budget))
    assert plan.certificate.ratio <= F(budget)
