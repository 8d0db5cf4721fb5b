"""`dxp choose`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dxprivacy.cli.counting import counting_options

if TYPE_CHECKING:
    from dxprivacy.policy import Policy
    from dxprivacy.session.choices import ChoiceOutcome


@click.command("choose")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("what")
@click.option("--rows", type=click.IntRange(min=1), help="The number of records, which is published.")
@click.option("--share", default="100%", show_default=True, help="Part of every pair's ε to use; the rest stays.")
@click.option("--flip", is_flag=True, help="Choose by permute-and-flip: the same cost, never further from the best.")
@click.option(
    "--data",
    multiple=True,
    help="Reserve the budget and choose, from this file or pattern; several times for several files.",
)
@click.option("--ledger", type=click.Path(path_type=Path), help="The ledger [ledger.db beside the policy].")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for choice-NAME.json [here].")
@counting_options
@click.option("--request", default="", help="Choose anew under this name, at the full cost.")
@click.option("--json", "as_json", is_flag=True, help="The same for machines; writes no file unless --out.")
def command(
    policy: Path,
    what: str,
    rows: int | None,
    share: str,
    flip: bool,
    data: tuple[str, ...],
    ledger: Path | None,
    out: Path | None,
    pace: str | None,
    no_spill: bool,
    request: str,
    as_json: bool,
) -> None:
    """The most common value, a median, a quantile, good bin edges: chosen by the data, privately.

    Without --data it shows how far from the best the choice may be; that spends nothing and reads nothing. With --data
    the cost is written to the ledger before any record is counted. The same choice again returns the stored one.

    \b
    What:       most common job [where sex=F]      the value with the most records
                largest sum income by state        the largest of any counts or sums
                median age                         also income/5000, in wider steps
                quantile 0.9 of income
                4 bins of age                      edges for bins of equal numbers of records

    \b
    Examples:   dxp choose policy.toml "median age"
                dxp choose policy.toml "most common job" --share 10% --data people.parquet
                dxp choose policy.toml "4 bins of age/5" --flip
    """
    from dxprivacy.cli.screen import next_step, quoted, show, show_json, working
    from dxprivacy.errors import UsageError
    from dxprivacy.planning.choice import make_choice
    from dxprivacy.planning.choice_words import choice_lines
    from dxprivacy.policy import Policy

    if not data and (ledger is not None or request or out is not None or pace or no_spill):
        raise UsageError("nothing is chosen without data", hints=[("--data FILE", "reserves the budget and chooses")])
    if data and rows is not None:
        raise UsageError("the number of records is taken from the data", hints=["leave --rows out"])
    if data:
        _choose(policy, what, share, flip, data, ledger, out, request, as_json, pace=pace, spill=not no_spill)
        return
    with working("planning"):
        loaded = Policy.load(policy)
        choice = make_choice(
            what, loaded.metric, share=share, flip=flip, rows=rows, title=loaded.title, dataset=loaded.dataset
        )
        lines = [] if as_json else choice_lines(choice)
    if as_json:
        show_json(choice.to_dict())
        return
    options = [*(["--share", share] if share != "100%" else []), *(["--flip"] if flip else [])]
    show([*lines, next_step("dxp choose", quoted(policy), f'"{what}"', *options, "--data FILE")])


def _choose(
    policy: Path,
    what: str,
    share: str,
    flip: bool,
    data: tuple[str, ...],
    ledger: Path | None,
    out: Path | None,
    request: str,
    as_json: bool,
    *,
    pace: str | None,
    spill: bool,
) -> None:
    from dxprivacy.cli.release import require_writable, started
    from dxprivacy.cli.screen import next_step, show, show_json, working
    from dxprivacy.policy import Policy
    from dxprivacy.release.choice import choice_release_lines
    from dxprivacy.session import Session

    folder = None if as_json and out is None else out or Path()
    if folder is not None:
        require_writable(folder, "choice-NAME.json")
    with working("choosing"):
        loaded = Policy.load(policy)
        book = ledger or policy.parent / "ledger.db"
        fresh = not book.exists()
        source = data[0] if len(data) == 1 else list(data)
        with Session(loaded, source, ledger=book, pace=pace, spill=spill) as session:
            choice = session.plan_choice(what, share=share, flip=flip)
            outcome = session.chosen(choice, request=request)
            counted = session.source.name
    release = outcome.release
    written = None
    if folder is not None:
        stem = f"choice-{release.name}" + re.sub(r"[^\w-]+", "-", f" {request}".rstrip())
        written = release.save(folder / f"{stem}.json")
    if as_json:
        show_json({**release.to_dict(), "repeated": outcome.replayed})
        return
    head = _head(outcome, loaded, policy, book, counted)
    if fresh:
        head.insert(1, started(book, named=ledger is not None))
    head.append(f"⟦good⟧✓⟦/⟧ written   {written}")
    options = () if policy == book.parent / "policy.toml" else ("--policy", policy)
    show([*head, "", *choice_release_lines(release), "", next_step("dxp ledger", book, *options)])


def _head(outcome: "ChoiceOutcome", loaded: "Policy", policy: Path, book: Path, counted: str) -> list[str]:
    """What was done, step by step."""
    good = "⟦good⟧✓⟦/⟧"
    head = [f"{good} policy    {policy} · {loaded.digest[:8]}"]
    if outcome.replayed:
        return [*head, f"{good} repeated  entry {outcome.entry} of {book}: chosen before, nothing spent"]
    records = outcome.release.records
    number = "n is private" if records is None else f"n = {records:,} (public)"
    return [
        *head,
        f"{good} reserved  entry {outcome.entry} in {book}, before any record was counted",
        f"{good} counted   {counted}, {number}",
    ]
