"""Several sources as one: their rows one after the other, their histogram the sum.

A row still goes to its cell by itself, in the source that it stands in.  What must hold for that is public: the same
columns everywhere, and no source twice, for then one record would be two rows.
"""

from collections import Counter
from collections.abc import Sequence

from dxprivacy.engines.contribution_bounding import KeptRows, KeyedRows, required
from dxprivacy.engines.packing import Packing, together
from dxprivacy.engines.source import Column, Entry, Others, Source
from dxprivacy.errors import DataError
from dxprivacy.histogram import Histogram
from dxprivacy.universe.universe import Universe


class Joined:
    """Sources with the same columns; their order, and that of the columns, has no meaning."""

    def __init__(self, name: str, sources: Sequence[Source]) -> None:
        self.name = name
        self.has_schema = all(source.has_schema for source in sources)
        self._sources = sources
        known = [source for source in sources if source.has_schema]
        names = [sorted(column.name for column in source.columns()) for source in known]
        for source, mine in zip(known, names, strict=True):
            if mine != names[0]:
                # No names: the first line of a file without a header would be a record.
                raise DataError(
                    f"has other columns than {known[0].name}",
                    where=source.name,
                    hints=["all files need the same column names; a CSV file needs them in its first line"],
                )

    def columns(self) -> list[Column]:
        """The schema of the first source; of one without a schema, its refusal."""
        telling = [source for source in self._sources if source.has_schema == self.has_schema]
        return telling[0].columns()

    def check(self, universe: Universe) -> None:
        """Refuse if any of the schemas does not fit; reads no row."""
        for source in self._sources:
            source.check(universe)

    def rows(self) -> int:
        """The number of rows of all."""
        return sum(source.rows() for source in self._sources)

    def count(self, universe: Universe) -> Histogram:
        """How many rows of all fall into each cell."""
        self.check(universe)  # of all, before the first is counted
        return together(universe, [source.count(universe) for source in self._sources])

    def people(self, universe: Universe) -> int:
        """The number of people; who has rows in several of them is one."""
        return self.keyed(universe).people(required(universe))

    def keyed(self, universe: Universe) -> KeyedRows:
        """The rows of all by person and cell."""
        self.check(universe)
        return KeyedRows.merged((source.keyed(universe) for source in self._sources), Packing(universe))

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:  # noqa: ARG002
        """The kept rows by cell of some attributes."""
        return self.keyed(universe).kept(required(universe)).onto(universe, axes)

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The different texts of one column in all of them, not private; None if there are more."""
        found: set[str] = set()
        for source in self._sources:
            texts = source.distinct(column, at_most)
            if texts is None or len(found | texts) > at_most:
                return None
            found |= texts
        return found

    def others(self, universe: Universe, at_most: int | None) -> list[Others]:
        """Which entries count as `other`."""
        every = [source.others(universe, None) for source in self._sources]
        return [_together(parts, at_most) for parts in zip(*every, strict=True)]


def _together(parts: Sequence[Others], at_most: int | None) -> Others:
    rows: Counter[Entry] = Counter()
    for part in parts:
        rows.update(dict(part.entries))
    return Others.of(parts[0].attribute, parts[0].columns, rows, at_most)
