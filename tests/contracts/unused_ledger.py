"""A ledger file without any reservation, as a crash between its first rows and its first reservation leaves it."""

from dxprivacy.ledger import Ledger


def unused_ledger(path, policy, *, dataset=""):
    """Return such a ledger, opened."""
    ledger = Ledger.open(path, policy, dataset=dataset, new_ledger=True)
    ledger._started()
    assert ledger.entries() == []
    return ledger
