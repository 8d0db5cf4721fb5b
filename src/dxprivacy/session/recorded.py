"""Steps that a ledger pays for: reserved durably before anything is drawn, kept, and replayed after a crash."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from dxprivacy.ledger import Entry, Ledger
from dxprivacy.mechanisms.spending import StepCost
from dxprivacy.questions.questions import Stack


class Recorded:
    """Spending from a ledger, every step as an entry of its own: `request` and the name of the step.

    A run that was interrupted is taken up again under the same request: answered steps come back as they were kept.  A
    step that was reserved but never answered is refused by the ledger, as for any release: its budget is spent.
    """

    def __init__(
        self, ledger: Ledger, request: str, pacing: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self.ledger, self.request, self._pacing = ledger, request, pacing

    def step(self, cost: StepCost, questions: Stack, name: str, act: Callable[[], str]) -> str:
        """Reserve, act, store."""
        request = f"{self.request} {name}"
        entry = self.ledger.reserve(cost, questions, request=request)
        if not isinstance(entry, Entry):
            return entry
        with self._pacing():
            text = act()
        self.ledger.finish(request, text)
        return text
