"""The closer limit for tables: its inequality on every set of cells, in fractions; never above what is reached."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from contracts.long_forms import slow
from dxprivacy.optimize.strategies import StrategyProblem
from dxprivacy.optimize.strategies import choose as choose_rows
from dxprivacy.optimize.tables import choose
from dxprivacy.optimize.tables.table_limits import (
    Multipliers,
    Scheme,
    certified_factor,
    isoperimetric_limit,
    largest_factor,
    limit,
    sizes_together,
    unbiased_limit,
)

SCHEMES = [((2, 3),), ((3, 2),), ((2, 4),), ((2, 1), (5, 1)), ((2, 2), (3, 1))]


def spectra(kinds):
    """For every set of cells, up to a half of them: how many it has, and w of each class, times the number of cells."""
    sizes = [n for n, k in kinds for _ in range(k)]
    cells = list(itertools.product(*(range(n) for n in sizes)))
    scheme = Scheme(kinds)
    of = [k for k, (_, many) in enumerate(kinds) for _ in range(many)]
    at = {c: t for t, c in enumerate(scheme.classes)}

    def apart(x, y):
        return at[tuple(sum(a != b for a, b, g in zip(x, y, of, strict=True) if g == k) for k in range(len(kinds)))]

    types = np.array([[apart(x, y) for y in cells] for x in cells])
    projections = np.array([np.array(row)[types] for row in scheme.numbers])  # times the number of cells
    n = len(cells)
    for k in range(1, 1 << n):
        X = np.array([(k >> i) & 1 for i in range(n)])
        if 2 * X.sum() <= n:
            yield int(X.sum()), np.einsum("i,sij,j->s", X, projections, X), X, types


@pytest.fixture(scope="module", params=SCHEMES, ids=str)
def sets(request):
    """A scheme with the spectra of all its sets, each once."""
    found = {(n, tuple(w.tolist())) for n, w, _, _ in spectra(request.param)}
    return Scheme(request.param), sorted(found)


def largest_true_factor(scheme, eta, found):
    """The largest s such that s eta . w <= (l . w)^2 for all these sets."""
    border, N = scheme.border(), scheme.cells
    ratios = []
    for _, w in found:
        asked = sum(e * Fraction(x, N) for e, x in zip(eta, w, strict=True))
        if asked > 0:
            ratios.append(sum(b * Fraction(x, N) for b, x in zip(border, w, strict=True)) ** 2 / asked)
    return min(ratios)


def test_the_border_is_what_a_set_cuts():
    for kinds in SCHEMES[:3]:
        scheme = Scheme(kinds)
        one = [t for t, c in enumerate(scheme.classes) if sum(c) == 1]
        for _, w, X, types in itertools.islice(spectra(kinds), 0, None, 7):
            cut = sum(1 for i, j in itertools.combinations(range(len(X)), 2) if X[i] != X[j] and types[i, j] in one)
            assert sum(b * x for b, x in zip(scheme.border(), w.tolist(), strict=True)) == cut * scheme.cells


def test_what_is_certified_holds_for_every_set_in_fractions(sets):
    scheme, found = sets
    rng = np.random.default_rng(0)
    for _ in range(6):
        eta = rng.uniform(0, 1, len(scheme.classes)) * (rng.uniform(size=len(scheme.classes)) < 0.8)
        eta[0] = 0.0
        eta[1] += 0.1
        eta *= float(largest_true_factor(scheme, [Fraction(e) for e in eta.tolist()], found))
        factor = certified_factor(scheme, eta)
        most = largest_true_factor(scheme, [Fraction(e) for e in eta.tolist()], found)
        assert factor <= most
        assert factor >= most / 2  # sets have more to say than their inequalities; not much more


def test_no_multipliers_prove_what_is_not_true(sets):
    scheme, found = sets
    rng = np.random.default_rng(1)
    classes = len(scheme.classes)
    for _ in range(60):
        eta = [Fraction(0), *(Fraction(int(x), 8) for x in rng.integers(0, 9, classes - 1))]
        n1 = int(rng.integers(1, scheme.cells // 2 + 1))
        n2 = int(rng.integers(n1, scheme.cells // 2 + 1))
        y = [Fraction(int(x), 16) for x in rng.integers(0, 6, classes + 1)]
        proof = Multipliers(n1, n2, Fraction(int(rng.integers(1, 40)), 8), tuple(y[:-2]), y[-2], y[-1])
        here = [f for f in found if n1 <= f[0] <= n2]
        if any(eta) and here:
            assert largest_factor(scheme, eta, proof) <= largest_true_factor(scheme, eta, here)


def test_negative_multipliers_prove_nothing():
    scheme = Scheme(((2, 3),))
    eta = [Fraction(0), Fraction(1), Fraction(1), Fraction(0)]
    good = Multipliers(1, 1, Fraction(3), (Fraction(0),) * 3, Fraction(9), Fraction(0))
    assert largest_factor(scheme, eta, good) > 0
    for bad in (
        Multipliers(1, 1, Fraction(3), (Fraction(-1), Fraction(0), Fraction(0)), Fraction(9), Fraction(0)),
        Multipliers(1, 1, Fraction(3), (Fraction(0),) * 3, Fraction(-1), Fraction(0)),
        Multipliers(1, 1, Fraction(3), (Fraction(0),) * 3, Fraction(9), Fraction(-1)),
        Multipliers(1, 1, Fraction(0), (Fraction(0),) * 3, Fraction(9), Fraction(0)),
    ):
        assert largest_factor(scheme, eta, bad) == 0


@pytest.mark.parametrize("cells", [2, 9, 128, 256, 4096, 100_000])
def test_no_size_of_a_set_is_left_out(cells):
    together = sizes_together(cells)
    assert [n for a, b in together for n in range(a, b + 1)] == list(range(1, cells // 2 + 1))
    assert len(together) < 260


def two_way(sizes):
    return list(itertools.combinations(range(len(sizes)), 2))


def test_four_attributes_of_four_values_have_a_limit_more_than_twice_as_high():
    sizes, asked = (4,) * 4, two_way((4,) * 4)
    ours, cuts = isoperimetric_limit(sizes, (1,) * 4, asked, (1,) * 6), limit(sizes, (1,) * 4, asked, (1,) * 6)
    assert ours >= 2750
    assert ours >= 2.3 * cuts
    plan = choose(sizes, (1,) * 4, asked, (1,) * 6, closer=True)
    assert plan.limit == pytest.approx(ours)
    assert plan.limit <= plan.total <= 1.71 * plan.limit
    assert choose(sizes, (1,) * 4, asked, (1,) * 6).limit == pytest.approx(cuts)


@pytest.mark.parametrize(
    ("sizes", "order"),
    [
        ((2, 2, 2), 1),
        slow((2, 2, 2), 2),
        ((2, 2, 2, 2), 2),
        ((2, 2, 2, 2), 3),
        slow((3, 3), 2),
        ((3, 3, 3), 2),
        ((2, 2, 3), 2),
        ((6, 6), 2),
    ],
)
def test_it_is_never_above_what_tables_or_any_rows_reach(sizes, order):
    asked = list(itertools.combinations(range(len(sizes)), order))
    value = isoperimetric_limit(sizes, (1,) * len(sizes), asked, (1,) * len(asked))
    assert value > 0
    assert value <= choose(sizes, (1,) * len(sizes), asked, (1,) * len(asked)).total
    cells = list(itertools.product(*(range(n) for n in sizes)))
    rows = [
        [float(all(c[a] == v for a, v in zip(t, values, strict=True))) for c in cells]
        for t in asked
        for values in itertools.product(*(range(sizes[a]) for a in t))
    ]
    i, j = np.triu_indices(len(cells), 1)
    one = (np.array(cells)[i] != np.array(cells)[j]).sum(axis=1) == 1
    first, second = i[one], j[one]
    W = np.array(rows)
    problem = StrategyProblem(W.T @ W, first, second, np.ones(len(first)))
    effort = "thorough" if len(cells) <= 9 else "search"
    assert value <= choose_rows(problem, W, effort=effort).total


def test_units_and_weights_are_those_of_the_error():
    sizes, asked = (3,) * 3, two_way((3,) * 3)
    value = isoperimetric_limit(sizes, (1,) * 3, asked, (1,) * 3)
    assert isoperimetric_limit(sizes, (0.1,) * 3, asked, (1,) * 3) == pytest.approx(100 * value)
    assert isoperimetric_limit(sizes, (1,) * 3, asked, (7,) * 3) == pytest.approx(7 * value)
    assert isoperimetric_limit((3, 3, 3, 5), (1,) * 4, asked, (1,) * 3) == pytest.approx(value)  # not asked for
    assert isoperimetric_limit((3, 3, 3, 1), (1,) * 4, asked, (1,) * 3) == pytest.approx(value)
    slightly = isoperimetric_limit(sizes, (1, 1, 0.8), asked, (1,) * 3)
    assert value <= slightly <= choose(sizes, (1, 1, 0.8), asked, (1,) * 3).total


def test_where_it_says_nothing_it_is_nought():
    assert isoperimetric_limit((4,), (1,), [(0,)], (1,)) == 0
    assert isoperimetric_limit((4, 4), (1, 0.1), [(0, 1)], (1,)) == 0
    assert isoperimetric_limit((4, 4), (1, math.inf), [(0, 1)], (1,)) == 0
    assert isoperimetric_limit(tuple(range(2, 11)), (1,) * 9, two_way(range(9)), (1,) * 36) == 0  # too many classes
    assert isoperimetric_limit((10,) * 6, (1,) * 6, two_way(range(6)), (1,) * 15) == 0  # too many cells


def test_the_limit_of_answers_without_bias_is_the_one_that_holds_for_whole_numbers():
    sizes, asked = (4,) * 4, two_way((4,) * 4)
    for budget in (0.1, 1, 3, 5, 20, 2000, math.inf):
        least = unbiased_limit(sizes, (budget,) * 4, asked, (1,) * 6)
        p = math.exp(-budget / 12)  # all six tables with discrete noise of scale 12 / budget
        assert 0 <= least <= 6 * 16 * 2 * p / (1 - p) ** 2 if p < 1 else least == math.inf
    assert unbiased_limit(sizes, (5,) * 4, asked, (1,) * 6) < limit(sizes, (5,) * 4, asked, (1,) * 6)
