"""The policy that a ledger follows, from the ledger alone: its curator needs no other file to answer by it.

A policy row holds all possible records and all distances.  What a policy file says besides (remarks, which lists were
declared public, the names of points files) is not kept, and no answer depends on it.
"""

from collections.abc import Mapping
from pathlib import Path

from dxprivacy.errors import DxError, LedgerError, MetricError
from dxprivacy.ledger.history import History
from dxprivacy.ledger.journal import Journal
from dxprivacy.ledger.versions import Recorded
from dxprivacy.metrics import Metric
from dxprivacy.metrics.stored import metric_from_spec
from dxprivacy.model.universe import Universe
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


def stored_metric(recorded: Recorded) -> Metric:
    """The distances of a recorded version; they have the digest that the journal recorded."""
    universe = _with_units(recorded.universe, recorded.units or {})
    metric = metric_from_spec(recorded.metric_spec, universe)
    if metric.digest != recorded.digest:
        raise MetricError("the distances are not those of the digest")
    return metric


def _with_units(universe: Universe, units: Mapping[str, str]) -> Universe:
    """Units are words for people: no spec holds them, and no digest covers them."""
    if not units:
        return universe
    attributes = [a.with_units(units) for a in universe.attributes]
    return Universe(attributes, max_records=universe.max_records, file=universe.file)
