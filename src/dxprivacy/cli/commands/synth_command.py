"""`dxp synth`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dxprivacy.cli.given_files import DATA
from dxprivacy.cli.options import CountOptions, assumed_records, counting_options, people_option
from dxprivacy.wording import tag

if TYPE_CHECKING:
    from dxprivacy.cli.policy_and_ledger import Deciding
    from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan
    from dxprivacy.policy import Policy
    from dxprivacy.session.synthesizing import Synthesis

_GOOD = tag("good", "✓")


@click.command("synth")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("queries", nargs=-1)
@click.option("--queries", "files", multiple=True, type=click.Path(path_type=Path), help="A file of [[query]] queries.")
@people_option
@click.option("--n-records", type=click.IntRange(min=1), help="Without --data: the public number of records.")
@click.option(
    "--data",
    type=DATA,
    multiple=True,
    help="The data, as for dxp release. Without it, only the expected quality is shown.",
)
@click.option("--ledger", type=click.Path(path_type=Path), help="The ledger [ledger.db beside the policy].")
@click.option("--new-ledger", is_flag=True, help="Start the ledger: nothing was ever released from this data.")
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="direct (noisy answers, then records that fit them), mwem (in rounds), smalldb (a few records, selected as "
    "a whole), or auto: direct or mwem, whichever is expected to be better.",
)
@click.option("--budget", default="10%", show_default=True, help="Part of every pair's ε to use; the rest stays.")
@click.option("--rounds", type=int, help="For mwem: the number of measured answers.")
@click.option("--passes", type=int, help="For mwem: passes over all measurements after each round.")
@click.option("--records", type=click.IntRange(min=1), help="The number of records to write [as many as in the data].")
@click.option("--anyway", is_flag=True, help="Make uninformative records, too.")
@click.option("--out", type=click.Path(path_type=Path), help="A .csv, .tsv or .parquet file [synthetic-NAME.csv].")
@click.option("--overwrite", is_flag=True, help="Replace synthetic records that dxp wrote there before.")
@counting_options
@click.option("--request", default="", help="Repeat under this name, at the full cost.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the comparison: a .png, .svg, .html or .json file.")
@click.option("--all", "everything", is_flag=True, help="Show every answer.")
@click.option("--json", "as_json", is_flag=True, help="The same for machines; writes no file unless --out.")
def command(
    policy: Path,
    queries: tuple[str, ...],
    files: tuple[Path, ...],
    n_records: int | None,
    people: int | None,
    data: tuple[str, ...],
    ledger: Path | None,
    new_ledger: bool,
    method: str,
    budget: str,
    rounds: int | None,
    passes: int | None,
    records: int | None,
    anyway: bool,
    out: Path | None,
    overwrite: bool,
    quantize_time: str | None,
    no_spill: bool,
    request: str,
    plot: Path | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Synthetic records that answer your queries nearly as the data does.

    Without --data it shows which method is expected to be better for these queries; it spends nothing and reads no
    data. With --ledger it then uses the largest budget, up to --budget, that fits what the ledger has left on every
    pair. With --data, the cost is reserved before any noise is drawn, and the records are written with a report that
    compares their answers with the released ones. The same command again gives the same records and costs nothing.

    Only these queries are preserved: records may answer other queries wrongly. Queries are those of dxp plan.

    \b
    Examples: dxp synth policy.toml "marginals 2" --n-records 20000
              dxp synth policy.toml "marginals 2" --data people.parquet --budget 50% --new-ledger \\
                --out synthetic.parquet
              dxp synth demo/policy.toml "mean elevation within 2 m" "count by state within 10" \\
                --data demo/people.parquet --out synthetic.csv
    """
    from dxprivacy.cli.given_files import command_files
    from dxprivacy.cli.policy_and_ledger import decide
    from dxprivacy.cli.terminal import working
    from dxprivacy.errors import UsageError
    from dxprivacy.policy import Policy
    from dxprivacy.policy.query_files import load_queries

    if not queries and not files:
        hints = [("dxp synth --help", "explains it"), ("--queries queries.toml", "for queries in a file")]
        raise UsageError("QUERIES... is missing", hints=hints)
    given = new_ledger or anyway or records or out or plot or overwrite or request or quantize_time or no_spill
    if not data and given:
        raise UsageError("no records are made without data", hints=[("--data FILE", "reserves the budget, makes them")])
    if data and (n_records is not None or people is not None):
        given, what = ("--n-records", "records") if people is None else ("--people", "people")
        raise UsageError(f"the number of {what} is taken from the data", hints=[f"leave {given} out"])
    with working("reading the policy"):
        loaded = Policy.load(policy)
        n_records = assumed_records(loaded.universe, n_records, people)
        asked = [*queries, *(load_queries(file, loaded.universe) for file in files)]
    wanted: dict[str, Any] = {"method": method, "budget": budget, "rounds": rounds}
    wanted |= {} if passes is None else {"passes": passes}
    if not data:
        words: list[str | Path] = [*queries]
        for file in files:
            words += ["--queries", file]
        for name, value in wanted.items() if ledger is None else [(n, v) for n, v in wanted.items() if n != "budget"]:
            words += [f"--{name}", str(value)] if value not in (None, "auto", "10%") else []
        _look_ahead(loaded, policy, asked, words, n_records, wanted, ledger, as_json=as_json)
        return
    places = _PlaceColumns(out, plot, overwrite=overwrite, written=not as_json or out is not None)
    deciding = decide(policy, ledger, new_ledger=new_ledger)
    places.read += command_files(policy, loaded, ledger=deciding.ledger, data=data, more=files)
    places.require(loaded)
    _make(
        deciding, asked, data, wanted, places,
        request=request, records=records, anyway=anyway, everything=everything, as_json=as_json,
        counting=CountOptions(quantize_time, spill=not no_spill),
    )  # fmt: skip


