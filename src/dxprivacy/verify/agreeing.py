"""Counts whose noise agrees: nests, tables that share margins, and what has noise of its own (docs/formats.md, 10)."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dxprivacy.errors import NotVerified
from dxprivacy.verify.k_norm import check_sums, errors, nested
from dxprivacy.verify.least_squares import Component, Estimator, least_noise
from dxprivacy.verify.noise import Agreeing, Blend, Combined, Distribution, Known, Laplace, variance
from dxprivacy.verify.queries import Asked
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.stars import Stars
from dxprivacy.verify.tables import as_tables
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.way import Row, Way, rows_of

_DECIMALS = 9  # of an estimate that is not whole


class KNormCounts(Way):
    """Sums of nested counts whose noise agrees, and means of tables that share margins."""

    exact = False  # errors come from floats

    def __init__(self, asked: Asked, counted: Asked, universe: Universe, scales: Sequence[float], edition: int) -> None:
        super().__init__(asked, counted, universe, scales, edition)
        if universe.absent is not None:
            raise refuse("k-norm noise needs a public number of records", "measured")
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
        if any(isinstance(part, _Starred) for part in self._parts):
            return "answers are means of noisy tables that share margins: not integers; consistent if nothing is other"
        if self.rounded:
            return "answers are estimated from noisy counts, some with k-norm noise: not all are integers"
        return "answers are sums of noisy counts with k-norm noise: they are integers, and add up"

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
            if any(self.scales[row] == 0 for row in rows_of(part.counted)):
                raise refuse("k-norm noise leaves no count without noise", "measured")
            out.append(found)
        if why is not None and all(isinstance(part, _Alone) for part in out):
            raise why
        return out

    def _agreeing(self, part: Component) -> "_Nested | _Starred":
        if any(block.unit != 1 for block in part.counted):
            raise refuse("k-norm noise is that of counts", "measured")
        tables = None
        if len(part.firsts) > 1:
            tables = as_tables(part.asked, part.counted, part.firsts, self.scales, private=False, explicit=True)
        return _Nested(part, self.scales) if tables is None else _Starred(Stars(tables, self.scales))

    def distributions(self) -> list[Distribution]:
        out: list[Distribution] = [Laplace(0.0)] * self.asked.rows
        for part in self._parts:
            for row, distribution in part.distributions().items():
                out[row] = distribution
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
        self._least = least_noise([noises[row] for row in rows_of(part.counted)])

    @cached_property
    def _spreads(self) -> dict[int, float]:
        return self._solved.variances()

    def distributions(self) -> dict[int, Distribution]:
        return {row: Blend(v, *self._least) if v > 0 else Laplace(0.0) for row, v in self._spreads.items()}

    def rows(self, noisy: Sequence[int], records: int) -> dict[int, Row]:
        found = self._solved.estimates(noisy, records)
        return {row: round(float(x), _DECIMALS) if self._spreads[row] else round(x) for row, x in found.items()}


class _Starred:
    """A component of tables that share margins."""

    def __init__(self, stars: Stars) -> None:
        self._stars = stars

    def distributions(self) -> dict[int, Distribution]:
        return {row: Combined(v) if v > 0 else Laplace(0.0) for row, v in self._stars.variances(()).items()}

    def rows(self, noisy: Sequence[int], records: int) -> dict[int, Row]:
        self._stars.check_sums(noisy, records)
        spreads = self._stars.variances(())
        found = self._stars.estimates((), noisy, records)
        return {row: round(x, _DECIMALS) if spreads[row] > 0 else round(x) for row, x in found.items()}


class _Nested:
    """A component of nested counts: its nest; what asked rows have at each cell; which rows are asked."""

    def __init__(self, part: Component, scales: Sequence[float]) -> None:
        self._scales = {row: scales[row] for row in rows_of(part.counted)}
        cells = [values for values in part.cells() if values is not None]  # nobody is absent: n is public
        sets: dict[int, set[int]] = {}
        self._wanted: list[dict[int, int]] = []
        for k, values in enumerate(cells):
            for block in part.counted:
                for row, x in block.column(values).items():
                    if x not in (0, 1):
                        raise refuse("k-norm noise is that of counts", "measured")
                    if x:
                        sets.setdefault(row, set()).add(k)
            self._wanted.append({row: x for block in part.asked for row, x in block.column(values).items() if x})
        if len(sets) != sum(block.rows for block in part.counted):
            raise refuse("counts nobody", "measured")
        self._top = nested({row: frozenset(some) for row, some in sets.items()}, len(cells))
        self._asked = rows_of(part.asked)

    def distributions(self) -> dict[int, Distribution]:
        out: dict[int, Distribution] = {}
        together, told = errors(self._top, {row: 1 / s for row, s in self._scales.items()})
        known: dict[tuple[int, ...], Distribution] = {}
        for row in self._asked:
            numbers = tuple(column.get(row, 0) for column in self._wanted)
            if numbers not in known:
                known[numbers] = _distribution(numbers, together, told)
            out[row] = known[numbers]
        return out

    def rows(self, noisy: Sequence[int], records: int) -> dict[int, Row]:
        cells = check_sums(self._top, dict(enumerate(noisy)), records)
        return {
            row: sum(column.get(row, 0) * z for column, z in zip(self._wanted, cells, strict=True))
            for row in self._asked
        }


def _distribution(numbers: tuple[int, ...], together: Any, told: dict[frozenset[int], Any]) -> Distribution:
    """That of a counted set, where the row is one or all but one, times a factor; otherwise by its variance."""
    step = math.gcd(*(x - numbers[0] for x in numbers))
    if not step:
        return Laplace(0.0)
    spread = _spread(numbers, together)
    if len(set(numbers)) == 2:
        larger = frozenset(k for k, x in enumerate(numbers) if x == max(numbers))
        for side in (larger, frozenset(range(len(numbers))) - larger):
            if side in told:
                return Known(spread, told[side], step)
    return Agreeing(spread, step, max(numbers) - min(numbers))


def _spread(numbers: tuple[int, ...], together: Any) -> float:
    import numpy as np

    w = np.array(numbers, dtype=np.float64)
    return float(w @ together @ w)
