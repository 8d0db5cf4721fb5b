"""Counts whose noise agrees with itself: rows nested in one another, drawn together, added up to what was asked.

Release B x + B z, with z whole on the cells, sum z = 0 (the number of records is public), and P(z) proportional to
exp(-sum_k |B_k z| / s_k).  The factor that makes it a probability does not depend on x, so that replacing a record i by
j changes the probability of any output by at most exp(sum_k |B_ki - B_kj| / s_k): the loss of independent Laplace noise
of these scales, the same cost, certificate and entry in a ledger (the K-norm mechanism of the norm sum |B_k z| / s_k).
B counts every cell by itself, so the norm is one.  Each question is a sum of noisy cells: whole, and all agree.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.estimators.hierarchy_sums import Nested
from dxprivacy.mechanisms.linear.estimators.least_squares import Component, components, rows_of
from dxprivacy.mechanisms.linear.estimators.measured import Measured
from dxprivacy.mechanisms.linear.estimators.star_means import Starred
from dxprivacy.mechanisms.linear.estimators.unrelated_rows import Alone
from dxprivacy.mechanisms.linear.noise.noise_laws import Laplace
from dxprivacy.mechanisms.linear.strategies.k_norm_components import Part
from dxprivacy.mechanisms.linear.strategies.tables_in_rows import tables_in
from dxprivacy.mechanisms.sampling.hierarchy_tables import TooCoarse
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.mechanisms.sampling.tree_noise import Family, family_of
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Law
from dxprivacy.universe.hierarchy import Nest
from dxprivacy.universe.workload import Workload

_LEAST = 1e-300  # of a scale: less is none


class Consistent(Measured):
    """Nested counts with noise that agrees; what was asked are sums of their cells."""

    how = "consistent"

    def __init__(self, asked: Workload, questions: Stack) -> None:
        super().__init__(asked, questions)
        if asked.universe.absent is not None:
            raise NotCertified("consistent noise needs a public number of records", hints=['method="optimal"'])
        self._drawn: tuple[tuple[float, ...], list[Family]] | None = None

    @property
    def note(self) -> str:  # type: ignore[override]
        """Whole where all rows are nested."""
        if self.whole:
            return "answers are sums of noisy counts that agree with one another: they are whole, and add up"
        if any(isinstance(part, Starred) for part in self.parts):
            return "answers are means of noisy tables that share margins: not whole; they agree if nothing is other"
        return "answers are worked out from noisy counts, some of which agree with one another: not all are whole"

    @property
    def whole(self) -> bool:
        """Whether answers are whole numbers, and add up."""
        return all(part.whole for part in self.parts)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The attributes that rows connect; every counted row is in one."""
        found = tuple(part_of(self, part) for part in components(self.asked.blocks, self.workload.blocks))
        alone = [part for part in found if isinstance(part, Alone)]
        if alone and len(alone) == len(found):
            raise alone[0].why
        if sum(len(part.counted) for part in found) != self.workload.rows:
            raise NotCertified("consistent noise is for counts that tell records apart: the number of all is public")
        return found

    def laws(self, scales: Sequence[float]) -> tuple[Law, ...]:
        """Component by component; rows that are the same for all records have none."""
        self._require_noise(scales)
        out: list[Law] = [Laplace(0.0)] * self.asked.rows
        for part in self.parts:
            for row, law in zip(part.asked.tolist(), part.laws(scales), strict=True):
                out[row] = law
        return tuple(out)

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":
        """Component by component; rows that are the same for all records tell their number."""
        first = self.asked.columns(np.zeros(1, dtype=np.int64))[:, 0]
        out: list[int | float | Fraction] = [int(x) * records for x in first.tolist()]
        for part in self.parts:
            for row, value in zip(part.asked.tolist(), part.estimates(noisy, scales, records), strict=True):
                out[row] = value
        return out

    @cached_property
    def _nests(self) -> list[tuple[Nest, Ints]]:
        return [nest for part in self.parts for nest in part.nests]

    def drawn(self, scales: Floats, noise: Noise) -> Ints:
        """The noise of every row that is counted: exact, and consistent."""
        out = np.zeros(self.workload.rows, dtype=np.int64)
        alone = np.concatenate([part.alone for part in self.parts])
        if len(alone):
            out[alone] = noise.laplace(scales[alone])
        for (nest, rows), family in zip(self._nests, self._families(tuple(scales.tolist())), strict=True):
            z, made = noise.together(family), nest.row >= 0
            out[rows[nest.row[made]]] = z[made]
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

    def require_narrow(self, scales: Sequence[float], part: float = 1.0) -> None:
        """Refuse where noise is so wide that tables are too long; `part` of the widest leaves room for repairs."""
        if any(p.widest(scales) > part * p.most for p in self.parts):
            most = min(p.most for p in self.parts)
            raise NotCertified(
                f"consistent noise of a scale of more than {most:,.0f} needs tables that are too long",
                hints=[('method="matrix"', "independent noise, of any scale")],
            )

    def _families(self, scales: tuple[float, ...]) -> list[Family]:
        if self._drawn is None or self._drawn[0] != scales:
            self._require_noise(scales)
            self.require_narrow(scales)
            families = [_family(_Law(n, tuple(scales[k] for k in rows.tolist()))) for n, rows in self._nests]
            self._drawn = (scales, families)
        return self._drawn[1]

    def _require_noise(self, scales: Sequence[float]) -> None:
        """Of what agrees, nothing is without noise."""
        if not all(_LEAST < scales[k] < math.inf for _, rows in self._nests for k in rows.tolist()):
            raise NotCertified("consistent noise leaves no count without noise", hints=['method="optimal"'])


class _Law:
    """A nest and its scales, equal to any that has the same law."""

    def __init__(self, nest: Nest, scales: tuple[float, ...]) -> None:
        self.nest, self.scales = nest, scales
        self._key = (nest.row.tobytes(), nest.divided.tobytes(), scales)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Law) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=32)
def _family(law: _Law) -> Family:
    """Tables depend on the law alone: the same question again finds them made."""
    return family_of(law.nest, law.scales)


def part_of(whole: Measured, part: Component) -> Part:
    """Stars, nested counts, or what is neither."""
    asked, counted = whole.asked, whole.workload
    mine, theirs = [asked.blocks[b] for b in part.asked], [counted.blocks[b] for b in part.counted]
    numbers = rows_of(asked, part.asked), rows_of(counted, part.counted)
    if not theirs:
        raise NotCertified("counts nothing of what is asked", hints=['method="optimal"'])
    try:
        if any(b.unit != 1 for b in theirs):
            raise NotCertified("consistent noise is that of counts")
        tables = tables_in(mine, theirs) if len(part.axes) > 1 else None
        if tables is not None:
            return Starred(numbers, part.axes, [*mine, *theirs], *tables)
        return Nested(numbers, part.axes, mine, theirs)
    except NotCertified as why:
        return Alone(numbers, whole, part, why)
