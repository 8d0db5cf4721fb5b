"""Places."""

from functools import cached_property
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.base import SPELLING, Attribute, properties, require_spelling
from dxprivacy.verify.reading import refuse


class Points(Attribute):
    """Places, with coordinates."""

    optional = SPELLING
    earth = False  # whether they are latitudes and longitudes, if that is known without a metric

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("ids", "coordinates", "properties"))
        self.ids = reading.each(spec["ids"], where, reading.text)
        self.listed = len(self.ids)
        rows = self.coordinates = reading.coordinates(spec["coordinates"], where)
        if len(rows) != self.listed or not rows or len({len(row) for row in rows}) != 1:
            raise refuse("needs one row of coordinates for each point", where)
        if len(set(self.ids)) < self.listed:
            raise refuse("lists an id twice", where)
        require_spelling(spec, self.ids, where)
        self.properties = properties(spec["properties"], self.listed, where)

    @cached_property
    def _labels(self) -> list[str]:
        name = next((p for p in self.properties if p.name == "name"), None)
        if name is None:
            return self.ids
        texts = [p for p in self.properties if p is not name and p.numbers is None]
        twins: dict[str, list[int]] = {}
        for k, entry in enumerate(name.entries):
            twins.setdefault(entry, []).append(k)
        out = list(name.entries)
        for entry, at in twins.items():
            if len(at) > 1:
                telling = next((p for p in texts if len({p.entries[k] for k in at}) == len(at)), None)
                for k in at:
                    out[k] = f"{entry}, {telling.entries[k]}" if telling else f"{entry} ({self.ids[k]})"
        return out

    def label(self, index: int) -> str:
        return self._labels[index]

    @cached_property
    def _at(self) -> dict[str, int]:
        by_label = {label: k for k, label in enumerate(self._labels)}
        return by_label | {key: k for k, key in enumerate(self.ids)}

    def place(self, written: str) -> int | None:
        return self._at.get(written)

    def unit_of(self, fact: str) -> str:
        return f"{self.name}.{fact}"
