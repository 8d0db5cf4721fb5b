"""`dxp plan`."""

import os
from pathlib import Path

import click


@click.command("plan")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("questions", nargs=-1, required=True)
@click.option("--rows", type=click.IntRange(min=1), help="The public number of records.")
@click.option("--share", default="100%", show_default=True, help="Part of every pair's ε to use.")
@click.option("--method", default="auto", show_default=True, help="auto, same-scale, equal-split, fill.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the plan [plan-NAME.json].")
@click.option("--all", "everything", is_flag=True, help="One line for every answer.")
@click.option("--json", "as_json", is_flag=True, help="The plan for machines; writes no file unless --out.")
def command(
    policy: Path,
    questions: tuple[str, ...],
    rows: int | None,
    share: str,
    method: str,
    out: Path | None,
    everything: bool,
    as_json: bool,
) -> None:
    """How wrong would the answers be? Spends nothing, reads no data.

    \b
    Questions:  count by state within 10
                mean elevation within 2 m
                sum income by sex where age=18..65
                table sex by age/10

    \b
    Example: dxp plan demo/policy.toml "mean elevation within 2 m" "count by state within 10" --rows 20000
    """
    from dxprivacy.cli.screen import show, show_json, working
    from dxprivacy.planning import make_plan
    from dxprivacy.planning.words import plan_lines
    from dxprivacy.policy import Policy
    from dxprivacy.session import write_plan

    with working("planning"):
        loaded = Policy.load(policy)
        plan = make_plan(
            list(questions),
            loaded.metric,
            rows=rows,
            share=share,
            method=method,
            title=loaded.title,
            dataset=loaded.dataset,
        )
        lines = [] if as_json else plan_lines(plan, everything=everything)
    target = out or (None if as_json else Path(f"plan-{plan.name}.json"))
    if target is not None:
        write_plan(plan, target, policy)
    if as_json:
        show_json(plan.to_dict())
        return
    show(lines)
    show([f"⟦dim⟧Next:⟦/⟧ dxp release {os.fspath(target or '')} --data FILE"])
