"""What every release has in common: name, guarantee, the facts that let anybody check it, and its sealed file."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dxprivacy.formats.canonical import UNSEALED, sealed
from dxprivacy.releases.deployment import FILL_IN, Made, deployment_of
from dxprivacy.wording import Displayed, json_text, shown

_LONG_TEXT = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Released(Displayed, ABC):
    """Something that leaves the house, with the guarantee that goes with it; never a true answer."""

    name: str
    guarantee: tuple[str, ...]
    records: int | None  # None where it is private
    facts: Mapping[str, Any]
    format: str

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """For JSON: what was released."""

    def written_content(self) -> dict[str, Any]:
        """The same for its text, where long parts may be such that write themselves."""
        return self.content()

    def to_dict(self) -> dict[str, Any]:
        """For JSON, sealed."""
        return self._sealed(self.content())

    def _sealed(self, content: dict[str, Any]) -> dict[str, Any]:
        head = {"format": self.format, "name": self.name, **content}
        return sealed({**head, "guarantee": list(self.guarantee), **self.facts})

    def made(self) -> Made:
        """By what it was made, and how good it is: for a registry of deployments."""
        return Made(FILL_IN, FILL_IN)

    def deployment(self) -> dict[str, Any]:
        """A record in the fields of OpenDP's registry of deployments; what only the curator knows says FILL IN."""
        return deployment_of(self.made(), self.facts, self.guarantee, self.records)

    def to_json(self) -> str:
        """The whole release as JSON text."""
        return self._text

    @cached_property
    def _text(self) -> str:
        return json_text(self._sealed(self.written_content()))

    def remember(self, text: str) -> None:
        """The text that it was read from: a long one is not made again."""
        if len(text) > _LONG_TEXT:
            self.__dict__["_text"] = text

    def __str__(self) -> str:
        return shown(self)


def common_of(data: Mapping[str, Any], *own: str) -> dict[str, Any]:
    """The common parts of a release back from JSON; `own` are the keys of its content."""
    known = {"format", "name", "guarantee", *own, *UNSEALED}
    return {
        "name": data["name"],
        "guarantee": tuple(data["guarantee"]),
        "records": data["records"],
        "facts": {key: value for key, value in data.items() if key not in known},
        "format": data["format"],
    }
