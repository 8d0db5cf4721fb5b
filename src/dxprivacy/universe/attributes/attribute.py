"""The base class of attributes: the public facts about one column, such as its values and how they are written.

An attribute is a finite list of values plus, unless switched off, the catch-all value `other` (NULL, NaN, unlisted and
unparsable entries).  So every row is read as exactly one possible record, and no row is refused.

Each kind has a module of its own.  Other modules use the interface of `Attribute` and never test for a kind.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from dxprivacy.errors import Hint, PolicyError, QueryError, UsageError, listed_instead
from dxprivacy.exact.answer_grid import ends_of
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import exact, number_text
from dxprivacy.universe.ordering.order import Scale, Singles
from dxprivacy.universe.reading.codecs import Codec, ListedTexts, Surroundings
from dxprivacy.universe.reading.text_formats import Written
from dxprivacy.wording import OneLine, plural, repr_of_half_built

OTHER = "other"
_MOST_DIGITS = 400


@repr_of_half_built
@dataclass(frozen=True)
class Property:
    """A public fact about each value, such as the state or the elevation of a place.

    >>> import dxprivacy as dx
    >>> homes = dx.Points(
    ...     name="home", ids=("a", "b"), coordinates=[[0, 0], [3, 4]], facts=(Property("height", ("9", "12"), "m"),)
    ... )
    >>> homes.facts[0].numbers
    (Fraction(9, 1), Fraction(12, 1))
    """

    name: str
    entries: tuple[str, ...]
    unit: str = ""

    @cached_property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The entries as exact numbers, or None if any is not a number."""
        try:
            known = {entry: Fraction(exact(entry)) for entry in set(self.entries)}
        except UsageError:
            return None
        return tuple(known[entry] for entry in self.entries)


def property_specs(facts: Sequence[Property]) -> list[list[Any]]:
    """Return properties in the form of a spec: for each, its name and entries."""
    return [[fact.name, list(fact.entries)] for fact in facts]


def properties_from(specs: Sequence[Any]) -> tuple[Property, ...]:
    """Return the properties that `property_specs` describes."""
    return tuple(Property(name, tuple(entries)) for name, entries in specs)


