"""Counting in DuckDB, where it can be faster than elsewhere."""

from collections.abc import Sequence

from dxprivacy.engines.duck.dialect import DUCKDB
from dxprivacy.engines.packing import Packing
from dxprivacy.engines.sql.query import Counting, Reads

_FEW = 4  # attributes that are faster grouped by as they are than as one number


class DuckCounting(Counting):
    """The queries of DuckDB."""

    def __init__(self) -> None:
        super().__init__(DUCKDB)

    def cells(self, rows: str, packing: Packing, reads: Sequence[Reads], by: Sequence[str] = ()) -> str:
        is_late = any(self.dialect.is_late(read) for mine in reads for read in mine)
        if is_late or len(reads) > _FEW:
            return super().cells(rows, packing, reads, by)
        return self._by_places(rows, packing, reads, by)

    def _by_places(self, rows: str, packing: Packing, reads: Sequence[Reads], by: Sequence[str]) -> str:
        """Of few attributes: grouped by the place in each, and packed afterwards, a sum for a cell and not for a row.

        The groups are the cells, as before: NULL is `other`, and no place is called that otherwise.
        """
        attributes = packing.universe.attributes
        flat = [read for mine in reads for read in mine]
        groups = ", ".join([*by, *(f"({self._index(mine)}) AS i{axis}" for axis, mine in enumerate(reads))])
        cells = [
            " + ".join(
                f"{stride} * coalesce(CAST(i{axis} AS BIGINT), {attributes[axis].listed})" for axis, stride in held
            )
            for held in packing.numbers
        ]
        return f"""
            SELECT {", ".join([*by, *(f"CAST({sum_} AS BIGINT) AS c{k}" for k, sum_ in enumerate(cells))])}, n
            FROM (SELECT {groups}, count(*) AS n FROM ({self._steps(rows, flat, by)}) {self._joins(flat)} GROUP BY ALL)
        """
