"""The policy that a ledger follows, from the ledger alone: its curator needs no other file to answer by it.

A policy row holds all possible records and all distances.  What a policy file says besides (remarks, which lists were
declared public, the names of points files) is not kept, and no answer depends on it.
"""

from pathlib import Path

from dxprivacy.errors import DxError, LedgerError
from dxprivacy.ledger.history import History
from dxprivacy.ledger.journal import Journal
from dxprivacy.ledger.policy_versions import stored_metric
from dxprivacy.policy import Policy


def stored_policy(ledger: str | Path) -> Policy:
    """The version that a ledger follows now; refused where the ledger does not hold all of it."""
    with Journal.read(ledger) as journal:
        journal.verify()
        dataset = journal.binding.get("dataset", "")
        current = History(journal.policies, str(ledger)).current
    try:
        metric = stored_metric(current)
    except DxError:
        raise LedgerError(
            f"does not hold all of {current.words}: its distances cannot be read by themselves",
            where=str(ledger),
            hints=[("--policy FILE", "the policy's own file")],
        ) from None
    return Policy.recorded(current.title, dataset, current.version, metric)
