"""Read the costs in a journal, each under the version of its reservation, and carry them to the current version."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from dxprivacy.errors import DxError, LedgerError, PolicyError
from dxprivacy.exact.rounding import written_fraction
from dxprivacy.ledger.journal import JournalRow
from dxprivacy.ledger.policy_upgrade import Apart, Upgrade
from dxprivacy.ledger.policy_versions import RecordedPolicy, stored_metric
from dxprivacy.metrics import Metric
from dxprivacy.privacy.costs import BlockMaxCost, LaplaceCost, RowsCost, SelectionCost
from dxprivacy.privacy.proportional_costs import MAPS, ProportionalCost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload


class _Edited(LedgerError):
    """Content that does not match its digest."""


@dataclass(frozen=True)
class Entry:
    """One release in the ledger; numbered from 1.

    `cost` is over the current universe and `budget` a fraction of the current policy; `policy` is the number of the
    version under which it was released, and `row` the row of the journal.
    """

    number: int
    at: str
    request: str
    title: str
    budget: Fraction
    cost: RowsCost
    policy: int = 1
    row: int = 0


KINDS: dict[str, type[RowsCost]] = {
    "laplace": LaplaceCost,
    "selection": SelectionCost,
    "block-max": BlockMaxCost,  # tables with block-max noise
    "people": ProportionalCost,
    "map": ProportionalCost,  # may include counts of people
}
"""The kinds of costs that a journal knows; any other kind is refused."""

_BOUND = 16  # cached workloads: adaptive mechanisms ask the same queries many times


def kind_of(cost: RowsCost) -> str:
    """Return the kind of a cost, as written in a journal."""
    if isinstance(cost, ProportionalCost):
        return "map" if MAPS in cost.proportional else "people"
    for kind, known in KINDS.items():
        if type(cost) is known:
            return kind
    raise LedgerError(f"a ledger cannot store a {type(cost).__name__}; nothing was spent")


def title_of(kind: str, queries: Sequence[object]) -> str:
    """Return the titles of the queries, marked if they are candidates of a selection."""
    return ("selection among " if kind == "selection" else "") + " + ".join(str(q) for q in queries)


def cost_content(cost: RowsCost, queries: Stack, asked: Stack | None = None) -> dict[str, Any]:
    """Return the content of a reserve row, without the budget, which depends on the policy.

    `queries` are the measured queries, which determine the cost; `asked` is the workload, if it differs.
    """
    other = asked is not None and asked.to_dict() != queries.to_dict()
    kind = kind_of(cost)
    return {
        "kind": kind,
        "title": title_of(kind, (asked if asked and other else queries).queries),
        "queries": queries.to_dict(),
        "universe": cost.universe.digest,
        **_scales_content(cost),
        **({"asked": asked.to_dict()} if asked and other else {}),
    }


def _scales_content(cost: RowsCost) -> dict[str, Any]:
    # One scale for each row.  Selections have many rows and many steps: equal scales are stored once.
    if isinstance(cost, SelectionCost) and (cost.scales == cost.scales[0]).all():
        return {"scales": [float(cost.scales[0]).hex()], "alike": True}
    return {"scales": [float(s).hex() for s in cost.scales]}


def _untitled(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in q.items() if k != "title"} for q in queries]


def body_of(cost: RowsCost, content: dict[str, Any]) -> str:
    """Return the digest of a request: the same request must mean the same plan, whatever the titles of its queries.

    The stored budget is not covered: it depends on the version of the policy, and `checked_budget` recomputes it.
    """
    kept = {k: v for k, v in content.items() if k != "budget"}
    kept |= {k: _untitled(kept[k]) for k in ("queries", "asked") if k in kept}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(f"{cost.workload.digest} {text}".encode()).hexdigest()


def rows_of(queries: list[dict[str, Any]], universe: Universe) -> Workload:
    """Bind the measured queries.  Targets are left out: they determine scales, which are given, and not rows."""
    asked = [from_dict(q) for q in queries]
    return Stack(tuple(q.untargeted() for q in asked)).on(universe)


def cost_from(content: dict[str, Any], rows: Workload, metric: Callable[[], Metric]) -> RowsCost:
    """Read a cost; content that its kind does not know is refused.  Proportional costs depend on the metric."""
    kind, scales = KINDS[content["kind"]], [float.fromhex(s) for s in content["scales"]]
    if kind is ProportionalCost or rows.proportional:
        if kind is not ProportionalCost or not rows.proportional or "alike" in content:
            raise ValueError("proportional costs have no rows")
        found = ProportionalCost(rows, scales, metric())
        if kind_of(found) != content["kind"]:
            raise ValueError("proportional costs have no rows")
        return found
    if "alike" in content:
        if not issubclass(kind, SelectionCost) or content["alike"] is not True or len(scales) != 1:
            raise ValueError("alike")
        scales *= rows.rows
    return kind(rows, scales)


def _carried(cost: RowsCost, upgrade: Upgrade, metric: Metric) -> RowsCost:
    if isinstance(cost, ProportionalCost):
        if metric.universe != cost.universe:
            raise PolicyError(
                "attributes cannot change: this ledger has maps, or counts of people, over those that there were",
                hints=[("the same attributes", "ε may change"), ("a new dataset", "starts a new ledger")],
            )
        return ProportionalCost(cost.workload, cost.scales, metric)
    return upgrade.carry(cost)


class History:
    """The versions of a journal's policy, and its costs carried to the last one."""

    def __init__(self, policies: Sequence[JournalRow], where: str) -> None:
        self.where = where
        self._rows: dict[tuple[str, str], Workload] = {}
        self.follow(policies)

    def follow(self, policies: Sequence[JournalRow]) -> None:
        """Read the versions again and clear all caches."""
        self.versions = [RecordedPolicy.read(row, number, self.where) for number, row in enumerate(policies, 1)]
        self._steps: dict[int, Upgrade] = {}
        self._metrics: dict[int, Metric] = {}
        self._entries: dict[int, Entry] = {}
        # Equal costs are one object, so that their sums are computed once: by body and version, and after carrying.
        self._costs: dict[tuple[str, int], RowsCost] = {}
        self._carried: dict[tuple[int, str, int], RowsCost] = {}

    @property
    def current(self) -> RecordedPolicy:
        """The current version."""
        if not self.versions:
            raise LedgerError("the ledger does not say under which policy it was written", where=self.where)
        return self.versions[-1]

    def step(self, k: int) -> Upgrade:
        """Return the upgrade from version k (counted from 1) to the next."""
        if k not in self._steps:
            old, new = self.versions[k - 1], self.versions[k]
            try:
                self._steps[k] = Upgrade.between(old.universe, new.universe, new.recoded)
            except DxError:
                raise self._damaged(new.seq) from None
        return self._steps[k]

    def rows_of(self, queries: list[dict[str, Any]], universe: Universe) -> Workload:
        """Bind queries of the journal; the last few are cached."""
        key = (json.dumps(queries, sort_keys=True), universe.digest)  # the journal sorts its keys
        if key not in self._rows:
            while len(self._rows) >= _BOUND:
                self._rows.pop(next(iter(self._rows)))
            self._rows[key] = rows_of(queries, universe)
        return self._rows[key]

    def remember(self, body: str, cost: RowsCost) -> None:
        """Cache a cost of the current version, so that it need not be read back.

        A row that is read is still compared with its body, which covers the digest of the rows and every scale.
        """
        self._costs[body, len(self.versions)] = cost

    def entries(self, rows: Sequence[JournalRow]) -> list[Entry]:
        """Return all costs, oldest first; `rows` are the reserve rows."""
        return [self.entry(row, number) for number, row in enumerate(rows, 1)]

    def entry(self, row: JournalRow, number: int) -> Entry:
        """Return one cost, carried to the current version."""
        if row.seq not in self._entries:
            entry = self.original(row, number)
            for k in range(entry.policy, len(self.versions)):
                entry = replace(entry, cost=self._carry(entry, row.body, k))
            if entry.policy < len(self.versions):
                if row.seq not in self.current.budgets:
                    raise self._damaged(self.current.seq)
                entry = replace(entry, budget=self.current.budgets[row.seq])
            self._entries[row.seq] = entry
        known = self._entries[row.seq]
        return known if known.number == number else replace(known, number=number)

    def _carry(self, entry: Entry, body: str, k: int) -> RowsCost:
        # Carry the cost of an entry from version k to the next.
        key = (entry.policy, body, k)
        if key not in self._carried:
            if isinstance(entry.cost, ProportionalCost):  # attributes must be the same; distances may change
                metric = self.metric(k + 1)
                if metric.universe != entry.cost.universe:  # it was checked on adoption
                    raise self._damaged(self.versions[k].seq)
                self._carried[key] = ProportionalCost(entry.cost.workload, entry.cost.scales, metric)
                return self._carried[key]
            step = self.step(k)
            if step.apart(entry.number, entry.cost):  # adoption checked this, so the row was edited
                raise self._damaged(self.versions[k].seq)
            self._carried[key] = step.carry(entry.cost)
        return self._carried[key]

    def metric(self, number: int) -> Metric:
        """Return the metric of a version, counted from 1."""
        if number not in self._metrics:
            self._metrics[number] = stored_metric(self.versions[number - 1])
        return self._metrics[number]

    def _edited(self, row: JournalRow, number: int) -> "_Edited":
        return _Edited(
            f"the content of entry {number} (row {row.seq}) does not match its digest: it was edited; nothing spent",
            where=self.where,
            hints=[("restore the ledger and its witness file", "from a copy of the same moment")],
        )

    def original(self, row: JournalRow, number: int) -> Entry:
        """Read one cost as it was reserved, over the universe of its version.

        A row whose content does not match its digest is refused.
        """
        _ = self.current  # raises if there is no policy
        policy = sum(version.seq < row.seq for version in self.versions)
        try:
            data: dict[str, Any] = json.loads(row.content)
            universe = self.versions[policy - 1].universe
            if not policy or data["universe"] != universe.digest:
                raise ValueError("universe")
            cost = self._costs.get((row.body, policy)) or cost_from(
                data, self.rows_of(data["queries"], universe), partial(self.metric, policy)
            )
            if body_of(cost, data) != row.body:  # the body covers everything that determines the cost
                raise self._edited(row, number)
            self._costs[row.body, policy] = cost
            budget = written_fraction(data["budget"])
            return Entry(number, row.at, row.request, str(data["title"]), budget, cost, policy, row.seq)
        except _Edited:
            raise
        except (DxError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError):
            raise LedgerError(
                f"entry {number} (row {row.seq}) is of a kind that this version does not know; "
                "unknown costs are never skipped",
                where=self.where,
                hints=["use the version that wrote it"],
            ) from None

    def carried(self, rows: Sequence[JournalRow], upgrade: Upgrade, metric: Metric) -> tuple[list[Entry], list[Apart]]:
        """Carry all costs one step beyond the current version; also return where that is not possible."""
        entries = self.entries(rows)
        carried = {id(c): _carried(c, upgrade, metric) for c in {id(e.cost): e.cost for e in entries}.values()}
        kept = [entry for entry in entries if not isinstance(entry.cost, ProportionalCost)]
        apart = [found for entry in kept for found in upgrade.apart(entry.number, entry.cost)]
        return [replace(entry, cost=carried[id(entry.cost)]) for entry in entries], apart

    def _damaged(self, seq: int) -> LedgerError:
        return LedgerError(
            f"row {seq} is a version of the policy to which earlier costs cannot be carried; nothing is spent from it",
            where=self.where,
            hints=["use the version that wrote it"],
        )
