"""Intervals of spreads against all corners and a fine grid of what sums and numbers of records may be; those of
quantiles with much noise and few records, where every row matters."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest

from contracts.long_forms import mostly_slow
from dxprivacy.mechanisms.linear.noise.noise_distributions import Laplace
from dxprivacy.universe.answers import QuantileRamps, QuantileRecipe, Spread, Total

KINDS = ("variance", "sd", "covariance", "correlation")


def spread(kind, reach=F(10), hides=F(0)):
    """With rows 0, 1, …: products, sums, squares, the number of records."""
    single = kind in ("variance", "sd")
    product = Total(0, F(1, 4), F(0), reach**2, not single)
    sums = (Total(1, F(1, 2), F(0), reach), *(() if single else (Total(2, F(1, 2), F(0), reach),)))
    squares = (Total(3, F(1, 4), F(0), reach**2, False), Total(4, F(1, 4), F(0), reach**2, False))
    several = squares if kind == "correlation" else ()
    return Spread(kind, product, sums, several, (hides, hides), 1 + len(sums) + len(several))


def possible(recipe, boxes):
    """Every value over corners, and a fine grid of the number of records between."""
    size = boxes[recipe.count]
    for m in np.linspace(float(size[0]), float(size[1]), 41):
        corners = itertools.product(*([float(x) for x in boxes[total.row]] for total in recipe.totals))
        for numbers in corners:
            averages = [x / m for x in numbers]
            found = averages[0] - averages[1] * averages[len(recipe.sums)]
            if recipe.kind in ("variance", "sd"):
                found = max(found, 0.0) if recipe.kind == "variance" else math.sqrt(max(found, 0.0))
            if recipe.kind == "correlation":
                x, y = averages[3] - averages[1] ** 2, averages[4] - averages[2] ** 2
                if min(x, y) <= 0:
                    continue
                found /= math.sqrt(x * y)
            yield found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_a_spread_lies_between_its_ends_whatever_the_sums_are(kind, seed):
    rng = np.random.default_rng(seed)
    recipe = spread(kind)
    m = 200
    x = rng.uniform(-9, 9, m) * rng.choice([0.2, 1.0]) + rng.choice([0, 0, -0.9])
    y = 0.7 * x + rng.normal(0, 1, m)
    sums = {0: (x * x if kind in ("variance", "sd") else x * y).sum() * 4, 1: x.sum() * 2}
    if kind in ("covariance", "correlation"):
        sums[2] = y.sum() * 2
    if kind == "correlation":
        sums |= {3: (x * x).sum() * 4, 4: (y * y).sum() * 4}
    sums[recipe.count] = m
    z = [round(sums[k]) for k in sorted(sums)]
    distributions = [Laplace(3.0)] * len(z)
    value, low, high = recipe.interval(z, distributions, m, 0.0)
    each = 1 - 0.05 / len(z)
    boxes = {}
    for total in recipe.totals:
        wide = distributions[0].half_width(each)
        ends = (total.unit * (z[total.row] - wide), total.unit * (z[total.row] + wide))
        boxes[total.row] = (ends[0] if total.signed else max(ends[0], F(0)), ends[1])
    wide = distributions[0].half_width(each)
    boxes[recipe.count] = (z[recipe.count] - wide, z[recipe.count] + wide)
    found = list(possible(recipe, boxes))
    assert low <= value <= high
    assert low <= min(found) + 1e-9
    assert high >= max(found) - 1e-9
    if kind in ("variance", "sd", "covariance"):  # and it is no wider than that
        assert high - low <= (max(found) - min(found)) * 1.02 + 1e-9


def test_the_number_of_records_moves_a_variance_in_both_directions():
    """Far from the middle of the range, more records mean a smaller mean square and a smaller square of the mean."""
    recipe = spread("variance")
    distributions = [Laplace(0.0), Laplace(0.0), Laplace(20.0)]
    z = [round(100 * 64.5 * 4), (100 * 8 * 2), 100]
    _, low, high = recipe.interval(z, distributions, 100, 0.0)
    wide = int(distributions[2].half_width(1 - 0.05))
    ends = [6450 / m - (800 / m) ** 2 for m in np.linspace(100 - wide, 100 + wide, 1001)]
    assert low == pytest.approx(max(min(ends), 0.0), abs=1e-6)
    assert high == pytest.approx(max(ends), rel=1e-4)


@pytest.mark.parametrize("steps", mostly_slow([4, 1], 1))
@pytest.mark.parametrize("at", mostly_slow([F(1, 10), F(1, 2), F(9, 10)], 1))
@pytest.mark.parametrize("known", [True, False])
def test_intervals_of_quantiles_hold_where_noise_is_as_large_as_what_lies_between_rows(steps, at, known):
    """Few records at each of many places, and noise of several of them; also all in the middle, or at both ends."""
    rng = np.random.default_rng(11)
    places, number = 40, -(-39 // steps)
    ramps = QuantileRamps(F(0), F(steps), number, steps, F(39))
    less = F(0) if known else at
    recipe = QuantileRecipe(0, ramps, at, less, (F(0), F(0)))
    unit = steps * less.denominator
    distributions = [Laplace(8.0 * unit)] * number
    inside = runs = 0
    for _ in range(900):
        kind = rng.integers(3)
        x = rng.integers(0, places, 120) if kind == 0 else rng.choice([0, 39], 120) if kind == 1 else np.full(120, 20)
        heights = [np.clip((k + 1) * steps - x, 0, steps).sum() * less.denominator for k in range(number)]
        rows = [int(h) - 120 * steps * less.numerator for h in heights]
        noise = rng.geometric(1 - math.exp(-1 / (8.0 * unit)), (2, number))
        z = [int(r + a - b) for r, a, b in zip(rows, *noise, strict=True)]
        _, low, high = recipe.interval(z, distributions, 120, 0.0)
        truth = float(np.quantile(x, float(at), method="inverted_cdf"))
        inside += low <= truth <= high
        runs += 1
    assert inside / runs >= 0.935
    if steps == 1 and known:  # ends are those of single rows: not far too wide either
        assert inside / runs < 0.9999


def test_the_ends_of_a_quantile_are_the_first_row_that_may_and_the_last_that_may_not():
    ramps = QuantileRamps(F(0), F(1), 9, 1, F(9))
    recipe = QuantileRecipe(0, ramps, F(1, 2), F(0), (F(0), F(0)))
    distributions = [Laplace(1.0)] * 9  # 95 % within 3
    z = [0, 10, 30, 46, 48, 51, 54, 80, 95]
    value, low, high = recipe.interval(z, distributions, 100, 0.0)
    assert distributions[0].half_width() == 3
    assert (low, high) == (4.0, 6.0)  # row 4 may have reached 50, row 5 may not have passed it
    assert low <= value <= high
