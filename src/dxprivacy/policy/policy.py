"""A policy: the file that gives every pair of records its epsilon, for ever."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.model.metrics import Metric
from dxprivacy.model.reading import Recoding
from dxprivacy.model.universe import Universe
from dxprivacy.policy.compiler import compile_policy
from dxprivacy.policy.source import PolicyFile


@dataclass(frozen=True, eq=False)
class Policy:
    """A compiled policy.

    >>> policy = Policy.parse('''
    ... title = "Survey"
    ... dataset = "survey-1"
    ... [attributes.sex]
    ... values = ["M", "F"]
    ... epsilon = 1.0
    ... ''')
    >>> policy.universe.size, policy.metric.exact(0, 1)
    (3, Fraction(1, 1))
    """

    title: str
    dataset: str
    version: str
    universe: Universe
    metric: Metric
    file: PolicyFile
    recoded: Mapping[str, Recoding] = field(default_factory=dict)
    was_version: str = ""

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Read a policy file (TOML)."""
        return cls._of(PolicyFile.read(path))

    @classmethod
    def parse(cls, text: str, *, folder: str | Path = ".") -> "Policy":
        """A policy from text; files it names are relative to `folder`."""
        return cls._of(PolicyFile.parse(text, Path(folder) / "policy.toml"))

    @classmethod
    def recorded(cls, title: str, dataset: str, version: str, metric: Metric) -> "Policy":
        """A policy as a ledger keeps it: all records and distances, without the text of its file."""
        tables = {"attributes": {}, "unit": metric.universe.privacy_unit}
        return cls(title, dataset, version, metric.universe, metric, PolicyFile(tables, ""))

    @classmethod
    def _of(cls, file: PolicyFile) -> "Policy":
        c = compile_policy(file)
        return cls(c.title, c.dataset, c.version, c.universe, c.metric, file, c.recoded, c.was_version)

    @property
    def digest(self) -> str:
        """Identifies the universe and every distance."""
        return self.metric.digest

    @property
    def declared_public(self) -> tuple[str, ...]:
        """The attributes whose list of values was read from the data (`dxp init --public`)."""
        tables = self.file.tables["attributes"].items()
        return tuple(name for name, table in tables if table.get("declared_public"))

    def check(self) -> Any:
        """What the policy promises and what to look at twice; prints as a page."""
        from dxprivacy.policy.check import check

        return check(self)

    def diff(self, other: "Policy") -> Any:
        """What changes from this policy to another: pairs, values, settings, worst case; prints as a page."""
        from dxprivacy.policy.diff import diff

        if not isinstance(other, Policy):
            raise UsageError(
                f"a policy is compared with a policy, not with a {type(other).__name__}",
                hints=['policy.diff(dx.Policy.load("draft.toml"))'],
            )
        return diff(self, other)

    def __repr__(self) -> str:
        return f"Policy({self.title!r}, dataset {self.dataset!r}, {self.universe!r})"