def _look_ahead(
    loaded: "Policy",
    policy: Path,
    asked: list[Any],
    words: list[str | Path],
    n_records: int | None,
    wanted: dict[str, Any],
    ledger: Path | None,
    *,
    as_json: bool,
) -> None:
    # The expected quality, without data.
    from dxprivacy.cli.options import budget_text, fits_line, fitting
    from dxprivacy.cli.policy_and_ledger import starting_words
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.errors import UsageError
    from dxprivacy.mechanisms.synthesis.plan import plan_synthesis
    from dxprivacy.output.text.synthesis_text import synthesis_lines, synthesis_to_dict
    from dxprivacy.wording import tag

    if n_records is None and loaded.universe.people is not None and loaded.universe.max_records is None:
        raise UsageError("how many people are there?", hints=[("--people 2000", "their number is public")])
    if n_records is None and loaded.universe.max_records is None:
        hints = [("--n-records 20000", "how good records are depends on the number of people, which is public")]
        raise UsageError("how many records does the data have?", hints=hints)
    with working("trying the methods on made-up tables"):

        def make(part: object) -> "SynthesisPlan":
            given = {**wanted, "budget": part, "title": loaded.title, "dataset": loaded.dataset}
            return plan_synthesis(asked, loaded.metric, n_records=n_records, **given)

        budget = wanted["budget"]
        plan = make(budget) if ledger is None else fitting(make, lambda found: found.made, budget, loaded, ledger)
    if as_json:
        show_json(synthesis_to_dict(plan))
        return
    free = tag("good", "Nothing spent, no data read.")
    lines = synthesis_lines(plan, in_ledger=ledger is not None)
    if ledger is not None:
        lines += ["", fits_line(plan.made, budget, ledger)]
        words += ["--budget", budget_text(plan.made.budget)]
    words += [*starting_words(policy, ledger), *(["--anyway"] if plan.uninformative() else [])]
    step = next_step("dxp synth", policy, *words, "--data", "FILE", "--out", "synthetic.csv")
    show([*lines, "", free, step])


