"""The ledger: the tamper-evident list of what was spent, pair by pair."""

from dxprivacy.ledger.adoption import Adoption
from dxprivacy.ledger.budget import Used
from dxprivacy.ledger.history import Entry
from dxprivacy.ledger.ledger import Ledger, Told

__all__ = ["Adoption", "Entry", "Ledger", "Told", "Used"]
