"""What every query has: a target, a weight, perhaps a title, and rows with recipes (docs/formats.md, section 4)."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block
from dxprivacy.verify.queries.answers import Answer, Asked, Groups, Kind, Recipe, Source, Sources
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

MOST_ROWS = 2_000_000
_HEAVIEST = 1_000_000


class Query(ABC):
    """One query over a universe; `units` is False where nothing says in which units the numbers were.

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

    def counted_words(self) -> str:
        """The same, with conditions named by what is really counted."""
        return self.words()

    @abstractmethod
    def bound(self) -> Asked:
        """Its rows and answers."""

    def asked(
        self,
        blocks: list[Block],
        labels: Collection[str],
        groups: Iterable[Groups],
        sources: Sources,
        *,
        unit: str = "",
        notes: Sequence[str] = (),
    ) -> Asked:
        """The answers under this query's title; a single one is called so too."""
        words = self.words()
        title = self.title or self.counted_words()
        if self.title and len(labels) == 1:
            labels = [self.title]
        within, many = self.within, len(labels)

        def make(first: int) -> Iterator[Answer]:
            for label, named, source in zip(labels, groups, sources.make(first), strict=True):
                yield Answer(label, title, unit, within, named, *source)

        kinds = [Kind(title, unit, many, sources.recipes)]
        return Asked(blocks, kinds, make, [words], list(notes), [self.title or self.words(goals=False)])


def each_row(*blocks: Block) -> Sources:
    """Every row is an answer."""
    recipes = [Recipe(block.unit, block.bias) for block in blocks]

    def sources(first: int) -> Iterator[Source]:
        for block, recipe in zip(blocks, recipes, strict=True):
            for row in range(first, first + block.rows):
                yield recipe, row, None
            first += block.rows

    return Sources(recipes, sources)


def by_recipe(recipe: Recipe, rows: int) -> Sources:
    """So many rows by one recipe; behind those of ratios come as many counts."""

    def sources(first: int) -> Iterator[Source]:
        return ((recipe, row, row + rows if recipe.ratio else None) for row in range(first, first + rows))

    return Sources([recipe], sources)
