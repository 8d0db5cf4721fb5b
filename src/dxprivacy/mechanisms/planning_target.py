"""What a mechanism is planned for: a metric, or a policy with its title and dataset."""

from typing import NamedTuple

from dxprivacy.errors import UsageError
from dxprivacy.metrics import Metric
from dxprivacy.policy import Policy


class Target(NamedTuple):
    """The metric to keep, and what the plan says of the policy it belongs to."""

    metric: Metric
    title: str
    dataset: str


def target(policy: Policy | Metric, title: str = "", dataset: str = "") -> Target:
    """Return the metric of a policy with its title and dataset, or a metric with those given."""
    if isinstance(policy, Policy):
        return Target(policy.metric, title or policy.title, dataset or policy.dataset)
    if isinstance(policy, Metric):
        return Target(policy, title, dataset)
    raise UsageError(
        f"a policy or a metric is needed, not {type(policy).__name__}",
        hints=['dx.Policy.load("policy.toml")', "dx.metrics.constant(n, 1)"],
    )
