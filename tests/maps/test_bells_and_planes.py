"""Bells in whole steps and places in a plane: against many digits, against great circles, and twice written."""

import math
import random
from decimal import Context, Decimal, localcontext
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from dxprivacy.errors import QueryError
from dxprivacy.exact.normal import SLOPE, STEPS, all_below, apart_at_most, below
from dxprivacy.metrics.distances import RADIUS_KM, great_circle
from dxprivacy.universe.plane import Plane, cosine_floor
from dxprivacy.verify import bells, planes

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")


def phi(z: F) -> Decimal:
    """Phi by its continued fraction and series in 80 digits, whichever is good at z: no code of ours."""
    with localcontext(Context(prec=80)):
        x = Decimal(z.numerator) / Decimal(z.denominator)
        term = total = x
        n = 0
        while abs(term) > Decimal(10) ** -78:
            n += 1
            term = -term * x * x / (2 * n)
            total += term / (2 * n + 1)
        return Decimal("0.5") + total / (2 * PI).sqrt()


def test_steps_are_the_nearest_whole_numbers():
    rng = random.Random(1)
    for _ in range(400):
        z = F(rng.randint(-7 * 10**9, 7 * 10**9), rng.choice([10**9, 7 * 10**8, 3 * 10**9]))
        exact = phi(z) * STEPS
        assert abs(Decimal(below(z)) - exact) <= Decimal("0.5") + Decimal(10) ** -30
        assert bells.below(z) == below(z)
        assert below(z) + below(-z) == STEPS or abs(exact % 1 - Decimal("0.5")) < Decimal(10) ** -20
    for z in (F(0), F(7), F(-7), F(100), F(-100), F(699, 100)):
        assert bells.below(z) == below(z)


def test_many_steps_are_those_of_each():
    rng = random.Random(2)
    z = [[F(rng.randint(-900, 900), 100) for _ in range(40)] for _ in range(30)]
    found = all_below(np.array([[float(x) for x in line] for line in z]), lambda line, place: z[line][place])
    assert found.tolist() == [[below(x) for x in line] for line in z]


def test_what_floats_leave_open_integers_decide(monkeypatch):
    from dxprivacy.exact import normal

    z = [[F(k, 64) for k in range(-300, 300)]]
    floats = np.array([[float(x) for x in z[0]]])
    monkeypatch.setattr(normal, "_UNSURE", 1.0)  # all of them
    assert all_below(floats, lambda line, place: z[line][place]).tolist() == [[below(x) for x in z[0]]]


def test_two_bells_differ_by_no_more_than_stated():
    for k in range(1, 900):
        x = F(k, 100)
        truth = 2 * (2 * float(ndtr(float(x) / 2)) - 1)
        assert truth <= float(apart_at_most(x)) * (1 + 1e-12) <= truth * 1.12
        assert apart_at_most(x) == bells.apart(x) <= SLOPE * x
    assert float(SLOPE) >= math.sqrt(2 / math.pi)
    ratios = [apart_at_most(F(k, 50)) / F(k, 50) for k in range(1, 400)]
    assert all(a >= b for a, b in pairwise(ratios))  # the closest pair is the tightest


def test_cosines_are_not_above_and_near():
    for tenths in range(0, 901):
        found, truth = float(cosine_floor(F(tenths, 10))), math.cos(math.radians(tenths / 10))
        assert truth - 1e-9 <= found <= truth + 1e-15
        assert planes.cosine(F(tenths, 10)) == cosine_floor(F(tenths, 10))


