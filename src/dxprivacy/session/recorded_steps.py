"""Steps that a ledger pays for: reserved durably before anything is drawn, kept, and replayed after a crash."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from dxprivacy.errors import BudgetExceeded, DataError, LedgerError
from dxprivacy.histogram import Histogram
from dxprivacy.ledger import Entry, Ledger
from dxprivacy.log import Log
from dxprivacy.mechanisms.planned import Count, Planned
from dxprivacy.mechanisms.spending import Act, StepCost
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import SumCost
from dxprivacy.queries.asked import Stack
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.wording import percent

# -- What comes out when a mechanism is carried out --------------------------------------------------------------------


T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came out, whether it was answered before (then nothing was spent), and its entries in the ledger."""

    made: T
    replayed: bool
    entries: tuple[int, ...]

    @property
    def release(self) -> T:
        """What leaves the house."""
        return self.made

    @property
    def entry(self) -> int:
        """The first of its entries."""
        return self.entries[0]


# -- Steps that a ledger pays for --------------------------------------------------------------------------------------


_LOG = Log("session")
_IN_VAIN = "failed after its cost was reserved, which stays spent"


class Recorded:
    """Spending from a ledger: one entry called `request`, or every step an entry of its own, `request` and its name.

    A run that was interrupted is taken up again under the same request: answered steps come back as they were kept.  A
    step that was reserved but never answered is refused by the ledger, as for any release: its budget is spent.
    """

    def __init__(
        self, ledger: Ledger, request: str, pacing: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self.ledger, self.request, self._pacing = ledger, request, pacing
        self._acting = False
        self.reserved: list[int] = []  # entries that were added: none where everything was answered before

    def step(self, cost: StepCost, queries: Stack, name: str, act: Act, *, asked: Stack | None = None) -> str:
        """Reserve, act, store."""
        request = f"{self.request} {name}".strip()
        entry = self.ledger.reserve(cost, queries, asked=asked, request=request)
        if not isinstance(entry, Entry):
            return entry
        self.reserved.append(entry.number)
        ledger_reference = LedgerReference(
            self.ledger.path.name, entry.number, entry.at, request, self.ledger.worst_case()
        )
        self._acting = True
        try:
            with self._pacing():
                text = act(ledger_reference)
        except DataError as error:
            _LOG.refused(_IN_VAIN, entry=entry.number, ledger=self.ledger.path)
            raise _spent_in_vain(error, ledger_reference) from None
        except Exception:  # whatever it says may quote data: it is not told here
            _LOG.refused(_IN_VAIN, entry=entry.number, ledger=self.ledger.path)
            raise
        except KeyboardInterrupt as stop:
            stop.add_note(f"{_reserved(ledger_reference)} --request NAME asks again, at its full cost.")
            raise
        finally:
            self._acting = False
        self.ledger.finish(request, text)
        return text

    def guarded(self, count: Count) -> Count:
        """A count that refuses to be asked for before a cost was reserved for it."""

        def counted() -> Histogram:
            if not self._acting:
                raise LedgerError("data is counted inside a step that was paid for, and nowhere else")
            return count()

        return counted

    def entries(self, *, in_steps: bool) -> tuple[int, ...]:
        """The numbers of all its entries, those of earlier runs included."""
        mine = f"{self.request} "
        entries = self.ledger.entries()
        return tuple(e.number for e in entries if (e.request.startswith(mine) if in_steps else e.request == mine[:-1]))


def _spent_in_vain(error: DataError, ledger_reference: LedgerReference) -> DataError:
    """Data that could not be counted, after its cost was reserved."""
    again = ("--request NAME", "asks again, at its full cost")
    told = [*error.details, _reserved(ledger_reference)]
    return DataError(error.what, where=error.where, details=told, hints=[*error.hints, again])


def _reserved(ledger_reference: LedgerReference) -> str:
    return (
        f"Its cost was reserved before (entry {ledger_reference.entry} in {ledger_reference.ledger}) and stays spent."
    )


def require_budget(ledger: Ledger, planned: Planned[Any], taken: int) -> None:
    """Refuse a run that the ledger would stop half-way: what its first steps spent would be lost.

    Of one that was interrupted, `taken` entries are there already, and the rest has to fit.
    """
    steps = min(planned.entries - taken, planned.steps)
    rest = planned.cost_of_steps(steps) if steps > 0 else None
    entries = ledger.entries()
    used = sum((e.budget for e in entries), Fraction(0))
    if rest is None or used + planned.budget * steps / planned.steps <= 1:
        return
    spent = SumCost(ledger.universe, [*(e.cost for e in entries), rest])
    if max_ratio(spent, ledger.metric).upper <= 1:
        return
    left = float(1 - used)
    hints = [(f"--budget {int(1000 * left) / 10:g}%", "fits")] if left > 0.001 else []
    raise BudgetExceeded(
        "nothing spent, no data read",
        where="budget exceeded",
        details=[
            f"This run may need up to {percent(float(planned.budget))} of the policy, in {planned.steps} steps; what "
            "was released before leaves less on some pair."
        ],
        hints=[*hints, ("--method direct", "may fit, pair by pair"), ("dxp ledger …", "shows what is left")],
    )
