"""The budget ledger: reserves costs durably, pair by pair and tamper-evidently, before anything is answered."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np

from dxprivacy.errors import BudgetExceeded, LedgerError, QueryError, UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.ledger.adoption import Adoption, adopt
from dxprivacy.ledger.history import Entry, History, body_of, cost_content
from dxprivacy.ledger.journal import Journal, Replay, is_missing, require_writable
from dxprivacy.ledger.journal import JournalRow as JournalRow
from dxprivacy.ledger.ledger_budget import (
    SoFar,
    Used,
    bracket,
    certified_budget,
    checked_budget,
    most_used,
    require_budget,
)
from dxprivacy.ledger.leftover import CONTEXTS, Leftover
from dxprivacy.ledger.policy_versions import RecordedPolicy, Version
from dxprivacy.log import Log
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import present
from dxprivacy.policy import Policy
from dxprivacy.privacy import contexts_of, max_ratio
from dxprivacy.privacy.costs import RowsCost, SumCost
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import Displayed, plural, quoted

_LOG = Log("ledger")
_MOST_CONTEXTS = 1_000_000


@dataclass(frozen=True)
class PairBudget:
    """How distinguishable two records are by everything released so far.

    Under `[people]` these are two people all of whose kept rows differ like the two records.
    """

    allowed: float
    spent: float  # upper bound on the privacy loss between the two so far; at most the worst-case ε of the ledger
    charged: float  # counted as used of `allowed`: more than `spent` for counts of people and maps
    left: float | None  # what can still be spent; None if only a range is known
    entries: tuple[int, ...]
    by_way_of: str | None = None  # the record on a detour that has less left than the direct step
    between: tuple[float, float] | None = None  # bounds on what is left, if `left` is unknown
    bound: float | None = None  # the used fraction of every pair, if the ledger decides by a bound

    @property
    def factor(self) -> float:
        """The largest factor by which the odds between the two can change."""
        return math.exp(self.spent) if self.spent < 700 else math.inf


class Ledger(Displayed):
    """A ledger bound to a dataset and to the current version of its policy.

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"] * 100})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     _ = session.release(session.plan("count by sex", budget="25%"))
    ...     session.ledger.remaining(0, 1) >= 0.75  # of the ε 1 between F and M
    True
    """

    def __init__(self, path: Path, version: Version, dataset: str, timeout: float) -> None:
        self.path, self._version, self._dataset, self._timeout = path, version, dataset, timeout
        self.metric = version.metric
        self._journal: Journal | None = None  # None until the first reservation makes the file
        self._history = History([], str(path))
        self._is_settled = False  # True once costs were seen, all reserved under this version
        self._is_closed = False
        self.is_new = False
        """True if the ledger did not exist when this object was opened."""
        self._left: tuple[int, Leftover] | None = None
        self._worst = SoFar.nothing(self.metric.universe)
        self._summed = (0, Fraction(0))  # number of entries, and the sum of their budgets
        self._entry_budgets: WeakKeyDictionary[RowsCost, Fraction] = WeakKeyDictionary()
        self._checked: list[Fraction] = []  # the fractions of the entries, in their order
        self._budgets: dict[tuple[str, str, bytes], Fraction] = {}  # cached: adaptive mechanisms repeat costs

    def in_short(self) -> str:
        if self._journal is None:
            return f"{self.path.name!r}, not made yet"
        return f"{self.path.name!r}, {plural(len(self._history.versions), 'version')} of the policy"

    @classmethod
    def open(
        cls,
        path: str | Path,
        policy: Policy | Metric | Version,
        *,
        dataset: str = "",
        timeout: float = 30.0,
        new_ledger: bool = False,
    ) -> "Ledger":
        """Open the ledger of a dataset; refuses that of another dataset or version.

        A ledger that its chain or its witness contradicts is refused, too.  Contents and budgets of entries are checked
        before their first use (`entries`, `reserve`, `verify`).

        `policy` is a policy, or a metric with the name of the dataset.  `new_ledger` creates the ledger if it is
        missing (with its first reservation); an existing one is opened.  A ledger without reservations accepts any
        policy of its dataset.
        """
        ledger = cls(Path(path), Version.of(policy), _dataset(policy, dataset), timeout)
        try:
            ledger.is_new = new_ledger and is_missing(path)
            if ledger.is_new:
                require_writable(path)
            else:
                ledger._journal = ledger._opened(create=new_ledger)
                ledger._follow(ledger._journal, ledger._journal.reserved())
        except BaseException:
            ledger.close()
            raise
        if not ledger.is_new:
            ledger._tell("ledger opened")
        return ledger

    def _opened(self, *, create: bool) -> Journal:
        return Journal.open(self.path, {"dataset": self._dataset}, timeout=self._timeout, create=create)

    def _tell(self, what: str) -> None:
        _LOG.event(what, ledger=self.path, dataset=self._dataset, policy=self.metric.digest[:8])

    def _found(self) -> Journal | None:
        """Return the journal if its file exists by now; another process may have created it."""
        if self._journal is None:
            if self._is_closed:
                raise LedgerError("closed", where=str(self.path), hints=["open it again"])
            if not is_missing(self.path):
                self._journal = self._opened(create=True)
        return self._journal

    def _started(self) -> Journal:
        """Return the journal, created if missing; without reservations, its last policy row is this version.

        Only a crash leaves a ledger without reservations; the next policy is recorded in it like the first one.
        """
        journal = self._found()
        if journal is None:
            journal = self._journal = self._opened(create=True)
        if not self._is_settled and journal.adopt(self._first_version) is not None:
            self._tell("ledger started")
        return journal

    def _first_version(self, policies: list[JournalRow], reserved: list[JournalRow]) -> tuple[str, str] | None:
        """Return the policy row of a ledger without reservations; None if there is nothing to record."""
        if reserved or (policies and History(policies, str(self.path)).current.is_version(self._version)):
            return None
        return self.metric.digest, self._version.content({})

    def _follow(self, journal: Journal, reserved: Sequence[JournalRow], *, spends: bool = False) -> None:
        """Raise LedgerError if costs were, or would be, reserved under another version than that of this object."""
        if len(journal.policies) != len(self._history.versions):
            if self._is_settled:
                raise LedgerError(
                    "another version of the policy was adopted meanwhile; nothing was spent",
                    where=str(self.path),
                    hints=["open the ledger again, with the new policy"],
                )
            self._history.follow(journal.policies)
        if (reserved or spends) and not self._history.current.is_version(self._version):
            raise _other_version(self._history, self._version, self.path)
        self._is_settled = bool(reserved)

    @classmethod
    def adopting(
        cls,
        path: str | Path,
        policy: Policy | Metric | Version,
        *,
        dataset: str = "",
        dry_run: bool = False,
        looser: bool = False,
        timeout: float = 30.0,
    ) -> Adoption:
        """Adopt a new version of the policy in an existing ledger, without the old policy file."""
        version, name = Version.of(policy), _dataset(policy, dataset)
        with Journal.open(path, {"dataset": name}, timeout=timeout, create=False) as journal:
            return adopt(journal, version, dry_run=dry_run, looser=looser)

    def adopt(self, policy: Policy | Metric | Version, *, dry_run: bool = False, looser: bool = False) -> Adoption:
        """Adopt a new version of the policy; from here on this ledger is over its universe.

        Every cost so far is carried over exactly; refused if that is not possible, or if the sum does not fit.
        A version that makes some people more distinguishable than before needs `looser=True`.
        """
        if isinstance(policy, Policy) and policy.dataset != self._dataset:
            raise LedgerError(f"the policy is for dataset “{policy.dataset}”", where=str(self.path))
        version, journal = Version.of(policy), self._found()
        if journal is None:
            hint = "open it with the new policy"
            raise LedgerError("there is no ledger yet, and nothing to carry over", where=str(self.path), hints=[hint])
        adoption = adopt(journal, version, dry_run=dry_run, looser=looser)
        if not dry_run:
            self._version, self.metric = version, version.metric
            self._history.follow(journal.policies)
            self._left, self._budgets, self._summed, self._checked = None, {}, (0, Fraction(0)), []
            self._entry_budgets.clear()
            self._worst = SoFar.nothing(version.metric.universe)
        return adoption

    def close(self) -> None:
        """Close the file."""
        self._is_closed = True
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def universe(self) -> Universe:
        """The possible records."""
        return self.metric.universe

    @property
    def versions(self) -> list[RecordedPolicy]:
        """All recorded versions of the policy, the current one last; none before the first reservation."""
        return list(self._history.versions)

    def reserve(self, cost: RowsCost, queries: Stack, *, request: str, asked: Stack | None = None) -> Entry | str:
        """Reserve a cost durably, before any noise exists.

        `queries` are the measured queries, `asked` the workload, if it differs.

        The fraction of the policy that the cost uses is computed here.  If this request was answered before, the stored
        release is returned as JSON text, and nothing is spent.
        """
        content = cost_content(cost, queries, asked)
        body = body_of(cost, content)
        if self._history.rows_of(content["queries"], cost.universe).digest != cost.workload.digest:
            raise LedgerError("the queries do not describe the cost; nothing was spent", where=str(self.path))
        journal = self._found()
        if journal is not None and (stored := journal.answered(request, body)) is not None:
            return self._repeated(stored, request)
        if cost.universe != self.universe:
            raise LedgerError("the cost is over the records of another version of the policy", where=str(self.path))
        with self._telling_refusals(request):
            rounded = self._budget(cost)
        text = json.dumps({**content, "budget": str(rounded)}, sort_keys=True, ensure_ascii=False)
        number = 0

        def decide(rows: list[JournalRow]) -> None:
            nonlocal number
            before = self._entries(rows)
            budgets = self._budgets_of(before)
            require_budget([e.cost for e in before], budgets, cost, rounded, self.metric)
            number = len(before) + 1

        def decide_inside(rows: list[JournalRow]) -> None:
            self._follow(started, rows, spends=True)
            decide(rows)

        with self._telling_refusals(request):
            if not self._is_settled:
                decide([])  # a refused cost creates no file and records no policy
            started = self._started()
            outcome = started.reserve(request, body, text, decide_inside)
        if isinstance(outcome, Replay):
            return self._repeated(outcome, request)
        self._is_settled = True
        self._history.remember(body, cost)
        self._entry_budgets[cost] = rounded
        _LOG.event("cost reserved", entry=number, budget=rounded, request=request, ledger=self.path)
        return self._history.entry(outcome, number)

    def _repeated(self, stored: Replay, request: str) -> str:
        _LOG.event("answered before, nothing spent", request=request, ledger=self.path)
        return stored.content

    @contextmanager
    def _telling_refusals(self, request: str) -> Iterator[None]:
        try:
            yield
        except BudgetExceeded:
            _LOG.refused("budget exceeded, nothing spent", request=request, ledger=self.path)
            raise

    def _budgets_of(self, entries: Sequence[Entry]) -> Fraction:
        # The sum of all budgets; entries are only appended, so only new ones are added.
        count, total = self._summed
        total = sum((e.budget for e in entries[count:]), total)
        self._summed = (len(entries), total)
        return total

    def _budget(self, cost: RowsCost) -> Fraction:
        """Return the fraction of the policy that a cost uses: computed once per process, never read from the file."""
        if cost.identity not in self._budgets:
            self._budgets[cost.identity] = certified_budget(cost, self.metric)
        return self._budgets[cost.identity]

    def _entry_budget(self, cost: RowsCost) -> Fraction:
        """Return the same for the cost of an entry, cached by object: carried costs have no digest."""
        if cost not in self._entry_budgets:
            self._entry_budgets[cost] = certified_budget(cost, self.metric)
        return self._entry_budgets[cost]

    def verify_on_disk(self) -> None:
        """Raise LedgerError if the ledger, stored releases included, was damaged since; called before spending."""
        if (journal := self._found()) is not None:
            journal.verify_on_disk()

    def finish(self, request: str, release: str) -> None:
        """Store the release (JSON text) before it is returned to the user."""
        if (journal := self._found()) is None:
            raise LedgerError(f"request “{request}” was never reserved", where=str(self.path))
        journal.finish(request, release)
        _LOG.event("release stored", request=request, ledger=self.path)

    def entries(self) -> list[Entry]:
        """Return all reserved costs, oldest first, carried to the current version."""
        if (journal := self._found()) is None:
            return []
        rows = journal.reserved()
        self._follow(journal, rows)
        return self._entries(rows)

    def _entries(self, rows: list[JournalRow]) -> list[Entry]:
        """Return the entries of the reserve rows, with budgets recomputed from their costs.

        Chain and witness show that rows are as they were written, not that this program wrote them.
        """
        entries = self._history.entries(rows)
        for entry in entries[len(self._checked) :]:
            self._checked.append(checked_budget(entry, self._entry_budget, str(self.path)))
        return [e if e.budget == s else replace(e, budget=s) for e, s in zip(entries, self._checked, strict=True)]

    @property
    def spent(self) -> SumCost:
        """The sum of all costs so far."""
        return SumCost(self.universe, [e.cost for e in self.entries()])

    def worst_case(self, more: RowsCost | None = None) -> float:
        """Return the worst-case ε of everything so far (and of one more cost)."""
        costs = [entry.cost for entry in self.entries()]
        self._worst = self._worst.up_to(costs)
        return self._worst.value if more is None else self._worst.plus(more).value

    def remaining(self, i: int, j: int) -> float:
        """Return what can still be spent on a pair of records, including detours over other records.

        Under `[people]` it is that of two people all of whose rows differ so. If the ledger can only decide by an upper
        bound, it is what that bound leaves.
        """
        return self._leftover(self.spent).spendable(i, j)[0] * self.universe.rows_each

    def _leftover(self, spent: SumCost) -> Leftover:
        # Cached until costs are added.
        if self._left is None or self._left[0] != len(spent.costs):
            self._left = (len(spent.costs), Leftover(spent, self.metric))
        return self._left[1]

    def between(self, a: dict[str, object] | int, b: dict[str, object] | int) -> PairBudget:
        """Return how distinguishable two records are so far; records as indices or as {attribute: value}.

        Attributes that neither record names are equal in both, and their worst values count.  Under add-remove
        neighbors, {} is the absent record.
        """
        first, second = self._candidates(a, b)
        entries = self.entries()
        spent = SumCost(self.universe, [e.cost for e in entries])
        worst = np.argsort(-spent.pairwise(first, second), kind="stable")[:CONTEXTS]
        pairs = list(zip(first[worst].tolist(), second[worst].tolist(), strict=True))
        here, there = pairs[0]
        parts = [(e.number, e.cost.exact(here, there)) for e in entries]
        left: float | None = None
        detour, between = None, None
        leftover = self._leftover(spent)
        try:
            if not leftover.bound.exact or len(first) > CONTEXTS:
                raise QueryError("what is left is only bounded")
            way = min((leftover.between(i, j) for i, j in pairs), key=lambda w: w.left)
            left, detour = way.left, leftover.detour(way)
        except QueryError:
            between = bracket(spent, self.metric, pairs)
        each = self.universe.rows_each  # under [people]: two people all of whose rows differ so
        return PairBudget(
            allowed=float(self.metric.exact(here, there)) * each,
            spent=float(spent.per_person(here, there)),
            charged=float(sum((x for _, x in parts), Fraction(0)) * each),
            left=None if left is None else left * each,
            entries=tuple(number for number, x in parts if x > 0),
            by_way_of=None if detour is None else self._words(detour, here, there),
            between=None if between is None else (between[0] * each, between[1] * each),
            bound=None if leftover.bound.exact else float(leftover.bound.upper),
        )

    def _words(self, cell: int, i: int, j: int) -> str:
        # A record on a detour, named by the attributes in which it differs from both ends (or from either).
        if cell == self.universe.absent:
            return "being absent"
        record, first, second = (self.universe.record(c) for c in (cell, i, j))
        names = [n for n in record if record[n] not in (first[n], second[n])]
        names = names or [n for n in record if record[n] != first[n] or record[n] != second[n]]
        return ", ".join(f"{n} {record[n]}" for n in names)

    def _candidates(self, a: dict[str, object] | int, b: dict[str, object] | int) -> tuple[Ints, Ints]:
        # The pairs of records that two descriptions may mean: one for each context of the unnamed attributes.
        if isinstance(a, int) and isinstance(b, int):
            self.universe.record(a), self.universe.record(b)
            return self.universe.numbered([a]), self.universe.numbered([b])
        if isinstance(a, int) or isinstance(b, int):
            raise LedgerError("give both records in the same way: as indices or by their values")
        for name in (*a, *b):
            self.universe.axis(name)
        if self.universe.absent is not None and bool(a) != bool(b):
            present_ones = self._in_context(a or b) + self._cell(a or b)
            return present_ones, np.full_like(present_ones, self.universe.absent)
        if set(a) != set(b) or not a:
            raise QueryError("both records must name the same attributes", hints=[("age=64 age=65", "for example")])
        free = [k for k, x in enumerate(self.universe.attributes) if x.name not in a]
        if free and present(self.metric).axes is None and not isinstance(present(self.metric), Constant):
            names = ", ".join(self.universe.names[k] for k in free)
            raise QueryError(f"the distance depends on {names} too", hints=["name every attribute of both records"])
        contexts = self._in_context(a)
        return contexts + self._cell(a), contexts + self._cell(b)

    def _cell(self, record: dict[str, object]) -> int:
        # The index of a record, with unnamed attributes at their first value.
        named = zip(self.universe.attributes, self.universe.strides, strict=True)
        return sum(a.find(record[a.name]) * stride for a, stride in named if a.name in record)

    def _in_context(self, record: dict[str, object]) -> Ints:
        # Index offsets of the contexts: values of the unnamed attributes that can change a loss.
        free = [k for k, x in enumerate(self.universe.attributes) if x.name not in record]
        contexts = contexts_of(self.spent.terms, free, self.universe, _MOST_CONTEXTS)
        if contexts is None:
            raise QueryError("too many combinations of the other attributes", hints=["name more of them"])
        return contexts

    def most_exhausted(self, count: int = 10) -> list[Used]:
        """Return the pairs with the largest used fraction of their budget."""
        return most_used(self.spent, self.metric, count)

    def verify(self) -> int:
        """Check the chain, the witness, and that no pair is overspent; return the number of rows."""
        journal = self._found()
        rows = 0 if journal is None else journal.verify()
        entries = self.entries()
        budgets = sum((e.budget for e in entries), Fraction(0))
        if budgets > 1 and max_ratio(self.spent, self.metric).upper > 1:
            raise LedgerError("more was spent than the policy allows", where=str(self.path))
        return rows


def _dataset(policy: Policy | Metric | Version, dataset: str) -> str:
    name = dataset or (policy.dataset if isinstance(policy, Policy) else "")
    if not name:
        raise UsageError("a ledger belongs to a dataset", hints=[('dataset="household-2026"', "names it")])
    return name


def _other_version(history: History, version: Version, path: str | Path) -> LedgerError:
    # The error for a ledger that follows another version of the policy.
    current = history.current
    older = [v for v in history.versions[:-1] if v.is_version(version)]
    if older:
        return LedgerError(
            f"this is an older version of the policy: {older[-1].words}",
            where=str(path),
            details=[f"The ledger follows {current.words} since {current.at[:10]} (row {current.seq})."],
            hints=[("--policy FILE", f"the file of {current.words}")],
        )
    return LedgerError(
        "was opened under another version of the policy",
        where=str(path),
        details=[
            f"The ledger follows {current.words} since {current.at[:10]}.",
            "What was spent under it can be carried over to the new version, if it fits.",
        ],
        hints=[
            ("--policy FILE", f"the file of {current.words}, if another one was read by mistake"),
            (f"dxp ledger {quoted(path)} --policy NEW.toml --adopt", "carries the costs; --dry-run shows it first"),
        ],
    )
