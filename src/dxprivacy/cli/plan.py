"""`dxp plan`."""

from pathlib import Path

import click


@click.command("plan")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("questions", nargs=-1)
@click.option("--ask", "files", multiple=True, type=click.Path(path_type=Path), help="A file of [[ask]] questions.")
@click.option("--rows", type=click.IntRange(min=1), help="The number of records, which is published; means need it.")
@click.option("--share", default="100%", show_default=True, help="Part of every pair's ε to use; the rest stays.")
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="auto, same-scale, equal-split, fill or optimal (the least noise).",
)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the plan [plan-NAME.json].")
@click.option("--all", "everything", is_flag=True, help="One line for every answer.")
@click.option("--why", default="", metavar="ANSWER", help="Explain what limits this answer, such as “New Jersey”.")
@click.option("--json", "as_json", is_flag=True, help="The plan for machines; writes no file unless --out.")
def command(
    policy: Path,
    questions: tuple[str, ...],
    files: tuple[Path, ...],
    rows: int | None,
    share: str,
    method: str,
    out: Path | None,
    everything: bool,
    why: str,
    as_json: bool,
) -> None:
    """How wrong would the answers be? Spends nothing, reads no data.

    Prints for each answer its typical error, the width that covers 95 % of the noise, the gain over plain
    differential privacy, and the pair of records that limits it. Writes the plan, for dxp release.

    \b
    Questions:  count | table A | sum X | mean X | prefixes X | ranges X | marginals 2
                by A, B/10, age[0,18,65]           one answer for each group; /10 groups by tens
                by visit/month                     days by week, month, quarter, year, weekday
                where sex=F and age=18..65         both ends included; state='New Jersey'|Ohio
                within 10                          good enough: what is left of the budget is kept
                weight 2                           more important than the others: less noise for it
    In a file:  [[ask]]
                question = "count by sex"          in words, or in fields:
                [[ask]]
                mean = "income"
                by = ["sex", "age/10"]
                where = { age = "18..65", state = ["Ohio", "Utah"] }
                within = 50

    \b
    Examples:   dxp plan policy.toml "count by sex"
                dxp plan policy.toml "table sex by age/10" "sum income by sex where age=18..65" --share 25%
                dxp plan policy.toml --ask questions.toml "count by sex"
                dxp plan demo/policy.toml "mean elevation within 2 m" "count by state within 10" --rows 20000
    """
    from dxprivacy.cli.screen import next_step, show, show_json, working
    from dxprivacy.errors import UsageError
    from dxprivacy.planning import make_plan
    from dxprivacy.planning.words import plan_lines
    from dxprivacy.policy import Policy
    from dxprivacy.policy.asks import load_questions
    from dxprivacy.session import write_plan

    if not questions and not files:
        hints = [("dxp plan --help", "explains it"), ("--ask questions.toml", "for questions in a file")]
        raise UsageError("QUESTIONS... is missing", hints=hints)
    with working("planning"):
        loaded = Policy.load(policy)
        plan = make_plan(
            [*questions, *(load_questions(file, loaded.universe) for file in files)],
            loaded.metric,
            rows=rows,
            share=share,
            method=method,
            title=loaded.title,
            dataset=loaded.dataset,
        )
        lines = [] if as_json else plan_lines(plan, everything=everything, why=why)
    target = out or (None if as_json else Path(f"plan-{plan.name}.json"))
    if target is not None:
        write_plan(plan, target, policy)
    if as_json:
        show_json(plan.to_dict())
        return
    show([*lines, next_step("dxp release", target or Path(), "--data FILE")])
