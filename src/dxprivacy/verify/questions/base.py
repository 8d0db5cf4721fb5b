"""What every question has: a target, a weight, perhaps a title, and rows with recipes (docs/formats.md, section 4)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block
from dxprivacy.verify.questions.answers import Answer, Asked, Recipe
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

MOST_ROWS = 2_000_000
_HEAVIEST = 1_000_000


class Question(ABC):
    """One question over a universe; `units` is False where nothing says in which units the numbers were.

    In edition 2 labels said less about cells, and intervals nothing.
    """

    needed: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()
    title = ""

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        self.data = reading.members(data, where, ("ask", *self.needed), self.optional)
        self.universe, self.where, self.edition, self.units = universe, where, edition, units
        self.within = reading.positive(data["within"], where) if "within" in data else None
        self.weight = reading.positive(data.get("weight", "1"), where)
        if not Fraction(1, _HEAVIEST) <= self.weight <= _HEAVIEST:
            raise refuse("has a weight beyond all measure", where)

    @abstractmethod
    def words(self, *, goals: bool = True) -> str:
        """As somebody would ask it; without its goals, target and weight are left out."""

    @abstractmethod
    def bound(self) -> Asked:
        """Its rows and answers."""

    def asked(
        self,
        blocks: list[Block],
        labels: Sequence[str],
        groups: Iterable[dict[str, str]],
        recipes: Sequence[Recipe],
        *,
        unit: str = "",
        notes: Sequence[str] = (),
    ) -> Asked:
        """The answers under this question's title; a single one is called so too."""
        words = self.words()
        title = self.title or words
        if self.title and len(labels) == 1:
            labels = [self.title]
        parts = zip(labels, groups, recipes, strict=True)
        answers = [Answer(label, title, unit, self.within, recipe, named) for label, named, recipe in parts]
        return Asked(blocks, answers, [words], list(notes), [self.title or self.words(goals=False)])


def each_row(block: Block, *, over_all: bool = False) -> list[Recipe]:
    """Every row is an answer."""
    return [Recipe(k, block.unit, block.bias, over_all) for k in range(block.rows)]
