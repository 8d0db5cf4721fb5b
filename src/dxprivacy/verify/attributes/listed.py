"""What attributes share that list their texts, each once."""

from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.base import OTHER, Attribute, require_spelling
from dxprivacy.verify.reading import refuse


class Listed(Attribute):
    """Texts, and how entries may be spelt."""

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("values",))
        self.values = reading.each(spec["values"], where, reading.text)
        self.listed = len(self.values)
        self._at = {value: k for k, value in enumerate(self.values)}
        if len(self._at) < self.listed or (self.other and OTHER in self._at):
            raise refuse("lists a value twice", where)
        require_spelling(spec, self.values, where)

    def label(self, index: int) -> str:
        return self.values[index]

    def place(self, written: str) -> int | None:
        return self._at.get(written)
