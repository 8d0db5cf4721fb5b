"""What every attribute is: sizes, labels, numbers, properties, order, and finding values (docs/formats.md, 2)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

from dxprivacy.verify import reading
from dxprivacy.verify.orders import Condition, Order, PointOrder
from dxprivacy.verify.reading import decimal, refuse
from dxprivacy.verify.words import number_text

OTHER = "other"
_COMMON = ("kind", "name", "column", "other", "other_value")
_MOST_VALUES = 1 << 26


@dataclass(frozen=True)
class Property:
    """A public fact about each listed value."""

    name: str
    entries: Sequence[str]

    @cached_property
    def numbers(self) -> list[Fraction] | None:
        """The entries as numbers, if all of them are."""
        read: dict[str, Fraction] = {}
        for entry in dict.fromkeys(self.entries):  # of very many entries, few are different
            number = decimal(entry)
            if number is None:
                return None
            read[entry] = number
        return [read[entry] for entry in self.entries]


class Cells(Protocol):
    """What numbers are cut into: from `low`, in steps; what each cell counts as; what becomes of numbers outside."""

    low: Fraction
    step: Fraction
    bin_value: str
    clamp: bool


class Attribute(ABC):
    """One attribute of the records."""

    listed: int
    optional: Sequence[str] = ()
    clamp = False
    several_formats = False
    ranked = False  # names in an order, by which groups are called
    numbers: Sequence[Fraction] | None = None
    properties: Sequence[Property] = ()

    def __init__(self, spec: dict[str, Any], where: str, needed: Sequence[str]) -> None:
        reading.members(spec, where, (*_COMMON, *needed), ("format", "complete", *self.optional))
        self.kind = reading.text(spec["kind"], where)
        self.name = reading.text(spec["name"], where)
        if not self.name.strip():
            raise refuse("has no name", where)
        reading.text(spec["column"], f"{where} column")
        self.formats = self._read_formats(spec.get("format", ""), f"{where} format")
        self.other = reading.flag(spec["other"], f"{where} other")
        self.complete = reading.flag(spec.get("complete", False), f"{where} complete")
        given = spec["other_value"]
        self.other_value = None if given is None else reading.fraction(given, f"{where} other_value")

    def _read_formats(self, given: Any, where: str) -> list[str]:
        """How entries are written: a text, or of days and times two or more different ones."""
        if not isinstance(given, list):
            return [reading.text(given, where)]
        formats = reading.each(given, where, reading.text)
        if not self.several_formats or len(formats) < 2 or len(set(formats)) < len(formats) or not all(formats):
            raise refuse("is not two or more different formats of days or times", where)
        return formats

    @property
    def size(self) -> int:
        """Listed values, and `other`."""
        return self.listed + self.other

    @abstractmethod
    def label(self, index: int) -> str:
        """The label of a listed value."""

    @abstractmethod
    def place(self, written: str) -> int | None:
        """The listed value that a text names."""

    def find(self, written: str, where: str) -> int:
        """The value that a text names; `other` too."""
        index = self.listed if self.other and written == OTHER else self.place(written)
        if index is None:
            raise refuse(f"{self.name} has no value {written[:40]!r}", where)
        return index

    def all_places(self, written: str) -> list[int]:
        """The listed values that a text names in a condition: one, unless several have a name together."""
        index = self.place(written)
        return [] if index is None else [index]

    def find_all(self, written: str, where: str) -> list[int]:
        """The same; `other` too."""
        found = [self.listed] if self.other and written == OTHER else self.all_places(written)
        if not found:
            raise refuse(f"{self.name} has no value {written[:40]!r}", where)
        return found

    def show(self, index: int) -> str:
        """The label of any value."""
        return self.label(index) if index < self.listed else OTHER

    def in_sums(self, numbers: Sequence[Fraction], *, zero: bool) -> list[Fraction]:
        """What each value counts in sums, `other` included: as declared, or 0, or in the middle."""
        if not self.other:
            return list(numbers)
        if self.other_value is not None:
            return [*numbers, self.other_value]
        different = set(numbers)
        return [*numbers, Fraction(0) if zero else (min(different) + max(different)) / 2]

    def hides(self, name: str) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """How far below and above its number an entry may lie, of the attribute or of a property."""
        return Fraction(0), Fraction(0)

    def order(self, where: str) -> Order:
        """Where its listed values stand."""
        if self.numbers is None:
            raise refuse(f"{self.name} has no numbers", where)
        return PointOrder(where, self.numbers)

    @property
    def cells(self) -> Cells | None:
        """What it, or an entry of it, is cut into."""
        return None

    def counts_as(self, name: str) -> tuple[str, str, str] | None:
        """What of a cell a number of it or of a property counts as, how wide that is, and how much it hides at most."""
        if (cells := self.cells) is None:
            return None
        end = {"low": "lower end", "middle": "middle", "high": "upper end"}[cells.bin_value]
        return end, number_text(cells.step), number_text(max(self.hides(name)))

    def order_of(self, fact: str, where: str) -> Order | None:  # noqa: ARG002
        """Where its values stand by a property, if these are cells."""
        return None

    def told_of(self, fact: str, name: str, condition: Condition, where: str) -> str | None:  # noqa: ARG002
        """A condition on a property by what is really counted; None where that is what it says."""
        return None

    def stands_for(self, fact: str) -> str:  # noqa: ARG002
        """What a property is about, where that is not what its name says."""
        return ""

    @property
    def limits(self) -> tuple[str, str] | None:
        """The least and the largest valid entry, as labels name them; None where there is no such limit."""
        return None

    @property
    def range(self) -> str | None:
        """From which number to which it goes, as a condition says it."""
        return None

    def told(self, name: str, condition: Condition, where: str) -> str | None:  # noqa: ARG002
        """A condition by what is really counted; None where that is what it says."""
        return None

    def entry_of(self, column: str) -> "Attribute | None":  # noqa: ARG002
        """What stands in one of several columns of the data; None where a property stands in none."""
        return None

    def places(self, column: str) -> list[int]:
        """The entry of each listed value in one of several columns."""
        raise refuse(f"{self.name} has no column {column[:40]!r}", "universe")

    def unit_of(self, fact: str) -> str:  # noqa: ARG002
        """Under which name the universe has the unit of a property."""
        return self.name

    @property
    def in_units(self) -> set[str]:
        """What may have a unit."""
        return {self.name, *(self.unit_of(fact.name) for fact in self.properties)}

    def together(self, name: str) -> int:  # noqa: ARG002
        """How many entries a property sums up."""
        return 1


SPELLING = ("trim", "fold_case", "aliases")
"""How else data may write a listed value: no distance, label or answer depends on it, but the digest does."""


def require_spelling(spec: dict[str, Any], listed: Sequence[str], where: str) -> None:
    """Refuse what says nothing, or gives one text to two values."""
    for key in ("trim", "fold_case"):
        if key in spec and not reading.flag(spec[key], f"{where} {key}"):
            raise refuse(f"{key} is not true", where)
    if "aliases" not in spec:
        return
    known, seen = set(listed), set[str]()
    for pair in reading.items(spec["aliases"], f"{where} aliases"):
        named = reading.items(pair, f"{where} aliases")
        if len(named) != 2 or reading.text(named[0], where) not in known or named[0] in seen:
            raise refuse("aliases are a value and its further texts, each value once", where)
        seen.add(named[0])
        texts = reading.each(named[1], f"{where} aliases", reading.text)
        if not texts or OTHER in texts:
            raise refuse("a value has no further texts, or other is one", where)
    if not seen:
        raise refuse("has no aliases, and says so", where)
    given = [text for _, texts in spec["aliases"] for text in texts]
    if len(set(given)) < len(given):
        raise refuse("gives an alias twice", where)
    if any(text in known and value != text for value, texts in spec["aliases"] for text in texts):
        raise refuse("has an alias that is a value itself", where)


def two(value: Any, where: str, read: Any) -> tuple[Any, Any]:
    """The two ends of a range."""
    ends = reading.each(value, f"{where} range", read)
    if len(ends) != 2:
        raise refuse("a range has two ends", where)
    return ends[0], ends[1]


def require_size(listed: int, where: str) -> None:
    """Refuse a range that is empty or too long."""
    if not 1 <= listed <= _MOST_VALUES:
        raise refuse("is empty, or has too many values", where)


def properties(given: Any, listed: int, where: str) -> list[Property]:
    """Public facts: each a name, and an entry for each listed value."""
    found = [_property(pair, listed, where) for pair in reading.items(given, where)]
    if len({fact.name for fact in found}) < len(found):
        raise refuse("has a property twice", where)
    return found


def _property(given: Any, listed: int, where: str) -> Property:
    pair = reading.items(given, f"{where} properties")
    if len(pair) != 2:
        raise refuse("a property is a name and its entries", where)
    entries = reading.each(pair[1], f"{where} properties", reading.text)
    if len(entries) != listed:
        raise refuse("a property needs an entry for each value", where)
    return Property(reading.text(pair[0], where), entries)
