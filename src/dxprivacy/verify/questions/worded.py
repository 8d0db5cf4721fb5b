"""Questions that people ask in words: of what, by what, where, within how much (docs/formats.md, section 4)."""

from typing import Any, ClassVar

from dxprivacy.verify import days, reading
from dxprivacy.verify.grouping import resolve
from dxprivacy.verify.orders import Condition
from dxprivacy.verify.questions.base import Question
from dxprivacy.verify.questions.written import quoted, write
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.words import number_text


class Worded(Question):
    """A question with words of its own."""

    needed: ClassVar[tuple[str, ...]] = ("of",)
    optional: ClassVar[tuple[str, ...]] = ("within", "unit", "weight", "title")
    ask: ClassVar[str]
    listing: ClassVar[str] = "by"

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.of, self.unit, self.title = (reading.text(data.get(n, ""), where) for n in ("of", "unit", "title"))
        self.by = reading.each(data.get("by", []), where, reading.text)
        self.conditions = [self._condition(c) for c in reading.items(data.get("where", []), where)]

    def _condition(self, data: Any) -> tuple[str, Condition]:
        pair = reading.items(data, self.where)
        if len(pair) != 2:
            raise refuse("a condition is a name and what it wants", self.where)
        name = reading.text(pair[0], self.where)
        if isinstance(pair[1], dict):
            ends = reading.members(pair[1], self.where, ("from", "to"))
            first, last = (days.day(reading.text(ends[end], self.where)) for end in ("from", "to"))
            if first and last:
                return name, (first, last)
            named = resolve(name, self.universe, self.where)
            if named.fact is None and named.attribute.ranked:
                return name, reading.numbers_or_names(ends["from"], ends["to"], self.where)
            return name, (reading.fraction(ends["from"], self.where), reading.fraction(ends["to"], self.where))
        wanted = reading.each(pair[1], self.where, reading.text)
        if not wanted:
            raise refuse("a condition wants nothing", self.where)
        return name, wanted

    def words(self, *, goals: bool = True, cells: bool = False) -> str:
        """As somebody would ask it; `cells`: conditions by what is really counted."""
        words = [self.ask]
        words += [quoted(self.of)] if self.of else []
        words += [f"{self.listing} " + ", ".join(map(quoted, self.by))] if self.by else []
        told = [self._told(n, c) if cells else write(n, c) for n, c in self.conditions]
        words += ["where " + " and ".join(told)] if told else []
        if self.within is not None and goals:
            words.append(f"within {number_text(self.within)}" + (f" {self.unit}" if self.unit else ""))
        if self.weight != 1 and goals:
            words.append(f"weight {number_text(self.weight)}")
        return " ".join(words)

    def _told(self, name: str, condition: Condition) -> str:
        """A condition in cells, and at ends that hold all beyond."""
        entry = resolve(name, self.universe, self.where).entry
        return (entry and entry.told(name, condition, self.where)) or write(name, condition)

    @property
    def touched(self) -> list[str]:
        """What it groups by, has in conditions, or sums up, by name."""
        return [*map(bare, self.by), *(name for name, _ in self.conditions)]


def bare(group: str) -> str:
    """What is grouped: `age` of `age/10` and of `age[0,18]`."""
    return group.partition("[")[0].partition("/")[0].strip()
