"""Stars: variances against enumeration, owners and weights against targets and independent noise."""

import itertools
import math

import numpy as np
import pytest

from contracts.long_forms import slow
from contracts.star_cases import distribution, points
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.k_norm.star_fit import Star, StarMoments, spreads, stars
from dxprivacy.optimize.tables import Budgets, choose

NINE = ((16, 7, 15, 6, 5, 2, 42, 9, 2), (1, 0.5, 1, 0.5, 0.25, 0.5, 0.25, 1, 0.1))


def two_way(count):
    return dict.fromkeys(itertools.combinations(range(count), 2), 1.0)


@pytest.mark.parametrize(("values", "groups"), [(2, (2,)), (3, (2,)), (2, (3,)), (2, (2, 2)), (3, ())])
def test_variances_are_those_of_all_outcomes(values, groups):
    rng = np.random.default_rng(values)
    weights = rng.uniform(1.5, 3, 1 + len(groups))
    each = np.repeat(1 / weights, [values, *(values * m for m in groups)])
    z = points(values, groups, 8 if not groups else 5)
    p = distribution(z, each)
    found = StarMoments(values, groups).spread(weights[0], weights[1:])
    assert found.margin == pytest.approx(float(p @ z[:, 0] ** 2), rel=1e-3)
    first = values
    for m, v in zip(groups, found.cells, strict=True):
        assert v == pytest.approx(float(p @ z[:, first] ** 2), rel=1e-3)
        first += values * m


def test_components_have_one_variance_each():
    """Of all outcomes: the owner's own contrast, and one across the table, against the formulas."""
    star, sizes, weights = Star(0, ((0, 1),)), (2, 3), (2.0, 1.7)
    z = points(2, (3,), 5)
    p = distribution(z, np.repeat(1 / np.array(weights), [2, 6]))
    margin, (other,) = spreads(sizes, star, weights[0], weights[1:])
    own = (z[:, 0] - z[:, 1]) / math.sqrt(2)
    across = (z[:, 2] - z[:, 3] - z[:, 5] + z[:, 6]) / 2
    along = (z[:, 2] - z[:, 3] + z[:, 5] - z[:, 6]) / 2
    assert margin == pytest.approx(float(p @ own**2), rel=1e-3)
    for contrast in (across, along):
        assert other == pytest.approx(float(p @ contrast**2), rel=1e-3)
        assert abs(float(p @ (contrast * own))) < 1e-9
    assert abs(float(p @ (across * along))) < 1e-9


@pytest.mark.parametrize(
    ("sizes", "budgets", "at_most"),
    [((4,) * 4, (1.0,) * 4, 3_820), ((4,) * 4, (1.0, 0.5, 0.25, 0.1), 179_000), slow(*NINE, 1.48e7)],
)
def test_totals_on_the_lattice(sizes, budgets, at_most):
    found = stars(sizes, Budgets(tuple(map(float, budgets))), two_way(len(sizes)))
    assert found.total <= at_most


@pytest.mark.parametrize("seed", range(8))
def test_no_limit_is_overspent_and_independent_noise_is_hardly_ever_better(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))
    sizes = tuple(rng.integers(3, 7, count).tolist())
    each = tuple(rng.choice([0.1, 0.3, 0.5, 1.0], count).tolist())
    budgets = Budgets(each) if seed % 2 else Budgets((math.inf,) * count, together=0.7)
    workload = two_way(count)
    found = stars(sizes, budgets, workload)
    tables = [(a,) for a in (s.owner for s in found.stars)] + [t for s in found.stars for t in s.tables]
    weights = [*found.margins, *(w for some in found.weights for w in some)]
    for a, limit in enumerate(each):
        if seed % 2:
            assert 2 * sum(w for t, w in zip(tables, weights, strict=True) if a in t) <= limit * (1 + 1e-9)
    if not seed % 2:
        assert 2 * sum(weights) <= 0.7 * (1 + 1e-9)
    assert all(w > 0 for w in weights)
    independent = choose(sizes, budgets, list(workload), [1.0] * len(workload)).total
    if seed % 2:  # where all tables share a budget, one large table may be better
        assert found.total < 1.02 * independent


def test_asking_for_margins_too_or_for_larger_tables_is_no_different():
    budgets = Budgets((1.0, 1.0, 1.0))
    one = stars((3, 4, 2), budgets, {(0, 1, 2): 1.0, (0,): 2.0, (1, 2): 0.5})
    assert [s.tables for s in one.stars] == [((0, 1, 2),)]
    two = stars((3, 4, 2), budgets, {(0, 1): 1.0, (2,): 1.0})
    assert [s.tables for s in two.stars if s.owner == 2] == [()]
    assert math.isfinite(two.total)


def test_what_has_no_stars():
    assert stars((3, 3), Budgets((1.0, 1.0), presence=1.0), {(0, 1): 1.0}) is None
    assert stars((3, 3), Budgets((1.0, 1.0)), {(): 1.0}) is None


def test_a_search_that_is_stopped_has_a_result():
    found = stars((4,) * 4, Budgets((1.0,) * 4), two_way(4), Watch(1e-9))
    assert found.total < 6_000
