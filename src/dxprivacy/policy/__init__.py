"""Policies: from a TOML file that a lawyer can read to a universe and a metric."""

from dxprivacy.policy.check import Check, check
from dxprivacy.policy.diff import Diff, diff
from dxprivacy.policy.policy import Policy

__all__ = ["Check", "Diff", "Policy", "check", "diff"]