class Shared(NamedTuple):
    """The values of two versions of an attribute: indices of common values in each, and the labels of all others."""

    here: Ints
    there: Ints
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Attribute(OneLine, ABC):
    """One column of the possible records: the interface of every kind.

    A kind must define its values (`listed`, `label`, `find`), how an entry of the data is read (`codec`; the place of
    an entry is the index of its value), and what the digest of a universe covers (`spec`, and its inverse
    `own_arguments`).  Everything else has defaults for values without numbers and order.  Kinds that have these
    override `numbers` and `span`, `unit_step` and `order`, `hides`, `clamps`, and the labels and groups for display.

    >>> import dxprivacy as dx
    >>> ages = dx.Integers(name="age", low=0, high=120)  # one of the kinds; all of them are attributes
    >>> isinstance(ages, Attribute), ages.size, ages.label(17), ages.label(ages.find("other"))
    (True, 122, '17', 'other')
    """

    name: str
    column: str = ""
    unit: str = ""
    has_other: bool = True
    other_value: Fraction | None = None
    complete: bool = False  # the curator declares that every entry is valid
    format: Written = ""
    kind: str = field(init=False, default="")

    def in_short(self) -> str:
        return f"{self.name!r}, {plural(self.listed, 'value')}"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise PolicyError("an attribute needs a name")
        if not self.column:
            object.__setattr__(self, "column", self.name)
        if self.listed < 1:
            raise PolicyError(f"attribute {self.name} has no values", hints=["list at least one value"])
        self._require_places()

    def _require_places(self) -> None:
        """Check that the combinations of places of entries are as many as the listed values."""
        if math.prod(entry.codec.listed for entry in self.entries_read) != self.listed:
            raise PolicyError(f"{self.name}: the places of entries do not match the {self.kind}")

    # -- which values there are ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def listed(self) -> int:
        """The number of values without `other`."""

    @property
    def size(self) -> int:
        """The number of values, including `other`."""
        return self.listed + self.has_other

    @abstractmethod
    def label(self, index: int) -> str:
        """Return the label of the value at an index."""

    @abstractmethod
    def find(self, value: object) -> int:
        """Return the index of a value as a query or the data write it; raise QueryError if it is unknown."""

    def find_all(self, value: object) -> Sequence[int]:
        """Return the indices that a condition means by a value: one, unless the kind has names for several values."""
        return [self.find(value)]

    def encode(self, values: Sequence[object]) -> Ints:
        """Return the indices of many values; unlisted ones become `other`.  Each distinct text is looked up once."""
        texts = np.array([as_text(value) for value in values], dtype=object)
        distinct: dict[str, int] = {}
        for text in texts:
            if text not in distinct:
                distinct[text] = self._place(text)
        return np.fromiter((distinct[text] for text in texts), dtype=np.int64, count=len(texts))

    def _place(self, text: str) -> int:
        codec = self.codec
        if isinstance(codec, ListedTexts) and codec.spelling and (key := codec.spelling.key(text)) in codec.places:
            return codec.places[key]
        try:
            return self.find(text)
        except QueryError:
            if not self.has_other:
                raise
            return self.listed

    def decode(self, indices: Ints) -> list[str]:
        """Return the labels of many indices."""
        labels = np.array([self.label(k) for k in range(self.size)], dtype=object)
        return list(labels[indices])

    # -- how the data writes them --------------------------------------------------------------------------------------

    @property
    def reads(self) -> tuple[str, ...]:
        """The data columns that decide the value of a row."""
        return (self.column,)

    @property
    @abstractmethod
    def codec(self) -> Codec:
        """How an entry of each of these columns is read."""

    @property
    def each_entry(self) -> "Attribute":
        """The attribute as which the entry of one column is read: itself, or the entry of a series."""
        return self

    @property
    def entries_read(self) -> "tuple[Attribute, ...]":
        """The attributes as which the entries of the columns are read; places are numbered with the last fastest."""
        return (self.each_entry,) * len(self.reads)

    @property
    def surroundings(self) -> Surroundings | None:
        """The points among which a row's coordinates select the nearest; None for kinds that do not work this way."""
        return None

    @property
    def located(self) -> object:
        """The facts that decide the place of a row's coordinates, for comparison with another version; else None."""
        return None

    @property
    def is_series(self) -> bool:
        """Whether a value consists of several entries."""
        return self.each_entry is not self

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the listed values, in order; empty if entries are not compared with texts."""
        codec = self.codec
        return codec.texts if isinstance(codec, ListedTexts) and not self.is_series else ()

    # -- numbers and order ---------------------------------------------------------------------------------------------

    @property
    def numbers(self) -> Sequence[Fraction] | None:
        """The number of each listed value, for sums and means; None if the values are not numbers."""
        return None

    @property
    def span(self) -> tuple[Fraction, Fraction] | None:
        """The ends of a range of numbers; None for anything else."""
        return None

    @property
    def unit_step(self) -> Fraction | None:
        """The distance of neighbors, in the unit of a policy's `per`; None if the values are not on a line."""
        return None

    @property
    def positions(self) -> Sequence[int]:
        """The position of each listed value on its line, in whole multiples of `unit_step`."""
        return range(self.listed)

    @property
    def ranked(self) -> bool:
        """Whether its values are ordered names, so that groups are labeled by names."""
        return False

    @property
    def instead_of_numbers(self) -> tuple[Hint, ...]:
        """Hints for a query that needs numbers, if the values are not numbers."""
        return ()

    @property
    def takes_budgets(self) -> bool:
        """Whether each value may have its own epsilon."""
        return False

    def order(self, fact: Property | None = None) -> Scale | None:
        """Return the order of the values or of a property, which defines groups and ranges; None if there is none."""
        name, numbers = (self.name, self.numbers) if fact is None else (fact.name, fact.numbers)
        return None if numbers is None else Singles(name, numbers)

    @property
    def properties(self) -> Mapping[str, Property]:
        """Public properties of the values."""
        return {}

    @property
    def declared(self) -> Sequence[Property]:
        """Properties given with the values (others are derived from the values)."""
        return ()

    def values_in_sums(self, numbers: Sequence[Fraction], missing: Fraction | None = None) -> tuple[Fraction, ...]:
        """Append the number for `other` to `numbers`: the declared value, or `missing`, or the middle of the range."""
        return (*numbers, self.other_in_sums(numbers, missing)) if self.has_other else tuple(numbers)

    def other_in_sums(self, numbers: Sequence[Fraction], missing: Fraction | None = None) -> Fraction:
        """Return the number that `other` counts as in sums of `numbers`."""
        if self.other_value is not None:
            return self.other_value
        return sum(ends_of(numbers), Fraction(0)) / 2 if missing is None else missing

    def hides(self, fact: Property | None = None) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """Return how far a valid entry may lie below and above the number that it counts as (binning error)."""
        return Fraction(0), Fraction(0)

    def entry_of(self, fact: Property | None) -> "Attribute | None":
        """Return how entries of the data column that a query names are read; None for any other property."""
        return self if fact is None else None

    def places_of(self, fact: Property) -> list[int]:
        """Return for each value the index of its entry in the column that a property names."""
        raise QueryError(f"{fact.name} is not a column of {self.name}")

    @property
    def limits(self) -> tuple[str, str] | None:
        """The smallest and the largest valid entry, in words; None if entries have no order or no limits."""
        return None

    @property
    def clamps(self) -> bool:
        """Whether entries outside the range count as its nearest end."""
        return False

    def beyond(self, value: object) -> bool:  # noqa: ARG002
        """Return whether a value lies outside a clamped range: data may contain it, but no query should name it."""
        return False

    # -- versions and files --------------------------------------------------------------------------------------------

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Return the facts that the digest of the universe covers."""

    def _base_spec(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "column": self.column,
            "other": self.has_other,
            "other_value": None if self.other_value is None else str(self.other_value),
            **({"format": self.format if isinstance(self.format, str) else list(self.format)} if self.format else {}),
            **({"complete": True} if self.complete else {}),
        }

    @classmethod
    @abstractmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return from a spec the arguments of this kind alone; a damaged spec may raise any exception."""

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Return the attribute of a valid spec; for unchecked specs use `attribute_kinds.attribute_from_spec`."""
        value = spec["other_value"]
        given = {key: spec[key] for key in ("format", "complete") if key in spec}
        if isinstance(given.get("format"), list):
            given["format"] = tuple(given["format"])
        return cls(
            name=spec["name"],
            column=spec["column"],
            has_other=spec["other"],
            other_value=None if value is None else Fraction(value),
            **given,
            **cls.own_arguments(spec),
        )

    def with_units(self, units: Mapping[str, str]) -> Self:
        """Return the attribute with units for its numbers, which are not part of the spec or the digest."""
        return replace(self, unit=units.get(self.name, ""))

    def shared_with(self, other: "Attribute") -> Shared:
        """Compare with another version: values are matched by the texts in the data (ids), not by displayed names."""
        old, new = (a.texts or [a.label(k) for k in range(a.listed)] for a in (self, other))
        at = {name: k for k, name in enumerate(new)}
        here = [k for k, name in enumerate(old) if name in at]
        there = [at[old[k]] for k in here]
        known = set(old)
        gone = tuple(self.label(k) for k, name in enumerate(old) if name not in at)
        come = tuple(other.label(k) for k, name in enumerate(new) if name not in known)
        return Shared(np.array(here, dtype=np.int64), np.array(there, dtype=np.int64), gone, come)

    # -- words and groups for people -----------------------------------------------------------------------------------

    @property
    def needed(self) -> str:
        """A description of valid entries, for `dxp inspect`."""
        texts = self.texts
        few = ", ".join(texts[:6])
        codec = self.codec
        more = f" ({codec.spelling.brief})" if isinstance(codec, ListedTexts) and codec.spelling else ""
        return f"one of {few}{more}" if len(texts) <= 6 else f"one of {len(texts):,} listed values: {few}, …{more}"

    @property
    def _written(self) -> str:
        formats = (self.format,) if isinstance(self.format, str) else self.format
        return ", written like " + " or ".join(f'"{each}"' for each in formats) if self.format else ""

    @property
    def bad_example(self) -> str:
        """An example of an entry that counts as `other`."""
        return "an unlisted value"

    @property
    def neighbors(self) -> str:
        """The plural noun for neighbors on a line; empty if there is no line."""
        return ""

    @property
    def length_unit(self) -> str:
        """The unit of the distance of two values."""
        return "steps"

    @property
    def coarser(self) -> str:
        """An example of a query that groups its values; empty if they are not on a line."""
        return "" if self.unit_step is None else f"{self.name}/10"

    @property
    def counts_as(self) -> str:
        """What a number counts as in sums, if that is not the number itself; in words."""
        return ""

    def counts_as_in_sums(self, fact: Property | None = None) -> str:  # noqa: ARG002
        """Return the same for the attribute or a property; for a series, for its entries."""
        return self.each_entry.counts_as

    def stands_for(self, fact: Property) -> str:  # noqa: ARG002
        """Return what a property means if its values are not those in the data; in words."""
        return ""

    @property
    def counts_more(self) -> bool:
        """Whether a condition counts more than its text says, so that `range_words` and `value_words` describe it."""
        return False

    def range_words(self, low: Fraction, high: Fraction) -> str:
        """Describe a range of numbers by what it counts."""
        return f"{number_text(low)} to {number_text(high)}"

    def value_words(self, index: int) -> str:
        """Describe a value by what it counts."""
        return self.label(index)

    def values_words(self, indices: Sequence[int]) -> str:
        """Describe a set of values, given in order."""
        return " or ".join(map(self.value_words, indices))

    def coarse(self, most: int) -> list[int]:
        """Return the starts of at most `most` groups of neighbors, for plots."""
        return [round(k * self.listed / most) for k in range(most)]

    def stretch(self, first: int, last: int) -> str:  # noqa: ARG002
        """Return the label of such a group; empty if it is labeled by its ends."""
        return ""

    def _unknown(self, value: object, known: Sequence[str] = ()) -> QueryError:
        return QueryError(f"{self.name} has no value {str(value)[:60]!r}", hints=listed_instead(str(value), known))


def as_text(value: object) -> str:
    """Return the text of an entry of the data, of any type: 1 and 1.0 are '1', True is 'true', 17.50 is '17.5'.

    Numbers are written with the fewest digits that identify them within their type, without an exponent.

    >>> as_text(1.0), as_text(True), as_text("M"), as_text(1e-05), as_text(Decimal("17.50"))
    ('1', 'true', 'M', '0.00001', '17.5')
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and math.isfinite(value):
        if value == int(value):
            return str(int(value))
        if isinstance(value, np.floating) and not isinstance(value, np.float32):
            value = np.float32(value) if isinstance(value, np.float16) else float(value)
        return format(Decimal(str(value)), "f")
    if isinstance(value, Decimal) and value.is_finite() and _is_printed(value):
        return number_text(Fraction(value))
    return str(value)


def _is_printed(value: Decimal) -> bool:
    """Return whether a decimal has few enough digits to be written without an exponent."""
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and max(len(digits), abs(exponent), abs(value.adjusted())) <= _MOST_DIGITS


def refuse_duplicates(name: str, values: Sequence[str]) -> None:
    """Raise PolicyError if a value is listed twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise PolicyError(f"{name} lists {value[:60]!r} twice", hints=["leave one of them out"])
        seen.add(value)
