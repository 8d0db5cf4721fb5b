"""`dxp release`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dxprivacy.cli.counting import counting_options

if TYPE_CHECKING:
    from dxprivacy.planning import Plan
    from dxprivacy.policy import Policy
    from dxprivacy.release import Release


@click.command("release")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--data",
    required=True,
    multiple=True,
    help='A file (.parquet, .csv, .jsonl, .csv.gz, …), a pattern ("data/*.parquet") or FILE.duckdb::TABLE; '
    "give it several times for several files.",
)
@click.option("--ledger", type=click.Path(path_type=Path), help="The ledger [ledger.db beside the policy].")
@click.option("--policy", type=click.Path(path_type=Path), help="The policy [as recorded in the plan].")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for release-NAME.json and .csv [here].")
@click.option("--request", default="", help="Answer the same plan anew under this name, at its full cost.")
@click.option("--html", "as_page", is_flag=True, help="Also write release-NAME.html: promise, answers and pictures.")
@counting_options
@click.option("--all", "everything", is_flag=True, help="Show every answer.")
@click.option("--json", "as_json", is_flag=True, help="The release for machines; writes no file unless --out.")
def command(
    plan: Path,
    data: tuple[str, ...],
    ledger: Path | None,
    policy: Path | None,
    out: Path | None,
    request: str,
    as_page: bool,
    pace: str | None,
    no_spill: bool,
    everything: bool,
    as_json: bool,
) -> None:
    """Reserve the budget, then answer a plan with exact noise.

    The cost is written to the ledger before any noise is drawn. The same plan again returns the stored release and
    costs nothing. Bad entries never stop a release: they count as “other”.

    \b
    Examples: dxp release plan-7f3a.json --data people.parquet
              dxp release plan-7f3a.json --data people.csv --ledger ledger.db --out published/
              dxp release plan-7f3a.json --data "waves/*.parquet"
    """
    from dxprivacy.cli.screen import next_step, show, show_json, working
    from dxprivacy.policy import Policy
    from dxprivacy.release import release_lines
    from dxprivacy.session import Session, policy_of, read_plan

    folder = None if as_json and out is None else out or Path()
    if folder is not None:
        require_writable(folder)
    if as_page:
        _require_page(folder)
    with working("releasing"):
        policy_file = policy or policy_of(plan)
        loaded = Policy.load(policy_file)
        planned = read_plan(plan, loaded)
        book = ledger or policy_file.parent / "ledger.db"
        fresh = not book.exists()
        source = data[0] if len(data) == 1 else list(data)
        with Session(loaded, source, ledger=book, pace=pace, spill=not no_spill) as session:
            outcome = session.answer(planned, request=request)
            counted = session.source.name
    release = outcome.release
    stem = f"release-{release.name}" + re.sub(r"[^\w-]+", "-", f" {request}".rstrip())
    written = [] if folder is None else [release.save(folder / f"{stem}{end}") for end in (".json", ".csv")]
    if as_page and folder is not None:
        written.append(_write_page(planned, release, loaded, folder / f"{stem}.html"))
    if as_json:
        show_json({**release.to_dict(), "repeated": outcome.replayed})
        return
    good = "⟦good⟧✓⟦/⟧"
    # A plan names its policy, and the policy's folder the ledger: a plan from elsewhere must not choose them unseen.
    head = [f"{good} policy    {policy_file} · {loaded.digest[:8]}"]
    if fresh:
        head.append(started(book, named=ledger is not None))
    if outcome.replayed:
        head.append(f"{good} repeated  entry {outcome.entry} of {book}: answered before, nothing spent")
    else:
        head += [
            f"{good} reserved  entry {outcome.entry} in {book}, before any noise was drawn",
            f"{good} counted   {counted}, "
            + ("n is private" if release.records is None else f"n = {release.records:,} (public)"),
        ]
    head.append(f"{good} written   {' · '.join(str(w) for w in written)}")
    lines = release_lines(release, everything=everything, file=str(written[1]))
    options = () if policy_file == book.parent / "policy.toml" else ("--policy", policy_file)
    check = next_step("dxp verify", written[0], "--ledger", book)
    show([*head, "", *lines, "", check, next_step("dxp ledger", book, *options)])


def started(book: Path, *, named: bool) -> str:
    """That there was no ledger before: normal the first time; where one was named, perhaps a slip of the pen."""
    told = f"{book.resolve()}: what was spent elsewhere does not count here"
    return f"⟦warn⟧! new ledger⟦/⟧  {told}" if named else f"⟦good⟧✓⟦/⟧ started   a new ledger, {told}"


def _require_page(folder: Path | None) -> None:
    """Before anything is spent."""
    from dxprivacy.errors import UsageError
    from dxprivacy.plots.rendering import require_rendering

    if folder is None:
        raise UsageError("--html with --json needs a folder to write to", hints=[("--out FOLDER", "")])
    require_rendering()


def _write_page(plan: "Plan", release: "Release", policy: "Policy", target: Path) -> Path:
    """The page; whatever keeps it from being written, the release itself is safe by now."""
    from dxprivacy.errors import UsageError
    from dxprivacy.plots import release_page

    try:
        target.write_text(release_page(release, plan, policy=policy), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror}",
            details=["The release is kept in the ledger; the same plan returns it again, at no cost."],
        ) from None
    return target


def require_writable(folder: Path, files: str = "release-NAME.json and .csv") -> None:
    """Before anything is spent."""
    import tempfile

    from dxprivacy.errors import UsageError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"cannot write to {folder}: {error.strerror}",
            details=["Nothing spent, no data read."],
            hints=[("--out FOLDER", f"where {files} may be written")],
        ) from None
