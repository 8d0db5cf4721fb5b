"""`dxp plan`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dxprivacy.cli.options import assumed_records, people_option, sql_files, sql_texts

if TYPE_CHECKING:
    from dxprivacy.mechanisms.linear.plan import Plan
    from dxprivacy.metrics import Metric
    from dxprivacy.policy import Policy
    from dxprivacy.privacy.costs import SumCost

_PATIENCE = 2.0  # seconds without a word, where there is no terminal to turn on


@click.command("plan")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("queries", nargs=-1)
@click.option("--queries", "files", multiple=True, type=click.Path(path_type=Path), help="A file of [[query]] queries.")
@click.option("--sql", "selects", multiple=True, help="A SELECT, or @FILE: what it counts, sums or averages.")
@people_option
@click.option(
    "--n-records", type=click.IntRange(min=1), help="The number of records, which is published; means need it."
)
@click.option("--budget", default="10%", show_default=True, help="Fraction of every pair's ε to use, such as 25%.")
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="auto (the best of all), optimal, matrix, k-norm, biased, psa, fill, by-table, same-scale or equal-split.",
)
@click.option(
    "--solve",
    type=click.Choice(["budget", "epsilon"]),
    help="Find what meets the targets: the least budget, or by how much every ε would have to grow.",
)
@click.option("--compare", is_flag=True, help="Compare all methods; writes no plan.")
@click.option("--ledger", type=click.Path(path_type=Path), help="Plan inside what this ledger has left on every pair.")
@click.option("--seconds", type=float, help="Stop searching for a better plan after this time.")
@click.option("--thorough", is_flag=True, help="Search longer for a better strategy.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the errors: a .png, .svg, .html or .json file.")
@click.option("--html", "as_page", is_flag=True, help="Also write plan-NAME.html: errors, reasons, budget, policy.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the plan [plan-NAME.json].")
@click.option("--all", "everything", is_flag=True, help="One line for every answer.")
@click.option("--why", default="", metavar="ANSWER", help="Explain what limits this answer, such as “New Jersey”.")
@click.option("--json", "as_json", is_flag=True, help="The plan for machines; writes no file unless --out.")
def command(
    policy: Path,
    queries: tuple[str, ...],
    files: tuple[Path, ...],
    selects: tuple[str, ...],
    n_records: int | None,
    people: int | None,
    budget: str,
    method: str,
    solve: str | None,
    compare: bool,
    ledger: Path | None,
    seconds: float | None,
    thorough: bool,
    plot: Path | None,
    as_page: bool,
    out: Path | None,
    everything: bool,
    why: str,
    as_json: bool,
) -> None:
    """How wrong would the answers be? Spends nothing, reads no data.

    Prints for each answer its typical error, the width that covers 95 % of the noise, the error of standard
    differential privacy at the strictest ε and at our worst-case ε, and the pair of records that limits it. Writes the
    plan, for dxp release. Uninformative queries come first.

    \b
    Queries:  count | count people | table A | sum X | mean X | median X | quantile 0.9 of X
                proportion where A=x | ratio of sum X to count | sd X | variance X | correlation X, Y
                histogram X/10 | cumulative X | ranges X | marginals 2 | covariance X, Y
                density X width 5 | density HOME width 10 km every 5 km      soft counts; a whole map
                by A, B/10, age[0,18,65]           one answer for each group; /10 groups by tens
                by visit/month                     days by week, month, quarter, year, weekday
                where sex=F and age=18..65         both ends included; state='New Jersey'|Ohio
                where age>=30 and not sex=F        also or, of one attribute: age<18 or age>65
                blur 2 | blur 20 km                soft borders between numbers or places: less noise
                among B=y                          the records of which a proportion is taken
                within 10                          a target: the rest of the budget is kept
                weight 2                           more important than the others: less noise for it
    In a file:  [[query]]
                text = "count by sex"          in words, or in fields:
                [[query]]
                mean = "income"
                by = ["sex", "age/10"]
                where = { age = "18..65", state = ["Ohio", "Utah"] }
                within = 50
    In SQL:     --sql "SELECT sex, COUNT(*), AVG(income) FROM people WHERE age >= 18 GROUP BY sex"

    \b
    Examples:   dxp plan policy.toml "count by sex"
                dxp plan policy.toml "table sex by age/10" "sum income by sex where age=18..65" --budget 25%
                dxp plan policy.toml --queries queries.toml "count by sex"
                dxp plan demo/policy.toml "mean elevation within 2 m" --n-records 20000
                dxp plan policy.toml "count by sex" --ledger ledger.db
                dxp plan policy.toml "count people by ward" "mean stay by ward" --people 5000
                dxp plan policy.toml "count by sex" --html
                dxp plan policy.toml "count by sex within 10" --solve budget
    """
    from dxprivacy.cli.given_files import command_files
    from dxprivacy.cli.options import require_solvable, solution
    from dxprivacy.cli.policy_and_ledger import starting_words
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.errors import UsageError
    from dxprivacy.formats.file_access import PLAN, write_file
    from dxprivacy.mechanisms.linear.planning.method_comparison import compare_methods
    from dxprivacy.mechanisms.linear.planning.planner import make_plan, prepare
    from dxprivacy.optimize.deadline import Watch
    from dxprivacy.output.text.plan_text import compare_lines, plan_lines
    from dxprivacy.privacy import max_ratio
    from dxprivacy.privacy.costs import SumCost
    from dxprivacy.wording import json_text, percent, plural, tag

    if not queries and not files and not selects:
        hints = [("dxp plan --help", "explains it"), ("--queries queries.toml", "for queries in a file")]
        raise UsageError("QUERIES... is missing", hints=hints)
    if compare and (out is not None or plot is not None or as_page or why or method != "auto"):
        hint = "leave --out, --plot, --html, --why, --method out"
        raise UsageError("--compare shows all methods and writes no plan", hints=[hint])
    if solve is not None:
        require_solvable(solve, compare=compare)
    more_files = [*files, *sql_files(selects)]
    read = command_files(policy, ledger=ledger, more=more_files)
    require_places(plot, out, as_page=as_page, read=read)
    if compare:
        with working("comparing", in_files=_PATIENCE):
            loaded, asked, spent = _gathered(policy, queries, files, selects, ledger)
            n_records = assumed_records(loaded.universe, n_records, people)
            _, task = prepare(
                asked, loaded.metric, n_records=n_records, budget=budget, spent=spent, watch=Watch(seconds)
            )
            compared = compare_methods(task)
        if as_json:
            show_json({"methods": [line.to_dict() for line in compared]})
            return
        answers = tag("bold", plural(len(task.workload.answers), "answer"))
        head = f"{answers} · {tag('good', 'nothing spent, no data read')}"
        best = next(line.method for line in compared if line.best)
        again = [word for word in sys.argv[1:] if word != "--compare"]
        show([head, "", *compare_lines(compared), next_step("dxp", *again, "--method", best)])
        return
    with working("planning", in_files=_PATIENCE) as tell:
        loaded, asked, spent = _gathered(policy, queries, files, selects, ledger)
        n_records = assumed_records(loaded.universe, n_records, people)
        read = command_files(policy, loaded, ledger=ledger, more=more_files)
        require_places(plot, out, as_page=as_page, read=read)  # also the files that the policy names

        def make(metric: "Metric", part: object) -> "Plan":
            return make_plan(
                asked,
                metric,
                n_records=n_records,
                budget=part,
                method=method,
                title=loaded.title,
                dataset=loaded.dataset,
                spent=spent,
                seconds=seconds,
                thorough=thorough,
                progress=tell,
            )

        solved = None if solve is None else solution(solve, make, loaded.metric, budget)
        plan = make(loaded.metric, budget) if solved is None else solved.plan
        lines = [] if as_json else plan_lines(plan, everything=everything, why=why, in_ledger=ledger is not None)
        if solved is not None and not as_json:
            lines = [solved.line, *lines]
        tell("writing it")
        target = out or (None if as_json else Path(f"plan-{plan.name}.json"))
        if target is not None:
            write_file(target, json_text(plan.to_dict()), PLAN, inputs=read)
        if plot is not None:
            from dxprivacy.output.charts import save_plan_picture

            save_plan_picture(plan, plot)
        page = None
        if as_page:
            beside = (target or Path(f"plan-{plan.name}.json")).with_suffix(".html")
            page = _write_page(plan, loaded, spent, ledger, beside, read)
        used = None
        if not as_json and spent is not None:
            used = max_ratio(SumCost(loaded.universe, [*spent.costs, plan.cost]), loaded.metric).upper
    done = [] if target is None else [f"The plan is written: {target}. Nothing was spent."]
    if as_json:
        show_json(plan.to_dict() | ({} if solved is None else {"solved": solved.to_dict()}), done=done)
        return
    if ledger is not None and spent is not None and used is not None:
        text = f"fits what {ledger.name} has left on every pair, after {plural(len(spent.costs), 'release')}; then "
        text += f"{percent(max(1 - float(used), 0.0))} of every pair's ε is left, at least"
        lines = [*lines, tag("dim", text)]
    if page is not None:
        lines = [*lines, f"{tag('good', '✓')} written  {page}"]
    more = (
        "--policy",
        policy,
        *starting_words(policy, ledger),
        *(["--anyway"] if plan.uninformative(n_records) else []),
    )
    show([*lines, next_step("dxp release", target or Path(), "--data", "FILE", *more)], done=done)


def _write_page(
    plan: "Plan",
    policy: "Policy",
    spent: "SumCost | None",
    ledger: Path | None,
    target: Path,
    read: Sequence[Path],
) -> Path:
    from dxprivacy.cli.given_files import command_line, write_page
    from dxprivacy.output.charts import plan_page

    name = "" if ledger is None else ledger.name
    text = plan_page(plan, policy=policy, spent=spent, ledger=name, command=command_line())
    return write_page(text, target, read)


def require_places(plot: Path | None, out: Path | None, *, as_page: bool = False, read: Sequence[Path] = ()) -> None:
    """Outputs that could not or must not be written are refused before any work."""
    from dxprivacy.errors import UsageError
    from dxprivacy.formats.file_access import PAGE, PICTURES, PLAN, require_place

    if as_page:
        from dxprivacy.cli.given_files import require_pages

        if out is not None and out.suffix.lower() == ".html":
            hint = ("--out plan.json", "the page lies beside it")
            raise UsageError(f"{out} would be both the plan and its page", hints=[hint])
        require_pages(Path() if out is None else out.parent)
        if out is not None:
            require_place(out.with_suffix(".html"), PAGE, inputs=read)
    if out is not None:
        require_place(out, PLAN, inputs=read)
    if plot is not None:
        from dxprivacy.output.charts.picture import require_rendering

        if plot.suffix.lower() not in PICTURES:
            raise UsageError(f"cannot draw {plot.name}", hints=["a name that ends in .png, .svg, .html or .json"])
        require_place(plot, PICTURES[plot.suffix.lower()], inputs=read)
        if plot.suffix.lower() != ".json":
            require_rendering()


def _gathered(
    policy: Path, queries: tuple[str, ...], files: tuple[Path, ...], selects: tuple[str, ...], ledger: Path | None
) -> "tuple[Policy, list[object], SumCost | None]":
    # The policy, the queries, and the costs in a ledger; planning never creates a ledger.
    from dxprivacy.ledger import Ledger
    from dxprivacy.policy import Policy
    from dxprivacy.policy.query_files import load_queries
    from dxprivacy.queries.sql import sql_queries

    loaded = Policy.load(policy)
    asked = [*queries, *(load_queries(file, loaded.universe) for file in files)]
    asked += [sql_queries(text, loaded.universe) for text in sql_texts(selects)]
    if ledger is None:
        return loaded, asked, None
    with Ledger.open(ledger, loaded) as opened:
        return loaded, asked, opened.spent
