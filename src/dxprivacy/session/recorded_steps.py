"""Steps charged to a ledger: reserved durably before noise is drawn, stored, and replayed after a crash."""

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

# -- The result of executing a mechanism -------------------------------------------------------------------------------


T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The result, whether it was answered before (then nothing was spent), and its entries in the ledger."""

    made: T
    replayed: bool
    entries: tuple[int, ...]

    @property
    def release(self) -> T:
        """The release."""
        return self.made

    @property
    def entry(self) -> int:
        """The first of its entries."""
        return self.entries[0]


# -- Steps charged to a ledger -----------------------------------------------------------------------------------------


_LOG = Log("session")
_IN_VAIN = "failed after its cost was reserved, which stays spent"


class Recorded:
    """Charges a ledger: one entry named `request`, or an entry for every step, named `request` and the step's name.

    An interrupted run is resumed under the same request: answered steps return their stored payload.  The ledger
    refuses a step that was reserved but never answered, as for any release: its budget is spent.
    """

    def __init__(
        self, ledger: Ledger, request: str, pacing: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self.ledger, self.request, self._pacing = ledger, request, pacing
        self._acting = False
        self.reserved: list[int] = []  # entries that were added; empty if everything was answered before

    def step(self, cost: StepCost, queries: Stack, name: str, act: Act, *, asked: Stack | None = None) -> str:
        """Reserve the cost, act, store the payload, and return it; a step answered before returns the stored one."""
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
        except Exception:  # its message may quote data, so it is not logged
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
        """Wrap a count so that it refuses to run before its cost was reserved."""

        def counted() -> Histogram:
            if not self._acting:
                raise LedgerError("data is counted only inside a step whose cost was reserved")
            return count()

        return counted

    def entries(self, *, in_steps: bool) -> tuple[int, ...]:
        """Return the numbers of all its entries, including those of earlier runs."""
        mine = f"{self.request} "
        entries = self.ledger.entries()
        return tuple(e.number for e in entries if (e.request.startswith(mine) if in_steps else e.request == mine[:-1]))


def _spent_in_vain(error: DataError, ledger_reference: LedgerReference) -> DataError:
    """Return the error for data that could not be counted after its cost was reserved."""
    again = ("--request NAME", "asks again, at its full cost")
    details = [*error.details, _reserved(ledger_reference)]
    return DataError(error.what, where=error.where, details=details, hints=[*error.hints, again])


def _reserved(ledger_reference: LedgerReference) -> str:
    return (
        f"Its cost was reserved before (entry {ledger_reference.entry} in {ledger_reference.ledger}) and stays spent."
    )


def require_budget(ledger: Ledger, planned: Planned[Any], taken: int) -> None:
    """Refuse a run that the ledger would stop halfway, which would waste the cost of its first steps.

    An interrupted run already has `taken` entries; its remaining steps have to fit.
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
            f"This run may need up to {percent(float(planned.budget))} of the policy, in {planned.steps} steps; "
            "earlier releases leave less on some pair."
        ],
        hints=[*hints, ("--method direct", "may fit, pair by pair"), ("dxp ledger …", "shows what is left")],
    )
