"""The ledger: the tamper-evident list of what was spent, pair by pair."""

from dxprivacy.ledger.budget import Used
from dxprivacy.ledger.ledger import Entry, Ledger, Told

__all__ = ["Entry", "Ledger", "Told", "Used"]
