"""Tables that share a margin have exactly the distribution of their noise, and no neighbor's differs by more."""

import itertools
from operator import add

import mpmath
import numpy as np
import pytest

from contracts.long_forms import mostly_slow
from contracts.nest_cases import chance, drawn_often, fits
from contracts.star_cases import counts_of, distribution, points, records, star
from dxprivacy.mechanisms.sampling.tree_noise import Family, family_of
from dxprivacy.universe.hierarchy import NO_ROW

SHAPES = [(2, (2,)), (2, (2, 2)), (3, (2,)), (2, (3,)), (2, (4,)), (4, ()), (2, (2, 2, 2)), (3, (2, 2)), (2, (3, 2))]


def scales_of(rng, values, groups, low, high):
    each = rng.uniform(low, high, 1 + len(groups))
    return np.repeat(each, [values, *(values * m for m in groups)])


@pytest.mark.parametrize("seed", mostly_slow([0, 1, 2, 3, 5, 10, 4, 6, 13], 6))
def test_neighbors_differ_by_no_more_than_the_cost(seed):
    """Probabilities of the sampler's own draws, enclosed in fractions, at all outputs of a box, for all pairs."""
    _neighbors(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(7, 107))
def test_neighbors_differ_by_no_more_than_the_cost_in_many_stars(seed):
    _neighbors(seed)


def _neighbors(seed):
    rng = np.random.default_rng(seed)
    values, groups = SHAPES[seed % len(SHAPES)]
    scales = scales_of(rng, values, groups, 0.4, 6)
    nest = star(values, groups)
    family = family_of(nest, scales.tolist())
    free = values - 1 + sum(values * (m - 1) for m in groups)
    found = points(values, groups, {1: 9, 2: 6, 3: 4, 4: 2}.get(free, 1))
    mpmath.mp.prec = 200
    known = {}
    for z in found.tolist():
        ends = chance(family, family._tables[0], counts_of(nest, np.array(z)))
        known[tuple(z)] = [mpmath.log(x.numerator) - mpmath.log(x.denominator) for x in ends]
    changes: dict[tuple[int, ...], mpmath.mpf] = {}
    for one, other in itertools.permutations(records(values, groups), 2):
        moved = one - other
        cost = mpmath.fsum(abs(int(x)) / mpmath.mpf(float(s)) for x, s in zip(moved, scales, strict=True) if x)
        changes[tuple(moved.tolist())] = cost
    for change, cost in changes.items():
        most = mpmath.mpf(-1)
        for z, (low, _) in known.items():
            y = known.get(tuple(map(add, z, change)))
            if y is not None:
                most = max(most, y[1] - low)
        assert most <= cost + mpmath.mpf(2) ** -60
        assert most >= cost * (1 - mpmath.mpf(10) ** -6), "the bound is attained"


@pytest.mark.parametrize("shape", [*SHAPES[:4], SHAPES[5]])
@pytest.mark.parametrize("options", [{}, {"bits": 24, "tail": 2}], ids=["as it is", "tiny tables"])
def test_draws_follow_the_law(shape, options, monkeypatch):
    _drawn(shape, 20_000 if not options else 2_000, options, monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("shape", [*SHAPES[:4], SHAPES[5]])
def test_a_million_draws_follow_the_law(shape, monkeypatch):
    _drawn(shape, 1_000_000, {}, monkeypatch, widest=0.6, reach=6)  # what lies beyond must not show in a million


def _drawn(shape, draws, options, monkeypatch, widest=0.9, reach=3):
    if options:
        monkeypatch.setattr(Family.__init__, "__kwdefaults__", options)
    scales = scales_of(np.random.default_rng(8), *shape, 0.4, widest)
    nest = star(*shape)
    family = family_of(nest, scales.tolist())
    made = np.flatnonzero(nest.row != NO_ROW)
    z = np.zeros((draws, len(scales)), dtype=np.int64)
    z[:, nest.row[made]] = drawn_often(family, nest.size, draws)[:, made]
    assert _fits(z, shape, scales, reach)
    assert not _fits(z, shape, 1.5 * scales, reach)
    if options:
        assert len(family._tables) > 1


def _fits(found, shape, scales, reach):
    free = shape[0] - 1 + sum(shape[0] * (m - 1) for m in shape[1])
    z = points(*shape, 6 if free <= 4 else reach)
    return fits(found, z, distribution(z, scales))


def test_a_draw_agrees():
    """Every table adds up to the margin, and that to nothing."""
    values, groups = 7, (5, 3, 11)
    nest = star(values, groups)
    rng = np.random.default_rng(2)
    family = family_of(nest, scales_of(rng, values, groups, 5, 60).tolist())
    made = nest.row != NO_ROW
    for _ in range(20):
        z = np.zeros(int(nest.row.max()) + 1, dtype=np.int64)
        z[nest.row[made]] = family.draw()[made]
        margin, first = z[:values], values
        assert margin.sum() == 0
        for m in groups:
            assert z[first : first + values * m].reshape(values, m).sum(axis=1).tolist() == margin.tolist()
            first += values * m
