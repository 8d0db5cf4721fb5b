"""The universe: all possible records, as a product of attributes, each record with an index.

The index of a record is its mixed-radix number over the attributes, the last attribute fastest (numpy's C order).  A
universe given as a plain list of elements is a product of one attribute.  A product is never enumerated: computations
work attribute by attribute, or on the few records that matter.  Arrays of record indices hold 64-bit integers; if the
universe is too large for these, they hold Python integers instead (`Universe.numbered`).

Under add-remove neighbors, one more element follows the product: `absent`, the record of a person who is not in the
data.  The same holds if people have several rows: a person with fewer than `max_rows` rows has absent ones.  No query
counts `absent`.

The format of the data file (`file`) is also public: it decides which record a line is read as.
"""

import weakref
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import PolicyError, QueryError, did_you_mean
from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.formats.canonical import digest_of
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.file_format import KIND as FILE
from dxprivacy.universe.file_format import PLAIN, FileFormat
from dxprivacy.universe.people import PEOPLE, People
from dxprivacy.wording import repr_of_half_built

_WORTH_REMEMBERING = 500  # records; smaller arrays are not cached
_NUMBERED = 1 << 62  # below this size, indices and sums of two of them fit into 64 bits
ABSENT = "absent"
REPLACE = "replace"


@repr_of_half_built
class Universe:
    """A product of named attributes.

    >>> u = Universe([Values(name="sex", values=("M", "F"), has_other=False),
    ...               Values(name="native", values=("Y", "N"), has_other=False)])
    >>> u.size, u.index([{"sex": "F", "native": "Y"}]).tolist(), u.record(3)
    (4, [2], {'sex': 'F', 'native': 'N'})
    """

    def __init__(
        self,
        attributes: Iterable[Attribute],
        *,
        max_records: int | None = None,
        people: People | None = None,
        file: FileFormat = PLAIN,
    ) -> None:
        self.attributes: tuple[Attribute, ...] = tuple(attributes)
        self.file = file
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
        self.people = people
        if people is not None and people.table is not None:
            _require_both(names, people.table.attributes)
        self.max_records = max_records if people is None else people.max_records
        if max_records is not None and not 1 <= max_records < 1 << 50:
            raise PolicyError(f"max_records is {max_records}; it must be positive", hints=["max_records = 1000000"])
        self.absent: int | None = None if max_records is None and people is None else size
        self.size: int = size + (self.absent is not None)

    @classmethod
    def listed(cls, elements: Iterable[object], *, name: str = "element") -> "Universe":
        """Return a universe given element by element, without `other`.

        >>> Universe.listed(["a", "b", "c"]).size
        3
        """
        return cls([Values(name=name, values=tuple(str(e) for e in elements), has_other=False)])

    @classmethod
    def from_spec(cls, spec: object) -> "Universe":
        """Return the universe that `spec()` describes, with the same digest.

        >>> u = Universe.listed("abc")
        >>> Universe.from_spec(u.spec()) == u
        True
        """
        if not isinstance(spec, (list, tuple)):
            raise PolicyError("the description of a universe is damaged")
        parts, most, file = list(spec), None, PLAIN
        if parts and isinstance(parts[-1], Mapping) and parts[-1].get("kind") == ABSENT:
            last = parts.pop()
            most = last.get("max_records")
            if set(last) != {"kind", "max_records"} or type(most) is not int:
                raise PolicyError("the description of a universe is damaged")
        people = None
        if parts and isinstance(parts[-1], Mapping) and parts[-1].get("kind") == PEOPLE and most is None:
            people = People.from_spec(parts.pop())
        if parts and isinstance(parts[-1], Mapping) and parts[-1].get("kind") == FILE:
            file = FileFormat.from_spec(parts.pop())
        return cls([attribute_from_spec(part) for part in parts], max_records=most, people=people, file=file)

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
        """Return the position of an attribute."""
        try:
            return self.names.index(name)
        except ValueError:
            raise QueryError(
                f"no attribute “{name}”",
                details=[f"there are: {', '.join(self.names)}"],
                hints=did_you_mean(name, self.names),
            ) from None

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The change of a record's index for one step along each attribute."""
        out, stride = [], 1
        for n in reversed(self.shape):
            out.append(stride)
            stride *= n
        return tuple(reversed(out))

    @cached_property
    def is_wide(self) -> bool:
        """Whether there are too many possible records for 64-bit indices."""
        return self.size >= _NUMBERED

    def numbered(self, cells: "Iterable[int] | Ints") -> Ints:
        """Return record indices as an array for arithmetic: Python integers if 64 bits are not enough.

        >>> Universe([Values(name=f"a{k}", values=tuple("abcd")) for k in range(30)]).numbered([5**29]).dtype
        dtype('O')
        """
        given = cells if isinstance(cells, np.ndarray) else np.array(list(cells), dtype=object)
        return given.astype(object if self.is_wide else np.int64)

    def offsets(self, axis: int, values: Ints) -> Ints:
        """Return the change of the index from the first value of an attribute to each of the given values."""
        return self.numbered(values) * self.strides[axis]

    def along(self, axis: int, cells: Ints) -> Ints:
        """Return the value indices of many records along one attribute.

        Loops over many rows request the same records again and again, so results for the last few read-only arrays
        are cached.
        """
        if cells.flags.writeable or len(cells) < _WORTH_REMEMBERING:
            return self._along(axis, cells)
        found = next((values for known, values in self._told if known() is cells), None)
        if found is None:
            found = {}
            self._told.append((weakref.ref(cells), found))
        if axis not in found:
            found[axis] = read_only(self._along(axis, cells))
        return found[axis]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the cache, for other processes."""
        return {name: value for name, value in vars(self).items() if name != "_told"}

    @cached_property
    def _told(self) -> "deque[tuple[weakref.ref[Ints], dict[int, Ints]]]":
        return deque(maxlen=4)

    def _along(self, axis: int, cells: Ints) -> Ints:
        if self.is_wide and cells.dtype != object:
            cells = cells.astype(object)
        return np.asarray(cells // self.strides[axis] % self.shape[axis], dtype=np.int64)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return one row of 64-bit integers per pair of records, equal for equal unordered pairs."""
        ends = np.minimum(i, j), np.maximum(i, j)
        if self.is_wide:
            columns = [self.along(axis, end) for end in ends for axis in range(len(self.shape))]
            gone = [np.asarray(end == self.absent, dtype=np.int64) for end in ends]
            return np.stack([*columns, *gone], axis=1)
        return np.stack(ends, axis=1)

    def index(self, records: Sequence[Mapping[str, object]]) -> Ints:
        """Return the indices of many records; unlisted values become `other`."""
        cells = self.numbered([0] * len(records))
        for axis, attribute in enumerate(self.attributes):
            try:
                column = [record[attribute.name] for record in records]
            except KeyError:
                raise QueryError(f"a record lacks {attribute.name}") from None
            cells = cells + self.offsets(axis, attribute.encode(column))
        return cells

    def record(self, cell: int) -> dict[str, str]:
        """Return the record at an index, as labels."""
        if not 0 <= cell < self.size:
            raise QueryError(f"there is no possible record {cell}; the universe has {self.size:,}")
        if cell == self.absent:
            return dict.fromkeys(self.names, ABSENT)
        return {
            a.name: a.label(cell // stride % a.size) for a, stride in zip(self.attributes, self.strides, strict=True)
        }

    def records(self, cells: Iterable[int]) -> list[dict[str, str]]:
        """Return the records at many indices, as labels."""
        chosen = self.numbered(cells)
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < self.size):
            raise QueryError(f"indices of records lie between 0 and {self.size - 1:,}")
        columns = [a.decode(self.along(k, chosen)) for k, a in enumerate(self.attributes)]
        rows = zip(chosen.tolist(), *columns, strict=True)
        return [self.record(c) if c == self.absent else dict(zip(self.names, row, strict=True)) for c, *row in rows]

    def describe(self, i: int, j: int) -> tuple[str, str]:
        """Describe two records by the attributes in which they differ, without the name if a single value is a word.

        >>> u = Universe([Values(name="sex", values=("M", "F")), Values(name="native", values=("Y", "N"))])
        >>> u.describe(0, 1)
        ('Y', 'N')
        """
        a, b = self.record(i), self.record(j)
        if self.absent in (i, j):
            return self._whole(i), self._whole(j)
        differing = [name for name in self.names if a[name] != b[name]]
        # A word such as `Ohio` is clear without the attribute's name; a number such as 0 is not.
        named = len(differing) > 1 or not all(record[name][:1].isalpha() for record in (a, b) for name in differing)

        def say(record: dict[str, str]) -> str:
            return ", ".join(f"{name} {record[name]}" if named else record[name] for name in differing)

        return say(a), say(b)

    def _whole(self, cell: int) -> str:
        """Return a whole record in words."""
        if cell == self.absent:
            return ABSENT
        record = self.record(cell)
        bare = len(record) == 1 and all(label[:1].isalpha() for label in record.values())
        return ", ".join(record.values() if bare else (f"{name} {label}" for name, label in record.items()))

    @cached_property
    def digest(self) -> str:
        """The digest that identifies this universe."""
        return digest_of(self.spec())

    def spec(self) -> list[dict[str, Any]]:
        """Return all public facts, in canonical form."""
        return [a.spec() for a in self.attributes] + self.file.spec() + self._absence()

    def _absence(self) -> list[dict[str, Any]]:
        """Return the part of the spec that explains `absent`; empty if there is none."""
        if self.people is not None:
            return [self.people.spec()]
        return [] if self.absent is None else [{"kind": ABSENT, "max_records": self.max_records}]

    def like(self, attributes: Iterable[Attribute], *, file: FileFormat | None = None) -> "Universe":
        """Return a universe with other attributes for the same people, with the same rule about absence."""
        lines, some = self.file if file is None else file, tuple(attributes)
        if self.people is not None:
            return Universe(some, people=self.people.telling([a.name for a in some]), file=lines)
        return Universe(some, max_records=self.max_records, file=lines)

    def onto(self, axes: Sequence[int]) -> "Universe":
        """Return the product of some attributes, without `absent`: the part on which queries about them depend."""
        return Universe([self.attributes[axis] for axis in axes])

    @cached_property
    def present(self) -> "Universe":
        """The same without `absent`."""
        return self if self.absent is None else Universe(self.attributes, file=self.file)

    @property
    def neighbors(self) -> str:
        """The neighboring relation: whether one record, or one person, is replaced, or added or removed."""
        if self.people is not None:
            return f"{PEOPLE}-{REPLACE if self.people.max_people is None else 'add-remove'}"
        return REPLACE if self.absent is None else "add-remove"

    @property
    def rows_each(self) -> int:
        """The largest number of rows of a person: group privacy multiplies the loss of one row by it."""
        return 1 if self.people is None else self.people.max_rows

    def units(self) -> dict[str, str]:
        """Return the units of numbers, by `attribute` or `attribute.property`; the digest does not cover them."""
        out = {a.name: a.unit for a in self.attributes if a.unit}
        facts = {f"{a.name}.{f.name}": f.unit for a in self.attributes for f in a.declared if f.unit}
        return out | facts

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON with everything that queries and metrics refer to."""
        return {"digest": self.digest, "attributes": self.spec(), "units": self.units()}


def _require_both(names: Sequence[str], of_people: Sequence[str]) -> None:
    """Raise PolicyError unless a table of people has some of the attributes, and not all: the rows are counted."""
    if not of_people or len(set(of_people)) < len(of_people) or not set(of_people) < set(names):
        raise PolicyError(
            "a table of people must contain some of the attributes, and the rows the others",
            hints=[('from = "person"', "for an attribute in the table of people")],
        )
