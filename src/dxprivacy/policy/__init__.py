"""Policies: from a TOML file that a lawyer can read to a universe and a metric.

In reading order: `toml_file`, `policy_facts`, `policy_check`, `tables`, `skeleton`, `neighbors`, `recoding`,
`compiler`, `policy_diff`, `policy`, `query_files`.
"""

from dxprivacy.policy.policy import Policy
from dxprivacy.policy.policy_check import Check, check
from dxprivacy.policy.policy_diff import Diff, diff

__all__ = ["Check", "Diff", "Policy", "check", "diff"]
