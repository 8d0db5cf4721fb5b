"""`dxp select`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dxprivacy.cli.given_files import DATA
from dxprivacy.cli.options import CountOptions, assumed_records, counting_options, number_words, people_option
from dxprivacy.wording import tag

if TYPE_CHECKING:
    from dxprivacy.mechanisms.selection.plan import Selection
    from dxprivacy.mechanisms.selection.selection_release import SelectionRelease
    from dxprivacy.session import Outcome


@click.command("select")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("what")
@people_option
@click.option("--n-records", type=click.IntRange(min=1), help="The number of records, which is published.")
@click.option("--budget", default="10%", show_default=True, help="Part of every pair's ε to use; the rest stays.")
@click.option(
    "--permute-and-flip",
    "flip",
    is_flag=True,
    help="Select by permute-and-flip: the same cost, and never a worse distribution.",
)
@click.option(
    "--data",
    type=DATA,
    multiple=True,
    help="Reserve the budget and choose, from this file, pattern or table of a server; several times for several.",
)
@click.option("--ledger", type=click.Path(path_type=Path), help="The ledger [ledger.db beside the policy].")
@click.option("--new-ledger", is_flag=True, help="Start the ledger: nothing was ever released from this data.")
@click.option("--anyway", is_flag=True, help="Release an uninformative selection, too.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for selection-NAME.json [here].")
@counting_options
@click.option("--request", default="", help="Select again under this name, at the full cost.")
@click.option("--json", "as_json", is_flag=True, help="The same for machines; writes no file unless --out.")
def command(
    policy: Path,
    what: str,
    n_records: int | None,
    people: int | None,
    budget: str,
    flip: bool,
    data: tuple[str, ...],
    ledger: Path | None,
    new_ledger: bool,
    anyway: bool,
    out: Path | None,
    quantize_time: str | None,
    no_spill: bool,
    request: str,
    as_json: bool,
) -> None:
    """Select the most common value, a median, a quantile, or bin edges by the data, privately.

    Without --data it shows how far from the best the selection may be; that spends nothing and reads nothing. With
    --ledger it uses the largest budget, up to --budget, that fits what the ledger has left on every pair. With --data
    the cost is written to the ledger before any record is counted. The same selection again returns the stored one.

    \b
    What:       most common job [where sex=F]      the value with the most records
                largest sum income by state        the largest of any counts or sums
                median age                         also income/5000, in wider steps
                quantile 0.9 of income
                4 bins of age                      edges for bins of equal numbers of records

    \b
    Examples:   dxp select policy.toml "median age"
                dxp select policy.toml "most common job" --budget 10% --data people.parquet --new-ledger
                dxp select policy.toml "4 bins of age/5" --permute-and-flip
    """
    from dxprivacy.cli.options import budget_text, fits_line, fitting
    from dxprivacy.cli.policy_and_ledger import starting_words
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.errors import UsageError
    from dxprivacy.mechanisms.selection.plan import make_selection
    from dxprivacy.output.text.selection_text import selection_lines
    from dxprivacy.policy import Policy

    if not data and (new_ledger or anyway or request or out is not None or quantize_time or no_spill):
        raise UsageError("nothing is chosen without data", hints=[("--data FILE", "reserves the budget and chooses")])
    if data and (n_records is not None or people is not None):
        given, what = ("--n-records", "records") if people is None else ("--people", "people")
        raise UsageError(f"the number of {what} is taken from the data", hints=[f"leave {given} out"])
    if data:
        counting = CountOptions(quantize_time, spill=not no_spill)
        _choose(policy, what, budget, flip, data, ledger, new_ledger, anyway, out, request, as_json, counting)
        return
    with working("planning"):
        loaded = Policy.load(policy)
        n_records = assumed_records(loaded.universe, n_records, people)

        def make(part: object) -> "Selection":
            return make_selection(
                what,
                loaded.metric,
                budget=part,
                flip=flip,
                n_records=n_records,
                title=loaded.title,
                dataset=loaded.dataset,
            )

        selection = make(budget) if ledger is None else fitting(make, lambda made: made, budget, loaded, ledger)
        lines = [] if as_json else selection_lines(selection, in_ledger=ledger is not None)
    if as_json:
        show_json(selection.to_dict())
        return
    options: list[str | Path] = [
        *(["--budget", budget] if budget != "10%" else []),
        *(["--permute-and-flip"] if flip else []),
    ]
    if ledger is not None:
        lines, options = [*lines, fits_line(selection, budget, ledger)], [*(["--permute-and-flip"] if flip else [])]
        options += ["--budget", budget_text(selection.budget)]
    options += [*starting_words(policy, ledger), *(["--anyway"] if selection.uninformative(n_records) else [])]
    show([*lines, next_step("dxp select", policy, what, *options, "--data", "FILE")])


def _choose(
    policy: Path,
    what: str,
    budget: str,
    flip: bool,
    data: tuple[str, ...],
    ledger: Path | None,
    new_ledger: bool,
    anyway: bool,
    out: Path | None,
    request: str,
    as_json: bool,
    counting: CountOptions,
) -> None:
    from dxprivacy.cli.given_files import command_files, require_folder, stem
    from dxprivacy.cli.policy_and_ledger import decide, left_line, require_worth
    from dxprivacy.cli.terminal import done_lines, next_step, show, show_json, working
    from dxprivacy.formats.file_access import SELECTION, require_place, write_file
    from dxprivacy.mechanisms.selection.selection_release import KEPT
    from dxprivacy.output.text.selection_text import selection_release_lines

    folder = None if as_json and out is None else out or Path()
    with working("reading the policy"):
        deciding = decide(policy, ledger, new_ledger=new_ledger)
    if folder is not None:
        require_folder(folder, files="selection-NAME.json")
    read = command_files(policy, deciding.policy, ledger=deciding.ledger, data=data)
    with deciding.open(data, counting) as session:
        with working("planning"):
            selection = session.plan_selection(what, budget=budget, flip=flip)
        target = None if folder is None else folder / f"{stem('selection', selection.name, request)}.json"
        if target is not None:
            require_place(target, SELECTION, inputs=read, note="Nothing spent, no data read.")
        require_worth(
            selection.uninformative(session.n_records),
            "select",
            selection.budget,
            anyway=anyway,
            recorded=lambda: session.is_recorded(selection, request=request),
        )
        with working("choosing"):
            outcome = session.chosen(selection, request=request, anyway=True)
        counted, left = session.source.name, session.left
    release = outcome.release
    if target is not None:
        write_file(target, release.to_json(), SELECTION, inputs=read, note=KEPT)
    book, written = deciding.ledger, [] if target is None else [target]
    done = done_lines(written, outcome.entries, book, replayed=outcome.replayed)
    if as_json:
        show_json({**release.to_dict(), "repeated": outcome.replayed}, done=done)
        return
    head = [deciding.words, *_head(outcome, book, counted), f"{tag('good', '✓')} written   {target}", left_line(left)]
    show(
        [*head, "", *selection_release_lines(release), "", next_step("dxp ledger", book, *deciding.options)], done=done
    )


def _head(outcome: "Outcome[SelectionRelease]", book: Path, counted: str) -> list[str]:
    # The steps that were done.
    good = tag("good", "✓")
    if outcome.replayed:
        return [f"{good} repeated  entry {outcome.entry} of {book}: chosen before, nothing spent"]
    return [
        f"{good} reserved  entry {outcome.entry} in {book}, before any record was counted",
        f"{good} counted   {counted}, {number_words(outcome.release)}",
    ]
