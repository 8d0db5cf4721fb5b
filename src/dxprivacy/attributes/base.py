"""Attributes: the public facts about one column - which values can occur, how they are written, what they weigh.

An attribute is a finite list of values plus, unless switched off, a last one called `other`, where NULL, NaN, unlisted
and unparsable entries go.  So every row has exactly one cell and no row can be refused.
"""

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.attributes.text_formats import NumberFormat
from dxprivacy.errors import PolicyError, QuestionError, UsageError, did_you_mean
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.numbers import exact

OTHER = "other"
_WHOLE = re.compile("[+-]?[0-9]{1,24}")  # no 1_000, and no digits of other scripts, which `int` would take


@dataclass(frozen=True)
class Property:
    """A public fact about each point, such as its state or its elevation; numbers where all entries are numbers."""

    name: str
    entries: tuple[str, ...]
    unit: str = ""

    @cached_property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The entries as exact numbers, or None if any is not a number."""
        try:
            return tuple(Fraction(exact(entry)) for entry in self.entries)
        except UsageError:
            return None


@dataclass(frozen=True, kw_only=True)
class Attribute(ABC):
    """One column of the possible records."""

    name: str
    column: str = ""
    unit: str = ""
    has_other: bool = True
    other_value: Fraction | None = None
    complete: bool = False  # the curator declares that every entry is valid
    format: str = ""
    kind: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise PolicyError("an attribute needs a name")
        if not self.column:
            object.__setattr__(self, "column", self.name)
        if self.listed < 1:
            raise PolicyError(f"attribute {self.name} has no values", hints=["list at least one value"])

    @property
    @abstractmethod
    def listed(self) -> int:
        """How many values there are besides `other`."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The data columns that decide the value of a row."""
        return (self.column,)

    @property
    def size(self) -> int:
        """How many values there are, `other` included."""
        return self.listed + self.has_other

    @abstractmethod
    def label(self, index: int) -> str:
        """How a person reads the value at this index."""

    @abstractmethod
    def find(self, value: object) -> int:
        """The index of a value as a person or a data cell writes it; unknown values raise QuestionError."""

    @property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The number behind each listed value, for sums and means; None if there is none."""
        return None

    @property
    def properties(self) -> Mapping[str, Property]:
        """Public properties of the values."""
        return {}

    @property
    def declared(self) -> Sequence[Property]:
        """Properties given with the values (others follow from the values themselves)."""
        return ()

    def values_in_sums(self, numbers: Sequence[Fraction], missing: Fraction | None = None) -> tuple[Fraction, ...]:
        """`numbers` with the one for `other` behind: the declared value, or `missing`, or the middle of the range."""
        if not self.has_other:
            return tuple(numbers)
        middle = (min(numbers) + max(numbers)) / 2 if missing is None else missing
        return (*numbers, middle if self.other_value is None else self.other_value)

    def hides(self, fact: Property | None = None) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """How far below and above the number that it counts as a valid entry may lie."""
        return Fraction(0), Fraction(0)

    def entry_of(self, fact: Property | None) -> "Attribute | None":
        """What an entry of the data column is read as that a name in a question means; None for any other property."""
        return self if fact is None else None

    @property
    def clamps(self) -> bool:
        """Whether numbers outside the range count as its nearest end."""
        return False

    def beyond(self, value: object) -> bool:  # noqa: ARG002
        """Whether a value lies outside a range that clamps: data may hold it, but no question should name it."""
        return False

    def encode(self, values: Sequence[object]) -> Ints:
        """Indices of many values, each distinct text looked up once; what is not listed becomes `other`."""
        texts = np.array([as_text(value) for value in values], dtype=object)
        distinct: dict[str, int] = {}
        for text in texts:
            if text not in distinct:
                distinct[text] = self._place(text)
        return np.fromiter((distinct[text] for text in texts), dtype=np.int64, count=len(texts))

    def _place(self, text: str) -> int:
        try:
            return self.find(text)
        except QuestionError:
            if not self.has_other:
                raise
            return self.listed

    def decode(self, indices: Ints) -> list[str]:
        """Labels of many indices."""
        labels = np.array([self.label(k) for k in range(self.size)], dtype=object)
        return list(labels[indices])

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """What the digest of the universe covers."""

    def _base_spec(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "column": self.column,
            "other": self.has_other,
            "other_value": None if self.other_value is None else str(self.other_value),
            **({"format": self.format} if self.format else {}),
            **({"complete": True} if self.complete else {}),
        }

    def _unknown(self, value: object, known: Sequence[str] = ()) -> QuestionError:
        return QuestionError(f"{self.name} has no value {str(value)[:60]!r}", hints=did_you_mean(str(value), known))


def as_text(value: object) -> str:
    """How a data cell is written, whatever its type: 1 and 1.0 are '1', True is 'true'.

    >>> as_text(1.0), as_text(True), as_text("M")
    ('1', 'true', 'M')
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


