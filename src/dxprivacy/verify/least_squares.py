"""Least squares in plain Python: estimates and variances, component by component (docs/formats.md, section 10)."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Protocol

from dxprivacy.errors import Undecided
from dxprivacy.verify.blocks import Block
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.tables import Tables, as_tables
from dxprivacy.verify.universe import Universe

Vector = dict[int, float]
_AS_IT_IS = 1_500  # more cells than these are not solved for: what is asked is what is counted
_MOST_CELLS = 500  # more than these would take too long here
_ROUNDING = 1e-12
_NOTHING = 1e-13  # so much smaller than it was, a pivot is nothing but rounding
_HARDLY = 1e-9  # and so much smaller, nobody can tell


def spreads(
    asked: Sequence[Block], counted: Sequence[Block], universe: Universe, noises: Sequence[float]
) -> list[float]:
    """The variance of the estimate of every row that was asked for."""
    out = [0.0] * sum(b.rows for b in asked)
    for part in _components(asked, counted, universe):
        for row, spread in part.solved(noises).variances().items():
            out[row] = spread
    return out


def estimates(
    asked: Sequence[Block],
    counted: Sequence[Block],
    universe: Universe,
    noises: Sequence[float],
    noisy: Sequence[int],
    records: int,
) -> list[float]:
    """Every row that was asked for; what is the same for all records tells their number."""
    first = [0] * len(universe.shape)
    out = [0.0] * sum(b.rows for b in asked)
    for block in asked:
        for row, x in block.column(first).items():
            out[row] = float(x * records)
    for part in _components(asked, counted, universe):
        for row, value in part.solved(noises).estimates(noisy, records).items():
            out[row] = value
    return out


class _Solution(Protocol):
    """Variances and estimates of the rows of a component."""

    def variances(self) -> dict[int, float]:
        """Per row that was asked for."""

    def estimates(self, noisy: Sequence[int], records: int) -> dict[int, float]:
        """Per row that was asked for."""


class _Component:
    """Attributes that rows connect, and one value for each class of values that those rows tell apart."""

    def __init__(self, axes: set[int], asked: Sequence[Block], counted: Sequence[Block], universe: Universe) -> None:
        self.asked, self.counted, self.universe = asked, counted, universe
        self.firsts: dict[int, list[int]] = {}
        for axis in sorted(axes):
            seen: dict[tuple[object, ...], int] = {}
            for value in range(universe.shape[axis]):
                seen.setdefault(tuple(b.moving(axis, value) for b in (*asked, *counted)), value)
            self.firsts[axis] = list(seen.values())

    def solved(self, noises: Sequence[float]) -> _Solution:
        """By tables; over the cells; or as it is."""
        tables = as_tables(self.asked, self.counted, self.firsts, noises)
        if tables is not None:
            return _ByTables(tables, noises)
        cells = math.prod(map(len, self.firsts.values()))
        if cells > _AS_IT_IS:
            return _AsItIs(self.asked, self.counted, noises)
        if cells > _MOST_CELLS:
            raise Undecided("too many cells to repeat the least squares here", where="measured")
        return _OverCells(self, noises)

    def cells(self) -> list[list[int]]:
        """A record for each combination of classes."""
        out = []
        for chosen in product(*self.firsts.values()):
            values = [0] * len(self.universe.shape)
            for axis, value in zip(self.firsts, chosen, strict=True):
                values[axis] = value
            out.append(values)
        return out


class _ByTables:
    def __init__(self, tables: Tables, noises: Sequence[float]) -> None:
        self._tables, self._noises = tables, noises

    def variances(self) -> dict[int, float]:
        return self._tables.variances(self._noises)

    def estimates(self, noisy: Sequence[int], records: int) -> dict[int, float]:
        return self._tables.estimates(self._noises, noisy, records)


class _AsItIs:
    """Too many cells for least squares: what is counted must be what was asked."""

    def __init__(self, asked: Sequence[Block], counted: Sequence[Block], noises: Sequence[float]) -> None:
        mine, theirs = ([[list(a) for a in b.arrays()] for b in side] for side in (asked, counted))
        if mine != theirs:
            raise refuse("counts other rows than those asked for, over too many cells", "measured")
        rows = [[r for b in side for r in range(b.first, b.first + b.rows)] for side in (asked, counted)]
        self._pairs, self._noises = list(zip(*rows, strict=True)), noises

    def variances(self) -> dict[int, float]:
        return {row: self._noises[source] for row, source in self._pairs}

    def estimates(self, noisy: Sequence[int], records: int) -> dict[int, float]:  # noqa: ARG002
        return {row: float(noisy[source]) for row, source in self._pairs}


class _OverCells:
    def __init__(self, part: _Component, noises: Sequence[float]) -> None:
        cells = part.cells()
        self._asked, self._size = _rows(part.asked, cells), len(cells)
        self._way = _Solved(_rows(part.counted, cells), len(cells), noises)

    def variances(self) -> dict[int, float]:
        covariance = self._way.summed_covariance()
        out = {}
        for row, entries in self._asked.items():
            jumps = _jumps(entries, self._size)
            parts = [x * y * covariance[a][b] for a, x in jumps for b, y in jumps]
            spread = math.fsum(parts)
            out[row] = spread if spread > _ROUNDING * math.fsum(map(abs, parts)) else 0.0
        return out

    def estimates(self, noisy: Sequence[int], records: int) -> dict[int, float]:
        histogram = self._way.histogram(noisy, records)
        return {row: math.fsum(v * histogram[k] for k, v in entries.items()) for row, entries in self._asked.items()}


def _rows(blocks: Sequence[Block], cells: Sequence[Sequence[int]]) -> dict[int, Vector]:
    """Rows over cells, sparse."""
    out: dict[int, Vector] = {row: {} for b in blocks for row in range(b.first, b.first + b.rows)}
    for k, values in enumerate(cells):
        for block in blocks:
            for row, x in block.column(values).items():
                out[row][k] = float(x)
    return out


def _components(asked: Sequence[Block], counted: Sequence[Block], universe: Universe) -> Iterator[_Component]:
    """Blocks with a common attribute stay together."""
    groups: list[set[int]] = []
    for block in (*asked, *counted):
        mine = _moves(block, universe)
        if mine:
            touching = [g for g in groups if g & mine]
            groups = [*(g for g in groups if not g & mine), mine.union(*touching)]
    for group in groups:
        sides = [[b for b in side if _moves(b, universe) & group] for side in (asked, counted)]
        yield _Component(group, sides[0], sides[1], universe)


def _moves(block: Block, universe: Universe) -> set[int]:
    """The attributes that matter to a block."""
    return {a for a in block.axes if len({block.moving(a, v) for v in range(universe.shape[a])}) > 1}


def _jumps(entries: Vector, size: int) -> list[tuple[int, float]]:
    """Where a row changes, and by how much: few places, for intervals and single cells.

    What it has at the first cell it has everywhere: that tells the total, which is known.
    """
    out, before = [], entries.get(0, 0.0)
    for k in range(1, size):
        now = entries.get(k, 0.0)
        if now != before:
            out.append((k, now - before))
            before = now
    return out


class _Solved:
    """min sum (z - B x)^2 / v, with the total and the rows without noise kept exactly.

    These determine some cells (pivots) by the others: x_p = sum_j T_pj e_j - sum_f E_pf x_f.
    """

    def __init__(self, counted: dict[int, Vector], size: int, noises: Sequence[float]) -> None:
        self.size = size
        self.sure = [row for row in counted if noises[row] == 0]
        self.noisy = {row: entries for row, entries in counted.items() if noises[row] > 0}
        self.noises = noises
        self.known = _eliminated([dict.fromkeys(range(self.size), 1.0), *(counted[r] for r in self.sure)])
        pivots = {pivot for pivot, _, _ in self.known}
        self.free = [k for k in range(self.size) if k not in pivots]
        place = {cell: k for k, cell in enumerate(self.free)}
        self.rows: dict[int, Vector] = {}
        for row, entries in self.noisy.items():
            mine = dict(entries)
            for pivot, others, _ in self.known:
                if x := mine.pop(pivot, 0.0):
                    for cell, y in others.items():
                        mine[cell] = mine.get(cell, 0.0) - x * y
            self.rows[row] = {place[cell]: x for cell, x in mine.items() if x}
        self.lower = self._factor()

    def _factor(self) -> list[list[float]]:
        """Cholesky's factor of B' V^-1 B; what the rows do not tell gets an empty column."""
        n = len(self.free)
        matrix = [[0.0] * n for _ in range(n)]
        for row, entries in self.rows.items():
            items = sorted(entries.items())
            for k, (i, x) in enumerate(items):
                w, line = x / self.noises[row], matrix[i]
                for j, y in items[: k + 1]:
                    line[j] += w * y
        lower: list[list[float]] = []
        for i in range(n):
            line, mine = matrix[i], list[float]()
            for j in range(i):
                pivot = lower[j][j]
                mine.append((line[j] - _dot(mine, lower[j])) / pivot if pivot else 0.0)
            left = line[i] - _dot(mine, mine)
            if _NOTHING * line[i] < left <= _HARDLY * line[i]:
                raise Undecided("noises of too different sizes to repeat the least squares here", where="measured")
            mine.append(math.sqrt(left) if left > _NOTHING * line[i] and left > 0 else 0.0)
            lower.append(mine)
        return lower

    def _solve(self, right: list[float]) -> list[float]:
        """M^- right."""
        n, lower = len(right), self.lower
        y = list[float]()
        for i in range(n):
            y.append((right[i] - _dot(y, lower[i])) / lower[i][i] if lower[i][i] else 0.0)
        for i in reversed(range(n)):
            if not lower[i][i]:
                y[i] = 0.0
                continue
            y[i] /= lower[i][i]
            for j in range(i):
                y[j] -= lower[i][j] * y[i]
        return y

    def histogram(self, noisy: Sequence[int], records: int) -> list[float]:
        """A histogram over the cells that fits best."""
        given = [float(records), *(float(noisy[row]) for row in self.sure)]
        constant = [math.fsum(x * given[k] for k, x in origin.items()) for _, _, origin in self.known]
        right = [0.0] * len(self.free)
        for row, entries in self.rows.items():
            known = sum(
                self.noisy[row].get(pivot, 0.0) * c for (pivot, _, _), c in zip(self.known, constant, strict=True)
            )
            pull = (noisy[row] - known) / self.noises[row]
            for k, x in entries.items():
                right[k] += x * pull
        out = [0.0] * self.size
        for cell, x in zip(self.free, self._solve(right), strict=True):
            out[cell] = x
        for (pivot, others, _), c in zip(self.known, constant, strict=True):
            out[pivot] = c - math.fsum(x * out[cell] for cell, x in others.items())
        return out

    def summed_covariance(self) -> list[list[float]]:
        """H[a][b] = sum over i >= a, j >= b of the covariance of cells i and j: rows follow from their jumps."""
        n = self.size
        full = [[0.0] * n for _ in range(n)]
        for k, cell in enumerate(self.free):
            unit = [0.0] * len(self.free)
            unit[k] = 1.0
            for other, x in zip(self.free, self._solve(unit), strict=True):
                full[cell][other] = x
        for pivot, others, _ in self.known:
            items = list(others.items())
            for j in range(n):
                full[pivot][j] = -math.fsum(x * full[cell][j] for cell, x in items)
        for pivot, others, _ in self.known:
            items = list(others.items())
            for line in full:
                line[pivot] = -math.fsum(x * line[cell] for cell, x in items)
        for line in full:
            for j in reversed(range(n - 1)):
                line[j] += line[j + 1]
        for i in reversed(range(n - 1)):
            full[i] = [x + y for x, y in zip(full[i], full[i + 1], strict=True)]
        return full


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=False))


def _eliminated(rows: list[Vector]) -> list[tuple[int, Vector, Vector]]:
    """Reduced row echelon form: per pivot the other cells' coefficients, and those of the given rows."""
    done: list[tuple[int, dict[int, Fraction], dict[int, Fraction]]] = []
    for number, entries in enumerate(rows):
        row = {cell: Fraction(x) for cell, x in entries.items()}
        origin = {number: Fraction(1)}
        for pivot, others, source in done:
            if x := row.get(pivot):
                row, origin = _minus(row, x, others), _minus(origin, x, source)
        if not row:
            continue
        if len(done) > _MOST_CELLS:
            raise refuse("more exact rows than cells", "measured")
        pivot = max(row)
        top = row[pivot]
        row, origin = ({k: v / top for k, v in side.items()} for side in (row, origin))
        for k, (p, others, source) in enumerate(done):
            if x := others.get(pivot):
                done[k] = (p, _minus(others, x, row), _minus(source, x, origin))
        done.append((pivot, row, origin))
    out = []
    for pivot, others, origin in done:
        rest = {cell: float(x) for cell, x in others.items() if cell != pivot}
        out.append((pivot, rest, {k: float(x) for k, x in origin.items()}))
    return out


def _minus(a: dict[int, Fraction], factor: Fraction, b: dict[int, Fraction]) -> dict[int, Fraction]:
    out = dict(a)
    for k, x in b.items():
        out[k] = out.get(k, Fraction(0)) - factor * x
    return {k: x for k, x in out.items() if x}
