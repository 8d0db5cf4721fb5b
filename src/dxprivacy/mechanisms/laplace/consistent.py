"""Counts whose noise agrees with itself: rows nested in one another, drawn together, added up to what was asked.

Release B x + B z, with z whole on the cells, sum z = 0 (the number of records is public), and P(z) proportional to
exp(-sum_k |B_k z| / s_k).  The factor that makes it a probability does not depend on x, so that replacing a record i by
j changes the probability of any output by at most exp(sum_k |B_ki - B_kj| / s_k): the loss of independent Laplace noise
of these scales, the same cost, certificate and entry in a ledger (the K-norm mechanism of the norm sum |B_k z| / s_k).
B counts every cell by itself, so the norm is one.  Each question is a sum of noisy cells: whole, and all agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.laplace.cells import representatives
from dxprivacy.mechanisms.laplace.laws import Agreeing, Laplace
from dxprivacy.mechanisms.laplace.least_squares import Component, components, rows_of
from dxprivacy.mechanisms.laplace.measured import Measured
from dxprivacy.mechanisms.noise.consistent import Family, family_of
from dxprivacy.mechanisms.noise.counts_in_counts import TooCoarse
from dxprivacy.mechanisms.noise.system import Noise
from dxprivacy.model.nest import Nest, nest_of
from dxprivacy.model.recipes import Law
from dxprivacy.model.workload import Workload
from dxprivacy.optimise.consistent.moments import Moments
from dxprivacy.questions.asked import Stack

MOST_CELLS = 1_500
WIDEST = 100.0  # scale of a cell's noise: its tables have a hundred times as many places
_LEAST = 1e-300  # of a scale: less is none
_ROOM = 1 << 62


class Consistent(Measured):
    """Nested counts with noise that agrees; what was asked are sums of their cells."""

    how = "consistent"
    note = "answers are sums of noisy counts that agree with one another: they are whole, and add up"

    def __init__(self, asked: Workload, questions: Stack) -> None:
        super().__init__(asked, questions)
        if asked.universe.absent is not None:
            raise NotCertified("consistent noise needs a public number of records", hints=['method="optimal"'])
        self._drawn: tuple[tuple[float, ...], list[Family]] | None = None

    @cached_property
    def parts(self) -> "tuple[_Part, ...]":
        """The attributes that rows connect, each with its nest; every counted row is in one."""
        found = tuple(_Part.of(self, part) for part in components(self.asked.blocks, self.workload.blocks))
        if sum(len(part.counted) for part in found) != self.workload.rows:
            raise NotCertified("consistent noise is for counts that tell records apart: the number of all is public")
        return found

    def laws(self, scales: Sequence[float]) -> tuple[Law, ...]:
        """Of sums over cells; rows that are the same for all records have none."""
        _require_noise(scales)
        out: list[Law] = [Laplace(0.0)] * self.asked.rows
        for part in self.parts:
            known: dict[tuple[float, int, int], Law] = {}
            spread = part.variances(1 / np.array(scales)[part.counted])
            for row, v, (step, span) in zip(part.asked.tolist(), spread.tolist(), part.steps, strict=True):
                key = float(f"{v:.10g}"), step, span  # late digits differ by rounding only: what is alike shall look so
                if step:
                    out[row] = known.setdefault(key, Agreeing(*key))
        return tuple(out)

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":  # noqa: ARG002
        """Sums of noisy cells; rows that are the same for all records tell their number."""
        first = self.asked.columns(np.zeros(1, dtype=np.int64))[:, 0]
        out: list[int | float | Fraction] = [int(x) * records for x in first.tolist()]
        for part in self.parts:
            for row, value in zip(part.asked.tolist(), part.sums(noisy), strict=True):
                out[row] = value
        return out

    def drawn(self, scales: Floats, noise: Noise) -> Ints:
        """The noise of every row that is counted: exact, and consistent."""
        out = np.zeros(self.workload.rows, dtype=np.int64)
        for part, family in zip(self.parts, self._families(tuple(scales.tolist())), strict=True):
            z, nest = noise.together(family), part.nest
            made = nest.row >= 0
            out[part.counted[nest.row[made]]] = z[made]
        return out

    def prepare(self, scales: Sequence[float]) -> None:
        """Make the tables that noise is drawn from, before anything is spent."""
        for family in self._families(tuple(scales)):
            try:
                family.prepare()
            except TooCoarse:
                raise NotCertified(
                    "consistent noise is too wide, or too rare, for its tables",
                    hints=[('method="matrix"', "independent noise, of any scale")],
                ) from None

    def _families(self, scales: tuple[float, ...]) -> list[Family]:
        if self._drawn is None or self._drawn[0] != scales:
            _require_noise(scales)
            mine = [[scales[k] for k in part.counted.tolist()] for part in self.parts]
            if any(max(part.of_cells(own)) > WIDEST for part, own in zip(self.parts, mine, strict=True)):
                raise NotCertified(
                    f"consistent noise of a scale of more than {WIDEST:,.0f} needs tables that are too long",
                    hints=[('method="matrix"', "independent noise, of any scale")],
                )
            families = [_family(_Law(part.nest, tuple(own))) for part, own in zip(self.parts, mine, strict=True)]
            self._drawn = (scales, families)
        return self._drawn[1]


class _Law:
    """A nest and its scales, equal to any that has the same law."""

    def __init__(self, nest: Nest, scales: tuple[float, ...]) -> None:
        self.nest, self.scales = nest, scales
        self._key = (nest.row.tobytes(), nest.divided.tobytes(), scales)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Law) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=16)
def _family(law: _Law) -> Family:
    """Tables depend on the law alone: the same question again finds them made."""
    return family_of(law.nest, law.scales)


def _require_noise(scales: Sequence[float]) -> None:
    if not all(_LEAST < s < math.inf for s in scales):
        raise NotCertified("consistent noise leaves no count without noise", hints=['method="optimal"'])


@dataclass(frozen=True, eq=False)
class _Part:
    """A component: which rows, over which cells, and how the counted ones are nested."""

    asked: Ints
    counted: Ints
    wanted: Ints
    nest: Nest
    places: Ints  # of cells among the counted rows of the component

    @classmethod
    def of(cls, whole: Consistent, part: Component) -> "_Part":
        asked = [whole.asked.blocks[b] for b in part.asked]
        counted = [whole.workload.blocks[b] for b in part.counted]
        cells = representatives([*asked, *counted], part.axes)
        if not counted:
            raise NotCertified("counts nothing of what is asked", hints=['method="optimal"'])
        if len(cells) > MOST_CELLS:
            raise NotCertified("too many cells for consistent noise", hints=['method="optimal"'])
        rows = np.vstack([b.columns(cells) for b in counted])
        nest = nest_of(rows)
        if nest is None or any(b.unit != 1 for b in counted):
            raise NotCertified("consistent noise needs counts that are nested in one another, down to single cells")
        wanted = np.vstack([np.zeros((0, len(cells)), dtype=np.int64), *(b.columns(cells) for b in asked)])
        mine = rows_of(whole.workload, part.counted)
        return cls(rows_of(whole.asked, part.asked), mine, wanted, nest, nest.row[nest.ends])

    @cached_property
    def steps(self) -> list[tuple[int, int]]:
        """In what steps the noise of each asked row comes, and how far a unit of it moves the row at most.

        The noise adds up to 0, so that of a row's numbers only differences count.
        """
        apart = self.wanted - self.wanted[:, :1]
        span = self.wanted.max(axis=1) - self.wanted.min(axis=1)
        return list(zip(np.gcd.reduce(apart, axis=1).tolist(), span.tolist(), strict=True))

    def variances(self, weights: Floats) -> Floats:
        return Moments(self.nest, weights).variances(self.wanted.astype(np.float64))

    def of_cells(self, scales: Sequence[float]) -> list[float]:
        """The scales of single cells."""
        return [scales[k] for k in self.places.tolist()]

    def sums(self, noisy: Ints) -> list[int]:
        """What was asked, from noisy cells, without any rounding."""
        cells = noisy[self.counted[self.places]]
        most = int(np.abs(self.wanted).max(initial=0)) * sum(abs(x) for x in cells.tolist())
        wanted = self.wanted if most < _ROOM else self.wanted.astype(object)
        return [int(x) for x in (wanted @ cells).tolist()]
