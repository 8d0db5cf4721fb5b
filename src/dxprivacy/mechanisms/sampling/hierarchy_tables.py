"""Weights of the noise below a count in a hierarchy of counts, with lower and upper integer bounds.

A count's noise s has the factor rho^|s|. A count may be divided in two, in one way or in several independent ways: z is
an integer for every count, such that the two parts of each division add up to it, and P(z) is proportional to the
product of all rho^|z|. Then the total weight of everything below a count with noise s is

    f(s) = rho^|s| * prod over its divisions (f_left * f_right)(s),        (f * g)(s) = sum over l of f(l) g(s - l).

All f are symmetric and log-concave: rho^|s| is, and products and convolutions of log-concave functions on the integers
are. So beyond the end M of a table, f(M + k) <= f(M) q^k with q = f(M) / f(M - 1).

Invariant: `low[s] <= c f(s) <= high[s]`, with one c for each count, all integers. Every rounding goes down in `low` and
up in `high`. No float takes part.
"""

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from functools import cached_property
from itertools import pairwise
from math import log

from dxprivacy.mechanisms.sampling.zero_sum_tables import MOST, RHO_BITS, equal_counts, log_weight

_BYTE = 8
_COARSELY = 64  # bits of the upper bound of a ratio
_LONG = 128  # number of places from which decimal multiplication is faster
_MOST_DIGITS = 4_000  # of one number: Python's limit for converting integers to text


@dataclass(frozen=True, eq=False)
class TreeKind:
    """A count: `rho` (over 2^128) for each step away from 0, and its divisions in two.

    Counts whose noise follows the same distribution share one object, because tables are cached by object.
    """

    rho: int
    halves: "tuple[tuple[TreeKind, TreeKind], ...]" = ()

    @cached_property
    def equal(self) -> tuple[int, int] | None:
        """If this is a sum of equal undivided counts: their rho and number; otherwise None."""
        if not self.halves:
            return self.rho, 1
        if self.rho != 1 << RHO_BITS or len(self.halves) > 1:
            return None
        return together(*self.halves[0])


def together(left: TreeKind, right: TreeKind) -> tuple[int, int] | None:
    """Return the rho and the number of equal counts in both parts, if they are equal and few; otherwise None."""
    one, other = left.equal, right.equal
    if one is None or other is None or one[0] != other[0] or one[1] + other[1] > MOST:
        return None
    return one[0], one[1] + other[1]


class TooCoarse(Exception):
    """Tables of this precision do not reach the noise; finer ones do."""


