"""Noise that agrees has exactly its distribution, whatever tables it is looked up in, and no neighbor's differs by
more.
"""

import itertools
import math
from fractions import Fraction as F

import mpmath
import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from contracts.nest_cases import chain_rows, chance, distribution, drawn_often, fits, halved_rows, random_rows
from dxprivacy.mechanisms.sampling import tree_noise
from dxprivacy.mechanisms.sampling.hierarchy_tables import Enclosed, Messages, TreeKind, _convolved
from dxprivacy.mechanisms.sampling.tree_noise import Family, family_of
from dxprivacy.mechanisms.sampling.zero_sum_tables import RHO_BITS
from dxprivacy.universe.hierarchy import NO_ROW, nest_of

TINY = {"bits": 24, "tail": 2}


def kind(scale, *halves):
    return TreeKind(tree_noise._rho(scale), tuple(halves))


DIGITS = 1200


def exact_table(of, reach):
    """f in whole numbers of 1,200 bits, as if nothing lay beyond the reach: with rho below 1/2 that is 1e-30 of it."""
    out = {s: (of.rho ** abs(s) << DIGITS) >> RHO_BITS * abs(s) for s in range(-reach, reach + 1)}
    for left, right in of.halves:
        f, g = exact_table(left, reach), exact_table(right, reach)
        for s in out:
            out[s] = out[s] * sum(f[x] * g[s - x] for x in f if s - x in g) >> 2 * DIGITS
    return out


A, B = kind(0.9), kind(0.5)
PAIRS = [(A, A), (A, B), (kind(2.0, (A, B)), B), (kind(1.5, (A, A)), kind(0.7, (B, A)))]


class Stream:
    """Random bytes that are the same for everybody who reads them from the start."""

    def __init__(self, seed):
        self.data, self.at = np.random.default_rng(seed).bytes(400), 0

    def __call__(self, count):
        self.at += count
        assert self.at <= len(self.data), "no number should take so many bits"
        return self.data[self.at - count : self.at]

    @property
    def uniform(self):
        """The first 53 bits of the first word, then all that follows: as the sampler reads it."""
        bits, total = 53, int.from_bytes(self.data[:8], "little") >> 11
        for at in range(8, 104, 16):
            total, bits = total << 128 | int.from_bytes(self.data[at : at + 16], "little"), bits + 128
        return F(total, 1 << bits)


@pytest.mark.parametrize("pair", range(len(PAIRS)))
@pytest.mark.parametrize("whole", mostly_slow([7, 0, 1, 3], 1))
def test_a_choice_follows_from_its_uniform_number_alone_whatever_the_tables(pair, whole):
    """Tables of a few places decide as fractions do: what they leave open is looked up in finer ones, not redrawn."""
    left, right = PAIRS[pair]
    f, g = exact_table(left, 70), exact_table(right, 70)
    weights = [(x, f[x] * g[whole - x]) for x in range(-60, 61) if whole - x in g]
    total = sum(w for _, w in weights)
    ends = list(itertools.accumulate(w for _, w in weights))
    at = np.array([0]), np.array([1]), np.array([2])
    refined = 0
    for seed in range(150):
        aim = Stream(seed).uniform * total
        expected = next(x for (x, _), end in zip(weights, ends, strict=True) if aim < end)
        for options in (TINY, {}):
            family = Family(3, [tree_noise.Split(left, right, *at)], **options)
            found = family._pair(left, right).draw(np.array([whole]), Stream(seed))
            assert found.tolist() == [expected], (seed, options)
            if whole:
                assert family._pair(left, right).draw(np.array([-whole]), Stream(seed)).tolist() == [-expected]
            refined += options is TINY and len(family._tables) > 1
    assert refined, "or tiny tables are not tiny"


def test_floats_decide_as_whole_numbers_do():
    rng = np.random.default_rng(3)
    nest = nest_of(halved_rows(16))
    family = family_of(nest, rng.uniform(1, 30, int(nest.row.max()) + 1).tolist())
    for split in family.splits:
        pair = family._pair(split.left, split.right)
        size = rng.integers(0, 40, 400)
        words = rng.integers(0, 1 << 53, 400, dtype=np.uint64)
        found, decided = pair._by_floats(size, words)
        assert decided.mean() > 0.99
        for k in np.flatnonzero(decided).tolist():
            exact = pair._decided(family._tables[0], int(size[k]), int(words[k]) << 128, 181)
            assert exact is None or exact == found[k]
            assert exact is not None or k % 7, "hardly ever left open"


