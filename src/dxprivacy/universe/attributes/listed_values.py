"""Values: a list of texts without order, such as M and F, or ZIP codes, with public facts about each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from dxprivacy.errors import PolicyError
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
class Values(Attribute):
    """A list of values without order, such as M and F; `facts` are public properties of each.

    Entries are compared exactly, unless `spelling` allows other spellings.

    >>> sex = Values(name="sex", values=("M", "F"))
    >>> sex.encode(["F", "M", None, "f"]).tolist()
    [1, 0, 2, 2]
    >>> Values(name="sex", values=("M", "F"), spelling=Spelling(fold_case=True)).encode(["F", "M", None, "f"]).tolist()
    [1, 0, 2, 1]
    """

    values: tuple[str, ...]
    facts: tuple[Property, ...] = ()
    spelling: Spelling = EXACT
    kind: str = field(init=False, default="values")
    takes_budgets = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(as_text(v) for v in self.values))
        super().__post_init__()
        refuse_duplicates(self.name, self.values)
        if self.spelling:
            self.spelling.places(self.name, self.values)  # refuses ambiguous spellings
        if self.has_other and OTHER in self.values:
            raise PolicyError(f"{self.name} lists a value named 'other', which is reserved for invalid entries")
        if any(len(fact.entries) != self.listed for fact in self.facts):
            raise PolicyError(f"{self.name}: a property needs an entry for each of the {self.listed:,} values")
        if len({fact.name for fact in self.facts}) < len(self.facts):
            raise PolicyError(f"{self.name} has a property twice")

    @property
    def listed(self) -> int:
        return len(self.values)

    def label(self, index: int) -> str:
        return self.values[index] if index < len(self.values) else OTHER

    @cached_property
    def _position(self) -> dict[str, int]:
        return {value: k for k, value in enumerate(self.values)} | ({OTHER: self.listed} if self.has_other else {})

    def find(self, value: object) -> int:
        try:
            return self._position[as_text(value)]
        except KeyError:
            raise self._unknown(value, self.values) from None

    @cached_property
    def codec(self) -> ListedTexts:
        return ListedTexts(self.values, self.spelling)

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        return {fact.name: fact for fact in self.facts}

    @property
    def declared(self) -> Sequence[Property]:
        return self.facts

    def with_units(self, units: Mapping[str, str]) -> Self:
        facts = tuple(replace(fact, unit=units.get(f"{self.name}.{fact.name}", "")) for fact in self.facts)
        return replace(super().with_units(units), facts=facts)

    def spec(self) -> dict[str, Any]:
        facts = {"properties": property_specs(self.facts)} if self.facts else {}
        return self._base_spec() | {"values": list(self.values)} | facts | self.spelling.spec()

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        facts = properties_from(spec.get("properties", ()))
        return {"values": tuple(spec["values"]), "facts": facts, "spelling": Spelling.from_spec(spec)}
