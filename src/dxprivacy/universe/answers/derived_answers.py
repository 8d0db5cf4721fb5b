"""What answers share that are worked out of several rows; and those that lean on the number of their records."""

from collections.abc import Sequence
from fractions import Fraction

from dxprivacy.universe.answers.recipe import Law, Number, Recipe


class OfSeveral(Recipe):
    """An answer that none of its rows is: of a kind with means."""

    __slots__ = ()

    @property
    def single(self) -> None:
        return

    @property
    def is_mean(self) -> bool:
        return True


class WorkedOut(OfSeveral):
    """Worked out with the number of its records, which may be one more row.

    `count` is the row of the number of records, None where that is public or not needed; `share` is the part of all
    records that it is about, as far as anybody can tell beforehand.
    """

    __slots__ = ()

    count: int | None
    share: Fraction

    @property
    def part(self) -> Fraction:
        return self.share

    @property
    def _counted(self) -> tuple[int, ...]:
        """The row of the number of records, if there is one."""
        return () if self.count is None else (self.count,)

    def _count_moved(self, rows: int) -> int | None:
        return None if self.count is None else self.count + rows

    def _reckoned(self, records: int | None) -> float:
        """How many records it is about, before anything is known of the data."""
        return max(float((records or 0) * self.share), 1.0)

    def _sizes(
        self, z: Sequence[Number], laws: Sequence[Law], records: int, coverage: float
    ) -> tuple[Fraction, Fraction]:
        """Between which numbers the number of records lies, so often."""
        if self.count is None:
            return Fraction(records), Fraction(records)
        size, wide = Fraction(z[self.count]), laws[self.count].half_width(coverage)
        return size - wide, size + wide
