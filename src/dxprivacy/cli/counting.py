"""Options of every command that counts records: at what pace answers leave, and what may reach the disk."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True)
class Counting:
    """What was said of it."""

    pace: str | None
    spill: bool


def counting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--pace` and `--no-spill`."""
    pace = click.option(
        "--pace",
        metavar="PERIOD",
        help="Answers leave at whole multiples of this period (1s, 500ms, or auto: from public numbers), so that the "
        "time of counting tells little.",
    )
    spill = click.option(
        "--no-spill", is_flag=True, help="Never write rows to disk while counting; what needs more memory then fails."
    )
    return pace(spill(command))
