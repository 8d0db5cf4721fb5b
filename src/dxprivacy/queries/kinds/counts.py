"""Counts: how many records are in each group, or how many people."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from dxprivacy.errors import QueryError
from dxprivacy.exact.rounding import number_text
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference
from dxprivacy.queries.kinds.maps import in_kilometers
from dxprivacy.queries.kinds.quantiles import STRETCH
from dxprivacy.queries.kinds.soft_counts import soft_counts, soft_line
from dxprivacy.queries.kinds.soft_regions import region_map, soft_places, soft_regions, soft_words
from dxprivacy.queries.query import Query, placed
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.blocks import PeopleTable
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload


@dataclass(frozen=True)
class Count(Query):
    """How many records fulfil the conditions, possibly by groups.

    With a `blur`, borders between numbers or places are soft; `lengths` of places are kilometers on the Earth.
    """

    ask = "count"
    takes_of = False
    also = ("blur", "lengths")

    blur: Fraction | None = None
    lengths: str = ""

    def further_words(self, name: str, universe: Universe | None = None) -> str:
        return in_kilometers(super().further_words(name, universe), self.lengths)

    def settled(self) -> "Count":
        if self.blur is not None and self.blur < 0:
            raise QueryError("a blur is not negative", hints=[("blur 0", "borders as they are")])
        if self.lengths and self.blur is None:
            raise QueryError("a unit of length of what?", hints=[("blur 20 km", "soft borders between places")])
        return replace(self, blur=None, lengths="") if self.blur == 0 else self

    def places(self, universe: Universe) -> Reference | None:
        """The places whose borders are soft."""
        return None if self.blur is None else soft_places(self, Grouped.of(self, universe), self.lengths)

    def remarks(self, universe: Universe) -> list[str]:
        """How far soft borders reach."""
        if self.blur is None:
            return []
        if (places := self.places(universe)) is not None:
            return [soft_words(self.name, region_map(places, self.blur, self.lengths))]
        ref = soft_line(self, Grouped.of(self, universe)).ref
        wide = f"{number_text(STRETCH / 2 * self.blur)} {ref.unit}".rstrip()
        about = f"who is within {wide} of a border counts in part on both sides; intervals are for these counts"
        return [f"{self.name}: {about}"]

    def rows_on(self, universe: Universe) -> Workload:
        found = Grouped.of(self, universe)
        found.require_unit("")
        if self.blur is not None:
            places = soft_places(self, found, self.lengths)
            if places is not None:
                with placed(self):
                    return soft_regions(self, found, places, self.blur, self.lengths)
            return soft_counts(self, found, self.blur)
        return Workload(universe, (found.block(),), tuple(answers_of(found)), (str(self),))


@dataclass(frozen=True)
class CountPeople(Query):
    """How many people have at least one row that fulfils the conditions, possibly by groups; of those that are kept."""

    ask = "people"
    said = "count people"
    takes_of = False

    def rows_on(self, universe: Universe) -> Workload:
        if universe.people is None:
            raise QueryError(
                "people are counted where they may have several rows",
                where=f"query “{self}”",
                hints=[("count", "counts records"), ('[people] key = "patient"', "in the policy: whose row it is")],
            )
        found = Grouped.of(self, universe)
        found.require_unit("")
        return Workload(universe, (PeopleTable(found.block()),), tuple(answers_of(found)), (str(self),))


def answers_of(found: Grouped, *, first: int = 0, called: str = "") -> Iterator[Answer]:
    """A count for each group; its rows begin with `first` among others, its labels with what they are `called`.

    Each is made once, as it will be: a table may have hundreds of thousands.
    """
    one, within = Fraction(1), found.query.within
    for row, (label, groups) in enumerate(zip(found.labels, found.places, strict=True), first):
        yield Answer(called + label, 0, Linear(row, one), "", within, one, groups)
