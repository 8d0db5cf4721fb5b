"""Distances against mpmath: other formulas than the module's, with hundreds of digits."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from mpmath import mp

from dxprivacy.metrics import distances
from dxprivacy.metrics.distances import (
    EUCLIDEAN_ERROR,
    FILTER_RANGE,
    GREAT_CIRCLE_ERROR,
    RADIUS_KM,
    euclidean,
    euclidean_floor,
    great_circle,
    great_circle_floor,
)

Place = tuple[float, float]
BELOW_90, BELOW_180 = math.nextafter(90, 0), math.nextafter(180, 0)
CHICAGO, MILWAUKEE = (41.8781, -87.6298), (43.0389, -87.9065)


def exact(x: Fraction) -> mpmath.mpf:
    return mp.mpf(x.numerator) / mp.mpf(x.denominator)


def true_euclidean(p, q) -> mpmath.mpf:
    return mp.sqrt(exact(sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(p, q, strict=True))))


def true_angle(p: Place, q: Place) -> mpmath.mpf:
    """Angle between the two unit vectors, atan2(|u x v|, u . v): no haversine, cancellation paid with digits."""

    def unit(lat: float, lon: Fraction) -> tuple[mpmath.mpf, ...]:
        phi, lam = exact(Fraction(lat)) * mp.pi / 180, exact(lon) * mp.pi / 180
        return mp.cos(phi) * mp.cos(lam), mp.cos(phi) * mp.sin(lam), mp.sin(phi)

    turn = (Fraction(p[1]) - Fraction(q[1]) + 180) % 360 - 180
    (a, b, c), (x, y, z) = unit(p[0], turn), unit(q[0], Fraction(0))
    return mp.atan2(mp.sqrt((b * z - c * y) ** 2 + (c * x - a * z) ** 2 + (a * y - b * x) ** 2), a * x + b * y + c * z)


def check(floor: Fraction, filtered: float, truth: mpmath.mpf, error: float) -> None:
    assert exact(floor) <= truth <= exact(floor) * (1 + mp.mpf(2) ** -60)
    if FILTER_RANGE[0] <= filtered <= FILTER_RANGE[1]:
        assert abs(mp.mpf(filtered) - truth) <= error * truth
    else:
        assert not 2 * FILTER_RANGE[0] < truth < FILTER_RANGE[1] / 2


def check_euclidean(p, q, digits: int = 80) -> None:
    floor, filtered = euclidean_floor(p, q), float(euclidean(np.array([p]), np.array([q]))[0])
    assert euclidean_floor(q, p) == floor
    assert euclidean(np.array([q]), np.array([p]))[0] == filtered
    same = tuple(p) == tuple(q)
    assert (floor == 0) == (filtered == 0) == same
    if not same:
        with mp.workdps(digits):
            root = true_euclidean(p, q)
            # an exact result may be a hair above a truth that mpmath rounded down
            check(floor, filtered, root * (1 + mp.mpf(10) ** (2 - digits)), EUCLIDEAN_ERROR)
        square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(p, q, strict=True))
        assert floor**2 <= square


def check_angle(p: Place, q: Place, digits: int = 120) -> None:
    floor, filtered = great_circle_floor(p, q), float(great_circle(np.array([p]), np.array([q]))[0])
    assert great_circle_floor(q, p) == floor
    assert great_circle(np.array([q]), np.array([p]))[0] == filtered
    same = p[0] == q[0] and (abs(p[0]) == 90 or (Fraction(p[1]) - Fraction(q[1])) % 360 == 0)
    assert (floor == 0) == (filtered == 0) == same
    if not same:
        with mp.workdps(digits):
            check(floor, filtered, true_angle(p, q), GREAT_CIRCLE_ERROR)


# --- Euclidean ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 2.0**-300, 2.0**300])
@pytest.mark.parametrize(
    ("legs", "length"),
    [((3, 4), 5), ((5, 12), 13), ((2, 3, 6), 7), ((0.75, 1.0), 1.25), ((0.1,), 0.1), ((1, 1, 1, 1), 2), ((0, 0), 0)],
)
def test_rational_distances_are_exact(legs, length, scale):
    p, q = [0.0] * len(legs), [leg * scale for leg in legs]
    assert euclidean_floor(p, q) == Fraction(length) * Fraction(scale)
    assert euclidean(np.array([p]), np.array([q]))[0] == pytest.approx(length * scale, rel=EUCLIDEAN_ERROR, abs=0)


def test_a_rational_distance_with_more_than_64_bits_is_still_exact():
    assert euclidean_floor((2.0**200,), (2.0**-200,)) == 2**200 - Fraction(1, 2**200)


def test_an_irrational_distance_is_cut_to_64_bits():
    floor = euclidean_floor((1e150, 1e-300), (7.0, 3.0))
    assert (floor.numerator >> (floor.numerator & -floor.numerator).bit_length() - 1).bit_length() <= 64


WILD = [0.0, 1.0, -1.0, 1 + 2**-52, 0.1, 1e-300, -3e-300, 1e150, -1e150, 3e-5, 5e-324, 1e-310, 2.0**1000, 1e16]


def test_wild_coordinates():
    for a, b, c in itertools.product(WILD, repeat=3):
        check_euclidean((a, b, 0.5), (b, c, 0.5), digits=80)


def test_distances_beyond_float64_are_inf_for_the_filter_and_exact_for_the_floor():
    a, b = np.array([[1.7e308, 0.0]]), np.array([[-1.7e308, 0.0]])
    assert euclidean(a, b)[0] == math.inf
    assert euclidean_floor(a[0], b[0]) == 2 * Fraction(1.7e308)


def test_the_smallest_differences_do_not_vanish():
    p, q = np.zeros((1, 2)), np.array([[5e-324, 5e-324]])
    assert euclidean(p, q)[0] > 0
    assert euclidean_floor(p[0], q[0]) > Fraction(5e-324)


coordinate = st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**1000), max_value=2.0**1000)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=6))
def test_euclidean_on_any_floats(pairs):
    check_euclidean(*zip(*pairs, strict=True))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.sampled_from([-math.inf, None, math.inf])), min_size=1, max_size=6))
def test_euclidean_on_neighboring_floats(start):
    p = [x for x, _ in start]
    check_euclidean(p, [x if to is None else math.nextafter(x, to) for x, to in start])


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 64, 257])
def test_euclidean_blocks_agree_with_single_rows_and_keep_the_bound(dim):
    rng = np.random.default_rng(dim)
    m = 2**15 // dim + 40  # more than one chunk
    a, b = rng.normal(size=(m, dim)), rng.normal(size=(m, dim))
    b[7], b[9] = a[7], a[9] * (1 + 2**-52)
    a[11] *= 1e-200
    b[11] *= 1e-200
    d = euclidean(a, b)
    assert d.shape == (m,)
    assert np.flatnonzero(d == 0).tolist() == [7]
    with mp.workdps(60):
        for i in [0, 9, 11, m - 1, *rng.integers(m, size=20).tolist()]:
            truth = true_euclidean(a[i], b[i])
            assert abs(mp.mpf(float(d[i])) - truth) <= EUCLIDEAN_ERROR * truth
    assert euclidean(a[:0], b[:0]).shape == (0,)


def test_inputs_are_not_overwritten():
    a, b = np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]])
    euclidean(a, b)
    great_circle(a, b)
    assert a.tolist() == [[1.0, 2.0]]
    assert b.tolist() == [[3.0, 5.0]]


# --- great circle ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("P", [64, 192, 256, 1024, 2368])
def test_pi_is_rounded_down_by_less_than_two_units(P):
    with mp.workprec(P + 50):
        assert 0 <= mp.pi * mp.mpf(2) ** P - distances._pi(P) < 2


@pytest.mark.parametrize("P", [192, 256, 1024])
def test_sine_and_arctangent_stay_below_with_the_guaranteed_deficit(P):
    rng = random.Random(P)
    quarter = 90 << 60
    with mp.workprec(2 * P):
        for n in [0, 1, quarter, quarter - 1, quarter // 3, *(rng.randrange(quarter) for _ in range(50))]:
            assert 0 <= mp.sin(mp.pi * n / (2 * quarter)) * 2**P - distances._sine_floor(n, quarter, P) <= P
        for t in [0, 1, 2**P // 5, *(rng.randrange(2**P // 5) >> rng.randrange(P) for _ in range(50))]:
            assert 0 <= mp.atan(mp.mpf(t) / 2**P) * 2**P - distances._arctangent_floor(t, P) <= P


@pytest.mark.parametrize("P", [192, 1024])
def test_double_arcsine_stays_below_up_to_the_antipode(P):
    rng = random.Random(P)
    squares = [1, 2**P, 2**P - 1, 2 ** (P - 1), *(rng.randrange(2**P) >> rng.randrange(P // 2) for _ in range(50))]
    with mp.workprec(3 * P):
        for square in squares:
            truth = 2 * mp.asin(mp.sqrt(mp.mpf(square) / 2**P))
            assert 0 <= truth * 2**P - distances._double_arcsine(square, P) <= 2**9 * P


def test_cities():
    km = float(great_circle_floor(CHICAGO, MILWAUKEE) * RADIUS_KM)
    assert km == pytest.approx(131.056, abs=1e-3)
    check_angle(CHICAGO, MILWAUKEE)


def test_the_floor_is_the_same_on_every_machine():
    # Integers only: these values may change when the algorithm does, never with the platform.
    assert great_circle_floor(CHICAGO, MILWAUKEE) == Fraction(12142767792265477893, 2**69)
    assert great_circle_floor((0.0, 0.0), (0.0, 180.0)) == Fraction(3622009729038561421, 2**60)
    assert great_circle_floor((10.0, 20.0), (10.0, math.nextafter(20, 21))) == Fraction(634130357803168397, 2**113)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((90.0, 0.0), (90.0, 123.0)),
        ((-90.0, -180.0), (-90.0, 17.5)),
        ((12.0, 180.0), (12.0, -180.0)),
        ((12.0, 350.0), (12.0, -10.0)),
        ((12.0, 720.25), (12.0, 0.25)),
        ((0.0, -0.0), (-0.0, 0.0)),
        ((33.3, 44.4), (33.3, 44.4)),
    ],
)
def test_names_of_the_same_place_have_distance_zero(p, q):
    assert great_circle_floor(p, q) == 0
    assert great_circle(np.array([p]), np.array([q]))[0] == 0.0


LATITUDES = [0.0, 1e-300, -1e-9, 45.0, -45.0, 41.8781, 89.9999999, BELOW_90, -BELOW_90, 90.0, -90.0]
LONGITUDES = [0.0, 1e-13, 5e-324, 90.0, 180.0, -180.0, BELOW_180, -BELOW_180, 179.9999999, 359.0, -719.9]


def test_poles_date_line_antipodes_and_equator():
    rng = random.Random(1)
    places = list(itertools.product(LATITUDES, LONGITUDES))
    for p, q in rng.sample(list(itertools.product(places, places)), 500):
        check_angle(p, q, digits=120 if 1e-300 not in (abs(p[0]), abs(q[0])) else 400)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((BELOW_90, 0.0), (BELOW_90, 180.0)),
        ((BELOW_90, 0.0), (90.0, 77.0)),
        ((BELOW_90, 0.0), (BELOW_90, 5e-324)),
        ((0.0, 0.0), (0.0, 5e-324)),
        ((0.0, 0.0), (5e-324, 0.0)),
        ((1e-310, 1e-310), (-1e-310, 3e-310)),
        ((1e-300, 0.0), (0.0, 1e-300)),
        ((1e-300, 0.0), (0.0, 180.0)),
        ((0.0, 360.0), (0.0, 1e-300)),
        ((5.0, 2.0**1000), (5.0, 1e-300)),
        ((12.0, 1e16), (12.0, -1e16)),
        ((90.0, 0.0), (-90.0, 50.0)),
        ((0.0, 0.0), (0.0, 180.0)),
        ((30.0, 10.0), (-30.0, -170.0)),
        ((30.0, 10.0), (math.nextafter(-30.0, 0), -170.0)),
        ((0.0, BELOW_180), (0.0, -BELOW_180)),
        ((60.0, BELOW_180), (60.0, math.nextafter(-BELOW_180, 0))),
    ],
)
def test_extreme_places(p, q):
    check_angle(p, q, digits=800)


latitude, longitude = st.floats(-90, 90), st.floats(-360, 360)


@settings(max_examples=150, deadline=None)
@given(st.tuples(latitude, longitude), st.tuples(latitude, longitude))
@example((0.0, 0.0), (0.0, -0.0))
def test_great_circle_on_any_floats(p, q):
    check_angle(p, q, digits=800)


step = st.sampled_from([0.0, 1e-13, 1e-11, 1e-8, 1e-5, 1e-2, 1.0]).flatmap(lambda s: st.floats(-s, s))


@settings(max_examples=300, deadline=None)
@given(st.floats(-90, 90), st.floats(-180, 180), step, step, st.booleans())
def test_near_pairs_and_near_antipodes_keep_relative_precision(lat, lon, up, right, antipode):
    there = (-(lat + up), lon + right + 180) if antipode else (lat + up, lon + right)
    assume(abs(there[0]) <= 90)
    check_angle((lat, lon), there, digits=800 if min(abs(lat), abs(lon), abs(up), abs(right)) < 1e-30 else 120)


def test_great_circle_on_random_pairs():
    rng = random.Random(7)
    for _ in range(400):
        scale = 10 ** rng.uniform(-14, 2)
        p = rng.uniform(-90, 90), rng.uniform(-180, 180)
        q = max(-90.0, min(90.0, p[0] + rng.gauss(0, scale))), p[1] + rng.gauss(0, scale)
        check_angle(p, q)


def test_great_circle_floor_is_certified_by_interval_arithmetic():
    iv, rng = mpmath.iv, random.Random(3)
    before, iv.prec = iv.prec, 400
    try:
        for _ in range(50):
            p, q = ((rng.uniform(-90, 90), rng.uniform(-180, 180)) for _ in range(2))
            degree = iv.pi / 180
            phi, psi = iv.mpf(p[0]) * degree, iv.mpf(q[0]) * degree
            rise, turn = (phi - psi) / 2, (iv.mpf(p[1]) - iv.mpf(q[1])) * degree / 2
            h = iv.sin(rise) ** 2 + iv.cos(phi) * iv.cos(psi) * iv.sin(turn) ** 2
            floor = great_circle_floor(p, q)
            half = iv.mpf(floor.numerator) / iv.mpf(2 * floor.denominator)
            assert (iv.sin(half) ** 2).b <= h.a
    finally:
        iv.prec = before


def test_great_circle_blocks_agree_with_single_rows():
    rng = np.random.default_rng(5)
    a, b = (np.column_stack([rng.uniform(-90, 90, 100), rng.uniform(-180, 180, 100)]) for _ in range(2))
    b[3] = a[3]
    block = great_circle(a, b)
    assert block.shape == (100,)
    assert np.flatnonzero(block == 0).tolist() == [3]
    for i in range(100):
        single = great_circle(a[i : i + 1], b[i : i + 1])[0]
        assert block[i] == pytest.approx(single, rel=2 * GREAT_CIRCLE_ERROR, abs=0)
    assert great_circle(a[:0], b[:0]).shape == (0,)


def test_numpy_may_raise_on_floating_point_flags():
    with np.errstate(all="raise"):
        assert euclidean(np.array([[1e-200, 0.0]]), np.array([[0.0, 1e200]]))[0] == 1e200
        assert great_circle(np.array([[1e-320, 0.0]]), np.array([[0.0, 1e-200]]))[0] > 0