@pytest.mark.parametrize("seed", range(40))
def test_neighbors_differ_by_no_more_than_the_cost(seed):
    """Probabilities of the sampler's own draws, enclosed in fractions, at all outputs of a box, for all pairs."""
    _neighbors(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(40, 340))
def test_neighbors_differ_by_no_more_than_the_cost_in_many_nests(seed):
    _neighbors(seed)


def _neighbors(seed):
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 5))
    rows = (random_rows(rng, cells), chain_rows(cells), halved_rows(cells))[seed % 3]
    rows = np.unique(rows, axis=0)
    scales = rng.uniform(0.4, 6, len(rows))
    nest, reach = nest_of(rows), 3 if cells == 4 else 5
    family = family_of(nest, scales.tolist())
    tables = family._tables[0]

    def of(z):
        counts = dict(zip(nest.ends.tolist(), z, strict=True))
        for whole, left, right in nest.divided[::-1].tolist():
            counts[whole] = counts[left] + counts[right]
        return chance(family, tables, counts)

    known = {z: of(z) for z in map(tuple, distribution(rows, scales, reach)[0].tolist())}
    mpmath.mp.prec = 200
    costs = {
        (i, j): mpmath.fsum(
            mpmath.mpf(1) / mpmath.mpf(float(s)) for s, r in zip(scales, rows, strict=True) if r[i] != r[j]
        )
        for i, j in itertools.permutations(range(cells), 2)
    }
    most = dict.fromkeys(costs, mpmath.mpf(0))
    for z, (low, _) in known.items():
        for i, j in costs:
            y = tuple(x + (k == i) - (k == j) for k, x in enumerate(z))
            if y in known:
                high = known[y][1]
                ratio = mpmath.log(mpmath.mpf(high.numerator) / high.denominator * low.denominator / low.numerator)
                most[i, j] = max(most[i, j], ratio)
    for pair, cost in costs.items():
        assert most[pair] <= cost + mpmath.mpf(2) ** -60
        assert most[pair] >= cost * (1 - mpmath.mpf(10) ** -6), "the bound is attained"


@pytest.mark.parametrize("scale", [1e-3, 0.05, 1.0, 7.3, 1000.0, 2.0**40, 2.0**126])
def test_a_step_costs_no_more_than_was_certified(scale):
    mpmath.mp.prec = 400
    r = mpmath.mpf(tree_noise._rho(scale)) / mpmath.mpf(2) ** RHO_BITS
    assert 0 < r < 1
    assert -mpmath.log(r) <= 1 / mpmath.mpf(scale)


