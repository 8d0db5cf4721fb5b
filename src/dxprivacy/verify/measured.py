"""From the rows that were counted to those that were asked for (docs/formats.md, section 10)."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import Any

from dxprivacy.errors import Undecided
from dxprivacy.verify import reading
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.consistent import Part as Nesting
from dxprivacy.verify.consistent import check_sums, covariances, nested
from dxprivacy.verify.least_squares import Estimator
from dxprivacy.verify.noise import Agreeing, Blend, Laplace, Law, Peaked, variance
from dxprivacy.verify.questions import Asked, ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.reconstructed import WayBack
from dxprivacy.verify.together import Cell, cells_of
from dxprivacy.verify.universe import Universe

Row = int | float | Fraction
_MOST_CELLS = 1 << 16


class Way(ABC):
    """How rows that were asked for follow from those that were counted."""

    words = ""
    note = ""
    exact = True  # whether values and intervals follow without rounding
    rounded = False  # whether values do not
    largest = False  # whether not the sum of all rows' losses counts, but the largest

    def __init__(self, asked: Asked, counted: Asked, universe: Universe, scales: Sequence[float], edition: int) -> None:
        self.asked, self.counted, self.universe, self.scales = asked, counted, universe, scales
        self.edition = edition

    @abstractmethod
    def laws(self) -> list[Law]:
        """The noise of each row that was asked for."""

    @abstractmethod
    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:
        """The rows that were asked for."""

    def shifts(self) -> list[float]:
        """How far each is moved on purpose, per record."""
        return [0.0] * self.asked.rows


class Itself(Way):
    """What was asked is what is counted."""

    def laws(self) -> list[Law]:
        law = {s: Laplace(s) for s in set(self.scales)}  # very many rows have few scales
        return [law[s] for s in self.scales]

    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:  # noqa: ARG002
        return list(noisy)


class RowForRow(Way):
    """Each row by another one that is close to it."""

    words = "by rows that differ a little from those asked for"
    note = "answers are moved a little on purpose, for less noise: errors and intervals include the most it can be"

    def _steps(self) -> list[Fraction]:
        units = [[b.unit for b in side.blocks for _ in range(b.rows)] for side in (self.counted, self.asked)]
        if len(units[0]) != len(units[1]) or any(r.ratio for kind in self.asked.kinds for r in kind.recipes):
            raise refuse("counts not one row for each that was asked for", "measured")
        return [mine / theirs for mine, theirs in zip(*units, strict=True)]

    def laws(self) -> list[Law]:
        return [Laplace(s, step) for s, step in zip(self.scales, self._steps(), strict=True)]

    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:  # noqa: ARG002
        return [z * step for z, step in zip(noisy, self._steps(), strict=True)]

    def shifts(self) -> list[float]:
        """The largest difference over all records, rounded up."""
        steps, most = self._steps(), [Fraction(0)] * self.asked.rows
        for p in self.counted.blocks:
            for q in self.asked.blocks:
                shared = range(max(p.first, q.first), min(p.first + p.rows, q.first + q.rows))
                for values in self._records({*p.axes, *q.axes}) if shared else ():
                    mine, theirs = p.column(values), q.column(values)
                    for row in mine.keys() | theirs.keys():
                        if row in shared:
                            most[row] = max(most[row], abs(mine.get(row, 0) * steps[row] - theirs.get(row, 0)))
        return [x if Fraction(x := float(m)) >= m else x * (1 + 2.0**-52) for m in most]

    def _records(self, axes: set[int]) -> Iterator[list[int]]:
        """All combinations of the values of some attributes; no other attribute matters."""
        sizes = [self.universe.shape[axis] if axis in axes else 1 for axis in range(len(self.universe.shape))]
        if math.prod(sizes) > _MOST_CELLS:
            raise Undecided("too many possible records to compare the rows", where="measured")
        return (list(values) for values in product(*map(range, sizes)))


class LeastSquares(Way):
    """The estimate of least variance without bias."""

    words = "worked out by least squares"
    note = "answers are worked out together from other noisy counts: they agree with one another, and are not whole"
    exact = False
    rounded = True

    def __init__(self, asked: Asked, counted: Asked, universe: Universe, scales: Sequence[float], edition: int) -> None:
        super().__init__(asked, counted, universe, scales, edition)
        if universe.people is not None:
            raise refuse("least squares is not known for people with several rows", "measured")
        self._noises = [variance(s) for s in scales]

    @cached_property
    def _solved(self) -> Estimator:
        return Estimator(self.asked.blocks, self.counted.blocks, self.universe, self._noises)

    def laws(self) -> list[Law]:
        """Blends; in edition 2 the least noise of all rows counted, however little they had to do with one another."""
        everything = (min((v for v in self._noises if v > 0), default=1.0), 0.0)
        leasts = self._solved.leasts if self.edition > 2 else [everything] * self.asked.rows
        spreads = self._solved.spreads
        return [Blend(v, *least) if v > 0 else Laplace(0.0) for v, least in zip(spreads, leasts, strict=True)]

    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:
        return self._solved.estimates(noisy, records)


class Reconstructed(LeastSquares):
    """The same, by a reconstruction that the file carries: whatever it is, it tells just what was asked."""

    rounded = False

    def __init__(
        self, asked: Asked, counted: Asked, universe: Universe, scales: Sequence[float], edition: int, carried: Any
    ) -> None:
        super().__init__(asked, counted, universe, scales, edition)
        self._back = WayBack(carried, asked.rows, counted.rows)
        self._back.check(self._solved)

    def laws(self) -> list[Law]:
        spreads = self._back.spreads(self._noises)
        together = zip(spreads, self._solved.leasts, strict=True)
        return [Blend(v, *least) if v > 0 else Laplace(0.0) for v, least in together]

    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:
        found, spreads = self._back.estimates(noisy, records), self._back.spreads(self._noises)
        return [float(x) if v > 0 else x for x, v in zip(found, spreads, strict=True)]


class Consistent(Way):
    """Sums of nested counts whose noise agrees."""

    words = "sums of nested counts whose noise agrees"
    note = "answers are sums of noisy counts that agree with one another: they are whole, and add up"
    exact = False  # errors come from floats; values are whole

    def __init__(self, asked: Asked, counted: Asked, universe: Universe, scales: Sequence[float], edition: int) -> None:
        super().__init__(asked, counted, universe, scales, edition)
        if universe.absent is not None:
            raise refuse("consistent noise needs a public number of records", "measured")
        if not all(s > 0 for s in scales) or any(block.unit != 1 for block in counted.blocks):
            raise refuse("consistent noise is that of counts, none of them without noise", "measured")
        self._estimator = Estimator(asked.blocks, counted.blocks, universe, list(scales))
        if sum(block.rows for part in self._estimator.components for block in part.counted) != counted.rows:
            raise refuse("counts what is the same for all records", "measured")

    @cached_property
    def _parts(self) -> list[tuple[Nesting, list[dict[int, int]], list[int]]]:
        """Each component: its nest; what asked rows have at each cell; which rows are asked."""
        out = []
        for part in self._estimator.components:
            cells = [values for values in part.cells() if values is not None]  # nobody is absent: n is public
            sets: dict[int, set[int]] = {}
            wanted: list[dict[int, int]] = []
            for k, values in enumerate(cells):
                for block in part.counted:
                    for row, x in block.column(values).items():
                        if x not in (0, 1):
                            raise refuse("consistent noise is that of counts", "measured")
                        if x:
                            sets.setdefault(row, set()).add(k)
                wanted.append({row: x for block in part.asked for row, x in block.column(values).items() if x})
            counted = sum(block.rows for block in part.counted)
            if len(sets) != counted:
                raise refuse("counts nobody", "measured")
            top = nested({row: frozenset(some) for row, some in sets.items()}, len(cells))
            asked = [row for block in part.asked for row in range(block.first, block.first + block.rows)]
            out.append((top, wanted, asked))
        return out

    def laws(self) -> list[Law]:
        out: list[Law] = [Laplace(0.0)] * self.asked.rows
        for top, wanted, asked in self._parts:
            together = covariances(top, {row: 1 / s for row, s in enumerate(self.scales)})
            known: dict[tuple[int, ...], Law] = {}
            for row in asked:
                numbers = tuple(column.get(row, 0) for column in wanted)
                if numbers not in known:
                    step = math.gcd(*(x - numbers[0] for x in numbers))
                    span = max(numbers) - min(numbers)
                    known[numbers] = Agreeing(_spread(numbers, together), step, span) if step else Laplace(0.0)
                out[row] = known[numbers]
        return out

    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:
        out: list[Row] = [self._estimator.first.get(row, 0) * records for row in range(self.asked.rows)]
        for top, wanted, asked in self._parts:
            cells = check_sums(top, dict(enumerate(noisy)), records)
            for row in asked:
                out[row] = sum(column.get(row, 0) * z for column, z in zip(wanted, cells, strict=True))
        return out


@dataclass(frozen=True)
class TwoCells:
    """Noise of a count whose table has two cells: its very law."""

    cell: Cell
    step: int

    @property
    def variance(self) -> float:
        """The mean square."""
        return self.cell.variance * self.step**2

    @property
    def mean_absolute(self) -> float:
        """The mean size."""
        return self.cell.mean_size * self.step

    def widths(self, coverage: Fraction) -> list[Fraction]:
        """The least step beyond which no more is left; of two where floats do not tell."""
        rest, found, high = float(1 - coverage), set(), max(self.cell.radii)
        for limit in (rest * (1 - 1e-9), rest * (1 + 1e-9)):
            low, top = 0, high
            while low < top:
                middle = (low + top) // 2
                low, top = (low, middle) if self.cell.beyond(middle) <= limit else (middle + 1, top)
            found.add(Fraction(self.step * low))
        return sorted(found)


class Together(Way):
    """Sums of cells of tables that one record changes together, with noise from one law."""

    words = "sums of cells of tables whose noise follows one law"
    note = "answers are sums of noisy cells, and those of one attribute add up: they are whole"
    exact = False  # errors come from floats; values are whole
    largest = True

    def __init__(self, asked: Asked, counted: Asked, universe: Universe, scales: Sequence[float], edition: int) -> None:
        super().__init__(asked, counted, universe, scales, edition)
        if universe.absent is not None or universe.people is not None:
            raise refuse("tables together need a public number of records, and nobody with several rows", "measured")
        if not all(s > 0 for s in scales) or any(block.unit != 1 for block in counted.blocks):
            raise refuse("tables together are counts, none of them without noise", "measured")
        self._estimator = Estimator(asked.blocks, counted.blocks, universe, list(scales))
        _ = self._tables  # refuses what is no table, before anything is said of its loss

    @cached_property
    def _tables(self) -> list[tuple[list[int], list[dict[int, int]], list[int]]]:
        """Each component: the row that counts each cell; what asked rows have there; which rows are asked."""
        out = []
        for part in self._estimator.components:
            rows: list[int] = []
            wanted: list[dict[int, int]] = []
            for values in part.cells():
                if values is None:  # nobody is absent: n is public
                    continue
                found = [(row, x) for block in part.counted for row, x in block.column(values).items() if x]
                if [x for _, x in found] != [1]:
                    raise refuse("tables together count every cell once, and nothing else", "measured")
                rows.append(found[0][0])
                wanted.append({row: x for block in part.asked for row, x in block.column(values).items() if x})
            if len(set(rows)) != len(rows) or len({self.scales[row] for row in rows}) != 1:
                raise refuse("tables together count every cell by itself, with one scale for each table", "measured")
            out.append(
                (rows, wanted, [r for block in part.asked for r in range(block.first, block.first + block.rows)])
            )
        if len(out) < 2 or sum(len(rows) for rows, _, _ in out) != self.counted.rows:
            raise refuse("tables together are several, and tell records apart", "measured")
        return out

    def laws(self) -> list[Law]:
        own = [self.scales[rows[0]] for rows, _, _ in self._tables]
        cells = [len(rows) for rows, _, _ in self._tables]
        kind = Agreeing if len(set(own)) == 1 else Peaked
        out: list[Law] = [Laplace(0.0)] * self.asked.rows
        for (rows, wanted, asked), cell in zip(self._tables, cells_of(cells, own), strict=True):
            for row in asked:
                numbers = Counter(column.get(row, 0) for column in wanted)
                if len(numbers) > 2:
                    raise refuse("tables together answer counts", "measured")
                if len(numbers) == 2:
                    step, n = max(numbers) - min(numbers), len(rows)
                    p = numbers[max(numbers)]
                    spread = cell.variance * step**2 * p * (n - p) / (n - 1)
                    out[row] = TwoCells(cell, step) if n == 2 else kind(spread, step, step)
        return out

    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:
        out: list[Row] = [self._estimator.first.get(row, 0) * records for row in range(self.asked.rows)]
        for rows, wanted, asked in self._tables:
            cells = [noisy[row] for row in rows]
            if sum(cells) != records:
                raise refuse("counts that do not add up", "noisy")
            for row in asked:
                out[row] = sum(column.get(row, 0) * z for column, z in zip(wanted, cells, strict=True))
        return out


def _spread(numbers: tuple[int, ...], together: Any) -> float:
    import numpy as np

    w = np.array(numbers, dtype=np.float64)
    return float(w @ together @ w)


_WAYS: dict[str, type[Way]] = {
    "row for row": RowForRow,
    "least squares": LeastSquares,
    "consistent": Consistent,
    "together": Together,
}


MakeWay = Callable[[Asked, Asked, Universe, Sequence[float], int], Way]


def read_measured(data: Any, asked: Asked, universe: Universe, edition: int) -> tuple[Asked, str, MakeWay]:
    """What is counted, its digest, and the way back; what was asked, where nothing else is said.

    Files of edition 4 are those that carry a reconstruction.
    """
    if data is None and edition < 4:
        return asked, "", Itself
    carried = ("reconstruction",) if edition > 3 else ()
    given = reading.members(data, "measured", ("how", "questions", "workload", *carried))
    counted = ask(given["questions"], universe)
    digest = workload_digest(universe.digest, counted.blocks)
    if given["workload"] != digest:
        raise refuse("is not the digest of the rows that are counted", "measured workload")
    if given["how"] not in _WAYS:
        raise refuse(f"an unknown way, {str(given['how'])[:40]!r}", "measured how")
    if not carried:
        return counted, digest, _WAYS[given["how"]]
    if given["how"] != "least squares":
        raise refuse("needs no reconstruction", "measured how")
    return counted, digest, partial(Reconstructed, carried=given["reconstruction"])
