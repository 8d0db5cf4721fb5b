"""Budget is not spent on what is no better than a guess, unless somebody says so."""

import sys
from collections.abc import Callable

import click

from dxprivacy.wording import tag


def require_worth(warning: str, command: str, *, anyway: bool, recorded: Callable[[], bool]) -> None:
    """Ask on a terminal, refuse elsewhere; what stands in the ledger already costs nothing, and is not asked about.

    `command` is the one that takes a larger share.
    """
    from dxprivacy.cli.html_pages import command_line
    from dxprivacy.cli.terminal import show
    from dxprivacy.errors import UsageError

    if not warning or anyway or recorded():
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        show([tag("warn", f"! {warning}")], err=True)
        if click.confirm("Spend the budget on it all the same?", default=False, err=True):
            return
        raise UsageError("left undone; nothing spent, no data read")
    hints = [
        (f"{command_line()} --anyway", "spends the budget all the same"),
        (f"dxp {command} … --share 50%", "a larger share has less noise; fewer or coarser questions, too"),
        ("dxp check POLICY.toml", "names places that nearly coincide"),
    ]
    raise UsageError(warning, details=["Nothing spent, no data read."], hints=hints)


def left_line(left: float) -> str:
    """What is certain to be left of every pair's ε."""
    from dxprivacy.wording import percent

    if left < 0.0005:
        return f"{tag('good', '✓')} left      nothing is certain for every pair; dxp ledger shows them"
    return f"{tag('good', '✓')} left      {percent(left)} of every pair's ε, at least"
