"""Points with coordinates, and public facts about each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from dxprivacy.errors import PolicyError
from dxprivacy.exact.arrays import Floats
from dxprivacy.universe.attributes.attribute import (
    OTHER,
    Attribute,
    Property,
    as_text,
    properties_from,
    property_specs,
    refuse_duplicates,
)
from dxprivacy.universe.reading.codecs import ListedTexts
from dxprivacy.universe.reading.spelling import EXACT, Spelling


@dataclass(frozen=True, kw_only=True)
class Points(Attribute):
    """A list of points with coordinates; further columns are public properties.

    `coordinates` are exactly the given float64 numbers: (latitude, longitude) in degrees, or coordinates in a plane.

    >>> homes = Points(name="home", ids=("north", "south"), coordinates=[[53.5, 10.0], [48.1, 11.6]], has_other=False)
    >>> homes.size, homes.label(1)
    (2, 'south')
    """

    ids: tuple[str, ...]
    coordinates: Floats = field(repr=False, compare=False)
    facts: tuple[Property, ...] = ()
    spelling: Spelling = EXACT
    kind: str = field(init=False, default="points")

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", tuple(as_text(v) for v in self.ids))
        points = np.array(self.coordinates, dtype=np.float64)
        if points.ndim != 2 or len(points) != len(self.ids) or (len(points) and points.shape[1] < 1):
            raise PolicyError(f"{self.name} needs one row of coordinates for each of its {len(self.ids)} points")
        if not np.isfinite(points).all():
            raise PolicyError(f"{self.name} has coordinates that are not finite numbers")
        points.setflags(write=False)
        object.__setattr__(self, "coordinates", points)
        super().__post_init__()
        refuse_duplicates(self.name, self.ids)
        if self.spelling:
            self.spelling.places(self.name, self.ids)  # refuses ambiguous spellings

    @property
    def listed(self) -> int:
        return len(self.ids)

    @property
    def properties(self) -> Mapping[str, Property]:
        return {fact.name: fact for fact in self.facts}

    @property
    def declared(self) -> Sequence[Property]:
        return self.facts

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Names for display: the property `name`; equal names are disambiguated by another property, or by the id."""
        fact = self.properties.get("name")
        if fact is None:
            return self.ids
        shared = {entry for entry, times in Counter(fact.entries).items() if times > 1}
        names = list(fact.entries)
        texts = [f for f in self.facts if f.name != "name" and f.numbers is None]
        for k, entry in enumerate(fact.entries):
            if entry in shared:
                twins = [j for j, e in enumerate(fact.entries) if e == entry]
                telling = (f for f in texts if len({f.entries[j] for j in twins}) == len(twins))
                apart = next(telling, None)
                names[k] = f"{entry}, {apart.entries[k]}" if apart else f"{entry} ({self.ids[k]})"
        return tuple(names)

    def label(self, index: int) -> str:
        """Return the name of a point, or its id."""
        return self._names[index] if index < self.listed else OTHER

    @cached_property
    def _position(self) -> dict[str, int]:
        by_name = {name: k for k, name in enumerate(self._names)}
        return by_name | {key: k for k, key in enumerate(self.ids)} | ({OTHER: self.listed} if self.has_other else {})

    def find(self, value: object) -> int:
        """Return the index of a point, given by id or by name."""
        try:
            return self._position[as_text(value)]
        except KeyError:
            raise self._unknown(value, self._names) from None

    @cached_property
    def codec(self) -> ListedTexts:
        """Entries are read by id, never by name."""
        return ListedTexts(self.ids, self.spelling)

    def with_units(self, units: Mapping[str, str]) -> Self:
        facts = tuple(replace(fact, unit=units.get(f"{self.name}.{fact.name}", "")) for fact in self.facts)
        return replace(super().with_units(units), facts=facts)

    def spec(self) -> dict[str, Any]:
        return self._base_spec() | {
            "ids": list(self.ids),
            "coordinates": [[c.hex() for c in row] for row in self.coordinates.tolist()],
            "properties": property_specs(self.facts),
            **self.spelling.spec(),
        }

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        rows = [[float.fromhex(c) for c in row] for row in spec["coordinates"]]
        points = {"ids": tuple(spec["ids"]), "coordinates": np.array(rows, dtype=np.float64)}
        return points | {"facts": properties_from(spec["properties"]), "spelling": Spelling.from_spec(spec)}
