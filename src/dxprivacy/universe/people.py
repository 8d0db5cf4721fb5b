"""People with several rows: which rows belong to a person, and how many of them are kept (contribution bounding).

A person is a multiset of at most `max_rows` kept rows, filled up with `absent`.  The distance of two people is the
distance of the farthest pair in the best matching of their kept rows (bottleneck matching).  Costs are computed row by
row: matched rows are replaced one after the other, at most `max_rows` of them, so each row may use the fraction
1/`max_rows` of its distance (docs/theorems.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dxprivacy.errors import PolicyError

PEOPLE = "people"
ONE, OWN = "one", "own"
KEPT = "md5-1"
"""The rule by which the kept rows are chosen (docs/data.md); another rule needs another name, and another ledger."""
MOST_ROWS_EACH = 100_000
MOST_PEOPLE = (1 << 50) // MOST_ROWS_EACH


@dataclass(frozen=True)
class PersonTable:
    """A second table with one entry per person: the columns of its key, and the attributes that it contains."""

    key: tuple[str, ...]
    attributes: tuple[str, ...]

    def spec(self) -> dict[str, Any]:
        """All public facts, canonically."""
        return {"key": list(self.key), "attributes": list(self.attributes)}


@dataclass(frozen=True)
class People:
    """The people of a data set: a row belongs to the person that its key columns name.

    Rows without a key belong to `one` person together, or each to a person of its `own` (`no_key`).  The number of
    people is public, unless `max_people` is given, an upper bound on it.

    >>> People(("patient",), 10).spec()["max_rows"]
    10
    """

    key: tuple[str, ...]
    max_rows: int
    no_key: str = ONE
    max_people: int | None = None
    table: PersonTable | None = None

    def __post_init__(self) -> None:
        if not self.key or len(set(self.key)) < len(self.key):
            raise PolicyError("a person's key is one column or several different ones", hints=['key = "patient"'])
        if type(self.max_rows) is not int or not 1 <= self.max_rows <= MOST_ROWS_EACH:
            what = f"max_rows is {self.max_rows}; of each person 1 to {MOST_ROWS_EACH:,} rows can be kept"
            raise PolicyError(what, hints=[("max_rows = 10", "at most this many rows of each person count")])
        if self.no_key not in (ONE, OWN):
            raise PolicyError(f"no_key is {self.no_key!r}", hints=[f'no_key = "{ONE}"', f'no_key = "{OWN}"'])
        most = self.max_people
        if most is not None and (type(most) is not int or not 1 <= most <= MOST_PEOPLE):
            raise PolicyError("max_people must be a positive whole number", hints=["max_people = 1000000"])

    @property
    def max_records(self) -> int | None:
        """The largest number of rows that all people can have; None if it depends on the public number of people."""
        return None if self.max_people is None else self.max_people * self.max_rows

    def of_rows(self) -> "People":
        """Return the people without their second table, on which the selection of rows does not depend."""
        return replace(self, table=None)

    def telling(self, names: Sequence[str]) -> "People":
        """Restrict to some attributes; the second table stays only if it has some of them and the rows have others."""
        if self.table is None:
            return self
        told = tuple(name for name in self.table.attributes if name in names)
        both = told and len(told) < len(names)
        return replace(self, table=replace(self.table, attributes=told) if both else None)

    def spec(self) -> dict[str, Any]:
        """All public facts, canonically."""
        return {
            "kind": PEOPLE,
            "key": list(self.key),
            "max_rows": self.max_rows,
            "no_key": self.no_key,
            "kept": KEPT,
            "max_people": self.max_people,
            **({} if self.table is None else {"table": self.table.spec()}),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "People":
        """Return the people that `spec()` describes."""
        key = spec.get("key")
        try:
            given = spec.get("table")
            table = None if given is None else PersonTable(*(tuple(map(str, given[k])) for k in ("key", "attributes")))
            made = cls(tuple(map(str, key or ())), spec["max_rows"], spec["no_key"], spec["max_people"], table)
        except (KeyError, TypeError):
            made = None
        if made is None or made.spec() != dict(spec):
            raise PolicyError("the description of a universe is damaged")
        return made
