"""Queries that people ask in words: of what, by what, where, within how much (docs/formats.md, section 4)."""

from collections.abc import Sequence
from typing import Any, ClassVar

from dxprivacy.verify import reading
from dxprivacy.verify.grouping import Named, fulfil, resolve
from dxprivacy.verify.logic import Comparison, Joined, Wanted, read
from dxprivacy.verify.orders import Condition
from dxprivacy.verify.queries.base import Query
from dxprivacy.verify.queries.written import compares, joined, quoted, write, write_plain
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.words import number_text


class Worded(Query):
    """A query with words of its own."""

    needed: ClassVar[tuple[str, ...]] = ("of",)
    optional: ClassVar[tuple[str, ...]] = ("within", "unit", "weight", "title")
    ask: ClassVar[str]
    listing: ClassVar[str] = "by"

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.of, self.unit, self.title = (reading.text(data.get(n, ""), where) for n in ("of", "unit", "title"))
        self.by = reading.each(data.get("by", []), where, reading.text)
        self.conditions = self.read_conditions("where")

    def read_conditions(self, key: str) -> list[tuple[str, Wanted]]:
        """All that stand under a key."""
        return [self._condition(c) for c in reading.items(self.data.get(key, []), self.where)]

    def _condition(self, data: Any) -> tuple[str, Wanted]:
        pair = reading.items(data, self.where)
        if len(pair) != 2:
            raise refuse("a condition is a name and what it wants", self.where)
        name = reading.text(pair[0], self.where)
        named = resolve(name, self.universe, self.where)
        return name, read(pair[1], self.where, names=named.fact is None and named.attribute.ranked)

    def words(self, *, goals: bool = True, cells: bool = False) -> str:
        """As somebody would ask it; `cells`: conditions by what is really counted."""
        words = [self.about()]
        words += [f"{self.listing} " + ", ".join(map(quoted, self.by))] if self.by else []
        words += ["where " + self.said_together(self.conditions, cells=cells)] if self.conditions else []
        words += self.further(cells=cells)
        if self.within is not None and goals:
            words.append(f"within {number_text(self.within)}" + (f" {self.unit}" if self.unit else ""))
        if self.weight != 1 and goals:
            words.append(f"weight {number_text(self.weight)}")
        return " ".join(words)

    def counted_words(self) -> str:
        return self.words(cells=self.edition > 4)

    def said_together(self, conditions: "Sequence[tuple[str, Wanted]]", *, cells: bool = False) -> str:
        """Conditions joined by `and`; alternatives stand in brackets then."""
        told = [self._told(n, c) if cells else write(n, c) for n, c in conditions]
        if len(told) > 1:
            alternatives = [isinstance(c, Joined) and not c.every for _, c in conditions]
            told = [f"({text})" if either else text for text, either in zip(told, alternatives, strict=True)]
        return " and ".join(told)

    def about(self) -> str:
        """What is asked, and of what."""
        return f"{self.ask} {quoted(self.of)}" if self.of else self.ask

    @property
    def called(self) -> str:
        """What its answers are called by."""
        return f"{self.ask} {self.of}".strip()

    def further(self, *, cells: bool = False) -> list[str]:  # noqa: ARG002
        """Clauses of its own; `cells`: conditions by what is really counted."""
        return []

    def _told(self, name: str, wanted: Wanted) -> str:
        """A condition in cells, at ends that hold all beyond, and, where it is made of others, perhaps with `other`."""
        named = resolve(name, self.universe, self.where)
        if isinstance(wanted, Comparison):
            return write(name, wanted) + self._limit(named, wanted)
        if isinstance(wanted, (list, tuple)):
            return named.told(name, wanted, self.where) or write(name, wanted)
        more = False

        def say(part: Condition | Comparison) -> str:
            nonlocal more
            if isinstance(part, Comparison):
                limit = self._limit(named, part)
                more = more or bool(limit)
                return compares(part) + limit
            known = named.told("", part, self.where)
            more = more or bool(known)
            return known[1:] if known else write_plain(part, logic=True)

        words = joined(wanted, say)
        _, kept = fulfil(name, wanted, self.universe, self.where, edition=self.edition)
        with_other = named.attribute.other and named.attribute.listed in kept
        if not more and not with_other:
            return write(name, wanted)
        return f"{name} {words}" + (" (other included)" if with_other else "")

    def _limit(self, named: Named, comparison: Comparison) -> str:
        """Where a comparison ends on its open side; files of editions before 5 do not say it."""
        return named.limit(comparison.sign) if self.edition > 4 else ""

    @property
    def touched(self) -> list[str]:
        """What it groups by, has in conditions, or sums up, by name."""
        return [*map(bare, self.by), *(name for name, _ in self.conditions)]


def bare(group: str) -> str:
    """What is grouped: `age` of `age/10` and of `age[0,18]`."""
    return group.partition("[")[0].partition("/")[0].strip()