@dataclass(frozen=True)
class Enclosed:
    """A symmetric function with lower and upper integer bounds; behind `known` it falls at least geometrically."""

    low: list[int]
    high: list[int]
    known: int  # the last place with bounds of its own

    @property
    def end(self) -> int:
        """The last place of the table."""
        return len(self.low) - 1

    @property
    def ratio(self) -> tuple[int, int]:
        """An upper bound of q, as a fraction below 1."""
        top, bottom = self.high[self.known], self.low[self.known - 1]
        if top >= bottom:
            raise TooCoarse
        return top, bottom

    def within(self, bits: int) -> "Enclosed":
        """The table up to where it falls below 2^-bits of f(0); at least two places."""
        least = self.low[0] >> bits
        end = next((k for k in range(2, len(self.low)) if self.low[k] < least), len(self.low))
        return Enclosed(self.low[:end], self.high[:end], min(self.known, end - 1))

    def upto(self, end: int) -> "Enclosed":
        """The same with a longer table, where the lower bounds are 0."""
        more = end - self.end
        if more <= 0:
            return self
        top, bottom = self.ratio
        high = list(self.high)
        for _ in range(more):
            high.append(high[-1] * top // bottom + 1)
        return Enclosed(self.low + [0] * more, high, self.known)

    def behind(self, other: "Enclosed") -> list[int]:
        """Bound, for all s >= 0, the sum of f(l) other(s - l) over all l behind either end of this table.

        f(m + j) <= f(m) q^j, and H(t) = sum over j > 0 of q^j other(t - j) is q (other(t - 1) + H(t - 1)). Behind the
        end m lies f(m) H(s - m); before -m lies as much as behind m for -s.
        """
        top, bottom = self.ratio
        q = (top << _COARSELY) // bottom + 1  # upper bound: more digits of such a small term are not needed
        m, n, last = self.end, other.end, self.high[-1]
        now = (other.beyond * q >> _COARSELY) + 1  # for t <= -n
        sums = [now] * (max(m - n, 0) + 1)
        for x in (*other.high[:0:-1], *other.high[:-1]):
            now = ((x + now) * q >> _COARSELY) + 1
            sums.append(now)
        middle = max(n - m, 0)  # the index of t = -m
        before = sums[middle::-1] + [sums[0]] * max(m + n - middle, 0)
        return [last * (a + b) for a, b in zip(sums[middle:], before, strict=False)]

    @property
    def beyond(self) -> int:
        """An upper bound of the sum over all places behind the end of the table, on one side."""
        top, bottom = self.ratio
        return self.high[-1] * top // (bottom - top) + 1


class Messages:
    """The tables of f of every kind, with `bits` bits for f(0); tables end where f falls below 2^-tail of that.

    >>> leaf = TreeKind(1 << 127)
    >>> Messages(40, 3).of(leaf).low == [2**40, 2**39, 2**38, 2**37]
    True
    """

    def __init__(self, bits: int, tail: int) -> None:
        self.bits, self.tail = bits, tail
        self._known: dict[TreeKind, Enclosed] = {}
        self._sums: dict[tuple[TreeKind, TreeKind], Enclosed] = {}
        self._steps: dict[int, tuple[list[int], list[int]]] = {}

    def of(self, kind: TreeKind) -> Enclosed:
        """Return f of a kind; its parts are computed first, with an explicit stack instead of recursion."""
        waiting = [kind]
        while waiting:
            now = waiting[-1]
            parts = [part for pair in now.halves for part in pair if part not in self._known]
            if now in self._known or not parts:
                waiting.pop()
                if now not in self._known:
                    self._known[now] = self._made(now)
            else:
                waiting += parts
        return self._known[kind]

    def sums(self, left: TreeKind, right: TreeKind) -> Enclosed:
        """Return (f_left * f_right)(s) in units of 2^bits of the tables' units, up to the sum of both table ends.

        `low` exceeds the sum of the products of the tables' `low` by at most the rounding of single products, one unit
        per place. Callers that add up those products in floats allow for more than that.
        """
        key = (left, right)
        if key not in self._sums:
            f, g = self.of(left), self.of(right)
            if together(left, right) is not None:
                self._sums[key] = self._of_equals(left, right)
            elif not left.halves:
                self._sums[key] = self._beside_one(left.rho, f, g)
            elif not right.halves:
                self._sums[key] = self._beside_one(right.rho, g, f)
            else:
                self._sums[key] = self._of_two(f, g)
        return self._sums[key]

    def _made(self, kind: TreeKind) -> Enclosed:
        if kind.equal is not None:
            low, high = equal_counts(*kind.equal, self._units(kind), self._size(*kind.equal))
            return self._cut(Enclosed(low, high, len(low) - 1))
        sums = [self.sums(*pair) for pair in kind.halves]
        size = min(len(s.low) for s in sums)
        f = self._powers(kind.rho, size)
        low, high, bits = f.low, f.high, self.bits
        for s in sums:
            low = [a * b >> bits for a, b in zip(low, s.low, strict=False)]
            high = [(a * b >> bits) + 1 for a, b in zip(high, s.high, strict=False)]
            shift = low[0].bit_length() - bits - 1
            if shift > 0:
                low, high = [x >> shift for x in low], [(x >> shift) + 1 for x in high]
        return self._cut(Enclosed(low, high, len(low) - 1))

    def _cut(self, whole: Enclosed) -> Enclosed:
        """The table up to where f falls below 2^-tail of f(0), or where its fall is uncertain; at least two places."""
        low, high = whole.low, whole.high
        least = max(low[0] >> self.tail, 1)
        places = range(1, len(low))
        end = next((k for k in places if low[k] < least or 2 * (high[k] - low[k]) > low[k - 1] - low[k]), len(low))
        end = max(end, 2)
        if len(whole.low) < 2 or whole.low[0] == 0:
            raise TooCoarse
        return Enclosed(whole.low[:end], whole.high[:end], end - 1)

    def _units(self, kind: TreeKind) -> int:
        """The exponent of c for a table of equal counts, chosen so that h(0) has `bits` bits."""
        return self.bits if kind.equal is None else self.bits - int(log_weight(*kind.equal, 0) / log(2))

    def _size(self, rho: int, times: int) -> int:
        """The number of places until h falls below 2^-tail of h(0), by bisection; the table itself decides where it
        ends.
        """
        least = log_weight(rho, times, 0) - (self.tail + 1) * log(2)
        end = 2
        while log_weight(rho, times, end) > least:
            end *= 2
        start = end // 2
        while end - start > 1:
            middle = (start + end) // 2
            start, end = (middle, end) if log_weight(rho, times, middle) > least else (start, middle)
        return end + 1

    def _of_equals(self, left: TreeKind, right: TreeKind) -> Enclosed:
        """The closed form; the lower bound excludes the tails behind either table and their rounding losses.

        Entries are at most 1 below c f, so the loss of their products is at most the sums of both tables.
        """
        f, g, both = self.of(left), self.of(right), together(left, right)
        if both is None:
            raise TooCoarse
        ends = f.end + g.end
        low, high = equal_counts(*both, self._units(left) + self._units(right) - self.bits, ends + 1)
        lost = 2 * (sum(f.high) + sum(g.high))
        for one, other in ((f, g), (g, f)):
            low = [x - (y >> self.bits) - 1 for x, y in zip(low, one.behind(other), strict=True)]
        return Enclosed([max(x - (lost >> self.bits) - 1, 0) for x in low], high, ends)

    def _powers(self, rho: int, size: int) -> Enclosed:
        """rho^s in units of 2^-bits, for s = 0 .. size - 1."""
        # Cached: many counts share a kind.
        low, high = self._steps.setdefault(rho, ([1 << self.bits], [1 << self.bits]))
        while len(low) < size:
            low.append(low[-1] * rho >> RHO_BITS)
            high.append((high[-1] * rho >> RHO_BITS) + 1)
        return Enclosed(low[:size], high[:size], len(low[:size]) - 1)

    def _beside_one(self, rho: int, leaf: Enclosed, f: Enclosed) -> Enclosed:
        """The convolution of an undivided count with table f, by F(s) = f(s) + rho F(s - 1), which sums one side.

        `low` excludes what lies behind the leaf's own table, because callers that add up products use both tables only.
        """
        unseen, bits = leaf.behind(f), self.bits
        f = f.upto(leaf.end + f.end)
        end = f.end
        low = self._one_side(rho, f.low, 0, 0)
        high = self._one_side(rho, f.high, f.beyond, 1)
        lows = [a + b - x - (y >> bits) - 1 for a, b, x, y in zip(low[end:], low[end::-1], f.low, unseen, strict=True)]
        highs = [a + b - x for a, b, x in zip(high[end:], high[end::-1], f.high, strict=True)]
        return Enclosed([x if x > 0 else 0 for x in lows], highs, end)

    def _one_side(self, rho: int, half: list[int], before: int, up: int) -> list[int]:
        out, now = [], before
        for x in (*half[:0:-1], *half):
            now = x + (now * rho >> RHO_BITS) + up
            out.append(now)
        return out

    def _of_two(self, f: Enclosed, g: Enclosed) -> Enclosed:
        """The sum of products within both tables, plus an upper bound for parts behind either table."""
        bits, low, high = self.bits, _convolved(f.low, g.low), _convolved(f.high, g.high)
        high = [(x + y + z >> bits) + 1 for x, y, z in zip(high, f.behind(g), g.behind(f), strict=True)]
        return Enclosed([x >> bits for x in low], high, f.end + g.end)


def _convolved(one: list[int], other: list[int]) -> list[int]:
    """Return the sum over l of one[|l|] other[|s - l|], as far as both tables reach, for s = 0 .. the sum of their
    ends.

    The tables are the digits of two numbers, in a base that no sum reaches, and the sums are the digits of their
    product (Kronecker substitution). Long numbers are multiplied as decimals, exactly, in almost linear time.

    >>> _convolved([2, 1], [1, 3])
    [8, 7, 3]
    """
    ends = len(one) + len(other) - 2
    largest = (2 * ends + 1) * max(one) * max(other)
    if ends > _LONG and largest.bit_length() < _MOST_DIGITS:
        return _by_decimals(one, other, largest)
    size = largest.bit_length() // _BYTE + 1
    product = (_number(one, size) * _number(other, size)).to_bytes((2 * ends + 1) * size, "little")
    places = range(ends * size, (2 * ends + 2) * size, size)
    return [int.from_bytes(product[a:b], "little") for a, b in pairwise(places)]


def _number(half: list[int], size: int) -> int:
    return int.from_bytes(b"".join(x.to_bytes(size, "little") for x in (*half[:0:-1], *half)), "little")


def _by_decimals(one: list[int], other: list[int], largest: int) -> list[int]:
    ends, size = len(one) + len(other) - 2, len(str(largest))
    exact = Context(prec=(2 * ends + 4) * size, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
    first = _decimal(one, size)
    second = first if other is one else _decimal(other, size)  # squaring is faster
    digits = str(exact.multiply(first, second)).rjust((2 * ends + 1) * size, "0")
    # The sequence is symmetric, so digits are read from the left.
    places = range(ends * size, (2 * ends + 2) * size, size)
    return [int(digits[a:b]) for a, b in pairwise(places)]


def _decimal(half: list[int], size: int) -> Decimal:
    digits = [f"{x:0{size}d}" for x in half]
    return Decimal("".join((*digits[:0:-1], *digits)))