@dataclass(frozen=True, kw_only=True)
class Values(Attribute):
    """A list of values without order, such as M and F.

    >>> sex = Values(name="sex", values=("M", "F"))
    >>> sex.encode(["F", "M", None, "f"]).tolist()
    [1, 0, 2, 2]
    """

    values: tuple[str, ...]
    kind: str = field(init=False, default="values")

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(as_text(v) for v in self.values))
        super().__post_init__()
        _refuse_duplicates(self.name, self.values)
        if self.has_other and OTHER in self.values:
            raise PolicyError(f"{self.name} lists a value named 'other', which is ours for invalid entries")

    @property
    def listed(self) -> int:
        """How many values are listed."""
        return len(self.values)

    def label(self, index: int) -> str:
        """The value itself."""
        return self.values[index] if index < len(self.values) else OTHER

    @cached_property
    def _position(self) -> dict[str, int]:
        return {value: k for k, value in enumerate(self.values)} | ({OTHER: self.listed} if self.has_other else {})

    def find(self, value: object) -> int:
        """The index of a value."""
        try:
            return self._position[as_text(value)]
        except KeyError:
            raise self._unknown(value, self.values) from None

    def spec(self) -> dict[str, Any]:
        """Name and values."""
        return self._base_spec() | {"values": list(self.values)}


@dataclass(frozen=True, kw_only=True)
class Integers(Attribute):
    """Whole numbers from `low` to `high`, both included; with `clamp` those outside count as the nearest end.

    >>> age = Integers(name="age", low=0, high=120, unit="years")
    >>> age.encode([0, "17", 17.5, 200]).tolist()
    [0, 17, 121, 121]
    """

    low: int
    high: int
    clamp: bool = False
    kind: str = field(init=False, default="integers")

    def __post_init__(self) -> None:
        if any(isinstance(x, bool) or not isinstance(x, (int, np.integer)) for x in (self.low, self.high)):
            raise PolicyError(f"{self.name} needs two whole numbers", hints=["integers = [0, 120]"])
        if self.high < self.low:
            raise PolicyError(f"{self.name} runs from {self.low} to {self.high}, which is empty")
        if self.high - self.low >= 1 << 26 or max(abs(self.low), abs(self.high)) >= 1 << 53:
            raise PolicyError(f"{self.name} has more values than we can hold", hints=["use fewer, wider steps"])
        NumberFormat.of(self.format)
        super().__post_init__()

    @property
    def listed(self) -> int:
        """How many numbers there are."""
        return self.high - self.low + 1

    def label(self, index: int) -> str:
        """The number."""
        return str(self.low + index) if index < self.listed else OTHER

    def find(self, value: object) -> int:
        """The index of a number."""
        if self.has_other and value == OTHER:
            return self.listed
        text = as_text(value).strip()
        number = int(text) if _WHOLE.fullmatch(text) else None
        if number is not None and self.clamp:
            number = min(max(number, self.low), self.high)
        if number is None or not self.low <= number <= self.high:
            raise self._unknown(value)
        return number - self.low

    @property
    def clamps(self) -> bool:
        """As declared."""
        return self.clamp

    def beyond(self, value: object) -> bool:
        """A whole number outside the range, if those are clamped."""
        text = as_text(value).strip()
        return self.clamp and bool(_WHOLE.fullmatch(text)) and not self.low <= int(text) <= self.high

    @cached_property
    def numbers(self) -> tuple[Fraction, ...]:
        """The numbers themselves."""
        return tuple(Fraction(v) for v in range(self.low, self.high + 1))

    def spec(self) -> dict[str, Any]:
        """Name and range."""
        outside = {"outside": "clamp"} if self.clamp else {}
        return self._base_spec() | {"range": [self.low, self.high]} | outside


@dataclass(frozen=True, kw_only=True)
class Points(Attribute):
    """Places with coordinates; further columns are public properties.

    `coordinates` are taken as exactly the given float64 numbers: (latitude, longitude) in degrees, or any plane.
    """

    ids: tuple[str, ...]
    coordinates: Floats = field(repr=False, compare=False)
    facts: tuple[Property, ...] = ()
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
        _refuse_duplicates(self.name, self.ids)

    @property
    def listed(self) -> int:
        """How many points there are."""
        return len(self.ids)

    @property
    def properties(self) -> Mapping[str, Property]:
        """The further columns, by name."""
        return {fact.name: fact for fact in self.facts}

    @property
    def declared(self) -> Sequence[Property]:
        """The further columns."""
        return self.facts

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Names to show: the property `name`, told apart by another property where needed, else by the id."""
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
        """The point's name, or its id."""
        return self._names[index] if index < self.listed else OTHER

    @cached_property
    def _position(self) -> dict[str, int]:
        by_name = {name: k for k, name in enumerate(self._names)}
        return by_name | {key: k for k, key in enumerate(self.ids)} | ({OTHER: self.listed} if self.has_other else {})

    def find(self, value: object) -> int:
        """The index of a point, by id or by name."""
        try:
            return self._position[as_text(value)]
        except KeyError:
            raise self._unknown(value, self._names) from None

    def spec(self) -> dict[str, Any]:
        """Name, points and properties."""
        return self._base_spec() | {
            "ids": list(self.ids),
            "coordinates": [[c.hex() for c in row] for row in self.coordinates.tolist()],
            "properties": [[fact.name, list(fact.entries)] for fact in self.facts],
        }


def _refuse_duplicates(name: str, values: Sequence[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise PolicyError(f"{name} lists {value[:60]!r} twice")
        seen.add(value)