@pytest.mark.parametrize("seed", range(40))
def test_lengths_on_the_map_are_stretched_by_no_more_than_certified(seed):
    rng = random.Random(seed)
    latitude, longitude, size = rng.uniform(-80, 80), rng.uniform(-180, 180), rng.choice([0.1, 2, 8, 40])
    spots = np.array([[latitude + rng.uniform(-1, 1) * size, longitude + rng.uniform(-1, 1) * size] for _ in range(60)])
    spots[:, 0] = np.clip(spots[:, 0], -88, 88)
    plane = Plane.of(spots, earth=True)
    width = F(rng.choice([1, 10, 100, 400]))
    other = planes.Plane([(a, planes.turned(b)) for a, b in spots.tolist()], True, "")
    try:
        stretch = plane.stretch(4 * width)
    except QueryError:
        with pytest.raises(Exception, match=r"pole|around the Earth"):
            other.stretch(4 * width)
        return
    assert (plane.lengths, stretch) == (other.lengths, other.stretch(4 * width))
    around = np.array([[rng.uniform(-1, 1), rng.uniform(-1, 1)] for _ in range(200)]) * float(width) / 60
    near = spots[:, None, :] + around
    pairs = [(a, b) for a, row in zip(spots, near, strict=True) for b in row]
    low, high = spots.min(axis=0), spots.max(axis=0)
    first, second = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
    second = np.clip(second, low, high)  # of places on the map
    truth = great_circle(first, second) * float(RADIUS_KM)
    units = np.array([float(u) for u in plane.lengths])
    west = float(plane.ends[1][0])
    mine, theirs = (on_the_map(x, west) * units for x in (first, second))
    drawn = np.sqrt(((mine - theirs) ** 2).sum(axis=1))
    close = truth <= 4 * float(width)
    assert close.any()
    assert (drawn[close] <= truth[close] * float(stretch) * (1 + 1e-9) + 1e-9).all()


def on_the_map(places, west):
    """Longitudes from the western end of the map eastwards."""
    turned = west + np.mod(places[:, 1] - west + 1e-9, 360) - 1e-9
    return np.stack([places[:, 0], turned], axis=1)


@pytest.mark.parametrize(
    ("longitudes", "ends"),
    [
        ([178.0, -172.0, -175.0], (178, 188)),  # Fiji, Samoa, Tonga
        ([179.75, -179.75], (F("179.75"), F("180.25"))),
        ([180.0, -179.0, 0.0, 179.5], (F("179.5"), 360)),
        ([-90.0, 90.0], (-90, 90)),  # as wide either way: not across the date line
        ([-91.0, 90.0], (90, 269)),
        ([-100.0, -50.0, 100.0], (-100, 100)),
        ([5.0], (5, 5)),
        ([170.0, 190.0], (170, 190)),
        ([-0.0, 0.0], (0, 0)),
    ],
)
def test_a_map_is_the_shortest_stretch_that_holds_all_longitudes(longitudes, ends):
    rows = [[float(k), x] for k, x in enumerate(longitudes)]
    plane = Plane.of(np.array(rows), earth=True)
    other = planes.Plane([(a + 0.0, planes.turned(b)) for a, b in rows], True, "")
    assert plane.ends[1] == other.ends[1] == ends
    assert plane.drawn[:, 1].min() == float(ends[0])
    numbers, which = plane.along(1)
    assert [numbers[k] for k in which] == [other.at(1, planes.turned(x)) for x in longitudes]


def test_which_stretch_is_the_shortest_two_programs_agree():
    rng = random.Random(5)
    for _ in range(300):
        step = rng.choice([1, 0.1, 7.3, 360 / 7])
        rows = [[0.0, step * rng.randint(-400, 400) % 360] for _ in range(rng.randint(1, 9))]
        plane = Plane.of(np.array(rows), earth=True)
        assert plane.ends == tuple(planes.Plane([(a, planes.turned(b)) for a, b in rows], True, "").ends)
        west, east = plane.ends[1]
        turned = sorted({F(planes.turned(b)) for _, b in rows})
        gaps = [b - a for a, b in pairwise([*turned, turned[0] + 360])]
        assert east - west == 360 - max(gaps)


@pytest.mark.parametrize(
    ("spots", "reason"),
    [
        ([[10.0, k - 180.0] for k in range(360)], "around the Earth"),
        ([[80.0, k * 5.0] for k in range(72)], "around the Earth"),
        ([[89.5, 0.0], [89.0, 10.0]], "pole"),
        ([[-88.9, 0.0], [-88.0, 10.0]], "pole"),
    ],
)
def test_there_is_no_map_of_poles_and_all_around_the_earth(spots, reason):
    with pytest.raises(QueryError, match=reason):
        Plane.of(np.array(spots), earth=True).stretch(F(400))


def test_longitudes_count_modulo_a_turn():
    given = np.array([[1.0, 190.0], [1.0, -170.0], [1.0, 360.0], [1.0, -180.0], [1.0, -0.0]])
    assert Plane.of(given, earth=True).coordinates[:, 1].tolist() == [-170.0, -170.0, 0.0, 180.0, 0.0]
    assert [planes.turned(x) for x in given[:, 1].tolist()] == [-170.0, -170.0, 0.0, 180.0, 0.0]
