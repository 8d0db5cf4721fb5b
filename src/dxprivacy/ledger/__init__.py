"""The ledger: what was spent, pair by pair, durably.

In reading order: `witness`, `journal`, `policy_versions`, `policy_upgrade`, `history`, `leftover`, `ledger_budget`,
`receipt`, `adoption`, `ledger`.
"""

from dxprivacy.ledger.adoption import Adoption
from dxprivacy.ledger.history import Entry
from dxprivacy.ledger.ledger import Ledger, PairBudget
from dxprivacy.ledger.ledger_budget import Used

__all__ = ["Adoption", "Entry", "Ledger", "PairBudget", "Used"]
