"""From the rows that were counted to those that were asked for (docs/formats.md, section 10)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import Any

from dxprivacy.errors import NotVerified, Undecided
from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block, workload_digest
from dxprivacy.verify.consistent import check_sums, covariances, nested
from dxprivacy.verify.least_squares import Component, Estimator, least_noise
from dxprivacy.verify.noise import Agreeing, Blend, Combined, Laplace, Law, variance
from dxprivacy.verify.questions import Asked, ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.reconstructed import WayBack
from dxprivacy.verify.stars import Stars
from dxprivacy.verify.tables import as_tables
from dxprivacy.verify.universe import Universe

Row = int | float | Fraction
_MOST_CELLS = 1 << 16
_DECIMALS = 9  # of an estimate that is not whole


class Way(ABC):
    """How rows that were asked for follow from those that were counted."""

    words = ""
    note = ""
    exact = True  # whether values and intervals follow without rounding
    rounded = False  # whether values do not

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
    """Sums of nested counts whose noise agrees, and means of tables that share margins."""

    exact = False  # errors come from floats

    def __init__(self, asked: Asked, counted: Asked, universe: Universe, scales: Sequence[float], edition: int) -> None:
        super().__init__(asked, counted, universe, scales, edition)
        if universe.absent is not None:
            raise refuse("consistent noise needs a public number of records", "measured")
        self._noises = [variance(s) for s in scales]
        self._estimator = Estimator(asked.blocks, counted.blocks, universe, self._noises)
        if sum(block.rows for part in self._estimator.components for block in part.counted) != counted.rows:
            raise refuse("counts what is the same for all records", "measured")

    @property
    def rounded(self) -> bool:  # type: ignore[override]
        """Means are; sums are whole."""
        return not all(isinstance(part, _Nested) for part in self._parts)

    @property
    def words(self) -> str:  # type: ignore[override]
        return (
            "worked out from counts whose noise agrees" if self.rounded else "sums of nested counts whose noise agrees"
        )

    @property
    def note(self) -> str:  # type: ignore[override]
        if self.rounded:
            return "answers are worked out together from noisy tables that share margins: they agree, and are not whole"
        return "answers are sums of noisy counts that agree with one another: they are whole, and add up"

    @cached_property
    def _parts(self) -> "list[_Nested | _Starred | _Alone]":
        """Each component; where none of them agrees, what is wrong with the first."""
        out: list[_Nested | _Starred | _Alone] = []
        why = None
        for part in self._estimator.components:
            try:
                found = self._agreeing(part)
            except NotVerified as refused:
                out.append(_Alone(part, self._noises))
                why = why or refused
                continue
            if any(self.scales[row] == 0 for row in _rows(part.counted)):
                raise refuse("consistent noise leaves no count without noise", "measured")
            out.append(found)
        if why is not None and all(isinstance(part, _Alone) for part in out):
            raise why
        return out

    def _agreeing(self, part: Component) -> "_Nested | _Starred":
        if any(block.unit != 1 for block in part.counted):
            raise refuse("consistent noise is that of counts", "measured")
        tables = None
        if len(part.firsts) > 1:
            tables = as_tables(part.asked, part.counted, part.firsts, self.scales, private=False)
        return _Nested(part, self.scales) if tables is None else _Starred(Stars(tables, self.scales))

    def laws(self) -> list[Law]:
        out: list[Law] = [Laplace(0.0)] * self.asked.rows
        for part in self._parts:
            for row, law in part.laws().items():
                out[row] = law
        return out

    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:
        out: list[Row] = [self._estimator.first.get(row, 0) * records for row in range(self.asked.rows)]
        for part in self._parts:
            for row, value in part.rows(noisy, records).items():
                out[row] = value
        return out


class _Alone:
    """A component whose rows have noise of their own."""

    def __init__(self, part: Component, noises: Sequence[float]) -> None:
        self._solved = part.solved(noises)
        self._least = least_noise([noises[row] for row in _rows(part.counted)])

    @cached_property
    def _spreads(self) -> dict[int, float]:
        return self._solved.variances()

    def laws(self) -> dict[int, Law]:
        return {row: Blend(v, *self._least) if v > 0 else Laplace(0.0) for row, v in self._spreads.items()}

    def rows(self, noisy: Sequence[int], records: int) -> dict[int, Row]:
        found = self._solved.estimates(noisy, records)
        return {row: round(float(x), _DECIMALS) if self._spreads[row] else round(x) for row, x in found.items()}


class _Starred:
    """A component of tables that share margins."""

    def __init__(self, stars: Stars) -> None:
        self._stars = stars

    def laws(self) -> dict[int, Law]:
        return {row: Combined(v) for row, v in self._stars.variances(()).items()}

    def rows(self, noisy: Sequence[int], records: int) -> dict[int, Row]:
        self._stars.check_sums(noisy, records)
        return {row: round(x, _DECIMALS) for row, x in self._stars.estimates((), noisy, records).items()}


class _Nested:
    """A component of nested counts: its nest; what asked rows have at each cell; which rows are asked."""

    def __init__(self, part: Component, scales: Sequence[float]) -> None:
        self._scales = scales
        cells = [values for values in part.cells() if values is not None]  # nobody is absent: n is public
        sets: dict[int, set[int]] = {}
        self._wanted: list[dict[int, int]] = []
        for k, values in enumerate(cells):
            for block in part.counted:
                for row, x in block.column(values).items():
                    if x not in (0, 1):
                        raise refuse("consistent noise is that of counts", "measured")
                    if x:
                        sets.setdefault(row, set()).add(k)
            self._wanted.append({row: x for block in part.asked for row, x in block.column(values).items() if x})
        if len(sets) != sum(block.rows for block in part.counted):
            raise refuse("counts nobody", "measured")
        self._top = nested({row: frozenset(some) for row, some in sets.items()}, len(cells))
        self._asked = _rows(part.asked)

    def laws(self) -> dict[int, Law]:
        out: dict[int, Law] = {}
        together = covariances(self._top, {row: 1 / s for row, s in enumerate(self._scales)})
        known: dict[tuple[int, ...], Law] = {}
        for row in self._asked:
            numbers = tuple(column.get(row, 0) for column in self._wanted)
            if numbers not in known:
                step = math.gcd(*(x - numbers[0] for x in numbers))
                span = max(numbers) - min(numbers)
                known[numbers] = Agreeing(_spread(numbers, together), step, span) if step else Laplace(0.0)
            out[row] = known[numbers]
        return out

    def rows(self, noisy: Sequence[int], records: int) -> dict[int, Row]:
        cells = check_sums(self._top, dict(enumerate(noisy)), records)
        return {
            row: sum(column.get(row, 0) * z for column, z in zip(self._wanted, cells, strict=True))
            for row in self._asked
        }


def _rows(blocks: Sequence[Block]) -> list[int]:
    return [row for block in blocks for row in range(block.first, block.first + block.rows)]


def _spread(numbers: tuple[int, ...], together: Any) -> float:
    import numpy as np

    w = np.array(numbers, dtype=np.float64)
    return float(w @ together @ w)


_WAYS: dict[str, type[Way]] = {"row for row": RowForRow, "least squares": LeastSquares, "consistent": Consistent}


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
