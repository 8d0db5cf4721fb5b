"""Tables that one record changes together, with noise from one distribution (docs/formats.md, section 10)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dxprivacy.verify.block_max import Cell, cells_of
from dxprivacy.verify.least_squares import Estimator
from dxprivacy.verify.noise import Agreeing, Distribution, Laplace, Peaked
from dxprivacy.verify.queries import Asked
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.way import Row, Way, rows_of


@dataclass(frozen=True)
class TwoCells:
    """Noise of a count whose table has two cells: its very distribution."""

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
    """Sums of cells of tables that one record changes together, with noise from one distribution."""

    words = "sums of cells of tables whose noise follows one distribution"
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
            out.append((rows, wanted, rows_of(part.asked)))
        if len(out) < 2 or sum(len(rows) for rows, _, _ in out) != self.counted.rows:
            raise refuse("tables together are several, and tell records apart", "measured")
        return out

    def distributions(self) -> list[Distribution]:
        own = [self.scales[rows[0]] for rows, _, _ in self._tables]
        cells = [len(rows) for rows, _, _ in self._tables]
        kind = Agreeing if len(set(own)) == 1 else Peaked
        out: list[Distribution] = [Laplace(0.0)] * self.asked.rows
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
