"""Where a cost stands in a ledger that was reserved: what every released file says about it."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LedgerReference:
    """An entry of a ledger; `so_far` is the standard-DP reading of everything in it, this entry included."""

    ledger: str  # the name of its file
    entry: int
    at: str
    request: str
    so_far: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON; an infinite number as null."""
        return {
            "file": self.ledger,
            "entry": self.entry,
            "at": self.at,
            "request": self.request,
            "worst_case_epsilon": self.so_far if math.isfinite(self.so_far) else None,
        }


NOWHERE = LedgerReference("no ledger", 0, "", "", math.inf)
"""For whoever spends without a ledger."""
