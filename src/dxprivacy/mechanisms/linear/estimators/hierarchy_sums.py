"""Rows nested in one another, whose noise agrees: what was asked are sums of noisy cells."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.noise.noise_laws import Agreeing, Known, Laplace
from dxprivacy.mechanisms.linear.strategies.k_norm_components import Part, Value, rounded
from dxprivacy.mechanisms.linear.strategies.separated_records import cells_told_apart, representatives
from dxprivacy.optimize.k_norm.hierarchy_moments import Moments
from dxprivacy.universe.answers import Law
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.hierarchy import NOBODY, Nest, nest_of

MOST_CELLS = 1_500
_LONG = 4_000.0
_ROOM = 1 << 62


class Nested(Part):
    """Rows nested in one another down to single cells."""

    whole = True

    def __init__(
        self, numbers: tuple[Ints, Ints], axes: Sequence[int], asked: Sequence[Block], counted: Sequence[Block]
    ) -> None:
        super().__init__(*numbers)
        if cells_told_apart([*asked, *counted], axes) > MOST_CELLS:
            raise NotCertified("too many cells for consistent noise", hints=['method="optimal"'])
        cells = representatives([*asked, *counted], axes)
        rows = np.vstack([b.columns(cells) for b in counted])
        nest = nest_of(rows)
        if nest is None:
            raise NotCertified("consistent noise needs counts that are nested in one another, down to single cells")
        self.nest, self._rows = nest, rows == 1
        self.most = min(max(_LONG / nest.depth, 100.0), 400.0)  # each level of a nest has tables of its own
        self.wanted = np.vstack([np.zeros((0, len(cells)), dtype=np.int64), *(b.columns(cells) for b in asked)])
        self._places = nest.row[nest.ends]  # of cells among the counted rows

    @property
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        return [(self.nest, self.counted)]

    def widest(self, scales: Sequence[float]) -> float:
        return max(float(scales[k]) for k in self.counted[self._places].tolist())

    @cached_property
    def _steps(self) -> list[tuple[int, int]]:
        """In what steps the noise of each asked row comes, and how far a unit of it moves the row at most.

        The noise adds up to 0, so that of a row's numbers only differences count.
        """
        apart = self.wanted - self.wanted[:, :1]
        span = self.wanted.max(axis=1) - self.wanted.min(axis=1)
        return list(zip(np.gcd.reduce(apart, axis=1).tolist(), span.tolist(), strict=True))

    def laws(self, scales: Sequence[float]) -> list[Law]:
        moments = Moments(self.nest, 1 / np.array(scales)[self.counted])
        known: dict[tuple[float, int, int], Law] = {}
        told: dict[tuple[int, int], Law] = {}
        out: list[Law] = []
        spread = moments.variances(self.wanted.astype(np.float64)).tolist()
        for v, (step, span), count in zip(spread, self._steps, self._same, strict=True):
            key = rounded(v), step, span
            if not step:
                out.append(Laplace(0.0))
            elif count == NOBODY:
                out.append(known.setdefault(key, Agreeing(*key)))
            else:
                if (count, step) not in told:
                    told[count, step] = Known(key[0], _beyond(moments.law(count)), step)
                out.append(told[count, step])
        return out

    @cached_property
    def _same(self) -> list[int]:
        """Of each asked row the number of the counted one that has its law, but for a factor, or all but it."""
        places = {k: row for k, row in enumerate(self.nest.row.tolist()) if row != NOBODY}
        sets = {self._rows[row].tobytes(): k for k, row in places.items()}
        out = []
        for row in self.wanted:
            larger = row == row.max()
            found = [sets.get(side.tobytes(), NOBODY) for side in (larger, ~larger)]
            out.append(max(found) if len(np.unique(row)) == 2 else NOBODY)
        return out

    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:  # noqa: ARG002
        """Sums of noisy cells, without any rounding."""
        cells = noisy[self.counted[self._places]]
        most = int(np.abs(self.wanted).max(initial=0)) * sum(abs(x) for x in cells.tolist())
        wanted = self.wanted if most < _ROOM else self.wanted.astype(object)
        return [int(x) for x in (wanted @ cells).tolist()]


def _beyond(law: Floats) -> tuple[float, ...]:
    """P(|z| > h) for h = 0, 1, ... of a symmetric law on -M .. M."""
    tail = 2 * np.cumsum(law[: len(law) // 2])[::-1]
    return (*tail.tolist(), 0.0)
