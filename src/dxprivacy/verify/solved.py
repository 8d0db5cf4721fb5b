"""Least squares over cells with as many digits as it takes: estimates and variances (docs/formats.md, section 10).

Exact rows are reduced in fractions, so that what they tell, and whether they agree, is known without rounding.  The
rest are normal equations in decimals.  If the noises differ by so many digits, a pivot may be smaller by as many than
it was, and roundings larger by as many than the pivot: so twice as many more are used, and what is left of a pivot is
told from what roundings leave.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from operator import mul

from dxprivacy.errors import Undecided
from dxprivacy.verify.reading import refuse

Number = int | Fraction
Vector = Mapping[int, Number]
Known = tuple[dict[int, Number], dict[int, Number]]
MOST_CELLS = 500  # more than these would take too long here
_MOST_DIGITS = 60_000  # cells times digits, likewise
_DIGITS = 50  # beside twice those by which the noises' sizes differ
_NOTHING = 32  # of them: so much smaller than it was, a pivot is nothing but rounding
_HARDLY = 24  # and so much smaller, nobody can tell
_TOLD = Decimal("1e-24")  # of a row: so little of it may lie where the rows see nothing


class Solved:
    """min sum (z - B x)^2 / v over the cells x, with the total and the rows without noise kept exactly.

    These determine some cells by the others, the free ones: x_p = sum_j T_pj e_j - sum_f E_pf x_f.
    """

    def __init__(self, counted: Mapping[int, Vector], size: int, noises: Sequence[float]) -> None:
        self._size = size
        self._sure = [row for row in counted if noises[row] == 0]
        everything = dict.fromkeys(range(size), 1)
        self._known, self._twice = _eliminated([everything, *(counted[row] for row in self._sure)])
        self._free = [k for k in range(size) if k not in self._known]
        self._rows = {row: self._reduced(entries) for row, entries in counted.items() if noises[row] > 0}
        self._noises = noises
        more = self._unlike()
        self._context = Context(prec=_DIGITS + 2 * more, Emax=MAX_EMAX, Emin=MIN_EMIN)
        self._nothing, self._hardly = (Decimal(10) ** -(more + digits) for digits in (_NOTHING, _HARDLY))
        if self._context.prec * len(self._free) > _MOST_DIGITS:
            raise _undecided()
        with localcontext(self._context):
            self._weights = {row: 1 / Decimal(noises[row]) for row in self._rows}
            self._parts = {row: _decimals(free) for row, (free, _) in self._rows.items()}
            self._back, self._unseen = _inverted(self._normal(), self._nothing, self._hardly)

    def _unlike(self) -> int:
        """By how many digits the noises differ, compared with the sizes of their rows."""
        sizes = []
        for row, (free, _) in self._rows.items():
            if free:
                bits = max(x.numerator.bit_length() - x.denominator.bit_length() for x in free.values())
                sizes.append(2 * bits * math.log10(2) - math.log10(self._noises[row]))
        return math.ceil(max(sizes) - min(sizes)) if sizes else 0

    def _reduced(self, entries: Vector) -> Known:
        """A row by the free cells, and by the total and the exact rows."""
        free: dict[int, Number] = {}
        origin: dict[int, Number] = {}
        for cell, x in entries.items():
            if cell in self._known:
                others, source = self._known[cell]
                _add(free, -x, others)
                _add(origin, x, source)
            else:
                _add(free, x, {cell: 1})
        return free, origin

    def _normal(self) -> list[list[Decimal]]:
        """The lower half of B' V^-1 B."""
        place = {cell: k for k, cell in enumerate(self._free)}
        matrix = [[Decimal(0)] * (k + 1) for k in range(len(self._free))]
        for row, parts in self._parts.items():
            items = sorted((place[cell], x) for cell, x in parts.items())
            for k, (i, x) in enumerate(items):
                w, line = x * self._weights[row], matrix[i]
                for j, y in items[: k + 1]:
                    line[j] += w * y
        return matrix

    def exact(self, entries: Vector) -> bool:
        """Whether the total and the exact rows tell a row; it must be told by all rows together."""
        free, _ = self._reduced(entries)
        with localcontext(self._context):
            mine = _decimals(free)
            size = sum(map(abs, mine.values()), Decimal(0))
            for unseen in self._unseen:
                found = sum(
                    (x * y for cell, y in zip(self._free, unseen, strict=True) if (x := mine.get(cell))), Decimal(0)
                )
                if abs(found) > _TOLD * size * max(map(abs, unseen)):
                    raise refuse("the counted rows do not tell everything that is asked", "measured")
        return not free

    def told(self, entries: Vector, noisy: Sequence[int], records: int) -> Fraction:
        """The number of a row that the total and the exact rows tell."""
        return self._sum(self._reduced(entries)[1], self._given(noisy, records))

    def histogram(self, noisy: Sequence[int], records: int) -> list[Decimal]:
        """A histogram over the cells that fits best."""
        given = self._given(noisy, records)
        if any(self._sum(origin, given) for origin in self._twice):
            raise refuse("rows without noise contradict one another", "noisy")
        with localcontext(self._context):
            right = dict.fromkeys(self._free, Decimal(0))
            for row, (_, origin) in self._rows.items():
                pull = _decimal(noisy[row] - self._sum(origin, given)) * self._weights[row]
                for cell, x in self._parts[row].items():
                    right[cell] += x * pull
            middle = [Decimal(0)] * len(self._free)
            for k, (pull, column) in enumerate(zip(right.values(), self._back, strict=True)):
                for i, x in enumerate(column, k):
                    middle[i] += x * pull
            out = [Decimal(0)] * self._size
            for k, (cell, column) in enumerate(zip(self._free, self._back, strict=True)):
                out[cell] = _dot(column, middle[k:])
            for cell, (others, source) in self._known.items():
                rest = sum((_decimal(x) * out[k] for k, x in others.items()), Decimal(0))
                out[cell] = _decimal(self._sum(source, given)) - rest
            return out

    def summed(self, entries: Vector, histogram: Sequence[Decimal]) -> float:
        """The number of a row in a histogram."""
        with localcontext(self._context):
            return _float(sum((_decimal(x) * histogram[k] for k, x in entries.items()), Decimal(0)))

    def summed_covariance(self) -> list[list[Decimal]]:
        """H[a][b] = sum over i >= a, j >= b of the covariance of cells i and j: rows follow from their jumps."""
        n = self._size
        with localcontext(self._context):
            full = [[Decimal(0)] * n for _ in range(n)]
            for k, (mine, column) in enumerate(zip(self._free, self._back, strict=True)):
                for j, other in enumerate(self._free[: k + 1]):
                    full[mine][other] = full[other][mine] = _dot(column, self._back[j][k - j :])
            parts = {cell: _decimals(others) for cell, (others, _) in self._known.items()}
            for cell, others in parts.items():
                full[cell] = [-sum((x * full[k][j] for k, x in others.items()), Decimal(0)) for j in range(n)]
            for line in full:
                for cell, others in parts.items():
                    line[cell] = -sum((x * line[k] for k, x in others.items()), Decimal(0))
                for j in reversed(range(n - 1)):
                    line[j] += line[j + 1]
            for i in reversed(range(n - 1)):
                full[i] = [x + y for x, y in zip(full[i], full[i + 1], strict=True)]
            return full

    def spread(self, jumps: Sequence[tuple[int, Number]], covariance: Sequence[Sequence[Decimal]]) -> float:
        """The variance of a row that is not exact, from where it changes and by how much."""
        with localcontext(self._context):
            sized = [(k, _decimal(x)) for k, x in jumps]
            return _float(sum((x * y * covariance[a][b] for a, x in sized for b, y in sized), Decimal(0)))

    def _given(self, noisy: Sequence[int], records: int) -> list[int]:
        return [records, *(noisy[row] for row in self._sure)]

    @staticmethod
    def _sum(origin: Vector, given: Sequence[int]) -> Fraction:
        return Fraction(sum(x * given[k] for k, x in origin.items()))


