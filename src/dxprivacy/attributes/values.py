"""Values: a list of texts without order, such as M and F."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dxprivacy.attributes.base import OTHER, Attribute, as_text, refuse_duplicates
from dxprivacy.attributes.codecs import ListedTexts
from dxprivacy.errors import PolicyError


@dataclass(frozen=True, kw_only=True)
class Values(Attribute):
    """A list of values without order, such as M and F.

    >>> sex = Values(name="sex", values=("M", "F"))
    >>> sex.encode(["F", "M", None, "f"]).tolist()
    [1, 0, 2, 2]
    """

    values: tuple[str, ...]
    kind: str = field(init=False, default="values")
    takes_budgets = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(as_text(v) for v in self.values))
        super().__post_init__()
        refuse_duplicates(self.name, self.values)
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

    @cached_property
    def codec(self) -> ListedTexts:
        """By its text."""
        return ListedTexts(self.values)

    def spec(self) -> dict[str, Any]:
        """Name and values."""
        return self._base_spec() | {"values": list(self.values)}

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The values."""
        return {"values": tuple(spec["values"])}
