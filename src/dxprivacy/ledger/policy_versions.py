"""Versions of the policy: as given to a ledger, and as recorded in its journal.

A `policy` row stores the universe, so that the costs after it can be read without the old policy file, and the digest
of the metric, which identifies the version.  It also stores the fractions of the new policy that earlier costs use,
certified when the version was adopted.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dxprivacy.errors import DxError, LedgerError, MetricError
from dxprivacy.exact.rounding import written_fraction
from dxprivacy.ledger.journal import JournalRow
from dxprivacy.metrics import Metric
from dxprivacy.metrics.stored_metrics import metric_from_spec
from dxprivacy.policy import Policy
from dxprivacy.universe.attribute_matching import Recoding
from dxprivacy.universe.universe import Universe


@dataclass(frozen=True, eq=False)
class Version:
    """A version of the policy that a ledger is to follow."""

    metric: Metric
    title: str = ""
    version: str = ""
    recoded: Mapping[str, Recoding] = field(default_factory=dict)
    was_version: str = ""

    @property
    def neighbors(self) -> str:
        """The neighboring relation: "replace" or "add-remove"."""
        return self.metric.universe.neighbors

    @classmethod
    def of(cls, policy: "Policy | Metric | Version") -> "Version":
        """Build from a policy, or from a metric alone."""
        if isinstance(policy, Version):
            return policy
        if isinstance(policy, Metric):
            return cls(policy)
        return cls(policy.metric, policy.title, policy.version, policy.recoded, policy.was_version)

    @property
    def words(self) -> str:
        """Title and version, for messages."""
        return _words(self.title, self.version)

    def content(self, budgets: Mapping[int, Fraction]) -> str:
        """Return the content of the policy row; `budgets` by row of the cost.  Key order is kept: it names points."""
        return json.dumps(
            {
                "title": self.title,
                "version": self.version,
                "neighbors": self.neighbors,
                "metric": self.metric.digest,
                "metric_spec": self.metric.spec(),
                "universe": self.metric.universe.digest,
                "universe_spec": self.metric.universe.spec(),
                "units": self.metric.universe.units(),
                "recoded": {name: recoding.to_dict() for name, recoding in self.recoded.items()},
                "was_version": self.was_version,
                "budgets": {str(seq): str(budget) for seq, budget in budgets.items()},
            },
            ensure_ascii=False,
        )


@dataclass(frozen=True, eq=False)
class RecordedPolicy:
    """A version of the policy in the journal; numbered from 1."""

    number: int
    seq: int
    at: str
    title: str
    version: str
    neighbors: str
    digest: str
    universe: Universe
    recoded: Mapping[str, Recoding]
    was_version: str
    budgets: Mapping[int, Fraction]
    metric_spec: Any
    units: Mapping[str, str]

    @classmethod
    def read(cls, row: JournalRow, number: int, where: str) -> "RecordedPolicy":
        """Read from its row; refused unless everything in it is understood."""
        try:
            data: dict[str, Any] = json.loads(row.content)
            universe = Universe.from_spec(data["universe_spec"])
            if universe.digest != data["universe"] or row.body != data["metric"]:
                raise ValueError("digest")
            return cls(
                number=number,
                seq=row.seq,
                at=row.at,
                title=str(data["title"]),
                version=str(data["version"]),
                neighbors=str(data["neighbors"]),
                digest=str(data["metric"]),
                universe=universe,
                recoded={str(name): Recoding.from_dict(r) for name, r in data["recoded"].items()},
                was_version=str(data["was_version"]),
                budgets={int(seq): written_fraction(budget) for seq, budget in data["budgets"].items()},
                metric_spec=data["metric_spec"],
                units={str(k): str(v) for k, v in data["units"].items()},
            )
        except (DxError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError):
            raise LedgerError(
                f"row {row.seq} describes a policy that this version cannot read; nothing is spent from it",
                where=where,
                hints=["use the version that wrote it"],
            ) from None

    @property
    def words(self) -> str:
        """Title and version, for messages."""
        return _words(self.title, self.version) or f"version {self.number}"

    def is_version(self, version: Version) -> bool:
        """Return whether this is the given version: the same distances, and no further recoding."""
        return self.digest == version.metric.digest and (
            not any(version.recoded.values())
            or (dict(version.recoded), version.was_version) == (dict(self.recoded), self.was_version)
        )


def _words(title: str, version: str) -> str:
    return ", ".join(x for x in (f"“{title}”" if title else "", f"version {version}" if version else "") if x)


def stored_metric(recorded: RecordedPolicy) -> Metric:
    """Return the metric of a recorded version; its digest is checked."""
    universe = _with_units(recorded.universe, recorded.units)
    metric = metric_from_spec(recorded.metric_spec, universe)
    if metric.digest != recorded.digest:
        raise MetricError("the distances are not those of the digest")
    return metric


def _with_units(universe: Universe, units: Mapping[str, str]) -> Universe:
    # Units are for display: no spec or digest covers them.
    if not units:
        return universe
    return universe.like(a.with_units(units) for a in universe.attributes)