def _inverted(
    matrix: list[list[Decimal]], nothing: Decimal, hardly: Decimal
) -> tuple[list[list[Decimal]], list[list[Decimal]]]:
    """The inverse of Cholesky's factor, its columns from the diagonal on, and vectors that the matrix takes to zero.

    Where the matrix tells nothing new, the factor has an empty column and its inverse an empty line.
    """
    n = len(matrix)
    lower: list[list[Decimal]] = []
    columns: list[list[Decimal]] = []  # of the inverse, from its diagonal on
    unseen: list[list[Decimal]] = []
    for i, line in enumerate(matrix):
        mine: list[Decimal] = []
        for j in range(i):
            pivot = lower[j][j]
            mine.append((line[j] - _dot(mine, lower[j])) / pivot if pivot else Decimal(0))
        left = line[i] - _dot(mine, mine)
        if nothing * line[i] < left <= hardly * line[i]:
            raise _undecided()
        root = left.sqrt() if left > hardly * line[i] else Decimal(0)
        before = [-_dot(mine[j:], column) for j, column in enumerate(columns)]
        for x, column in zip(before, columns, strict=True):
            column.append(x / root if root else Decimal(0))
        columns.append([1 / root if root else Decimal(0)])
        if not root:
            unseen.append([*before, Decimal(1), *([Decimal(0)] * (n - i - 1))])
        lower.append([*mine, root])
    return columns, unseen


