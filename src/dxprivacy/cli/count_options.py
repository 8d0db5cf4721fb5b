"""Options of every command that counts records: at what pace answers leave, and what may reach the disk."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dxprivacy.releases.release_base import Released
    from dxprivacy.universe.universe import Universe


@dataclass(frozen=True)
class Counting:
    """What was said of it."""

    pace: str | None
    spill: bool


def counting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--quantize-time` and `--no-spill`."""
    pace = click.option(
        "--quantize-time",
        "pace",
        metavar="PERIOD",
        help="Answers leave at whole multiples of this period (1s, 500ms, or auto: from public numbers), so that the "
        "time of counting tells little.",
    )
    spill = click.option(
        "--no-spill", is_flag=True, help="Never write rows to disk while counting; what needs more memory then fails."
    )
    return pace(spill(command))


def people_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--people`."""
    people = click.option(
        "--people",
        type=click.IntRange(min=1),
        help="Under [people]: the number of people; errors are then for as many rows as can be kept of them.",
    )
    return people(command)


def reckoned_rows(universe: "Universe", rows: int | None, people: int | None) -> int | None:
    """How many records errors are for, without data."""
    from dxprivacy.errors import UsageError

    if people is None:
        return rows
    if universe.people is None:
        hints = [
            ("--rows N", "the number of records"),
            ('[people] key = "patient"', "in the policy: several rows each"),
        ]
        raise UsageError("--people is for policies of people with several rows", hints=hints)
    return people * universe.people.at_most if rows is None else rows


def number_words(release: "Released") -> str:
    """How many there are, where that is public."""
    from dxprivacy.releases.guarantee import without_key

    people = release.facts.get("people")
    if people is not None:
        return f"{people:,} people (public{without_key(release.facts)}); how many rows is private"
    return "n is private" if release.records is None else f"n = {release.records:,} (public)"
