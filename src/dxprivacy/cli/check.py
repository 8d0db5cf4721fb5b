"""`dxp check`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dxprivacy.model.universe import Universe


@click.command("check")
@click.argument("policy", type=click.Path(path_type=Path))
@click.option(
    "--list",
    "listing",
    metavar="KIND",
    type=click.Choice(["public", "identical", "tightened"]),
    help="List all pairs that are public, identical or tightened.",
)
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines.")
def command(policy: Path, listing: str | None, as_json: bool) -> None:
    """Explain a policy: its possible records, the strictest and loosest pair of each attribute, and warnings.

    Two records of a pair can be told apart by ε at most, over all releases ever: the odds between them move by at
    most the factor e^ε. Reads the policy and the points file that it names; no data.

    \b
    A policy:   title = "Household survey 2026"
                dataset = "household-2026"         # the ledger is bound to it
                [attributes.sex]
                values = ["M", "F"]
                epsilon = 1.0                      # telling M from F may cost at most 1
                [attributes.age]
                integers = [0, 120]
                epsilon = 0.5
                per = 10                           # 0.5 for every 10 years apart

    \b
    Examples:   dxp check demo/policy.toml
                dxp check policy.toml --list tightened
    """
    from dxprivacy.cli.screen import next_step, show, show_json, working
    from dxprivacy.policy import Policy, check, check_lines

    with working("checking"):
        loaded = Policy.load(policy)
        page = check(loaded)
    if as_json:
        show_json(page.to_dict())
    else:
        step = next_step("dxp plan", policy, f'"{first_question(loaded.universe)}"')
        show([*check_lines(page, listing or ""), "", step])


def first_question(universe: "Universe") -> str:
    """A question that can be asked at once: by the first attribute, or by what groups its places."""
    first = universe.attributes[0]
    groups = {fact.name: len(set(fact.entries)) for fact in first.properties.values() if fact.numbers is None}
    several = {name: count for name, count in groups.items() if 1 < count < first.listed}
    name = min(several, key=lambda n: several[n]) if several else first.name
    return f"count by {name}" if " " not in name else f"count by '{name}'"