def _undecided() -> Undecided:
    return Undecided("noises of too different sizes to repeat the least squares here", where="measured")


def _float(x: Decimal) -> float:
    if math.isinf(found := float(x)):
        raise refuse("answers beyond all numbers", "measured")
    return found


def _dot(a: Iterable[Decimal], b: Iterable[Decimal]) -> Decimal:
    return sum(map(mul, a, b), Decimal(0))


def _decimal(x: Number) -> Decimal:
    return Decimal(x) if isinstance(x, int) else Decimal(x.numerator) / x.denominator


def _decimals(parts: Vector) -> dict[int, Decimal]:
    return {k: _decimal(x) for k, x in parts.items()}


def _eliminated(rows: Sequence[Vector]) -> tuple[dict[int, Known], list[dict[int, Number]]]:
    """Reduced row echelon form: per cell that is known the other cells' coefficients, and those of the given rows.

    And which combinations of the given rows are zero.
    """
    done: dict[int, Known] = {}
    twice: list[dict[int, Number]] = []
    for number, entries in enumerate(rows):
        row: dict[int, Number] = {}
        origin: dict[int, Number] = {number: 1}
        _add(row, 1, entries)
        for pivot, (others, source) in done.items():
            if x := row.pop(pivot, 0):
                _add(row, -x, others)
                _add(origin, -x, source)
        if not row:
            twice.append(origin)
            continue
        if len(done) > MOST_CELLS:
            raise refuse("more exact rows than cells", "measured")
        pivot = max(row)
        top = Fraction(1) / row.pop(pivot)
        mine: Known = ({}, {})
        _add(mine[0], top, row)
        _add(mine[1], top, origin)
        for others, source in done.values():
            if x := others.pop(pivot, 0):
                _add(others, -x, mine[0])
                _add(source, -x, mine[1])
        done[pivot] = mine
    return done, twice


def _add(into: dict[int, Number], factor: Number, other: Vector) -> None:
    """Add so many times another row; zeros are left out, whole fractions become integers."""
    for k, x in other.items():
        y = into.get(k, 0) + factor * x
        if isinstance(y, Fraction) and y.denominator == 1:
            y = y.numerator
        if y:
            into[k] = y
        else:
            into.pop(k, None)
