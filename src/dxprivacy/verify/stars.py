"""Tables that share margins, with noise that agrees: do they add up, how far do they err (docs/formats.md, 10).

A table of one attribute, the margin, opens a star; the tables behind it that belong to it have its attribute.  Given
the noise u of a count of the margin, the cells of each table below it add up to u and do not mind one another, so the
distribution of u is exp(-|u| / scale) times the sums h of each table's cells, times the sums of all other counts of the
margin, at -u.  That of one cell is exp(-|z| / scale) times what its neighbors, and all that lies around them, add up
to.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dxprivacy.errors import Undecided
from dxprivacy.verify.k_norm import _cut, _places, _sums
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.tables import Attributes, TableOf, Tables

_WHERE = "measured"
_FADED = 36.0
_WIDTHS = 9.0
_MOST_PLACES = 60_000


class Stars(Tables):
    """Tables of a component, each margin before the tables that share it."""

    def __init__(self, tables: Tables, scales: Sequence[float]) -> None:
        super().__init__(tables.firsts, tables.asked, tables.counted, private=False)
        if any(table.halved for table in self.counted):
            raise refuse("k-norm noise is that of counts", _WHERE)
        self.stars: list[list[TableOf]] = []
        for table in self.counted:
            if len(table.attributes) == 1:
                self.stars.append([table])
            elif self.stars and self.stars[-1][0].attributes[0] in table.attributes:
                self.stars[-1].append(table)
            else:
                raise refuse("tables that do not stand behind the margin that they share", _WHERE)
        self._scales = scales

    @cached_property
    def _spreads(self) -> dict[int, tuple[int, float]]:
        """By table: the owner, and the variance in the components that it tells."""
        out = {}
        for star in self.stars:
            owner = star[0].attributes[0]
            values = len(self.firsts[owner])
            rates = [1 / self._scales[next(iter(table.rows.values()))] for table in star]
            groups = [round(self._size(table.attributes)) // values for table in star[1:]]
            margin, cells = spreads(values, rates[0], list(zip(groups, rates[1:], strict=True)))
            out[id(star[0])] = owner, margin * values / (values - 1)
            for table, m, z in zip(star[1:], groups, cells, strict=True):
                out[id(table)] = owner, (m * z - margin / m) / (m - 1)
        return out

    def _noise(self, table: TableOf, s: Attributes, noises: Sequence[float]) -> float:  # noqa: ARG002
        owner, spread = self._spreads[id(table)]
        return math.inf if s == (owner,) and len(table.attributes) > 1 else spread

    def check_sums(self, noisy: Sequence[int], records: int) -> None:
        """Each table of a star adds up to the margin, and that to the number of records."""
        for margin, *tables in self.stars:
            found = {cell[0]: noisy[row] for cell, row in margin.rows.items()}
            if sum(found.values()) != records:
                raise refuse("counts that do not add up", "noisy")
            for table in tables:
                at = table.attributes.index(margin.attributes[0])
                sums = dict.fromkeys(found, 0)
                for cell, row in table.rows.items():
                    sums[cell[at]] += noisy[row]
                if sums != found:
                    raise refuse("counts that do not add up", "noisy")


def spreads(values: int, margin: float, groups: Sequence[tuple[int, float]]) -> tuple[float, list[float]]:
    """The variances of a count of the margin and of a cell of each table: groups of so many cells, at such rates."""
    import numpy as np

    ends = _ends(values, margin, groups)
    places = np.abs(np.arange(-ends, ends + 1))
    own, sums, others = np.exp(-margin * places), [], []
    for m, rate in groups:
        cell = np.exp(-rate * places)
        cell = cell / cell.sum()
        others.append(_power(cell, m - 1, ends))
        sums.append(_sums(others[-1][None], cell, ends)[0])
    f = own * np.prod(np.array([h / h.max() for h in sums]), axis=0) if sums else own
    f = f / f.sum()
    around = np.maximum(_power(f, values - 1, ends), 0.0)
    out = []
    for k, (_, rate) in enumerate(groups):
        rest = np.prod(np.array([h / h.max() for j, h in enumerate(sums) if j != k]), axis=0) * own * around
        distribution = np.exp(-rate * places) * np.maximum(_sums(rest[None], others[k], ends)[0], 0.0)
        out.append(_mean_square(distribution))
    return _mean_square(f * around), out


def _ends(values: int, margin: float, groups: Sequence[tuple[int, float]]) -> int:
    wide = [math.sqrt(2 * m) / rate for m, rate in groups] + [math.sqrt(2) / margin]
    reach = [_FADED / rate + _WIDTHS * math.sqrt(2 * m) / rate for m, rate in groups] or [_FADED / margin]
    found = max(*reach, _WIDTHS * min(wide) * math.sqrt(values))
    if found > _MOST_PLACES:
        raise Undecided("noise too wide to repeat the errors here", where=_WHERE)
    return int(found) + 2


def _power(table: Any, times: int, ends: int) -> Any:
    """The distribution of the sum of so many, by doubling."""
    import numpy as np

    out, now = _cut(np.ones(1), ends), table
    while times:
        if times & 1:
            out = _sums(out[None], now, ends)[0]
        times >>= 1
        if times:
            now = _sums(now[None], now, ends)[0]
    return out


def _mean_square(distribution: Any) -> float:
    return float(distribution @ _places(distribution) ** 2 / distribution.sum())
