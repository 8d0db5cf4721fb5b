"""What queries come to: answers, each with the recipe by which it follows from rows (docs/formats.md, 4 and 7)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar

from dxprivacy.verify.blocks import Block

T = TypeVar("T")
HALF_THE_RANGE = ", as if numbers lay evenly over half of their range"
Groups = tuple[tuple[str, str], ...]
"""What is grouped, and in which group: names and labels."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How answers come from rows: each from one row, or for means over groups from a sum and a count.

    Hundreds of thousands of answers have one in common.
    """

    unit: Fraction
    bias: Fraction
    over_all: bool = False  # a mean over all records
    ratio: bool = False  # a sum over a count
    center: Fraction = Fraction(0)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    below: Fraction = Fraction(0)  # what cells hide of one record's number, on either side
    above: Fraction = Fraction(0)
    ended: bool = False  # a mean over all that lies between low and high
    part: Fraction = Fraction(1)  # of all records, if all groups and all values of conditions are equally frequent
    noun: str = "means"
    assumed: str = ""
    each: Fraction = Fraction(1)  # what a record adds to the divisor, in steps, as far as anybody can tell
    worked_out: "WorkedOut | None" = None  # of several rows, in a way of its own
    blur_bias: float = 0.0  # the largest part of one record that a soft border puts on its other side


class WorkedOut(ABC):
    """An answer that is worked out of several rows; `rows` are those of the first answer, counted from its first."""

    @property
    @abstractmethod
    def rows(self) -> tuple[int, ...]:
        """The rows it uses, behind the first row of the answer."""

    @abstractmethod
    def expected(self, distributions: "Sequence[Any]", records: int) -> tuple[float, float, list[float]]:
        """Root mean square and mean absolute error, and half-widths that may be stated; a distribution for each of its
        rows.
        """

    @abstractmethod
    def released(
        self, rows: "Sequence[int | float | Fraction]", distributions: "Sequence[Any]", records: int
    ) -> list[tuple[float, float, float, bool]]:
        """Value, both ends of its interval, and whether it says nothing."""

    @property
    def may_be_exact(self) -> bool:
        """Whether its value is the true one where rows have no noise."""
        return True

    @abstractmethod
    def moved(self) -> float:
        """How far a step of its rows moves it, at most, where it says anything."""


Source = tuple[Recipe, int, int | None]
"""How an answer comes from rows, from which one, and of a ratio the row of the count."""


@dataclass(frozen=True)
class Sources:
    """Those of a query: its recipes, and the answers' sources, given the number of the first row."""

    recipes: Sequence[Recipe]
    make: Callable[[int], Iterable[Source]]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: label, title of its query, unit, target, groups, recipe."""

    label: str
    title: str
    unit: str
    within: Fraction | None
    named: Groups
    recipe: Recipe
    row: int
    count: int | None = None  # the row of the count, of a ratio

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows it uses."""
        if (way := self.recipe.worked_out) is not None:
            return tuple(self.row + k for k in way.rows)
        return (self.row,) if self.count is None else (self.row, self.count)

    @property
    def groups(self) -> dict[str, str]:
        """The group that it is about, by what is grouped."""
        return dict(self.named)


class Each(Collection[T], Generic[T]):
    """So many things, made whenever they are gone through: the labels of very many answers are not held."""

    def __init__(self, number: int, make: Callable[[], Iterable[T]]) -> None:
        self._number, self._make = number, make

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[T]:
        return iter(self._make())

    def __contains__(self, thing: object) -> bool:
        return any(one == thing for one in self)


@dataclass(frozen=True)
class Kind:
    """What the answers of a query have in common: its title, their unit, their number, and their recipes."""

    title: str
    unit: str
    number: int
    recipes: Sequence[Recipe]


@dataclass(frozen=True)
class Asked:
    """All queries: blocks of rows, answers, the queries' words, notes."""

    blocks: list[Block]
    kinds: list[Kind]  # one for each query
    make: Callable[[int], Iterable[Answer]]  # given the number of the first row
    words: list[str]
    notes: list[str]
    names: list[str]  # title, or words without target and weight

    @property
    def number(self) -> int:
        """How many answers."""
        return sum(kind.number for kind in self.kinds)

    @cached_property
    def answers(self) -> list[Answer]:
        """All of them at once.  Whoever goes through them once has them made, and whoever needs rows alone has not."""
        return list(self.make(0))

    @property
    def rows(self) -> int:
        """How many rows."""
        return sum(block.rows for block in self.blocks)
