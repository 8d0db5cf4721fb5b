"""The central angle of two places on a sphere: a float with a known error, and 38 certain digits where those decide.

Both use the haversine formula, sin²(angle/2) = sin²(rise/2) + cos(lat) cos(lat') sin²(turn/2), on exact differences of
the degrees; cosines of latitudes are sines of the distance from the pole.  So small angles keep their relative
accuracy: the float is within 2^-25 (the worst case is the antipode, where the arcsine magnifies a relative error of 10u
to its square root), and certainly within `ERROR`.  In decimal arithmetic every operation rounds at the 90th digit; the
few hundred of them, and the square root of their error at the antipode, leave more than 40 digits; 38 are used.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

ERROR = 2.0**-20
_DIGITS = 90  # half of them are lost at the antipode
_CERTAIN = Fraction(1, 10**38)

Place = tuple[float, float]


def _parts(p: Place, q: Place) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Rise and turn in degrees, the turn folded to [0, 180], and both distances from the pole."""
    phi, lam, psi, mu = (Fraction(x) for x in (*p, *q))
    turn = (lam - mu) % 360
    return abs(phi - psi), min(turn, 360 - turn), 90 - abs(phi), 90 - abs(psi)


def same(p: Place, q: Place) -> bool:
    """Whether two places are one: longitudes modulo 360, none at a pole."""
    return p[0] == q[0] and (abs(p[0]) == 90 or (Fraction(p[1]) - Fraction(q[1])) % 360 == 0)


def angle_about(p: Place, q: Place) -> float:
    """The angle in radians, within ERROR.

    >>> round(angle_about((41.8781, -87.6298), (43.0389, -87.9065)) * 6371.0088, 3)
    131.056
    """
    rise, turn = abs(p[0] - q[0]), abs(p[1] - q[1])
    if turn > 180:
        turn = float(_parts(p, q)[1])
    ring = math.sin(math.radians(90 - abs(p[0]))) * math.sin(math.radians(90 - abs(q[0])))
    square = math.sin(math.radians(rise) / 2) ** 2 + ring * math.sin(math.radians(turn) / 2) ** 2
    if square < 1e-280:  # out of digits
        low, high = angle_between(p, q)
        return float((low + high) / 2)
    return 2 * math.asin(min(1.0, math.sqrt(square)))


def angle_between(p: Place, q: Place) -> tuple[Fraction, Fraction]:
    """The angle in radians between two fractions, 10^-38 apart (relative).

    >>> low, high = angle_between((0.0, 0.0), (0.0, 90.0))
    >>> float(2 * low), low < Fraction(math.pi) / 2 + Fraction(1, 10**16) and low < high
    (3.141592653589793, True)
    """
    if same(p, q):
        return Fraction(0), Fraction(0)
    with localcontext(Context(prec=_DIGITS, Emax=999_999, Emin=-999_999)):
        rise, turn, rim, rim2 = (_decimal(x) * _pi() / 180 for x in _parts(p, q))
        square = _sine(rise / 2) ** 2 + _sine(rim) * _sine(rim2) * _sine(turn / 2) ** 2
        square = min(square, Decimal(1))
        if square <= Decimal("0.5"):
            angle = 2 * _arctangent((square / (1 - square)).sqrt())
        else:
            angle = _pi() - 2 * _arctangent(((1 - square) / square).sqrt())
        value = Fraction(angle)
    return value * (1 - _CERTAIN), value * (1 + _CERTAIN)


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


_known: dict[str, Decimal] = {}


def _pi() -> Decimal:
    """Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    if "pi" not in _known:
        _known["pi"] = 16 * _series(Decimal(1) / 5) - 4 * _series(Decimal(1) / 239)
    return _known["pi"]


def _series(t: Decimal) -> Decimal:
    """arctan t = t - t³/3 + t⁵/5 - …, for small t."""
    total, power, square, k = Decimal(0), t, t * t, 1
    while True:
        new = total + power / k
        if new == total:
            return total
        total, power, k = new, -power * square, k + 2


def _arctangent(t: Decimal) -> Decimal:
    """For 0 <= t <= 1, halving the angle four times first: tan(x/2) = t / (1 + sqrt(1 + t²))."""
    for _ in range(4):
        t = t / (1 + (1 + t * t).sqrt())
    return 16 * _series(t)


def _sine(x: Decimal) -> Decimal:
    """sin x = x - x³/3! + …, for 0 <= x <= pi/2, where no term cancels much."""
    total, term, square, k = Decimal(0), x, x * x, 1
    while True:
        new = total + term
        if new == total:
            return total
        total, term, k = new, -term * square / ((k + 1) * (k + 2)), k + 2
