"""`dxp demo`."""

from pathlib import Path

import click


@click.command("demo")
@click.option(
    "--write",
    "folder",
    type=click.Path(path_type=Path),
    help="Keep policy, data, plan, release and ledger in this folder.",
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier demo in that folder.")
@click.option("--json", "as_json", is_flag=True, help="The same numbers for machines.")
def command(folder: Path | None, overwrite: bool, as_json: bool) -> None:
    """A private release of simulated data, beside standard DP.

    20,000 simulated respondents live in US places. Two homes may be distinguishable by at most ε = 1 per 100 km. The
    demo plans, reserves, counts and answers for real, and shows the answers of standard differential privacy next to
    it.

    \b
    Examples: dxp demo
              dxp demo --write demo/       then try dxp check, plan, release and ledger on what is in there
    """
    from dxprivacy.cli.given_files import require_folder
    from dxprivacy.cli.terminal import show, show_json, working
    from dxprivacy.demo.demo_story import story_lines, tell

    if folder is not None:
        require_folder(folder, "--write", "policy, data, plan, release and ledger")
    with working("simulating, planning, releasing"):
        story = tell(folder, overwrite=overwrite)
    if as_json:
        show_json(story.to_dict())
    else:
        show(story_lines(story))
