"""The budget ledger: what was spent, pair by pair, durably and tamper-evidently, before anything is answered."""

import hashlib
import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from dxprivacy.bounds import max_ratio
from dxprivacy.errors import LedgerError
from dxprivacy.ledger.budget import Used, most_used, remaining, require_budget, round_share
from dxprivacy.ledger.journal import Journal, Replay
from dxprivacy.ledger.journal import Row as JournalRow
from dxprivacy.model.costs import LaplaceCost, SumCost
from dxprivacy.model.metrics import Constant, Metric
from dxprivacy.model.questions import Stack, from_dict
from dxprivacy.model.universe import Universe


@dataclass(frozen=True)
class Entry:
    """One release in the ledger; numbered from 1."""

    number: int
    at: str
    request: str
    title: str
    share: Fraction
    cost: LaplaceCost


@dataclass(frozen=True)
class Told:
    """How far two records can be told apart by everything released so far."""

    allowed: float
    spent: float
    left: float
    entries: tuple[int, ...]

    @property
    def factor(self) -> float:
        """The odds between the two shift by at most this factor."""
        return math.exp(self.spent) if self.spent < 700 else math.inf


class Ledger:
    """A ledger bound to a dataset and its policy."""

    def __init__(self, journal: Journal, metric: Metric, path: Path) -> None:
        self._journal, self.metric, self.path = journal, metric, path
        self._cache: dict[int, Entry] = {}

    @classmethod
    def open(cls, path: str | Path, metric: Metric, *, dataset: str, timeout: float = 30.0) -> "Ledger":
        """Open or create the ledger of a dataset; refuses another dataset's, another policy's, and an edited one."""
        binding = {"dataset": dataset, "metric": metric.digest, "universe": metric.universe.digest}
        journal = Journal.open(path, binding, timeout=timeout)
        if journal.binding.get("metric") != metric.digest:
            journal.close()
            raise LedgerError(
                "was opened under another version of the policy",
                where=str(path),
                details=["What was spent under the old distances must be carried over, which is not possible yet."],
                hints=["use the policy file that the ledger was started with"],
            )
        return cls(journal, metric, Path(path))

    def close(self) -> None:
        """Release the file."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def universe(self) -> Universe:
        """The possible records."""
        return self.metric.universe

    def reserve(self, cost: LaplaceCost, questions: Stack, *, request: str, share: Fraction) -> Entry | str:
        """Reserve a cost durably, before any noise exists.

        `share` is the certified part of the policy that the cost takes.  The stored release comes back (as JSON text)
        if this very request was answered before: nothing is spent then.
        """
        rounded = round_share(share)
        content = json.dumps(
            {
                "kind": "laplace",
                "title": " + ".join(str(q) for q in questions.questions),
                "questions": questions.to_dict(),
                "universe": self.universe.digest,
                "scales": [float(s).hex() for s in cost.scales],
                "share": str(rounded),
            },
            sort_keys=True,
            ensure_ascii=False,
        )
        body = hashlib.sha256(content.encode()).hexdigest()

        def decide(rows: list[JournalRow]) -> None:
            before = [self._entry(row) for row in rows]
            shares = sum((e.share for e in before), Fraction(0))
            require_budget([e.cost for e in before], shares, cost, rounded, self.metric)

        outcome = self._journal.reserve(request, body, content, decide)
        if isinstance(outcome, Replay):
            return outcome.content
        return next(entry for entry in self.entries() if entry.request == request)

    def finish(self, request: str, release: str) -> None:
        """Store the release (JSON text) before it leaves."""
        self._journal.finish(request, release)

    def entries(self) -> list[Entry]:
        """All reserved costs, oldest first."""
        reserved = [row for row in self._journal.rows() if row.kind == "reserve"]
        return [replace(self._entry(row), number=k) for k, row in enumerate(reserved, 1)]

    def _entry(self, row: JournalRow) -> Entry:
        if row.seq not in self._cache:
            self._cache[row.seq] = self._parse(row)
        return self._cache[row.seq]

    def _parse(self, row: JournalRow) -> Entry:
        try:
            data: dict[str, Any] = json.loads(row.content)
            if data["kind"] != "laplace" or data["universe"] != self.universe.digest:
                raise ValueError("kind")
            questions = Stack(tuple(from_dict(q) for q in data["questions"]))
            cost = LaplaceCost(questions.on(self.universe), [float.fromhex(s) for s in data["scales"]])
            return Entry(0, row.at, row.request, str(data["title"]), Fraction(data["share"]), cost)
        except (KeyError, ValueError, TypeError):
            raise LedgerError(
                f"entry {row.seq} is of a kind that this version does not know; unknown costs are never skipped",
                where=str(self.path),
                hints=["use the version that wrote it"],
            ) from None

    @property
    def spent(self) -> SumCost:
        """Everything spent so far, as one cost."""
        return SumCost(self.universe, [e.cost for e in self.entries()])

    def worst_case(self) -> float:
        """The plain-DP reading of everything so far: the largest loss over all pairs."""
        spent = self.spent
        return float(max_ratio(spent, Constant(self.universe, Fraction(1))).upper) if spent.costs else 0.0

    def remaining(self, i: int, j: int) -> float:
        """What is left for a pair of cells, detours included."""
        return remaining(self.spent, self.metric, i, j)

    def tell_apart(self, a: dict[str, object] | int, b: dict[str, object] | int) -> Told:
        """How far two records can be told apart so far; records as cells or as {attribute: value}.

        Attributes that neither record names are alike in both.
        """
        i, j = self._cells(a, b)
        entries = self.entries()
        parts = [(e.number, e.cost.exact(i, j)) for e in entries]
        spent = float(sum((x for _, x in parts), Fraction(0)))
        return Told(
            float(self.metric.exact(i, j)),
            spent,
            self.remaining(i, j),
            tuple(number for number, x in parts if x > 0),
        )

    def _cells(self, a: dict[str, object] | int, b: dict[str, object] | int) -> tuple[int, int]:
        if isinstance(a, int) and isinstance(b, int):
            self.universe.record(a), self.universe.record(b)
            return a, b
        if isinstance(a, int) or isinstance(b, int):
            raise LedgerError("give both records in the same way: as cells or by their values")
        cells = []
        for record, partner in ((a, b), (b, a)):
            cell = 0
            for name in record:
                self.universe.axis(name)
            for attribute, stride in zip(self.universe.attributes, self.universe.strides, strict=True):
                given = record.get(attribute.name, partner.get(attribute.name))
                cell += (attribute.find(given) if given is not None else 0) * stride
            cells.append(cell)
        return cells[0], cells[1]

    def most_exhausted(self, count: int = 10) -> list[Used]:
        """The pairs with the largest part of their budget used."""
        return most_used(self.spent, self.metric, count)

    def verify(self) -> int:
        """Check the chain, the witness, and that no pair is overspent; returns the number of rows."""
        rows = self._journal.verify()
        entries = self.entries()
        shares = sum((e.share for e in entries), Fraction(0))
        if shares > 1 and max_ratio(self.spent, self.metric).upper > 1:
            raise LedgerError("more was spent than the policy allows", where=str(self.path))
        return rows
