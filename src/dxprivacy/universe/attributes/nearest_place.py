"""The nearest of listed places: two columns of coordinates, by which each row is assigned to its nearest place.

The nearest place depends only on a row's two numbers and on the list.  `engines/nearest` documents how it is found
exactly, so that rounding never affects the result.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.errors import PolicyError, QueryError
from dxprivacy.exact.rounding import number_text, written_fraction
from dxprivacy.universe.attributes.attribute import Attribute, Property, as_text
from dxprivacy.universe.attributes.grid import COORDINATE_NAMES
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.reading.codecs import Coordinate, Surroundings
from dxprivacy.universe.reading.text_formats import NumberFormat

BOUNDS = {True: (90.0, 360.0), False: (1e150, 1e150)}
"""The largest size of the two numbers: degrees on the Earth; in a plane, numbers whose squares do not overflow."""


@dataclass(frozen=True, kw_only=True)
class PlaceAxis(Attribute):
    """One of the two columns: the coordinates of all places along it.  It is not an attribute of a universe."""

    along: tuple[float, ...]
    most: float

    @property
    def listed(self) -> int:
        return len(self.along)

    @cached_property
    def codec(self) -> Coordinate:
        return Coordinate(self.along, self.most, self.format)

    def label(self, index: int) -> str:
        return as_text(self.along[index])

    def find(self, value: object) -> int:  # noqa: ARG002
        raise QueryError(f"{self.name} is one of two coordinates", hints=["both together identify a place"])

    def spec(self) -> dict[str, Any]:
        raise PolicyError(f"{self.name} is one of two coordinates, not an attribute")

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        raise TypeError("not an attribute")


@dataclass(frozen=True, kw_only=True)
class Nearest(Points):
    """Places, and two columns of coordinates; a row belongs to its nearest place, if that is within `reach`.

    >>> import numpy as np
    >>> at = np.array([[48.137, 11.575], [52.52, 13.405]])
    >>> home = Nearest(name="home", ids=("M", "B"), coordinates=at, columns=("lat", "lon"), earth=True)
    >>> home.reads, home.properties["latitude"].entries
    (('lat', 'lon'), ('48.137', '52.52'))
    """

    columns: tuple[str, str]
    earth: bool = False
    reach: Fraction | None = None
    kind: str = field(init=False, default="nearest")
    bad_example = "a latitude of 100"

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        if len(columns) != 2 or len(set(columns)) != 2 or not all(isinstance(c, str) and c.strip() for c in columns):
            raise PolicyError(f"{self.name} needs two columns of coordinates", hints=['coordinates = ["lat", "lon"]'])
        object.__setattr__(self, "columns", columns)
        if self.spelling:
            raise PolicyError(f"{self.name} is found by coordinates, which have no other spelling")
        if self.reach is not None:
            object.__setattr__(self, "reach", Fraction(self.reach))
            if self.reach <= 0:
                raise PolicyError(f"{self.name}: reach must be positive", hints=['reach = "50 km"'])
        NumberFormat.of(self.format)
        super().__post_init__()
        if self.coordinates.shape[1] != 2:
            raise PolicyError(
                f"{self.name}: places in {self.coordinates.shape[1]} dimensions are not found by two columns"
            )

    def _require_places(self) -> None:
        """No check: two coordinates together have one place, not one each."""

    @cached_property
    def entries_read(self) -> tuple[PlaceAxis, PlaceAxis]:
        first, second = (
            PlaceAxis(name=column, along=tuple(self.coordinates[:, k].tolist()), most=most, format=self.format)
            for k, (column, most) in enumerate(zip(self.columns, BOUNDS[self.earth], strict=True))
        )
        return first, second

    @property
    def reads(self) -> tuple[str, ...]:
        return self.columns

    @property
    def codec(self) -> Coordinate:  # type: ignore[override]
        """The codec of the first column."""
        return self.entries_read[0].codec

    @cached_property
    def surroundings(self) -> Surroundings:
        return Surroundings(self.coordinates, self.earth, self.reach)

    @property
    def located(self) -> object:
        return self.columns, self.ids, self.coordinates.tobytes(), self.earth, self.reach, self.format

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        """The coordinates of the places and the listed properties; a listed property overrides one of the same name."""
        named = zip(COORDINATE_NAMES[self.earth], self.entries_read, strict=True)
        own = {name: Property(name, tuple(map(as_text, axis.along))) for name, axis in named}
        return own | {fact.name: fact for fact in self.facts}

    def stands_for(self, fact: Property) -> str:
        """Explain coordinates: they are those of the listed place; the distance of a row from it is not counted."""
        if fact.name not in COORDINATE_NAMES[self.earth] or fact in self.facts:
            return ""
        far = "" if self.reach is None else f", at most {number_text(self.reach)}{' km' * self.earth} away"
        return f"that of the nearest listed place{far}"

    @property
    def needed(self) -> str:
        where = "a latitude and a longitude" if self.earth else "two numbers"
        near = "" if self.reach is None else f", at most {number_text(self.reach)}{' km' * self.earth} from a place"
        return f"{where} in {self.columns[0]} and {self.columns[1]}{near}{self._written}"

    def spec(self) -> dict[str, Any]:
        reach = None if self.reach is None else str(self.reach)
        return super().spec() | {"columns": list(self.columns), "earth": self.earth, "reach": reach}

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(spec["earth"], bool):
            raise TypeError("earth is true or false")
        reach = None if spec["reach"] is None else written_fraction(spec["reach"])
        more = {"columns": tuple(spec["columns"]), "earth": spec["earth"], "reach": reach}
        return super().own_arguments(spec) | more
