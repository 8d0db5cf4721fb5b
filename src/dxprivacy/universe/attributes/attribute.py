"""Attributes: the public facts about one column - which values can occur, how they are written, what they weigh.

An attribute is a finite list of values plus, unless switched off, a last one called `other`, where NULL, NaN, unlisted
and unparsable entries go.  So every row has exactly one cell and no row can be refused.

Each kind is a file of its own and answers for itself: everybody else asks an `Attribute`, never for its type.
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
    """A public fact about each point, such as its state or its elevation; numbers where all entries are numbers.

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
    """Properties as a spec holds them: each a name and its entries."""
    return [[fact.name, list(fact.entries)] for fact in facts]


def properties_from(specs: Sequence[Any]) -> tuple[Property, ...]:
    """The inverse of `property_specs`."""
    return tuple(Property(name, tuple(entries)) for name, entries in specs)


class Shared(NamedTuple):
    """What two versions of an attribute list: the indices of common values in each, and labels of all the others."""

    here: Ints
    there: Ints
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Attribute(OneLine, ABC):
    """One column of the possible records: the protocol of every kind.

    A kind must say which values there are (`listed`, `label`, `find`), how an entry of the data is read (`codec`; the
    place of an entry is the index of its value), and what the digest of a universe covers (`spec`, and back:
    `own_arguments`).  All else has an answer for values without numbers and order, and kinds that have them say so:
    `numbers` and `span`, `unit_step` and `order`, `hides`, `clamps`, and the words and groups for people.

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
        """The places of entries, all combinations of them, are the values."""
        if math.prod(entry.codec.listed for entry in self.entries_read) != self.listed:
            raise PolicyError(f"{self.name}: entries have other places than there are {self.kind}")

    # -- which values there are ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def listed(self) -> int:
        """How many values there are besides `other`."""

    @property
    def size(self) -> int:
        """How many values there are, `other` included."""
        return self.listed + self.has_other

    @abstractmethod
    def label(self, index: int) -> str:
        """How a person reads the value at this index."""

    @abstractmethod
    def find(self, value: object) -> int:
        """The index of a value as a person or a data cell writes it; unknown values raise QueryError."""

    def find_all(self, value: object) -> Sequence[int]:
        """The indices that a condition means by a value: one, unless the kind has names for several together."""
        return [self.find(value)]

    def encode(self, values: Sequence[object]) -> Ints:
        """Indices of many values, each distinct text looked up once; what is not listed becomes `other`."""
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
        """Labels of many indices."""
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
        """What stands in each column: the attribute itself, or the entry of a series."""
        return self

    @property
    def entries_read(self) -> "tuple[Attribute, ...]":
        """What stands in each of the columns, one after the other; places are counted with the last one fastest."""
        return (self.each_entry,) * len(self.reads)

    @property
    def surroundings(self) -> Surroundings | None:
        """The places among which a row's coordinates find the nearest; None where entries have places themselves."""
        return None

    @property
    def located(self) -> object:
        """What decides where the coordinates of a row lie, to be compared with another version's; else None."""
        return None

    @property
    def is_series(self) -> bool:
        """Whether a value is made of several entries."""
        return self.each_entry is not self

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that stand for the listed values, in order; none where entries are not compared with texts."""
        codec = self.codec
        return codec.texts if isinstance(codec, ListedTexts) and not self.is_series else ()

    # -- numbers and order ---------------------------------------------------------------------------------------------

    @property
    def numbers(self) -> Sequence[Fraction] | None:
        """The number behind each listed value, for sums and means; None if there is none."""
        return None

    @property
    def span(self) -> tuple[Fraction, Fraction] | None:
        """The ends of a range of numbers; None for anything else."""
        return None

    @property
    def unit_step(self) -> Fraction | None:
        """How far neighbors are apart, in what a policy's `per` is told in; None where values are on no line."""
        return None

    @property
    def positions(self) -> Sequence[int]:
        """Where each listed value stands on its line, in whole multiples of `unit_step`."""
        return range(self.listed)

    @property
    def ranked(self) -> bool:
        """Whether its values are names in an order, by which groups of them are called."""
        return False

    @property
    def instead_of_numbers(self) -> tuple[Hint, ...]:
        """What somebody could do who asks for numbers where there are none."""
        return ()

    @property
    def takes_budgets(self) -> bool:
        """Whether each of the texts may have an epsilon of its own."""
        return False

    def order(self, fact: Property | None = None) -> Scale | None:
        """What groups, edges and ranges of the values, or of a property, mean; None where they mean nothing."""
        name, numbers = (self.name, self.numbers) if fact is None else (fact.name, fact.numbers)
        return None if numbers is None else Singles(name, numbers)

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
        return (*numbers, self.other_in_sums(numbers, missing)) if self.has_other else tuple(numbers)

    def other_in_sums(self, numbers: Sequence[Fraction], missing: Fraction | None = None) -> Fraction:
        """What `other` counts as beside `numbers`."""
        if self.other_value is not None:
            return self.other_value
        return sum(ends_of(numbers), Fraction(0)) / 2 if missing is None else missing

    def hides(self, fact: Property | None = None) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """How far below and above the number that it counts as a valid entry may lie."""
        return Fraction(0), Fraction(0)

    def entry_of(self, fact: Property | None) -> "Attribute | None":
        """What an entry of the data column is read as that a name in a query means; None for any other property."""
        return self if fact is None else None

    def places_of(self, fact: Property) -> list[int]:
        """Which of the possible entries each value has in the column that a property names."""
        raise QueryError(f"{fact.name} is no column of {self.name}")

    @property
    def limits(self) -> tuple[str, str] | None:
        """The least and the largest valid entry, in words; None where entries have no order or no limits."""
        return None

    @property
    def clamps(self) -> bool:
        """Whether numbers outside the range count as its nearest end."""
        return False

    def beyond(self, value: object) -> bool:  # noqa: ARG002
        """Whether a value lies outside a range that clamps: data may hold it, but no query should name it."""
        return False

    # -- versions and files --------------------------------------------------------------------------------------------

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
            **({"format": self.format if isinstance(self.format, str) else list(self.format)} if self.format else {}),
            **({"complete": True} if self.complete else {}),
        }

    @classmethod
    @abstractmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        """From a spec, the arguments that only this kind has; may raise anything where it is damaged."""

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """The inverse of `spec`; for specs that nobody has checked see `attribute_kinds.attribute_from_spec`."""
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
        """The same, in other words for its numbers: no spec holds them, and no digest covers them."""
        return replace(self, unit=units.get(self.name, ""))

    def shared_with(self, other: "Attribute") -> Shared:
        """Which values another version lists too, by what data calls them: ids, never the names shown for them."""
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
        """What an entry must be, to count as anything but `other`; in the words of `dxp inspect`."""
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
        """An entry that counts as `other`."""
        return "an unlisted value"

    @property
    def neighbors(self) -> str:
        """What neighbors on a line are called; nothing where there is no line."""
        return ""

    @property
    def length_unit(self) -> str:
        """In what the distance of two values is told."""
        return "steps"

    @property
    def coarser(self) -> str:
        """How a query takes many of its values together; nothing where they are on no line."""
        return "" if self.unit_step is None else f"{self.name}/10"

    @property
    def counts_as(self) -> str:
        """What a number counts as in sums, where that is not the number itself."""
        return ""

    def counts_as_in_sums(self, fact: Property | None = None) -> str:  # noqa: ARG002
        """The same of the attribute or of a property; of a series, of its entries."""
        return self.each_entry.counts_as

    def stands_for(self, fact: Property) -> str:  # noqa: ARG002
        """What a property is about, where its name says something else: not what stands in the data."""
        return ""

    @property
    def counts_more(self) -> bool:
        """Whether a condition counts more than it says, so that it is better told by the next two."""
        return False

    def range_words(self, low: Fraction, high: Fraction) -> str:
        """A range of numbers, in the words of what it counts."""
        return f"{number_text(low)} to {number_text(high)}"

    def value_words(self, index: int) -> str:
        """A value, in the words of what it counts."""
        return self.label(index)

    def values_words(self, indices: Sequence[int]) -> str:
        """Any of some values, in order."""
        return " or ".join(map(self.value_words, indices))

    def coarse(self, most: int) -> list[int]:
        """Where each of at most so many groups of neighbors starts, for pictures."""
        return [round(k * self.listed / most) for k in range(most)]

    def stretch(self, first: int, last: int) -> str:  # noqa: ARG002
        """The label of such a group; nothing where it has none but those of its ends."""
        return ""

    def _unknown(self, value: object, known: Sequence[str] = ()) -> QueryError:
        return QueryError(f"{self.name} has no value {str(value)[:60]!r}", hints=listed_instead(str(value), known))


def as_text(value: object) -> str:
    """How a data cell is written, whatever its type: 1 and 1.0 are '1', True is 'true', 17.50 is '17.5'.

    Numbers are written in the fewest digits that tell them from all others of their type, without an exponent.

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
    """Whether a decimal has so few digits, before and behind its point, that it can be written without an exponent."""
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and max(len(digits), abs(exponent), abs(value.adjusted())) <= _MOST_DIGITS


def refuse_duplicates(name: str, values: Sequence[str]) -> None:
    """Two values that are written alike could not be told apart."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise PolicyError(f"{name} lists {value[:60]!r} twice", hints=["leave one of them out"])
        seen.add(value)
