"""The budget ledger: what was spent, pair by pair, durably and tamper-evidently, before anything is answered."""

import hashlib
import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np

from dxprivacy.bounds import contexts_of, largest_loss, max_ratio
from dxprivacy.errors import LedgerError, QuestionError
from dxprivacy.ledger.budget import Used, certified_share, most_used, remaining, require_budget
from dxprivacy.ledger.journal import Journal, Replay
from dxprivacy.ledger.journal import Row as JournalRow
from dxprivacy.model.arrays import Ints
from dxprivacy.model.costs import LaplaceCost, SumCost
from dxprivacy.model.metrics import Constant, Metric
from dxprivacy.model.question_json import from_dict
from dxprivacy.model.questions import Stack
from dxprivacy.model.universe import Universe

_CONTEXTS = 64  # so many of the worst contexts are searched for what is left
_MOST_CONTEXTS = 1_000_000


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
    left: float | None  # None where too many linked records decide it
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

    def reserve(self, cost: LaplaceCost, questions: Stack, *, request: str) -> Entry | str:
        """Reserve a cost durably, before any noise exists.

        Which part of the policy the cost takes is computed here: nobody's word is taken for it.  The stored release
        comes back (as JSON text) if this very request was answered before: nothing is spent then.
        """
        rounded = certified_share(cost, self.metric)
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
        body = hashlib.sha256(f"{cost.workload.digest} {content}".encode()).hexdigest()
        if self._cost(json.loads(content)).workload.digest != cost.workload.digest:
            raise LedgerError("the questions do not describe the cost; nothing was spent", where=str(self.path))

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
            cost = self._cost(data)
            return Entry(0, row.at, row.request, str(data["title"]), Fraction(data["share"]), cost)
        except (KeyError, ValueError, TypeError, QuestionError):
            raise LedgerError(
                f"entry {row.seq} is of a kind that this version does not know; unknown costs are never skipped",
                where=str(self.path),
                hints=["use the version that wrote it"],
            ) from None

    def _cost(self, data: dict[str, Any]) -> LaplaceCost:
        questions = Stack(tuple(from_dict(q) for q in data["questions"]))
        return LaplaceCost(questions.on(self.universe), [float.fromhex(s) for s in data["scales"]])

    @property
    def spent(self) -> SumCost:
        """Everything spent so far, as one cost."""
        return SumCost(self.universe, [e.cost for e in self.entries()])

    def worst_case(self, more: LaplaceCost | None = None) -> float:
        """The plain-DP reading of everything so far (and of one cost more): the largest loss over all pairs."""
        costs = [*self.spent.costs, *([more] if more is not None else [])]
        return largest_loss(SumCost(self.universe, costs))[0] if costs else 0.0

    def remaining(self, i: int, j: int) -> float:
        """What is left for a pair of cells, detours included."""
        return remaining(self.spent, self.metric, i, j)

    def tell_apart(self, a: dict[str, object] | int, b: dict[str, object] | int) -> Told:
        """How far two records can be told apart so far; records as cells or as {attribute: value}.

        Attributes that neither record names are alike in both, and the worst of their values counts.
        """
        contexts, (i, j) = self._contexts(a, b)
        entries = self.entries()
        spent = SumCost(self.universe, [e.cost for e in entries])
        worst = contexts[np.argsort(-spent.pairwise(contexts + i, contexts + j), kind="stable")][:_CONTEXTS]
        i, j = int(worst[0]) + i, int(worst[0]) + j
        parts = [(e.number, e.cost.exact(i, j)) for e in entries]
        left: float | None
        try:
            left = min(self.remaining(i + int(c - worst[0]), j + int(c - worst[0])) for c in worst)
        except QuestionError:
            left = None
        return Told(
            float(self.metric.exact(i, j)),
            float(sum((x for _, x in parts), Fraction(0))),
            left,
            tuple(number for number, x in parts if x > 0),
        )

    def _contexts(self, a: dict[str, object] | int, b: dict[str, object] | int) -> tuple[Ints, tuple[int, int]]:
        """The two cells with unnamed attributes at 0, and what the worst values of those may add to both."""
        zero = np.zeros(1, dtype=np.int64)
        if isinstance(a, int) and isinstance(b, int):
            self.universe.record(a), self.universe.record(b)
            return zero, (a, b)
        if isinstance(a, int) or isinstance(b, int):
            raise LedgerError("give both records in the same way: as cells or by their values")
        for name in (*a, *b):
            self.universe.axis(name)
        if set(a) != set(b) or not a:
            raise QuestionError("both records must name the same attributes", hints=[("age=64 age=65", "for example")])
        free = [k for k, x in enumerate(self.universe.attributes) if x.name not in a and x.name not in b]
        if free and self.metric.axes is None and not isinstance(self.metric, Constant):
            names = ", ".join(self.universe.names[k] for k in free)
            raise QuestionError(f"the distance depends on {names} too", hints=["name every attribute of both records"])
        cells = []
        for record, partner in ((a, b), (b, a)):
            cell = 0
            for attribute, stride in zip(self.universe.attributes, self.universe.strides, strict=True):
                given = record.get(attribute.name, partner.get(attribute.name))
                cell += (attribute.find(given) if given is not None else 0) * stride
            cells.append(cell)
        contexts = contexts_of(self.spent.terms, free, self.universe, _MOST_CONTEXTS)
        if contexts is None:
            raise QuestionError("too many combinations of the other attributes", hints=["name more of them"])
        return contexts, (cells[0], cells[1])

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
