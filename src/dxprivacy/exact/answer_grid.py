"""The grid on which answers are integers, and the conversion of exact numbers to it.

A query's numbers become `A * unit` with an integer matrix A.  Decimals and integers fit exactly; finer numbers are
rounded once, independently of the data, and the rounding error per record is known.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

import numpy as np

from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import common_tick

# -- Evenly spaced numbers, of which there may be millions: never listed -----------------------------------------------


@dataclass(frozen=True, eq=False)
class Evenly(Sequence[Fraction]):
    """The `n` numbers from `first` on, in positive steps of `step`.

    >>> ages = Evenly(Fraction(18), Fraction(1), 3)
    >>> [str(x) for x in ages], ages == (18, 19, 20), ends_of(ages) == (18, 20)
    (['18', '19', '20'], True, True)
    """

    first: Fraction
    step: Fraction
    n: int

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, index: int) -> Fraction: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Fraction, ...]: ...
    def __getitem__(self, index: int | slice) -> Fraction | tuple[Fraction, ...]:
        """Return one of the numbers, or a tuple of several."""
        at = range(self.n)[index]
        return tuple(self._at(k) for k in at) if isinstance(at, range) else self._at(at)

    def _at(self, index: int) -> Fraction:
        return self.first + index * self.step

    def __iter__(self) -> Iterator[Fraction]:
        return map(self._at, range(self.n))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Evenly):
            mine, theirs = ((x.first, x.step if x.n > 1 else 0, x.n) for x in (self, other))
            return mine == theirs
        return isinstance(other, Sequence) and len(other) == self.n and all(map(Fraction.__eq__, self, other))

    def __hash__(self) -> int:
        return hash((self.first, self.n))

    def below(self, number: Fraction) -> int:
        """Return how many of them are below a number."""
        return min(max(-((self.first - number) // self.step), 0), self.n)


def ends_of(numbers: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest of some numbers."""
    if isinstance(numbers, Evenly):
        return numbers[0], numbers[-1]
    return min(numbers), max(numbers)


# -- From exact numbers to integers ------------------------------------------------------------------------------------


EXACT_BITS = 40  # integers of up to this many bits keep their exact grid
ROUNDED_BITS = 31  # otherwise, rounded to this many bits: far below any noise, and n may reach 2^30
_MOST_BITS = 900  # numbers must be between 2^-900 and 2^900
_BEYOND = 1 << _MOST_BITS
_SHARED_BITS = 8  # rows that lose at most this many bits share a grid


@dataclass(frozen=True)
class AnswerGrid:
    """Integers `whole` with `value = whole * unit`, each off by at most `bias`."""

    whole: Ints
    unit: Fraction
    bias: Fraction


def to_grid(numbers: Sequence[Fraction]) -> AnswerGrid:
    """Return the coarsest grid that contains all numbers, or a rounded one if it would need too many bits.

    >>> to_grid([Fraction(1, 2), Fraction(3), Fraction(0)]).whole.tolist()
    [1, 6, 0]
    """
    largest = max((abs(x) for x in numbers), default=Fraction(0))
    if not largest:
        return AnswerGrid(np.zeros(len(numbers), dtype=np.int64), Fraction(1), Fraction(0))
    if not Fraction(1, _BEYOND) < largest < _BEYOND:
        raise TooLarge("a query's numbers are beyond the range we work with")
    unit = common_tick(numbers)
    bias = Fraction(0)
    if largest / unit >= 1 << EXACT_BITS:
        unit = Fraction(2) ** (math.frexp(float(largest))[1] - ROUNDED_BITS)
        bias = unit / 2
    return AnswerGrid(np.array([round(x / unit) for x in numbers], dtype=np.int64), unit, bias)


def shifted_grid(numbers: Sequence[Fraction], center: Fraction, behind: Sequence[Fraction]) -> AnswerGrid:
    """Return the grid of all numbers minus `center`, followed by the unchanged numbers `behind`.

    >>> shifted_grid([Fraction(1), Fraction(2)], Fraction(3, 2), [Fraction(0)]).whole.tolist()
    [-1, 1, 0]
    """
    if isinstance(numbers, Evenly):
        first, last = numbers[0] - center, numbers[-1] - center
        steps = [numbers.step] if len(numbers) > 1 else []
        unit = common_tick([first, *steps, *behind])  # a divisor of the first number and the step divides all
        if unit and max(abs(first), abs(last), *map(abs, behind)) / unit < 1 << EXACT_BITS:
            along = np.arange(len(numbers), dtype=np.int64) * int(numbers.step / unit if steps else 0) + int(
                first / unit
            )
            rest = np.array([int(x / unit) for x in behind], dtype=np.int64)
            return AnswerGrid(np.concatenate([along, rest]), unit, Fraction(0))
    return to_grid([*(x - center for x in numbers), *behind])


