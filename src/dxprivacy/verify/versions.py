"""The versions of the policy in a ledger (docs/formats.md, section 8): possible records, distances, carried budgets.

Costs of an earlier version can be compared with a later one as they are where the possible records stayed the same and
nothing was recoded.  Other steps are not followed here: what was spent before them is then not known.
"""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dxprivacy.errors import NotVerified
from dxprivacy.verify import reading
from dxprivacy.verify.distances import Distance
from dxprivacy.verify.journal import Row, json_object
from dxprivacy.verify.metric import distance
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

_MEMBERS = (
    *("title", "version", "neighbors", "metric", "metric_spec", "universe", "universe_spec"),
    *("recoded", "was_version", "budgets"),
)


@dataclass(frozen=True)
class Version:
    """One version; `budgets` of the costs before it, by their rows; `recoded`: entries are written otherwise now."""

    number: int
    seq: int
    digest: str
    universe: Universe
    metric: Distance
    budgets: dict[int, Fraction]
    recoded: bool
    has_units: bool  # ledgers of 0.1.0 do not say in which units numbers are

    def follows(self, before: "Version") -> bool:
        """Whether costs of the version before can be compared with this one as they are."""
        return self.universe.digest == before.universe.digest and not self.recoded


def read_versions(rows: list[Row], path: Path) -> list[Version]:
    """All versions, each with right digests."""
    out: list[Version] = []
    reserved: list[int] = []
    for row in rows:
        if row.kind == "reserve":
            reserved.append(row.seq)
        if row.kind == "policy":
            out.append(_version(row, len(out) + 1, reserved, f"ledger {path.name}, row {row.seq}"))
    return out


def _version(row: Row, number: int, reserved: list[int], where: str) -> Version:
    data = reading.members(json_object(row, where), where, _MEMBERS, ("units",))
    for name in ("title", "version"):
        reading.text(data[name], f"{where} {name}")
    universe = _universe(data, where)
    digest = reading.hash_text(data["metric"], f"{where} metric")
    if digest != reading.digest({"universe": universe.digest, "metric": data["metric_spec"]}):
        raise refuse("its metric is not the digest of universe and distances", where)
    if row.body != digest or row.request != f"policy {number}":
        raise refuse("is not named after its version and metric", where)
    if data["neighbors"] != universe.neighbors:
        raise refuse(f"its neighbors are not those of the universe, “{universe.neighbors}”", where)
    metric = distance(data["metric_spec"], universe.size, f"{where} metric")
    budgets = _budgets(data["budgets"], reserved, where)
    return Version(
        number, row.seq, digest, universe, metric, budgets, _recoded(data["recoded"], where), "units" in data
    )


def _universe(data: dict[str, Any], where: str) -> Universe:
    try:
        units = data.get("units", {})
        return Universe({"digest": data["universe"], "attributes": data["universe_spec"], "units": units})
    except NotVerified as error:
        raise refuse(f"its {error.where} {error.what}", where) from None


def _budgets(data: Any, reserved: list[int], where: str) -> dict[int, Fraction]:
    given = reading.members(data, f"{where} budgets", [str(seq) for seq in reserved])
    return {seq: Fraction(reading.budget(given[str(seq)], f"{where} budgets")) for seq in reserved}


def _recoded(data: Any, where: str) -> bool:
    """Whether anything was recoded: a column was called otherwise, or values were written otherwise."""
    if not isinstance(data, dict):
        raise refuse("recoded is not an object", where)
    found = False
    for name, recoding in data.items():
        given = reading.members(recoding, f"{where} {name[:40]}", ("texts", "column"))
        if not isinstance(given["texts"], dict):
            raise refuse("recoded texts are not an object", where)
        for old in given["texts"].values():
            reading.each(old, f"{where} {name[:40]}", reading.text)
        found |= bool(given["texts"] or reading.text(given["column"], where))
    return found
