"""The guarantee: the three sentences on every release."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dxprivacy.metrics import Metric
from dxprivacy.universe.people import ONE, OWN, People
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import digits

# -- The ledger reference in every released file -----------------------------------------------------------------------


@dataclass(frozen=True)
class LedgerReference:
    """An entry of a ledger; `so_far` is the worst-case ε of all entries up to this one."""

    ledger: str  # the name of its file
    entry: int
    at: str
    request: str
    so_far: float

    def to_dict(self) -> dict[str, Any]:
        """Write it as JSON data, with an infinite number as null."""
        return {
            "file": self.ledger,
            "entry": self.entry,
            "at": self.at,
            "request": self.request,
            "worst_case_epsilon": self.so_far if math.isfinite(self.so_far) else None,
        }


NOWHERE = LedgerReference("no ledger", 0, "", "", math.inf)
"""The reference of releases without a ledger."""


# -- The guarantee -----------------------------------------------------------------------------------------------------


def guarantee_of(metric: Metric, worst: float, records: int, ledger: str, so_far: float) -> tuple[str, ...]:
    """Return the three sentences of the guarantee; `worst` is the release's worst-case ε."""
    n = metric.universe.size
    permits = "no limit" if metric.has_infinite else f"up to ε = {digits(metric.permitted)}"
    people = metric.universe.people
    if people is not None:
        public = f"({records // people.max_rows:,}) is treated as public"
        return _of_people(people, worst, so_far, permits, ledger, public if people.max_people is None else "is private")
    what, number = "replaced by another record j", f"({records:,}) is treated as public"
    if metric.universe.absent is not None:
        what, number = "replaced by another record j, added or removed (j = absent)", "is private"
    return (
        f"If any one record i is {what}, the probability of any set of outputs of this release "
        f"changes by at most the factor e^L(i,j); the number of records {number}.",
        f"Added over every release in {ledger}, L(i,j) stays at or below the policy's ε for each of the "
        f"{n * (n - 1) // 2:,} pairs; pairs that the policy sets far apart are protected weakly, and public ones not "
        "at all.",
        f"In standard differential-privacy terms this release is ε = {digits(worst)}, all releases "
        f"so far ε = {digits(so_far)}, and the policy permits {permits}; someone with several records, or with "
        "attributes that reveal one another, is protected less than this says.",
    )


def _of_people(
    people: People, worst: float, so_far: float, permits: str, ledger: str, number: str
) -> tuple[str, str, str]:
    """Return the three sentences if people have several rows."""
    m = people.max_rows
    gone = "" if people.max_people is None else ", added or removed"
    kept = "only one row of each person is" if m == 1 else f"at most {m:,} rows of each person are"
    more = "one row" if m == 1 else f"{m:,} rows"
    return (
        f"If any one person with all their rows is replaced by another person{gone}, the probability of any set of "
        "outputs of this release changes by at most the factor e^L, where L adds up L(i,j) over their kept rows i and "
        f"j, matched in whatever way (a row that one of them does not have is absent), and the part that counts of "
        f"people take of the largest ε between two matched rows; {kept} kept, the number of people {number}, and that "
        "of rows is private.",
        f"Added over every release in {ledger}, L stays at or below the largest ε that the policy gives to two matched "
        "rows, for every two people; rows that the policy sets far apart are protected weakly. Of somebody with more "
        f"than {more} this holds for those that are kept: a small change of one can change which they are.",
        f"In standard differential-privacy terms this release is ε = {digits(worst)} for a whole person, all releases "
        f"so far ε = {digits(so_far)}, and the policy permits {permits}; people whose rows tell something about other "
        "people, or whose attributes reveal one another, are protected less than this says.",
    )


def public_people(universe: Universe, records: int) -> dict[str, int]:
    """Return the public number of people for JSON; empty if people have one row each, or if it is private."""
    people = universe.people
    return {} if people is None or people.max_people is not None else {"people": records // people.max_rows}


def without_key(facts: Mapping[str, Any]) -> str:
    """Return the words for the one person who holds all rows without a key, counted even if there are none."""
    attributes = (facts.get("universe") or {}).get("attributes") or [{}]
    whose = {ONE: "rows without a key", OWN: "rows with an unusable key"}.get(attributes[-1].get("no_key"))
    return f", one of them for all {whose}" if whose else ""
