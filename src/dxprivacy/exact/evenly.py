"""Numbers at even steps, of which there may be millions: known by their first one, never listed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload


@dataclass(frozen=True, eq=False)
class Evenly(Sequence[Fraction]):
    """`n` numbers from `first` on, each by a positive `step` above the one before.

    >>> ages = Evenly(Fraction(18), Fraction(1), 3)
    >>> [str(x) for x in ages], ages == (18, 19, 20), ends_of(ages) == (18, 20)
    (['18', '19', '20'], True, True)
    """

    first: Fraction
    step: Fraction
    n: int

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, index: int) -> Fraction: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Fraction, ...]: ...
    def __getitem__(self, index: int | slice) -> Fraction | tuple[Fraction, ...]:
        """One of them, or several."""
        at = range(self.n)[index]
        return tuple(self._at(k) for k in at) if isinstance(at, range) else self._at(at)

    def _at(self, index: int) -> Fraction:
        return self.first + index * self.step

    def __iter__(self) -> Iterator[Fraction]:
        return map(self._at, range(self.n))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Evenly):
            mine, theirs = ((x.first, x.step if x.n > 1 else 0, x.n) for x in (self, other))
            return mine == theirs
        return isinstance(other, Sequence) and len(other) == self.n and all(map(Fraction.__eq__, self, other))

    def __hash__(self) -> int:
        return hash((self.first, self.n))

    def below(self, number: Fraction) -> int:
        """How many of them lie below a number."""
        return min(max(-((self.first - number) // self.step), 0), self.n)


def ends_of(numbers: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """The least and the largest of some numbers."""
    if isinstance(numbers, Evenly):
        return numbers[0], numbers[-1]
    return min(numbers), max(numbers)
