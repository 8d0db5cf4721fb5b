"""`dxp release`."""

from pathlib import Path

import click


@click.command("release")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--data", required=True, type=click.Path(path_type=Path), help="CSV or Parquet file.")
@click.option("--ledger", type=click.Path(path_type=Path), help="The ledger [ledger.db beside the policy].")
@click.option("--policy", type=click.Path(path_type=Path), help="The policy [as recorded in the plan].")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for release-NAME.json and .csv [here].")
@click.option("--request", default="", help="Answer the same plan anew under this name, at its full cost.")
@click.option("--all", "everything", is_flag=True, help="Show every answer.")
@click.option("--json", "as_json", is_flag=True, help="The release for machines; writes no file unless --out.")
def command(
    plan: Path,
    data: Path,
    ledger: Path | None,
    policy: Path | None,
    out: Path | None,
    request: str,
    everything: bool,
    as_json: bool,
) -> None:
    """Reserve the budget, then answer a plan with exact noise.

    The same plan again returns the stored release and costs nothing.

    \b
    Example: dxp release plan-7f3a.json --data people.parquet
    """
    from dxprivacy.cli.screen import show, show_json, working
    from dxprivacy.policy import Policy
    from dxprivacy.release import release_lines
    from dxprivacy.session import Session, policy_of, read_plan

    with working("releasing"):
        policy_file = policy or policy_of(plan)
        loaded = Policy.load(policy_file)
        planned = read_plan(plan, loaded)
        book = ledger or policy_file.parent / "ledger.db"
        with Session(loaded, data, ledger=book) as session:
            outcome = session.answer(planned, request=request)
    release = outcome.release
    written = []
    if out is not None or not as_json:
        folder = out or Path()
        folder.mkdir(parents=True, exist_ok=True)
        written = [release.save(folder / f"release-{release.name}{end}") for end in (".json", ".csv")]
    if as_json:
        show_json(release.to_dict())
        return
    good = "⟦good⟧✓⟦/⟧"
    if outcome.replayed:
        head = [f"{good} repeated  entry {outcome.entry} of {book}: answered before, nothing spent"]
    else:
        head = [
            f"{good} reserved  entry {outcome.entry} in {book}, before any noise was drawn",
            f"{good} counted   {data.name}, n = {release.records:,} (public)",
        ]
    head.append(f"{good} written   {' · '.join(str(w) for w in written)}")
    show([*head, "", *release_lines(release, everything=everything), "", f"⟦dim⟧Next:⟦/⟧ dxp ledger {book}"])
