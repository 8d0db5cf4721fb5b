"""The universe: every record that could occur, as a product of attributes, with an index for each.

Cell index = mixed radix over the attributes, the last one fastest (numpy's C order).  A universe given as a plain list
of elements is a product of one attribute.

Where records may be added and removed, one more element stands behind the product: `absent`, the record of somebody who
is not in the data.  No question counts it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.attributes.base import Attribute
from dxprivacy.attributes.registry import attribute_from_spec
from dxprivacy.attributes.values import Values
from dxprivacy.errors import PolicyError, QuestionError, did_you_mean
from dxprivacy.exact.arrays import Ints
from dxprivacy.files.canonical import digest_of

MAX_CELLS = 1 << 28
ABSENT = "absent"
REPLACE = "replace"


class Universe:
    """A product of named attributes.

    >>> u = Universe([Values(name="sex", values=("M", "F"), has_other=False),
    ...               Values(name="native", values=("Y", "N"), has_other=False)])
    >>> u.size, u.index([{"sex": "F", "native": "Y"}]).tolist(), u.record(3)
    (4, [2], {'sex': 'F', 'native': 'N'})
    """

    def __init__(self, attributes: Iterable[Attribute], *, max_records: int | None = None) -> None:
        self.attributes: tuple[Attribute, ...] = tuple(attributes)
        if not self.attributes:
            raise PolicyError("a universe needs at least one attribute")
        names = [a.name for a in self.attributes]
        for name in names:
            if names.count(name) > 1:
                raise PolicyError(f"attribute {name} is declared twice")
        self.shape: tuple[int, ...] = tuple(a.size for a in self.attributes)
        size = 1
        for n in self.shape:
            size *= n
        self.cells: int = size
        self.max_records = max_records
        if max_records is not None and not 1 <= max_records < 1 << 50:
            raise PolicyError(f"max_records is {max_records}; it must be positive", hints=["max_records = 1000000"])
        self.absent: int | None = None if max_records is None else size
        self.size: int = size + (max_records is not None)
        if size > MAX_CELLS:
            raise PolicyError(
                f"{size:,} possible records are more than the {MAX_CELLS:,} we can count in memory",
                details=[" × ".join(f"{a.name} {a.size:,}" for a in sorted(self.attributes, key=lambda a: -a.size))],
                hints=[
                    ("leave out what no question asks for", "columns that the policy does not name are never read"),
                    ("wider steps", "for numbers: step = …"),
                ],
            )

    @classmethod
    def listed(cls, elements: Iterable[object], *, name: str = "element") -> "Universe":
        """A universe given element by element, without `other`.

        >>> Universe.listed(["a", "b", "c"]).size
        3
        """
        return cls([Values(name=name, values=tuple(str(e) for e in elements), has_other=False)])

    @classmethod
    def from_spec(cls, spec: object) -> "Universe":
        """The universe that `spec()` describes; its digest is the same.

        >>> u = Universe.listed("abc")
        >>> Universe.from_spec(u.spec()) == u
        True
        """
        if not isinstance(spec, (list, tuple)):
            raise PolicyError("the description of a universe is damaged")
        last = spec[-1] if spec else None
        if isinstance(last, Mapping) and last.get("kind") == ABSENT:
            most = last.get("max_records")
            if set(last) != {"kind", "max_records"} or type(most) is not int:
                raise PolicyError("the description of a universe is damaged")
            return cls([attribute_from_spec(part) for part in spec[:-1]], max_records=most)
        return cls([attribute_from_spec(part) for part in spec])

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Universe) and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        product = " × ".join(f"{a.name} {a.size}" for a in self.attributes)
        return f"Universe({self.cells:,} cells = {product}{'' if self.absent is None else ', and absent'})"

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(a.name for a in self.attributes)

    def axis(self, name: str) -> int:
        """The position of an attribute."""
        try:
            return self.names.index(name)
        except ValueError:
            raise QuestionError(
                f"no attribute “{name}”",
                details=[f"there are: {', '.join(self.names)}"],
                hints=did_you_mean(name, self.names),
            ) from None

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far the cell index moves for one step along each attribute."""
        out, stride = [], 1
        for n in reversed(self.shape):
            out.append(stride)
            stride *= n
        return tuple(reversed(out))

    def along(self, axis: int, cells: Ints) -> Ints:
        """The value index along one attribute, of many cells."""
        return np.asarray(cells // self.strides[axis] % self.shape[axis], dtype=np.int64)

    def index(self, records: Sequence[Mapping[str, object]]) -> Ints:
        """Cells of many records; unlisted values go to `other`."""
        cells = np.zeros(len(records), dtype=np.int64)
        for attribute, stride in zip(self.attributes, self.strides, strict=True):
            try:
                column = [record[attribute.name] for record in records]
            except KeyError:
                raise QuestionError(f"a record lacks {attribute.name}") from None
            cells += attribute.encode(column) * stride
        return cells

    def record(self, cell: int) -> dict[str, str]:
        """The record in a cell, as labels."""
        if not 0 <= cell < self.size:
            raise QuestionError(f"there is no cell {cell}; the universe has {self.size:,}")
        if cell == self.absent:
            return dict.fromkeys(self.names, ABSENT)
        return {
            a.name: a.label(cell // stride % a.size) for a, stride in zip(self.attributes, self.strides, strict=True)
        }

    def records(self, cells: Iterable[int]) -> list[dict[str, str]]:
        """Records of many cells."""
        chosen = np.asarray(list(cells), dtype=np.int64)
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < self.size):
            raise QuestionError(f"cells lie between 0 and {self.size - 1:,}")
        columns = [a.decode(self.along(k, chosen)) for k, a in enumerate(self.attributes)]
        rows = zip(chosen.tolist(), *columns, strict=True)
        return [self.record(c) if c == self.absent else dict(zip(self.names, row, strict=True)) for c, *row in rows]

    def tell(self, i: int, j: int) -> tuple[str, str]:
        """Two cells in words, naming only the attributes in which they differ.

        >>> u = Universe([Values(name="sex", values=("M", "F")), Values(name="native", values=("Y", "N"))])
        >>> u.tell(0, 1)
        ('Y', 'N')
        """
        a, b = self.record(i), self.record(j)
        if self.absent in (i, j):
            return self._whole(i), self._whole(j)
        differing = [attribute for attribute in self.attributes if a[attribute.name] != b[attribute.name]]
        numeric = [x for x in differing if x.span is not None]
        plain = len(differing) == 1 and (not numeric or len(self.attributes) == 1)

        def say(record: dict[str, str]) -> str:
            return ", ".join(record[x.name] if plain else f"{x.name} {record[x.name]}" for x in differing)

        return say(a), say(b)

    def _whole(self, cell: int) -> str:
        """A whole record in words."""
        if cell == self.absent:
            return ABSENT
        record = self.record(cell)
        return ", ".join(record.values() if len(record) == 1 else (f"{name} {label}" for name, label in record.items()))

    @cached_property
    def digest(self) -> str:
        """What identifies this universe."""
        return digest_of(self.spec())

    def spec(self) -> list[dict[str, Any]]:
        """All public facts, canonically."""
        absent = [] if self.max_records is None else [{"kind": ABSENT, "max_records": self.max_records}]
        return [a.spec() for a in self.attributes] + absent

    @cached_property
    def present(self) -> "Universe":
        """The same without `absent`."""
        return self if self.absent is None else Universe(self.attributes)

    @property
    def privacy_unit(self) -> str:
        """What one record may do: be replaced by another one, or also be added and removed."""
        return REPLACE if self.absent is None else "add-remove"

    def units(self) -> dict[str, str]:
        """The units of numbers, by `attribute` or `attribute.property`: words for people, no part of the digest."""
        out = {a.name: a.unit for a in self.attributes if a.unit}
        facts = {f"{a.name}.{f.name}": f.unit for a in self.attributes for f in a.declared if f.unit}
        return out | facts

    def to_dict(self) -> dict[str, Any]:
        """For JSON: everything that questions and metrics refer to."""
        return {"digest": self.digest, "attributes": self.spec(), "units": self.units()}
