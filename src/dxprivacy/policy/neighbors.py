"""The neighboring relation of a policy: one record, or one person with several rows; replace or add-remove."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dxprivacy.errors import DxError, Hint
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Metric, with_absent
from dxprivacy.policy.skeleton import OPEN
from dxprivacy.policy.tables.table_keys import Keys
from dxprivacy.policy.toml_file import UNPRINTABLE, PolicyFile
from dxprivacy.universe.people import MOST_PEOPLE, MOST_ROWS_EACH, ONE, OWN, People, PersonTable

KEYS = ("neighbors", "epsilon_presence", "max_records", "max_people", "people")
_ADD_REMOVE = "add-remove"
_PRESENCE = ("epsilon_presence = 1.0", "the ε between a record and its absence")
_KEY = ('key = "patient"', 'the column with the person of each row; or several: ["site", "patient"]')


@dataclass(frozen=True)
class Neighbors:
    """The neighboring relation: by default, one record is replaced.

    If people have several rows, each row gets its part of every ε for a person, including `presence`.
    """

    file: PolicyFile
    presence: Fraction | None = None
    max_records: int | None = None
    people: People | None = None
    rows_each: int = 1  # how many rows share an ε

    def applied(self, metric: Metric) -> Metric:
        """Extend the metric by the record `absent`, if the neighboring relation needs it."""
        if self.people is None:
            if self.presence is None:
                return metric
            return with_absent(metric, self.presence, max_records=self.max_records)
        return with_absent(metric, self.presence or self._largest(metric), people=self.people)

    def _largest(self, metric: Metric) -> Fraction:
        """Return the largest finite distance: `absent` at this distance tightens no finite distance."""
        far = metric.farthest
        distance: Exact = metric.exact(*far.pair) if far is not None else Fraction(0)
        if not 0 < distance < math.inf:
            raise self.file.error(
                "no two rows are at a finite distance, so the distance of a missing row must be given",
                section="people",
                hints=[_PRESENCE, ("epsilon = 1.0", "for some attribute: if all is public, nothing is protected")],
            )
        return Fraction(distance)


def neighbors_of(
    file: PolicyFile, top: dict[str, Any], *, whole_people: bool = False, of_people: tuple[str, ...] = ()
) -> Neighbors:
    """Read the neighboring relation from the top of a policy and `[people]`; refuse keys without meaning there."""
    neighbors = top.get("neighbors", "replace")
    who = "person" if "people" in top else "record"
    both = [
        ('neighbors = "replace"', f"one {who} is replaced by another; the number of {_many(who)} is public"),
        ('neighbors = "add-remove"', f"a {who} may also be added or removed; their number is private"),
    ]
    if neighbors not in ("replace", _ADD_REMOVE):
        raise file.error(f"no neighbors “{str(neighbors)[:40]}”", key="neighbors", hints=both)
    most, other = ("max_people", "max_records") if who == "person" else ("max_records", "max_people")
    if other in top:
        says = f"with [people], {most} says how many there can be" if who == "person" else "it belongs to [people]"
        raise file.error(f"{other} means nothing here: {says}", key=other, hints=[f"{most} = 1000000"])
    _refuse_misplaced(file, top.get("people"))
    _require(file, top, neighbors, most, who, both)
    people = _people(file, top["people"], top.get("max_people"), of_people) if who == "person" else None
    if of_people and (people is None or people.table is None):
        hints: list[Hint | str] = ["[people.table]", ('data = "patients.parquet"', "an entry for each person")]
        raise file.error(
            f"{of_people[0]} is from a person, but the policy has no table of people",
            section=f"attributes.{of_people[0]}",
            key="from",
            hints=hints,
        )
    each = 1 if people is None or whole_people else people.max_rows
    return Neighbors(file, _presence(file, top, each), top.get("max_records"), people, each)


def _refuse_misplaced(file: PolicyFile, people: Any) -> None:
    """Refuse keys of the top of the policy inside `[people]`."""
    for key in ("neighbors", "epsilon_presence", "max_people") if isinstance(people, dict) else ():
        if key in people:
            hint = f"{key} = …", "above the first table in brackets"
            raise file.error(
                f"{key} stands at the top of the policy, not in [people]", section="people", key=key, hints=[hint]
            )


def _many(who: str) -> str:
    return "people" if who == "person" else "records"


def _require(
    file: PolicyFile, top: dict[str, Any], neighbors: str, most: str, who: str, both: Iterable[Hint | str]
) -> None:
    """Require the keys that add-remove needs; refuse them without add-remove."""
    known = [_PRESENCE, (f"{most} = 1000000", f"more {_many(who)} than there can ever be; their number stays private")]
    for key, (example, why) in zip(("epsilon_presence", most), known, strict=True):
        if neighbors == "replace" and key in top and not (who == "person" and key == "epsilon_presence"):
            raise file.error(f"{key} means nothing where a {who} is only replaced", key=key, hints=list(both)[1:])
        if neighbors == _ADD_REMOVE and key not in top:
            raise file.error(f"add-remove needs {key}", key="neighbors", hints=[(example, why)])
    if most in top:
        limit = MOST_PEOPLE if who == "person" else (1 << 50) - 1
        if type(top[most]) is not int or not 1 <= top[most] <= limit:
            raise file.error(f"{most} must be a positive whole number", key=most, hints=[f"{most} = 1000000"])


def _presence(file: PolicyFile, top: dict[str, Any], rows_each: int) -> Fraction | None:
    if "epsilon_presence" not in top:
        return None
    given = Keys(file, "", top, rows_each).parse_epsilon(
        top["epsilon_presence"], "epsilon_presence", "epsilon_presence"
    )
    if not 0 < given < math.inf:
        raise file.error(
            "epsilon_presence must be positive and finite",
            key="epsilon_presence",
            hints=[(_PRESENCE[0], ""), ('neighbors = "replace"', "where the number of records is public")],
        )
    return Fraction(given)


def _people(file: PolicyFile, table: Any, max_people: int | None, of_people: tuple[str, ...]) -> People:
    if not isinstance(table, dict):
        raise file.error("people is a table", key="people", hints=["[people]", _KEY[0]])
    file.only(table, ("key", "max_rows", "no_key", "table"), "people")
    keys = Keys(file, "", table, section_name="people")
    max_rows = table.get("max_rows")
    if type(max_rows) is not int or not 1 <= max_rows <= MOST_ROWS_EACH:
        what = "people needs max_rows" if max_rows is None else f"max_rows is {str(max_rows)[:40]}"
        what = "max_rows is not filled in yet" if max_rows == OPEN else what
        why = f"at most this many rows of each person count, 1 to {MOST_ROWS_EACH:,}; they share every ε equally"
        raise keys.error(what, "max_rows", [("max_rows = 10", why)])
    meanings = {ONE: "all rows without a key are those of one person", OWN: "each is a person's only row"}
    key = _columns(keys)
    second = _table(file, table["table"], key, of_people) if "table" in table else None
    return People(key, max_rows, keys.one_of("no_key", meanings, ONE), max_people, second)


def _table(file: PolicyFile, table: Any, key: tuple[str, ...], of_people: tuple[str, ...]) -> PersonTable:
    """Read `[people.table]`: a file with an entry for each person."""
    data = ('data = "patients.parquet"', "relative to the policy")
    if not isinstance(table, dict):
        raise file.error("people.table is a table", section="people", key="table", hints=["[people.table]", data])
    file.only(table, ("data", "key"), "people.table")
    keys = Keys(file, "", table, section_name="people.table")
    given = table.get("data")
    if not isinstance(given, str) or not given.strip() or UNPRINTABLE.search(given):
        raise keys.error("people.table needs data: the file of people", "data", [data])
    if not of_people:
        hint = ('from = "person"', "in the table of an attribute from that file")
        raise keys.error("no attribute is from the table of people", "data", [hint])
    theirs = _columns(keys) if "key" in table else key
    if len(theirs) != len(key):
        raise keys.error(f"the key has {len(key)} columns, and {len(theirs)} in the table of people", "key", [_KEY])
    return PersonTable(theirs, of_people)


def _columns(keys: Keys) -> tuple[str, ...]:
    """Read the columns of the key."""
    given = keys.table.get("key")
    columns = given if isinstance(given, list) else [given]
    if given is None or not columns:
        raise _key_error(keys, "people needs a key")
    if not all(isinstance(c, str) and c.strip() and not UNPRINTABLE.search(c) for c in columns):
        raise _key_error(keys, "key is the name of a column, or a list of names")
    if len(set(columns)) < len(columns):
        raise _key_error(keys, "key names a column twice")
    return tuple(columns)


def _key_error(keys: Keys, what: str) -> DxError:
    return keys.error(what, "key", [_KEY])
