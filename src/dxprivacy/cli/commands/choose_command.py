"""`dxp choose`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dxprivacy.cli.count_options import Counting, counting_options, number_words, people_option, reckoned_rows
from dxprivacy.cli.data_names import DATA
from dxprivacy.wording import tag

if TYPE_CHECKING:
    from dxprivacy.mechanisms.selection.plan import Choice
    from dxprivacy.mechanisms.selection.selection_release import ChoiceRelease
    from dxprivacy.session import Outcome


@click.command("choose")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("what")
@people_option
@click.option("--rows", type=click.IntRange(min=1), help="The number of records, which is published.")
@click.option("--share", default="10%", show_default=True, help="Part of every pair's ε to use; the rest stays.")
@click.option(
    "--permute-and-flip",
    "flip",
    is_flag=True,
    help="Choose by permute-and-flip: the same cost, never further from the best.",
)
@click.option(
    "--data",
    type=DATA,
    multiple=True,
    help="Reserve the budget and choose, from this file, pattern or table of a server; several times for several.",
)
@click.option("--ledger", type=click.Path(path_type=Path), help="The ledger [ledger.db beside the policy].")
@click.option("--new-ledger", is_flag=True, help="Start the ledger: nothing was ever released from this data.")
@click.option("--anyway", is_flag=True, help="Choose even where that is no better than a guess.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for choice-NAME.json [here].")
@counting_options
@click.option("--request", default="", help="Choose anew under this name, at the full cost.")
@click.option("--json", "as_json", is_flag=True, help="The same for machines; writes no file unless --out.")
def command(
    policy: Path,
    what: str,
    rows: int | None,
    people: int | None,
    share: str,
    flip: bool,
    data: tuple[str, ...],
    ledger: Path | None,
    new_ledger: bool,
    anyway: bool,
    out: Path | None,
    pace: str | None,
    no_spill: bool,
    request: str,
    as_json: bool,
) -> None:
    """The most common value, a median, a quantile, good bin edges: chosen by the data, privately.

    Without --data it shows how far from the best the choice may be; that spends nothing and reads nothing. With
    --ledger it takes the largest share, up to --share, that fits what the ledger has left on every pair. With --data
    the cost is written to the ledger before any record is counted. The same choice again returns the stored one.

    \b
    What:       most common job [where sex=F]      the value with the most records
                largest sum income by state        the largest of any counts or sums
                median age                         also income/5000, in wider steps
                quantile 0.9 of income
                4 bins of age                      edges for bins of equal numbers of records

    \b
    Examples:   dxp choose policy.toml "median age"
                dxp choose policy.toml "most common job" --share 10% --data people.parquet --new-ledger
                dxp choose policy.toml "4 bins of age/5" --permute-and-flip
    """
    from dxprivacy.cli.policy_and_ledger import starting_words
    from dxprivacy.cli.remaining_budget import fits_line, fitting, share_text
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.errors import UsageError
    from dxprivacy.mechanisms.selection.plan import make_choice
    from dxprivacy.output.text.selection_text import choice_lines
    from dxprivacy.policy import Policy

    if not data and (new_ledger or anyway or request or out is not None or pace or no_spill):
        raise UsageError("nothing is chosen without data", hints=[("--data FILE", "reserves the budget and chooses")])
    if data and (rows is not None or people is not None):
        given, what = ("--rows", "records") if people is None else ("--people", "people")
        raise UsageError(f"the number of {what} is taken from the data", hints=[f"leave {given} out"])
    if data:
        counting = Counting(pace, spill=not no_spill)
        _choose(policy, what, share, flip, data, ledger, new_ledger, anyway, out, request, as_json, counting)
        return
    with working("planning"):
        loaded = Policy.load(policy)
        rows = reckoned_rows(loaded.universe, rows, people)

        def make(part: object) -> "Choice":
            return make_choice(
                what, loaded.metric, share=part, flip=flip, rows=rows, title=loaded.title, dataset=loaded.dataset
            )

        choice = make(share) if ledger is None else fitting(make, lambda made: made, share, loaded, ledger)
        lines = [] if as_json else choice_lines(choice, in_ledger=ledger is not None)
    if as_json:
        show_json(choice.to_dict())
        return
    options: list[str | Path] = [
        *(["--share", share] if share != "10%" else []),
        *(["--permute-and-flip"] if flip else []),
    ]
    if ledger is not None:
        lines, options = [*lines, fits_line(choice, share, ledger)], [*(["--permute-and-flip"] if flip else [])]
        options += ["--share", share_text(choice.share)]
    options += starting_words(policy, ledger)
    show([*lines, next_step("dxp choose", policy, what, *options, "--data", "FILE")])


def _choose(
    policy: Path,
    what: str,
    share: str,
    flip: bool,
    data: tuple[str, ...],
    ledger: Path | None,
    new_ledger: bool,
    anyway: bool,
    out: Path | None,
    request: str,
    as_json: bool,
    counting: Counting,
) -> None:
    from dxprivacy.cli.input_files import command_files
    from dxprivacy.cli.output_folders import require_folder, stem
    from dxprivacy.cli.policy_and_ledger import decide
    from dxprivacy.cli.terminal import done_lines, next_step, show, show_json, working
    from dxprivacy.cli.uninformative_guard import left_line, require_worth
    from dxprivacy.formats.writing_files import CHOICE, require_place, write_file
    from dxprivacy.mechanisms.selection.selection_release import KEPT
    from dxprivacy.output.text.selection_release_text import choice_release_lines

    folder = None if as_json and out is None else out or Path()
    with working("reading the policy"):
        deciding = decide(policy, ledger, new_ledger=new_ledger)
    if folder is not None:
        require_folder(folder, files="choice-NAME.json")
    read = command_files(policy, deciding.policy, ledger=deciding.ledger, data=data)
    with deciding.open(data, counting) as session:
        with working("planning"):
            choice = session.plan_choice(what, share=share, flip=flip)
        target = None if folder is None else folder / f"{stem('choice', choice.name, request)}.json"
        if target is not None:
            require_place(target, CHOICE, inputs=read, note="Nothing spent, no data read.")
        require_worth(
            choice.uninformative(session.rows),
            "choose",
            anyway=anyway,
            recorded=lambda: session.is_recorded(choice, request=request),
        )
        with working("choosing"):
            outcome = session.chosen(choice, request=request, anyway=True)
        counted, left = session.source.name, session.left
    release = outcome.release
    if target is not None:
        write_file(target, release.to_json(), CHOICE, inputs=read, note=KEPT)
    book, written = deciding.ledger, [] if target is None else [target]
    done = done_lines(written, outcome.entries, book, replayed=outcome.replayed)
    if as_json:
        show_json({**release.to_dict(), "repeated": outcome.replayed}, done=done)
        return
    head = [deciding.words, *_head(outcome, book, counted), f"{tag('good', '✓')} written   {target}", left_line(left)]
    show([*head, "", *choice_release_lines(release), "", next_step("dxp ledger", book, *deciding.options)], done=done)


def _head(outcome: "Outcome[ChoiceRelease]", book: Path, counted: str) -> list[str]:
    """What was done, step by step."""
    good = tag("good", "✓")
    if outcome.replayed:
        return [f"{good} repeated  entry {outcome.entry} of {book}: chosen before, nothing spent"]
    return [
        f"{good} reserved  entry {outcome.entry} in {book}, before any record was counted",
        f"{good} counted   {counted}, {number_words(outcome.release)}",
    ]
