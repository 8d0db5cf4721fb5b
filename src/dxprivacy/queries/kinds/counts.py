"""Counts of records or of people in each group."""

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
    """The number of records that fulfil the conditions, possibly by groups.

    With a `blur`, borders between numbers or places are soft.  With `lengths`, the blur is in kilometers on the Earth.
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
            raise QueryError("a blur must not be negative", hints=[("blur 0", "borders as they are")])
        if self.lengths and self.blur is None:
            raise QueryError("a unit of length needs a blur", hints=[("blur 20 km", "soft borders between places")])
        return replace(self, blur=None, lengths="") if self.blur == 0 else self

    def places(self, universe: Universe) -> Reference | None:
        """Return the places with soft borders; None if there are none."""
        return None if self.blur is None else soft_places(self, Grouped.of(self, universe), self.lengths)

    def remarks(self, universe: Universe) -> list[str]:
        """State how far soft borders reach."""
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
    """The number of people with at least one kept row that fulfils the conditions, possibly by groups."""

    ask = "people"
    said = "count people"
    takes_of = False

    def rows_on(self, universe: Universe) -> Workload:
        if universe.people is None:
            raise QueryError(
                "count people needs [people] in the policy",
                where=f"query “{self}”",
                hints=[("count", "counts records"), ('[people] key = "patient"', "in the policy: whose row it is")],
            )
        found = Grouped.of(self, universe)
        found.require_unit("")
        return Workload(universe, (PeopleTable(found.block()),), tuple(answers_of(found)), (str(self),))


def answers_of(found: Grouped, *, first: int = 0, called: str = "") -> Iterator[Answer]:
    """Yield a count for each group.

    Its rows start at number `first`, its labels with `called`.  Each answer is built only once, because a table may
    have hundreds of thousands.
    """
    one, within = Fraction(1), found.query.within
    for row, (label, groups) in enumerate(zip(found.labels, found.places, strict=True), first):
        yield Answer(called + label, 0, Linear(row, one), "", within, one, groups)
