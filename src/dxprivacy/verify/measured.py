"""From the rows that were counted to those that were asked for (docs/formats.md, section 10)."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import Any

from dxprivacy.errors import Undecided
from dxprivacy.verify import reading
from dxprivacy.verify.agreeing import KNormCounts
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.least_squares import Estimator
from dxprivacy.verify.noise import Blend, Distribution, Laplace, variance
from dxprivacy.verify.one_distribution import Together
from dxprivacy.verify.queries import Asked, ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.reconstructed import WayBack
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.way import Row, Way

_MOST_CELLS = 1 << 16


class Itself(Way):
    """What was asked is what is counted."""

    def distributions(self) -> list[Distribution]:
        distribution = {s: Laplace(s) for s in set(self.scales)}  # very many rows have few scales
        return [distribution[s] for s in self.scales]

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

    def distributions(self) -> list[Distribution]:
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
    note = "answers are estimated by least squares from other noisy counts: they are consistent, and not integers"
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

    def distributions(self) -> list[Distribution]:
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

    def distributions(self) -> list[Distribution]:
        spreads = self._back.spreads(self._noises)
        together = zip(spreads, self._solved.leasts, strict=True)
        return [Blend(v, *least) if v > 0 else Laplace(0.0) for v, least in together]

    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:
        found, spreads = self._back.estimates(noisy, records), self._back.spreads(self._noises)
        return [float(x) if v > 0 else x for x, v in zip(found, spreads, strict=True)]


_WAYS: dict[str, type[Way]] = {
    "row for row": RowForRow,
    "least squares": LeastSquares,
    "k-norm": KNormCounts,
    "block-max": Together,
}


MakeWay = Callable[[Asked, Asked, Universe, Sequence[float], int], Way]


def read_measured(data: Any, asked: Asked, universe: Universe, edition: int) -> tuple[Asked, str, MakeWay]:
    """What is counted, its digest, and the way back; what was asked, where nothing else is said.

    Files of editions 4 and 6 are those that carry a reconstruction.
    """
    reconstructed = edition in (4, 6)
    if data is None and not reconstructed:
        return asked, "", Itself
    carried = ("reconstruction",) if reconstructed else ()
    given = reading.members(data, "measured", ("how", "queries", "workload", *carried))
    counted = ask(given["queries"], universe)
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
