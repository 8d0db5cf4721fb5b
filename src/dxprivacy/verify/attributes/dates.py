"""Days, and periods of them."""

from itertools import pairwise
from typing import Any

from dxprivacy.verify import days, reading
from dxprivacy.verify.attributes.base import OTHER, Attribute, require_size, two
from dxprivacy.verify.orders import Condition, DayOrder
from dxprivacy.verify.periods import Periods
from dxprivacy.verify.reading import refuse


class Dates(Attribute):
    """Days, or periods of them."""

    optional = ("step", "outside")
    several_formats = True

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("range", "timezone"))
        zone = reading.text(spec["timezone"], f"{where} timezone")
        ends = two(spec["range"], where, reading.text)
        first, last = (days.day(end) for end in ends)
        if first is None or last is None:
            raise refuse("its range is not two days", where)
        require_size((last - first).days + 1, where)
        if spec.get("outside", "clamp") != "clamp":
            raise refuse("outside is not clamp", where)
        self.clamp = "outside" in spec
        self.periods = Periods(first, last, spec.get("step", {"days": 1}), where)
        if "step" in spec and self.periods.single:
            raise refuse("a step of one day is not told", where)
        self.listed = len(self.periods.starts)
        self._read = days.reader(self.formats, zone, where)

    @property
    def limits(self) -> tuple[str, str]:
        return self.periods.first.isoformat(), self.periods.last.isoformat()

    def label(self, index: int) -> str:
        return self.periods.label(index)

    def place(self, written: str) -> int | None:
        """The one period that a text names."""
        found = self.all_places(written)
        return found[0] if len(found) == 1 else None

    def all_places(self, written: str) -> list[int]:
        """A day, a month, a year, from one to another; or a day as the data writes it."""
        named = self.periods.named(written)
        if named is not None:
            return named
        found = days.day(written) or self._read(written)
        place = None if found is None else self.periods.place(found)
        return [] if place is None else [place]

    def order(self, where: str) -> DayOrder:
        return DayOrder(where, self.periods)

    def told(self, name: str, condition: Condition, where: str) -> str | None:
        """In periods, and with all that lies beyond an end."""
        if self.periods.single and not self.clamp:
            return None
        if isinstance(condition, tuple):
            low, high = self.order(where).span(*condition)
            inside = [min(max(day, self.periods.first), self.periods.last) for day in (low, high)]
            first, last = (self.periods.place(day) for day in inside)
            assert first is not None
            assert last is not None
            return f"{name} {self._told(first, last)}"
        found = sorted({k for text in condition for k in self.find_all(text, where)})
        cuts = [k for k, (a, b) in enumerate(pairwise(found), start=1) if b > a + 1 or b == self.listed]
        runs = [found[a:b] for a, b in pairwise([0, *cuts, len(found)])]
        words = [OTHER if run[0] == self.listed else self._told(run[0], run[-1]) for run in runs]
        return f"{name} {' or '.join(words)}"

    def _told(self, first: int, last: int) -> str:
        if self.clamp and last + 1 == self.listed:
            return "any day" if first == 0 else f"{self.label(first)} or later"
        if self.clamp and first == 0:
            return f"{self.periods.words(last, last).split('–')[-1]} or earlier"
        return self.periods.words(first, last)
