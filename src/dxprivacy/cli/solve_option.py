"""`dxp plan --solve`: which share meets the targets, or by how much every ε would have to grow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dxprivacy.mechanisms.linear.plan import Plan
    from dxprivacy.mechanisms.linear.planning.target_solving import Solved
    from dxprivacy.metrics import Metric


@dataclass(frozen=True)
class Solution:
    """What was found, and the plan that is shown and written: one of the policy as it is."""

    of: str
    solved: "Solved[Plan]"
    plan: "Plan"

    @property
    def line(self) -> str:
        """In words."""
        from dxprivacy.output.text.remedies_text import solved_epsilon_line, solved_share_line

        return (solved_share_line if self.of == "share" else solved_epsilon_line)(self.solved)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        short = self.solved.too_little
        return {
            "of": self.of,
            "amount": str(self.solved.amount),
            "too_little": None if short is None else str(short),
            "met": self.solved.met,
            "targets": self.solved.targets,
        }


def require_solvable(solve: str, *, compare: bool) -> None:
    """Refuse options that mean something else."""
    from dxprivacy.errors import UsageError

    given = click.get_current_context().get_parameter_source("share")
    if compare:
        raise UsageError("--solve makes one plan, --compare shows all methods", hints=["leave one of them out"])
    if solve == "share" and given is not click.core.ParameterSource.DEFAULT:
        raise UsageError("--solve share finds the share", hints=["leave --share out"])


def solution(solve: str, make: "Callable[[Metric, object], Plan]", metric: "Metric", share: object) -> Solution:
    """Plan until it is found; the policy is the curator's, and is never changed."""
    from dxprivacy.mechanisms.linear.planning.target_solving import least_factor, least_share
    from dxprivacy.metrics import scaled

    if solve == "share":
        solved = least_share(lambda part: make(metric, part))
        return Solution(solve, solved, solved.plan)
    now = make(metric, share)
    solved = least_factor(lambda factor: now if factor == 1 else make(scaled(metric, factor), share))
    return Solution(solve, solved, now)
