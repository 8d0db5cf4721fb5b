"""Distances between points: a float64 filter with a proved error, and an exact lower bound that decides.

Coordinates are float64 and are taken as the exact dyadic numbers that they are. `euclidean` and `great_circle` are
vectorized and choose the few pairs that matter; `euclidean_floor` and `great_circle_floor` give for such a pair a
rational that is never above the true distance and less than 2^-60 (relative) below it. The latter use Python integers
only: the same result on every machine, no libm.

Error of the filters, u = 2^-53. (A result inside `FILTER_RANGE` keeps the bound. Outside of it float64 itself runs out
of digits or overflows to inf: decide such a pair exactly.)

* `euclidean`: a difference costs u and its square u more, 3u per squared term; the sum is a tree of depth
  L = ceil(log2 dim) over non-negative terms, L u. The root halves that and adds u: (3 + L)/2 u + u < 32u = 2^-48 for
  dim <= 2^58. Where the plain squares leave the range, the terms are first scaled by an exact power of two.
* `great_circle` assumes numpy's sin and arctan2 within 4 ulp (8u). Every angle is one rounded sum (u), the factor
  pi/180 costs 2u, and the sine on [0, pi/2] does not magnify relative errors: 11u. Cosines of latitudes are sines of
  90 - |latitude|, so they keep relative accuracy at the poles; the root of the product of two has 12.5u. With alpha
  half the central angle, S = sin(alpha) is a norm of two such terms, relative error e <= 27u; C = cos(alpha) is the
  same formula for the antipode of one point, ABSOLUTE error f <= 33u (180 - gap is only accurate absolutely). Then
  |d alpha| = |C dS - S dC| <= S (e + f) <= alpha (e + f) = 60u alpha, and 68u with arctan2, second order included
  below 128u = 2^-46. There is no bad case: neither near 0 nor at the poles nor near the antipode.

Error of `great_circle_floor`. A real X is held as an integer x with x <= 2^P X <= x + deficit, and every step is
monotone in its inputs, so only deficits have to be counted. A sine has at most P (at most P/6 terms, 2 units each,
subtracted once), hence sin^2(angle/2) at most 6P + 5 < 2^15 for P <= 4096 (float64 needs no more than 2368). Let
2^-b be the lower bound of sin(angle/2) that sin x >= 2x/pi gives. P >= max(192, 96 + 2b) makes the relative deficit of
the square 2^-81 and that of the angle no more, up to 90 degrees; beyond, the angle loses at most
pi sqrt(2^(15 - 192)), the value at the antipode. Every number in `_double_arcsine` that is rounded has more than 88
bits, and the result is cut to 64: less than 2^-62 in all.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FILTER_RANGE = (2.0**-1000, 2.0**1000)  # float distances within keep their error bound; others: ask the exact function
EUCLIDEAN_ERROR = 2.0**-48
GREAT_CIRCLE_ERROR = 2.0**-46
RADIUS_KM = Fraction(63710088, 10000)  # mean Earth radius (2a + b)/3 = 6371.0088 km (IUGG, from GRS 80)

_DEGREE = math.pi / 180
_SMALLEST = 2.0**-1074
_CHUNK = 2**15  # coordinates at a time: temporaries stay in the cache
_BITS = 64  # significant bits of a certified distance
_HALVINGS = 5  # of the angle before the arctangent series: each costs a root and saves two bits per term


def euclidean(a: Floats, b: Floats) -> Floats:
    """Euclidean distance of row i of a from row i of b, within EUCLIDEAN_ERROR; 0.0 if and only if the rows are equal.

    >>> euclidean(np.array([[0.0, 0.0], [1e300, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([5.e+000, 1.e+300])
    """
    distance = np.empty(len(a))
    step = max(1, _CHUNK // a.shape[1])
    with np.errstate(over="ignore"):
        for i in range(0, len(a), step):
            distance[i : i + step] = _norm(np.subtract(a[i : i + step].T, b[i : i + step].T, order="C"))
    return distance


def euclidean_floor(p: Sequence[float], q: Sequence[float]) -> Fraction:
    """Certified lower bound of the Euclidean distance, within 2^-60 relative; exact where the distance is rational.

    >>> euclidean_floor((0.0, 0.0), (3.0, 4.0)), euclidean_floor((0.25,), (1.0,))
    (Fraction(5, 1), Fraction(3, 4))
    """
    *x, k = _common([*p, *q])
    square = sum((a - b) ** 2 for a, b in zip(x[: len(p)], x[len(p) :], strict=True))
    root = math.isqrt(square)
    if root * root == square:  # an integer has a rational root only if it is a perfect square
        return Fraction(root, 1 << k)
    shift = _BITS - root.bit_length()  # root of 4^shift square: 64 bits, so relative error < 2^-62
    root = math.isqrt(square << 2 * shift) if shift >= 0 else root >> -shift
    return _dyadic(root, k + shift)


def great_circle(a: Floats, b: Floats) -> Floats:
    """Central angle in radians between rows (latitude, longitude) in degrees, within GREAT_CIRCLE_ERROR.

    Longitudes count modulo 360 and do not count at a pole: 0.0 if and only if both rows are the same place.

    >>> chicago, milwaukee = np.array([[41.8781, -87.6298]]), np.array([[43.0389, -87.9065]])
    >>> float(np.round(great_circle(chicago, milwaukee)[0] * float(RADIUS_KM), 3))
    131.056
    """
    phi, psi = a[:, 0], b[:, 0]
    gap = _longitude_gap(a[:, 1], b[:, 1])
    same = (phi == psi) & ((gap == 0) | (np.abs(phi) == 90))
    with np.errstate(under="ignore"):
        ring = np.sqrt(_sine(90 - np.abs(phi)) * _sine(90 - np.abs(psi)))
        near = _norm(np.stack([_sine(np.abs(phi - psi) / 2), ring * _sine(gap / 2)]))
        far = _norm(np.stack([_sine((phi + psi) / 2), ring * _sine((180 - gap) / 2)]))
        angle = np.maximum(2 * np.arctan2(near, far), _SMALLEST)  # different places never come out as 0
    return np.where(same, 0.0, angle)


def great_circle_floor(p: tuple[float, float], q: tuple[float, float]) -> Fraction:
    """Certified lower bound of the central angle in radians between (latitude, longitude)s, within 2^-60 relative.

    It is 0 exactly where `great_circle` is: longitudes count modulo 360 and do not count at a pole.

    >>> chicago, milwaukee = (41.8781, -87.6298), (43.0389, -87.9065)
    >>> float(round(great_circle_floor(chicago, milwaukee) * RADIUS_KM, 3))
    131.056
    >>> great_circle_floor((10.0, 180.0), (10.0, -180.0)), great_circle_floor((90.0, 7.0), (90.0, 8.0))
    (Fraction(0, 1), Fraction(0, 1))
    """
    phi, lam, psi, mu, k = _common([*p, *q])
    quarter = 90 << k
    rise, turn = abs(phi - psi), (lam - mu) % (4 * quarter)
    turn = min(turn, 4 * quarter - turn)
    rims = quarter - abs(phi), quarter - abs(psi)  # angular distance from the pole
    if rise == 0 and (turn == 0 or rims[0] == 0):
        return Fraction(0)
    P = _working_bits(rise, turn, rims, k)
    # haversine: sin^2(angle/2) = sin^2(rise/2) + cos(phi) cos(psi) sin^2(turn/2), every factor rounded down
    ring = _sine_floor(rims[0], quarter, P) * _sine_floor(rims[1], quarter, P) >> P
    squares = _sine_floor(rise, 2 * quarter, P) ** 2 + (ring * _sine_floor(turn, 2 * quarter, P) ** 2 >> P)
    angle = _double_arcsine(squares >> P, P)
    cut = angle.bit_length() - _BITS
    return _dyadic(angle >> cut, P - cut)


def _norm(x: Floats) -> Floats:
    """Euclidean norm of every column; columns whose squares leave the float range are scaled by a power of two.

    The largest entry is a lower bound of the result in exact and in float arithmetic, so only zeros have norm 0.
    """
    with np.errstate(over="ignore", under="ignore"):
        total = _tree_sum(x * x)
        norm: Floats = np.sqrt(total)
        rare = np.flatnonzero(~((total > 2.0**-900) & (total < 2.0**1000)))
        if rare.size:
            y = x[:, rare]
            exponent = np.frexp(np.abs(y).max(axis=0))[1]
            y = np.ldexp(y, -exponent)
            norm[rare] = np.ldexp(np.sqrt(_tree_sum(y * y)), exponent)
    return norm


def _tree_sum(x: Floats) -> Floats:
    """Sum of the rows by halves (overwrites x): an error of ceil(log2 rows) u for non-negative numbers."""
    while len(x) > 1:
        half = (len(x) + 1) // 2
        x[: len(x) - half] += x[half:]
        x = x[:half]
    total: Floats = x[0]
    return total


def _sine(degrees: Floats) -> Floats:
    result: Floats = np.sin(degrees * _DEGREE)
    return result


def _longitude_gap(x: Floats, y: Floats) -> Floats:
    """|x - y| modulo 360, folded to [0, 180] up to rounding, with ONE rounding: also across the date line."""
    x, y = np.fmod(x, 360.0), np.fmod(y, 360.0)  # exact
    d = x - y
    z = d - x
    tail = (x - (d - z)) - (y + z)  # Knuth: d + tail = x - y exactly
    gap: Floats = np.abs((d - 360 * np.rint(d / 360)) + tail)  # Sterbenz: the inner difference is exact
    return gap


def _common(values: Sequence[float]) -> list[int]:
    """Integers n_1, ..., n_m, k with value_i = n_i / 2^k exactly."""
    ratios = [float(v).as_integer_ratio() for v in values]
    k = max((d.bit_length() for _, d in ratios), default=1) - 1
    return [*((n << k) // d for n, d in ratios), k]


def _dyadic(n: int, k: int) -> Fraction:
    """The fraction n / 2^k, for k of either sign."""
    return Fraction(n, 1 << k) if k >= 0 else Fraction(n << -k)


def _working_bits(rise: int, turn: int, rims: tuple[int, int], k: int) -> int:
    """Bits P >= max(192, 96 + 2b), a multiple of 64, with sin(angle/2) >= 2^-b; see the module docstring.

    sin(angle/2) >= rise/180 and >= sqrt(rim rim')/90 turn/180, in degrees, as sin x >= 2x/pi; 180 < 2^8, 90 < 2^7.
    """
    bits = []
    if rise:
        bits.append(k + 9 - rise.bit_length())
    if turn and all(rims):
        bits.append(k + 9 - turn.bit_length() + (2 * k + 17 - sum(r.bit_length() for r in rims)) // 2)
    return max(192, -(-(96 + 2 * min(bits)) // 64) * 64)


@lru_cache(maxsize=64)
def _pi(P: int) -> int:
    """Integer with _pi <= 2^P pi < _pi + 2, by Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    guard = P + 32  # 20 deficits of at most guard + 32 units, less than one unit of 2^-P
    a, b = (_arctangent_floor((1 << guard) // n, guard) for n in (5, 239))
    return (16 * a - 4 * (b + guard + 32)) >> 32


def _sine_floor(n: int, quarter: int, P: int) -> int:
    """Lower bound of 2^P sin(pi/2 n/quarter), deficit at most P, for 0 <= n <= quarter."""
    x = n * _pi(P) // (2 * quarter)
    square = x * x >> P
    total, term, sign, slack, j = 0, x, 1, 2, 2
    while term:  # a computed term is less than 2 units below the true one; the tail of an alternating series likewise
        total += sign * term
        term = (term * square >> P) // (j * (j + 1))
        sign, slack, j = -sign, slack + 2, j + 2
    return max(total - slack, 0)


def _arctangent_floor(t: int, P: int) -> int:
    """Lower bound of 2^P arctan(t / 2^P) for 0 <= t <= 2^P / 5, by the series; the slack is counted as in the sine."""
    square = t * t >> P
    total, power, sign, slack, j = 0, t, 1, 2, 1
    while power:
        total += sign * (power // j)
        power = power * square >> P
        sign, slack, j = -sign, slack + 2, j + 2
    return max(total - slack, 0)


def _double_arcsine(square: int, P: int) -> int:
    """Lower bound of 2^P 2 arcsin(sqrt(square / 2^P)): half the angle `_HALVINGS` + 1 times, then the series."""
    one = 1 << P
    t = (math.isqrt(square << P) << P) // (one + math.isqrt((one - square) << P) + 1)  # tan(x/2) = sin x / (1 + cos x)
    for _ in range(_HALVINGS):
        t = (t << P) // (one + math.isqrt((one << P) + t * t) + 1)  # tan(x/2) = tan x / (1 + sqrt(1 + tan^2 x))
    return _arctangent_floor(t, P) << (_HALVINGS + 2)