def _make(
    deciding: "Deciding",
    asked: list[Any],
    data: tuple[str, ...],
    wanted: dict[str, Any],
    places: "_PlaceColumns",
    *,
    request: str,
    records: int | None,
    anyway: bool,
    everything: bool,
    as_json: bool,
    counting: CountOptions,
) -> None:
    # Reserve, make, write, compare.
    from dxprivacy.cli.policy_and_ledger import left_line, require_worth
    from dxprivacy.cli.terminal import done_lines, next_step, show, show_json, working
    from dxprivacy.output.text.release_text import guarantee_lines
    from dxprivacy.output.text.synthesis_text import report_lines, synthesis_lines, synthesis_to_dict
    from dxprivacy.wording import tag

    book = deciding.ledger
    with deciding.open(data, counting) as session:
        with working("trying the methods on made-up tables"):
            plan = session.plan_synthesis(*asked, **wanted)
        places.require_named(plan.made.name)
        require_worth(
            plan.uninformative(),
            "synth",
            plan.made.budget,
            anyway=anyway,
            recorded=lambda: session.is_recorded(plan, request=request),
        )
        with working("making synthetic records") as tell:
            made = session.synthesize(
                plan,
                request=request,
                records=records,
                anyway=True,
                progress=lambda k, of: tell(f"round {k} of {of}"),
            )
        counted, left = session.source.name, session.left
    written = places.write(made)
    done = done_lines(written, made.entries, book, replayed=made.replayed)
    if as_json:
        files = [str(file) for file in written]
        show_json(made.to_dict() | {"planned": synthesis_to_dict(plan), "files": files}, done=done)
        return
    head = [deciding.words, *_steps(made, book, counted)]
    head += [f"{_GOOD} written   {' · '.join(str(file) for file in written)}", left_line(left), ""]
    caution = "Synthetic records belong to no person. They preserve these queries and may answer others wrongly."
    lines = report_lines(made.report, everything=everything, file=str(places.report(made.name)))
    lines += [f"  {tag('dim', caution)}", "", *guarantee_lines(made.guarantee)]
    last = [next_step("dxp ledger", book, *deciding.options)]
    if made.release is not None:
        last.insert(0, next_step("dxp verify", places.release(made.name), "--ledger", book))
    show([*synthesis_lines(plan, in_ledger=True), "", *head, *lines, "", *last], done=done)


def _steps(made: "Synthesis", book: Path, counted: str) -> list[str]:
    # The steps that were done.
    from dxprivacy.wording import plural

    number = f"{_GOOD} made      {plural(made.records.number, 'record')} by {made.method}"
    if not made.entries:
        return [f"{_GOOD} spent     nothing: the queries do not depend on the data", number]
    first, last = made.entries[0], made.entries[-1]
    entries = f"entry {first}" if first == last else f"entries {first} – {last}"
    if made.replayed:
        return [f"{_GOOD} repeated  {entries} of {book}: answered before, nothing spent", number]
    when = "before any noise was drawn" if first == last else "each before its noise was drawn"
    n = made.synthetic.records
    return [
        f"{_GOOD} reserved  {entries} in {book}, {when}",
        f"{_GOOD} counted   {counted}, " + ("n is private" if n is None else f"n = {n:,} (public)"),
        number,
    ]


class _PlaceColumns:
    """The files of records, report, release and picture."""

    def __init__(self, out: Path | None, plot: Path | None, *, overwrite: bool, written: bool) -> None:
        self.out, self.plot, self.overwrite, self.written = out, plot, overwrite, written
        self.read: list[Path] = []  # what the command reads, which is never replaced

    def require(self, policy: "Policy") -> None:
        """Before anything is spent."""
        from dxprivacy.synthetic.synthetic_records import require_savable

        if self.written:
            target = self.out or Path("synthetic-NAME.csv")
            require_savable(policy.universe, target, overwrite=self.overwrite, inputs=self.read)
        if self.plot is not None:
            from dxprivacy.cli.commands.plan_command import require_places

            require_places(self.plot, None, read=self.read)

    def require_named(self, name: str) -> None:
        """Check the files that are named after the plan."""
        from dxprivacy.formats.file_access import RELEASE, REPORT, require_place

        if self.written:
            note = "Nothing spent, no data read."
            require_place(self.report(name), REPORT, inputs=self.read, note=note)
            require_place(self.release(name), RELEASE, inputs=self.read, note=note)

    def write(self, made: "Synthesis") -> list[Path]:
        """Write all files; if one cannot be written, the release is still stored in the ledger."""
        from dxprivacy.formats.file_access import RELEASE, write_file

        out = []
        if self.written:
            records = made.records.save(self.records(made.name), overwrite=self.overwrite, inputs=self.read)
            out = [records, made.report.save(self.report(made.name), records=records)]
            if made.release is not None:
                text = made.release.to_json()
                out.append(write_file(self.release(made.name), text, RELEASE, inputs=self.read))
        if self.plot is not None:
            from dxprivacy.output.charts import synthesis

            out.append(synthesis(made.report).save(self.plot))
        return out

    def records(self, name: str) -> Path:
        """The file of the records."""
        return self.out or Path(f"synthetic-{name}.csv")

    def report(self, name: str) -> Path:
        """The report next to it."""
        from dxprivacy.synthetic.synthetic_records import report_of

        return report_of(self.records(name))

    def release(self, name: str) -> Path:
        """The release next to it."""
        return self.records(name).with_name(f"release-{name}.json")
