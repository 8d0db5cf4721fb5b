"""The costs in a journal, each under the version of the policy it was reserved for, brought to the latest one."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dxprivacy.errors import DxError, LedgerError
from dxprivacy.ledger.journal import Row
from dxprivacy.ledger.upgrade import Apart, Upgrade
from dxprivacy.ledger.versions import Recorded
from dxprivacy.model.costs import LaplaceCost, RowsCost
from dxprivacy.model.question_json import from_dict
from dxprivacy.model.questions import Question, Stack
from dxprivacy.model.universe import Universe


@dataclass(frozen=True)
class Entry:
    """One release in the ledger; numbered from 1.

    `cost` is over the current universe and `share` of the current policy; `policy` is the number of the version under
    which it was released, and `row` the row of the journal.
    """

    number: int
    at: str
    request: str
    title: str
    share: Fraction
    cost: RowsCost
    policy: int = 1
    row: int = 0


def cost_content(cost: RowsCost, questions: Stack, asked: Stack | None = None) -> dict[str, Any]:
    """What a journal keeps of a cost, without the share, which depends on the policy.

    `questions` are those that are put to the data, and the cost is theirs; `asked` those that people asked, if others.
    """
    other = asked is not None and asked.to_dict() != questions.to_dict()
    return {
        "kind": "laplace",
        "title": " + ".join(str(q) for q in (asked if asked and other else questions).questions),
        "questions": questions.to_dict(),
        "universe": cost.universe.digest,
        "scales": [float(s).hex() for s in cost.scales],
        **({"asked": asked.to_dict()} if asked and other else {}),
    }


def _untitled(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in q.items() if k != "title"} for q in questions]


def body_of(cost: RowsCost, content: dict[str, Any]) -> str:
    """Identifies a request's content: the same request must mean the same plan, whatever its questions are called."""
    kept = {k: v for k, v in content.items() if k != "share"}
    kept |= {k: _untitled(kept[k]) for k in ("questions", "asked") if k in kept}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(f"{cost.workload.digest} {text}".encode()).hexdigest()


def cost_from(content: dict[str, Any], universe: Universe) -> RowsCost:
    """The cost again.  Targets are left out: they decide scales, which are given, and no rows."""
    asked = [from_dict(q) for q in content["questions"]]
    bare = [replace(q, within=None, unit="") if isinstance(q, Question) else q for q in asked]
    return LaplaceCost(Stack(tuple(bare)).on(universe), [float.fromhex(s) for s in content["scales"]])


class History:
    """The versions of a journal's policy, and its costs seen from the last one."""

    def __init__(self, policies: Sequence[Row], where: str) -> None:
        self.where = where
        self.versions = [Recorded.read(row, number, where) for number, row in enumerate(policies, 1)]
        if not self.versions:
            raise LedgerError("the ledger does not say under which policy it was written", where=where)
        self._steps: dict[int, Upgrade] = {}
        self._entries: dict[int, Entry] = {}

    @property
    def current(self) -> Recorded:
        """The version that counts now."""
        return self.versions[-1]

    def step(self, k: int) -> Upgrade:
        """From version k (counted from 1) to the next."""
        if k not in self._steps:
            old, new = self.versions[k - 1], self.versions[k]
            try:
                self._steps[k] = Upgrade.between(old.universe, new.universe, new.recoded)
            except DxError:
                raise self._damaged(new.seq) from None
        return self._steps[k]

    def entries(self, rows: Sequence[Row]) -> list[Entry]:
        """All costs, oldest first; `rows` are the reserve rows."""
        return [self.entry(row, number) for number, row in enumerate(rows, 1)]

    def entry(self, row: Row, number: int) -> Entry:
        """One cost, carried to the current version."""
        if row.seq not in self._entries:
            entry = self.original(row, number)
            for k in range(entry.policy, len(self.versions)):
                step = self.step(k)
                if step.apart(number, entry.cost):  # it was checked on adoption, so somebody changed the row
                    raise self._damaged(self.versions[k].seq)
                entry = replace(entry, cost=step.carry(entry.cost))
            if entry.policy < len(self.versions):
                if row.seq not in self.current.shares:
                    raise self._damaged(self.current.seq)
                entry = replace(entry, share=self.current.shares[row.seq])
            self._entries[row.seq] = entry
        return replace(self._entries[row.seq], number=number)

    def original(self, row: Row, number: int) -> Entry:
        """One cost as it was reserved, over the universe of its time."""
        policy = sum(version.seq < row.seq for version in self.versions)
        try:
            data: dict[str, Any] = json.loads(row.content)
            universe = self.versions[policy - 1].universe
            if not policy or data["kind"] != "laplace" or data["universe"] != universe.digest:
                raise ValueError("kind")
            cost = cost_from(data, universe)
            if body_of(cost, data) != row.body:
                raise ValueError("body")
            share = Fraction(data["share"])
            return Entry(number, row.at, row.request, str(data["title"]), share, cost, policy, row.seq)
        except (DxError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError):
            raise LedgerError(
                f"entry {number} (row {row.seq}) is of a kind that this version does not know; "
                "unknown costs are never skipped",
                where=self.where,
                hints=["use the version that wrote it"],
            ) from None

    def carried(self, rows: Sequence[Row], upgrade: Upgrade) -> tuple[list[Entry], list[Apart]]:
        """All costs one step further than the current version, and where that is not possible."""
        out: list[Entry] = []
        apart: list[Apart] = []
        for entry in self.entries(rows):
            apart += upgrade.apart(entry.number, entry.cost)
            out.append(replace(entry, cost=upgrade.carry(entry.cost)))
        return out, apart

    def _damaged(self, seq: int) -> LedgerError:
        return LedgerError(
            f"row {seq} is a version of the policy to which earlier costs cannot be carried; nothing is spent from it",
            where=self.where,
            hints=["use the version that wrote it"],
        )
