"""A policy: the file that gives every pair of records its epsilon, for all releases together."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dxprivacy.errors import UsageError
from dxprivacy.log import Log
from dxprivacy.metrics import Metric
from dxprivacy.policy.compiler import compile_policy
from dxprivacy.policy.policy_check import Check, check
from dxprivacy.policy.policy_diff import Diff, diff
from dxprivacy.policy.policy_facts import PolicyFacts
from dxprivacy.policy.toml_file import PolicyFile
from dxprivacy.universe.people import PEOPLE
from dxprivacy.wording import Displayed

_LOG = Log("policy")


@dataclass(frozen=True, eq=False)
class Policy(PolicyFacts, Displayed):
    """A compiled policy: a universe and the distances of its records.

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

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Read a policy file (TOML)."""
        policy = cls._of(PolicyFile.read(path))
        _LOG.detail("policy read", file=Path(path), dataset=policy.dataset)
        return policy

    @classmethod
    def parse(cls, text: str, *, folder: str | Path = ".") -> "Policy":
        """Compile a policy from text; files that it names are relative to `folder`."""
        return cls._of(PolicyFile.parse(text, Path(folder) / "policy.toml"))

    @classmethod
    def recorded(cls, title: str, dataset: str, version: str, metric: Metric) -> "Policy":
        """Return a policy as stored in a ledger: all records and distances, without the text of its file."""
        tables = {"attributes": {}, "neighbors": metric.universe.neighbors.removeprefix(f"{PEOPLE}-")}
        return cls(title, dataset, version, metric.universe, metric, PolicyFile(tables, ""))

    @classmethod
    def _of(cls, file: PolicyFile) -> "Policy":
        c = compile_policy(file)
        return cls(c.title, c.dataset, c.version, c.universe, c.metric, file, c.recoded, c.was_version)

    @cached_property
    def of_people(self) -> Metric:
        if self.universe.rows_each == 1 or not self.file.text:
            return super().of_people
        return compile_policy(self.file, whole_people=True).metric

    def check(self) -> Check:
        """Return what the policy guarantees, and warnings; prints as a page."""
        return check(self)

    def diff(self, other: "Policy") -> Diff:
        """Return what changes from this policy to another: pairs, values, settings, worst-case ε; prints as a page."""
        if not isinstance(other, Policy):
            raise UsageError(
                f"a policy is compared with a policy, not with a {type(other).__name__}",
                hints=['policy.diff(dx.Policy.load("draft.toml"))'],
            )
        return diff(self, other)