SHAPES = {
    "cells": np.eye(3, dtype=np.int64),
    "halved": halved_rows(4),
    "chain": chain_rows(4),
    "pair": np.eye(2, dtype=np.int64),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("options", [{}, TINY], ids=["as it is", "tiny tables"])
def test_draws_follow_the_law(name, options, monkeypatch):
    _drawn(SHAPES[name], 20_000 if not options else 3_000, 5, options, monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_a_million_draws_follow_the_law(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    _drawn(random_rows(rng, int(rng.integers(3, 6))), 1_000_000, seed, {}, monkeypatch)


def _drawn(rows, draws, seed, options, monkeypatch):
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.5, 1.5, len(rows))
    if options:
        monkeypatch.setattr(tree_noise, "BITS", options["bits"])
        monkeypatch.setattr(tree_noise, "TAIL", options["tail"])
        monkeypatch.setattr(Family.__init__, "__kwdefaults__", options)
    nest = nest_of(rows)
    family = family_of(nest, scales.tolist())
    found = drawn_often(family, nest.size, draws)[:, nest.ends]
    assert (found.sum(axis=1) == 0).all()
    assert _fits(found, rows, scales)
    assert not _fits(found, rows, 1.3 * scales)
    assert not _fits(found, rows, 0.7 * scales)
    if options:
        assert len(family._tables) > 1


def _fits(found, rows, scales):
    return fits(found, *distribution(rows, scales, 9 if rows.shape[1] < 5 else 6))


WIDE = [(halved_rows(64), 7.0), (chain_rows(40), 9.0), (np.eye(300, dtype=np.int64), 2.0), (halved_rows(8), 60.0)]


@pytest.mark.parametrize(("rows", "scale"), WIDE)
def test_tables_are_refined_with_a_probability_below_2_to_the_minus_80(rows, scale):
    """Over all selections: how likely each noise of the whole is, times what its row leaves open."""
    nest = nest_of(rows)
    family = family_of(nest, [scale] * len(rows))
    family.prepare()
    around, refined = {0: np.ones(1)}, 0.0
    for split in family.splits:
        tables = family._tables[family._pair(split.left, split.right).fine_enough]
        left, right = (tables.of(k) for k in (split.left, split.right))
        sums = tables.sums(split.left, split.right)
        f, g, both = (both_sides(t.low) for t in (left, right, sums))
        fade = 0.0 if nest.row[split.whole[0]] == NO_ROW else 1 / scale
        o = around[int(split.whole[0])]
        o = o * np.exp(-fade * np.abs(np.arange(len(o)) - len(o) // 2))
        ends = min(len(o), len(both)) // 2
        p = cut(both, ends) * cut(o, ends)
        p = p / p.sum()
        open_ = np.array(
            [min((high - low + 2) / max(low, 1), 1.0) for low, high in zip(sums.low, sums.high, strict=True)]
        )
        open_ = np.minimum((2 * left.end + 1) * (2 * open_ + 2.0**-180), 1.0)
        refined += len(split.whole) * float(p[ends] * open_[0] + 2 * p[ends + 1 :] @ open_[1 : ends + 1])
        refined += len(split.whole) * (p[-1] * 100 if ends == sums.end else 0.0)  # what lies beyond its table
        for number, mine, theirs in ((split.first, f, g), (split.second, g, f)):
            outer = np.convolve(o, theirs)
            for k in number.tolist():
                around[k] = cut(outer, min(len(outer) // 2, len(mine) // 2))
    assert refined < 2.0**-80, math.log2(refined)


def both_sides(half):
    one = half[0]
    return np.array([x / one for x in (*half[:0:-1], *half)])


def cut(table, ends):
    return table[len(table) // 2 - ends : len(table) // 2 + ends + 1]


@pytest.mark.parametrize(("bits", "tail"), [(24, 2), (60, 20), (tree_noise.BITS, tree_noise.TAIL), (200, 72)])
def test_tables_enclose_what_they_stand_for(bits, tail):
    for left, right in PAIRS:
        tables = Messages(bits, tail)
        exact = {of: exact_table(of, 130) for of in (left, right)}
        for of in (left, right):  # one factor fits all places: f(0) lies between its own ends
            table = tables.of(of)
            for s in range(table.end + 1):
                assert table.low[s] * exact[of][0] <= exact[of][s] * table.high[0]
                assert table.high[s] * exact[of][0] >= exact[of][s] * table.low[0]
        f, g, sums = tables.of(left), tables.of(right), tables.sums(left, right)
        one = exact[left][0] * exact[right][0] << bits
        for s in range(min(sums.end, 40) + 1):
            both = sum(x * exact[right][s - k] for k, x in exact[left].items() if abs(s - k) <= 130)
            assert sums.low[s] * one <= both * f.high[0] * g.high[0]
            assert sums.high[s] * one >= both * f.low[0] * g.low[0]


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 7), (7, 2), (5, 5), (3, 30), (30, 3)])
def test_what_lies_behind_a_table_is_not_underestimated(m, n):
    """Powers of 7/8 and of 3/4, added up far out in fractions; at most what is added where nothing falls before -n."""
    q, r = F(7, 8), F(3, 4)
    one, other = ([int(x**k * 10**40) for k in range(end + 1)] for x, end in ((q, m), (r, n)))
    found = Enclosed(one, one, m).behind(Enclosed(other, other, n))
    assert len(found) == m + n + 1

    def least(t):
        return sum(q ** (m + j) * r ** abs(t - j) for j in range(1, 180)) * 10**80

    def most(t):
        inside = sum(q**j * r ** abs(t - j) for j in range(1, t + n + 1))
        return q**m * (inside + q ** (max(t + n, 0) + 1) * r ** (n + 1) / (1 - r)) * 10**80

    for s, x in enumerate(found):
        assert (least(s - m) + least(-s - m)) * (1 - F(1, 10**20)) <= x
        assert x <= (most(s - m) + most(-s - m)) * (1 + F(1, 10**17))


def test_a_table_times_itself_is_as_times_another():
    one = [10**30 - k**9 for k in range(300)]
    assert _convolved(one, one) == _convolved(one, list(one))


def test_long_tables_are_multiplied_as_short_ones():
    rng = np.random.default_rng(1)
    one, other = ([int.from_bytes(rng.bytes(25), "little") for _ in range(n)] for n in (200, 90))
    found = _convolved(one, other)
    assert len(found) == 289
    for s in (0, 1, 57, 199, 288):
        assert found[s] == sum(one[abs(x)] * other[abs(s - x)] for x in range(-199, 200) if abs(s - x) < 90)


def test_what_is_released_adds_up_and_is_whole():
    plan = dx.plan(np.eye(6, dtype=int), dx.metrics.constant(6, 0.5), method="k-norm")
    counts = np.array([5, 0, 3, 9, 1, 2])
    for _ in range(20):
        z = dx.laplace(plan, counts)
        assert z.sum() == 20
        assert (z == np.rint(z)).all()


def test_no_count_without_noise_is_drawn():
    plan = dx.plan(np.eye(4, dtype=int), dx.metrics.constant(4, 1), method="k-norm")
    with pytest.raises(dx.errors.NotCertified):
        plan.measured.drawn(np.zeros(len(plan.scales)), None)
    assert NO_ROW == -1


@pytest.mark.parametrize("scale", [1e-3, 0.02, 50.0, 66.0, 99.0])
@pytest.mark.parametrize("cells", [2, 3, 8])
def test_cells_alone_are_drawn_at_all_scales(scale, cells):
    """Counts that nobody makes have no weight of their own: their tables once ended where nothing was known of them."""
    family = family_of(nest_of(np.eye(cells, dtype=np.int64)), [scale] * cells)
    family.prepare()
    z = family.draw()
    assert z[0] == 0
    assert np.abs(z).max() < 200 * max(scale, 1)


def test_a_row_of_which_nothing_is_known_decides_nothing():
    """Noise that is hardly ever there: at s = 1 all products vanish in floats."""
    leaf = kind(0.01)
    node = kind(0.01, (leaf, leaf))
    family = Family(3, [tree_noise.Split(node, node, *(np.array([k]) for k in range(3)))])
    words = np.array([0, 1 << 20, 1 << 52, (1 << 53) - 1], dtype=np.uint64)
    _, decided = family._pair(node, node)._by_floats(np.ones(4, dtype=np.int64), words)
    assert not decided.any()
    found = [family._pair(node, node)._by_whole_numbers(1, int(w), Stream(1)) for w in words]
    assert found[0] == 0
    assert found[-1] == 1


@pytest.mark.parametrize("epsilon", [0.03, 0.02, 600, 3000, 1e5])
def test_plans_of_strict_and_of_loose_policies_can_be_carried_out(epsilon):
    plan = dx.plan(np.eye(4, dtype=int), dx.metrics.constant(4, epsilon))
    assert dx.laplace(plan, [3, 4, 5, 6]).shape == (4,)


@pytest.mark.parametrize("scale", [0.0, 5e-324, math.inf, math.nan])
def test_scales_that_are_none_are_refused_before_errors_are_worked_out(scale):
    plan = dx.plan(np.eye(4, dtype=int), dx.metrics.constant(4, 1), method="k-norm")
    with pytest.raises(dx.errors.NotCertified):
        plan.measured.distributions([scale] * len(plan.scales))


@pytest.mark.parametrize("scale", [2.0**129, 1e300])
def test_scales_beyond_the_digits_of_the_sampler_are_refused(scale):
    with pytest.raises(ValueError, match="is too large"):
        tree_noise._rho(scale)
