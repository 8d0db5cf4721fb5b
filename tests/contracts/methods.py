"""Which methods count just the rows that were asked for, so that a plan's scales are those of its queries."""

from typing import Any

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.methods import PLANNING_METHODS, best_of_own_rows
from dxprivacy.mechanisms.linear.planning.planner import finish, prepare
from dxprivacy.metrics import Metric

OWN = tuple(maker.name for maker in PLANNING_METHODS if maker.propose_scales is not None)


def standard_plan(queries: Any, metric: Metric, **more: Any) -> Plan:
    """A plan that counts just what was asked, for tests that look at its scales or at what it leaves."""
    asked, task = prepare(queries, metric, **more)
    return finish(asked, task, best_of_own_rows(task)[0])
