"""Series: several columns of one ordered kind as one attribute, such as the consumption of twelve months."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.errors import PolicyError, QueryError
from dxprivacy.exact.rounding import number_text
from dxprivacy.universe.attributes.attribute import OTHER, Attribute, Property
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.ordering.order import OrderedBins, Scale
from dxprivacy.universe.reading.codecs import Codec

_MOST_SERIES = 1 << 18


def _entries_given(value: object) -> Sequence[object]:
    """Return the entries of a series that is given as a list or as text with commas."""
    return value if isinstance(value, (list, tuple)) else [x.strip() for x in str(value).strip("[]()").split(",")]


@dataclass(frozen=True, kw_only=True)
class Series(Attribute):
    """Several columns of one ordered kind, as one attribute: a value is a whole series.

    Its entries are properties: `usage.jan` is the number in the first column, `usage.total` the sum.  A series with an
    invalid entry is `other` as a whole.

    >>> usage = Series(name="usage", columns=("jan", "feb"), entry=Integers(name="usage", low=0, high=2))
    >>> usage.listed, usage.label(5), usage.properties["feb"].entries[5], usage.find("1, 2")
    (9, '1, 2', '2', 5)
    """

    columns: tuple[str, ...]
    entry: Integers | Numbers
    kind: str = field(init=False, default="series")

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns or any(not isinstance(c, str) or not c.strip() for c in self.columns):
            raise PolicyError(f"{self.name}: a series needs named columns", hints=['columns = ["jan", "feb"]'])
        if len(set(self.columns)) != len(self.columns):
            raise PolicyError(f"{self.name} lists a column twice")
        if self.listed > _MOST_SERIES:
            raise PolicyError(
                f"{self.name}: {self.entry.listed:,} values in each of {len(self.columns)} columns make "
                f"{self.listed:,} series, more than the {_MOST_SERIES:,} we can hold",
                hints=["fewer columns", "wider steps"],
            )
        super().__post_init__()

    @property
    def reads(self) -> tuple[str, ...]:
        return self.columns

    @property
    def each_entry(self) -> Integers | Numbers:
        return self.entry

    @property
    def codec(self) -> Codec:
        return self.entry.codec

    @property
    def listed(self) -> int:
        return int(self.entry.listed ** len(self.columns))

    def entries(self, index: int) -> tuple[int, ...]:
        """Return the index of each entry; the last column is fastest."""
        out = []
        for _ in self.columns:
            index, k = divmod(index, self.entry.listed)
            out.append(k)
        return tuple(reversed(out))

    def label(self, index: int) -> str:
        if index >= self.listed:
            return OTHER
        return ", ".join(self.entry.label(k) for k in self.entries(index))

    def find(self, value: object) -> int:
        """Return the index of a series, given as a list or as text with commas."""
        if self.has_other and value == OTHER:
            return self.listed
        given = _entries_given(value)
        if len(given) != len(self.columns):
            raise self._unknown(value)
        index = 0
        for entry in given:
            try:
                k = self.entry.find(entry)
            except QueryError:
                raise self._unknown(value) from None
            if k == self.entry.listed:
                raise self._unknown(value)
            index = index * self.entry.listed + k
        return index

    @cached_property
    def _properties(self) -> dict[str, Property]:
        numbers = self.entry.numbers
        indices = [self.entries(k) for k in range(self.listed)]
        out = {}
        if "total" not in self.columns:
            totals = tuple(number_text(sum((numbers[k] for k in ks), Fraction(0))) for ks in indices)
            out["total"] = Property("total", totals, self.unit)
        for position, column in enumerate(self.columns):
            out[column] = Property(column, tuple(number_text(numbers[ks[position]]) for ks in indices), self.unit)
        return out

    @property
    def properties(self) -> Mapping[str, Property]:
        return self._properties

    def entry_of(self, fact: Property | None) -> Attribute | None:
        """Return the entry attribute for a column; None for the total, which is not an entry."""
        if fact is None:
            return self
        return self.entry if fact.name in self.columns else None

    def places_of(self, fact: Property) -> list[int]:
        """Return for each series the index of its entry in one of its columns."""
        position = self.columns.index(fact.name)
        return [self.entries(k)[position] for k in range(self.listed)]

    def hides(self, fact: Property | None = None) -> tuple[Fraction, Fraction]:
        """Return the binning error of one entry, or of the total."""
        below, above = self.entry.hides()
        parts = len(self.columns) if fact is not None and fact.name == "total" and "total" not in self.columns else 1
        return below * parts, above * parts

    @property
    def clamps(self) -> bool:
        return self.entry.clamps

    def beyond(self, value: object) -> bool:
        return any(map(self.entry.beyond, _entries_given(value)))

    def spec(self) -> dict[str, Any]:
        return self._base_spec() | {"columns": list(self.columns), "entry": self.entry.spec()}

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        kinds: dict[str, type[Integers | Numbers]] = {"integers": Integers, "numbers": Numbers}
        entry = spec["entry"]
        return {"columns": tuple(spec["columns"]), "entry": kinds[entry["kind"]].from_spec(entry)}

    def order(self, fact: Property | None = None) -> Scale | None:
        """Return for a column of numbers in bins the order of these bins."""
        if fact is None or not isinstance(bins := self.entry_of(fact), Numbers):
            return super().order(fact)
        return OrderedBins(fact.name, tuple(bins.start(k) for k in self.places_of(fact)), step=bins.step)

    @property
    def needed(self) -> str:
        return f"in every column {self.entry.needed}"

    @property
    def length_unit(self) -> str:
        return self.unit
