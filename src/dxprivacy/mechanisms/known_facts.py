"""What is known of everything that spends before it is carried out: its proof, its name, its policy.  No data."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

from dxprivacy.metrics import Metric
from dxprivacy.privacy.certificate import Certificate
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import OneLine, percent, plural


class Facts(OneLine, ABC):
    """What is known of everything that spends, before it is carried out.  It holds no data and costs nothing."""

    metric: Metric
    workload: Workload  # the rows that were asked for
    share: Fraction  # of the policy, at most, for all its steps together
    title: str  # of the policy
    dataset: str

    @property
    @abstractmethod
    def request(self) -> str:
        """Its own name: a digest of everything that matters to what comes out."""

    @property
    @abstractmethod
    def certificate(self) -> Certificate:
        """The proof that its costs keep the policy; computed from the very scales, never carried along."""

    @property
    def granted(self) -> Fraction:
        """What the certificate has to stay within: the share, or of several equal steps the part of one."""
        return self.share

    @property
    def name(self) -> str:
        """The first digits of the digest, for people and file names."""
        return self.request[:4]

    def in_short(self) -> str:
        answers = plural(len(self.workload.answers), "answer")
        return f"{self.name!r}, {answers}, {percent(float(self.share))} of the policy"

    @abstractmethod
    def payload(self) -> dict[str, Any]:
        """For JSON: what its files say of it."""

    def policy_facts(self) -> dict[str, Any]:
        """For JSON: the policy it was planned for, and its possible records."""
        return {
            "policy": {
                "title": self.title,
                "dataset": self.dataset,
                "unit": self.metric.universe.privacy_unit,
                "metric": self.metric.to_dict(),
            },
            "universe": self.metric.universe.to_dict(),
        }
