"""What questions come to: answers, each with the recipe by which it follows from rows (docs/formats.md, 4 and 7)."""

from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.verify.blocks import Block


@dataclass(frozen=True)
class Recipe:
    """How an answer comes from rows: one row, or for means over groups a sum and a count."""

    row: int
    unit: Fraction
    bias: Fraction
    over_all: bool = False  # a mean over all records
    count: int | None = None  # the row of the count
    centre: Fraction = Fraction(0)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    below: Fraction = Fraction(0)  # what cells hide of one record's number, on either side
    above: Fraction = Fraction(0)
    ended: bool = False  # a mean over all that lies between low and high
    part: Fraction = Fraction(1)  # of all records, if all groups and all values of conditions are equally frequent

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows it uses."""
        return (self.row,) if self.count is None else (self.row, self.count)


@dataclass(frozen=True)
class Answer:
    """One answer: label, title of its question, unit, target, recipe, groups; and how many answers the question has."""

    label: str
    title: str
    unit: str
    within: Fraction | None
    recipe: Recipe
    groups: dict[str, str]
    siblings: int = 1


@dataclass(frozen=True)
class Asked:
    """All questions: blocks of rows, answers, the questions' words, notes."""

    blocks: list[Block]
    answers: list[Answer]
    words: list[str]
    notes: list[str]
    names: list[str]  # title, or words without target and weight

    @property
    def rows(self) -> int:
        """How many rows."""
        return sum(block.rows for block in self.blocks)