def grid_of_rows(rows: Sequence[Floats]) -> list[tuple[int, int, AnswerGrid]]:
    """Return grids for rows of very different sizes: ranges of rows (from, to), and their numbers, row by row.

    There is one grid if it contains all numbers exactly, or if no row loses more than a few bits.  Otherwise rows that
    are much smaller than others get a finer grid, because the rounding error of a large row may exceed a small row.

    >>> [(a, b, g.whole.tolist()) for a, b, g in grid_of_rows([np.array([1e6, 0.1]), np.array([2e-6, 4e-6])])]
    [(0, 1, [2048000000, 205]), (1, 2, [562949953, 1125899907])]
    """
    everything = _joined(rows)
    common = _exact_grid(everything)
    if common is not None:
        return [(0, len(rows), common)]
    tops = [_top(row) for row in rows]
    level: dict[int, int] = {}
    for size in sorted({t for t in tops if t is not None}, reverse=True):
        above = min(level.values(), default=size)
        level[size] = size if size < above - _SHARED_BITS else above
    runs: list[tuple[int, int, int | None]] = []
    for k, top in enumerate(tops):
        mine = None if top is None else level[top]
        if runs and (mine is None or runs[-1][2] in (None, mine)):
            start, _, before = runs.pop()
            runs.append((start, k + 1, before if mine is None else mine))
        else:
            runs.append((k, k + 1, mine))
    out = []
    for start, stop, largest in runs:
        some = _joined(rows[start:stop])
        out.append((start, stop, _exact_grid(some) or _rounded_grid(some, largest)))
    return out


def _joined(rows: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *rows])


def _top(numbers: Floats) -> int | None:
    """Return top such that the largest absolute value is below 2^top; None if all are 0."""
    if numbers.size and not np.isfinite(numbers).all():
        raise QueryError("a query's numbers must be finite: no NaN, no infinity")
    largest = float(np.abs(numbers).max(initial=0.0))
    if not largest:
        return None
    top = math.frexp(largest)[1]
    if not -_MOST_BITS < top < _MOST_BITS:
        raise TooLarge("a query's numbers are beyond the range we work with")
    return top


def _exact_grid(numbers: Floats) -> AnswerGrid | None:
    """Return a grid that contains all numbers exactly with few enough bits; None if there is none."""
    top = _top(numbers)
    if top is None:
        return AnswerGrid(np.zeros(numbers.shape, dtype=np.int64), Fraction(1), Fraction(0))
    for bits in (0, EXACT_BITS - top):
        if top + bits > EXACT_BITS:
            continue
        scaled = np.ldexp(numbers, bits)
        # Also compare after scaling back: tiny numbers underflow to 0 when scaled down, and 0 is an integer.
        if (scaled == np.rint(scaled)).all() and (np.ldexp(scaled, -bits) == numbers).all():
            whole = scaled.astype(np.int64)
            shared = int(np.gcd.reduce(np.abs(whole), axis=None))
            return AnswerGrid(whole // shared, Fraction(2) ** -bits * shared, Fraction(0))
    return None


def _rounded_grid(numbers: Floats, top: int | None) -> AnswerGrid:
    bits = ROUNDED_BITS - (top or 0)
    unit = Fraction(2) ** -bits
    return AnswerGrid(np.rint(np.ldexp(numbers, bits)).astype(np.int64), unit, unit / 2)


def require_room(largest: int, records: int, *, where: str) -> None:
    """Raise TooLarge if sums could exceed 64 bits (two bits are reserved for noise); uses public numbers only."""
    if largest * max(records, 1) >= 1 << 61:
        raise TooLarge(
            f"{records:,} records with numbers up to {largest:,} on the grid do not fit into 64 bits",
            where=where,
            hints=["ask for larger units, or narrower ranges"],
        )


LARGEST_SCORE = 1 << 52  # the exact samplers compute with integers below 2^53
MOST_EXPONENT = 2.0**49  # the largest score / (2 c); the samplers are exact up to 2^50


def fits_scores(largest: int, scale: float) -> bool:
    """Return whether a selection at this scale is exactly sampled for scores up to `largest`; scale 0 takes the best.

    >>> fits_scores(1000, 0.5), fits_scores(1 << 52, 0.5), fits_scores(1 << 51, 0.5)
    (True, False, False)
    """
    return largest < LARGEST_SCORE and (scale == 0 or largest / (2 * scale) < MOST_EXPONENT)
