"""`dxp check`."""

from pathlib import Path

import click


@click.command("check")
@click.argument("policy", type=click.Path(path_type=Path))
@click.option("--list", "listing", type=click.Choice(["public", "identical", "tightened"]), help="List all of a kind.")
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines.")
def command(policy: Path, listing: str | None, as_json: bool) -> None:
    """Explain a policy: its possible records, the strictest and loosest pair of each attribute, and warnings.

    \b
    Example: dxp check demo/policy.toml
    """
    from dxprivacy.cli.screen import show, show_json, working
    from dxprivacy.policy import Policy, check, check_lines

    with working("checking"):
        page = check(Policy.load(policy))
    if as_json:
        show_json(page.to_dict())
    else:
        show([*check_lines(page, listing or ""), "", f'⟦dim⟧Next:⟦/⟧ dxp plan {policy} "count" --rows N'])
