"""Proportional losses: L(i, j) <= c d(i, j) with one factor c for all pairs, or one for each attribute."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dxprivacy.exact.rounding import Exact

PRESENCE = -1
"""Stands for an attribute: whether the record is present."""


@dataclass(frozen=True)
class ProportionalLoss:
    """A fraction of every distance, plus fractions of distances along single attributes, if distances add up over them.

    >>> two = ProportionalLoss(Fraction(1, 4)) + ProportionalLoss(along={0: Fraction(1, 2)})
    >>> two.along_axis(0), two.along_axis(1), two.most
    (Fraction(3, 4), Fraction(1, 4), Fraction(3, 4))
    """

    everywhere: Exact = Fraction(0)
    along: Mapping[int, Exact] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.everywhere) or any(self.along.values())

    def __add__(self, other: "ProportionalLoss") -> "ProportionalLoss":
        axes = {*self.along, *other.along}
        along = {a: self.along.get(a, Fraction(0)) + other.along.get(a, Fraction(0)) for a in axes}
        return ProportionalLoss(self.everywhere + other.everywhere, along)

    def times(self, often: int) -> "ProportionalLoss":
        """Return the loss of `often` such releases."""
        return ProportionalLoss(self.everywhere * often, {a: x * often for a, x in self.along.items()})

    def along_axis(self, axis: int) -> Exact:
        """Return the fraction of distances between records that differ in one attribute only, or in presence."""
        return self.everywhere + self.along.get(axis, Fraction(0))

    @property
    def most(self) -> Exact:
        """The largest fraction of any distance."""
        return self.everywhere + max(self.along.values(), default=Fraction(0))

    def decided(self, axes: int) -> "ProportionalLoss":
        """Return the fractions that `max_ratio` charges along each of `axes` attributes, and for presence.

        It searches one attribute together with presence, so each is charged the larger of the two fractions.

        >>> ProportionalLoss(along={0: Fraction(1, 2), PRESENCE: Fraction(1, 4)}).decided(2).along
        {0: Fraction(1, 2), 1: Fraction(1, 4), -1: Fraction(1, 2)}
        """
        if not self.along:
            return self
        presence = self.along.get(PRESENCE, Fraction(0))
        along = {axis: max(presence, self.along.get(axis, Fraction(0))) for axis in range(axes)}
        return ProportionalLoss(self.everywhere, {**along, PRESENCE: max(along.values())})
