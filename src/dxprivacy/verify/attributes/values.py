"""Texts."""

from typing import Any

from dxprivacy.verify.attributes.base import SPELLING, properties
from dxprivacy.verify.attributes.listed import Listed
from dxprivacy.verify.reading import refuse


class Values(Listed):
    """Texts, perhaps with public facts about each."""

    optional = ("properties", *SPELLING)

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where)
        if "properties" in spec:
            self.properties = properties(spec["properties"], self.listed, where)
            if not self.properties:
                raise refuse("has no properties, and says so", where)

    def unit_of(self, fact: str) -> str:
        return f"{self.name}.{fact}"
