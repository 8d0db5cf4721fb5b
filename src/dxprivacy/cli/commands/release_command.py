"""`dxp release`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dxprivacy.cli.given_files import DATA
from dxprivacy.cli.options import CountOptions, counting_options, number_words
from dxprivacy.wording import tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dxprivacy.cli.policy_and_ledger import Deciding
    from dxprivacy.formats.file_access import FileKind
    from dxprivacy.mechanisms.linear.plan import Plan
    from dxprivacy.policy import Policy
    from dxprivacy.releases.release import Release


_SILENT = 0.5  # seconds, of each part: a long release has several, and no two together are silent for two


@click.command("release")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=DATA,
    required=True,
    multiple=True,
    help='A file (.parquet, .csv, .jsonl, .csv.gz, …), a pattern ("data/*.parquet"), FILE.duckdb::TABLE, '
    '"postgresql://USER@HOST/DATABASE::TABLE" or spark:TABLE; give it several times for several files.',
)
@click.option("--policy", type=click.Path(path_type=Path), help="The policy [the version that --ledger holds].")
@click.option("--ledger", type=click.Path(path_type=Path), help="The ledger [ledger.db beside --policy].")
@click.option("--new-ledger", is_flag=True, help="Start the ledger: nothing was ever released from this data.")
@click.option("--anyway", is_flag=True, help="Release uninformative answers, too.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for release-NAME.json and .csv [here].")
@click.option("--request", default="", help="Answer the same plan again under this name, at its full cost.")
@click.option("--html", "as_page", is_flag=True, help="Also write release-NAME.html: guarantee, answers and pictures.")
@click.option("--geojson", "as_map", is_flag=True, help="Also write release-NAME.geojson: answers on the Earth.")
@click.option(
    "--deployment",
    "as_deployment",
    is_flag=True,
    help="Also write release-NAME.yaml: an entry for OpenDP's registry of deployments, to be filled in.",
)
@counting_options
@click.option("--all", "everything", is_flag=True, help="Show every answer.")
@click.option(
    "--wide", is_flag=True, help="Show two-way tables as crosstabs, however wide; darker marks: larger numbers."
)
@click.option("--json", "as_json", is_flag=True, help="The release for machines; writes no file unless --out.")
def command(
    plan: Path,
    data: tuple[str, ...],
    policy: Path | None,
    ledger: Path | None,
    new_ledger: bool,
    anyway: bool,
    out: Path | None,
    request: str,
    as_page: bool,
    as_map: bool,
    as_deployment: bool,
    quantize_time: str | None,
    no_spill: bool,
    everything: bool,
    wide: bool,
    as_json: bool,
) -> None:
    """Reserve the budget, then answer a plan with exact noise.

    The curator names the policy, or the ledger that holds it; a plan chooses neither, and must have been made for that
    policy. The cost is written to the ledger before any noise is drawn. The same plan again returns the stored
    release and costs nothing. Bad entries never stop a release: they count as “other”.

    \b
    Examples: dxp release plan-7f3a.json --data people.parquet --policy policy.toml --new-ledger
              dxp release plan-7f3a.json --data people.csv --ledger ledger.db --out published/
              dxp release plan-7f3a.json --data "waves/*.parquet" --policy policy.toml
    """
    from dxprivacy.cli.terminal import done_lines, next_step, show, show_json, working

    folder = None if as_json and out is None else out or Path()
    with working("reading the plan", after=_SILENT):
        from dxprivacy.cli.given_files import command_files, require_folder, stem
        from dxprivacy.cli.policy_and_ledger import (
            decide,  # what takes a second to load is loaded in here
            left_line,
            require_worth,
        )
        from dxprivacy.output.text.release_text import release_lines
        from dxprivacy.session import read_json, read_plan

        deciding = decide(policy, ledger, new_ledger=new_ledger)
        if folder is not None:
            require_folder(folder)
        if as_page:
            _require_page(folder)
        planned = read_plan(plan, deciding.policy)
        if as_map:
            _require_map(planned, folder)
        if as_deployment:
            _require_deployment(folder)
        if deciding.file is None:
            _require_units(read_json(plan), deciding)
    read = command_files(deciding.file, deciding.policy, ledger=deciding.ledger, data=data, more=[plan])
    # Under the plan's own name, which is a digest: a name that stands in a file is never a path.
    files = _ReleaseFiles(folder, stem("release", planned.name, request), as_page, as_map, as_deployment, read)
    files.require()
    with deciding.open(data, CountOptions(quantize_time, spill=not no_spill)) as session:
        with working("comparing with a guess", after=_SILENT):
            warning = planned.uninformative(session.n_records)
        require_worth(
            warning,
            "plan",
            planned.budget,
            anyway=anyway,
            recorded=lambda: session.is_recorded(planned, request=request),
        )
        with working("releasing", after=_SILENT):
            outcome = session.answer(planned, request=request, anyway=True)
        counted, left = session.source.name, session.left
    release = outcome.release
    with working("writing", after=_SILENT):
        written = files.write(release, planned, deciding.policy)
        lines = [] if as_json else release_lines(release, everything=everything, wide=wide, file=str(written[1]))
    good, book = tag("good", "✓"), deciding.ledger
    done = done_lines(written, outcome.entries, book, replayed=outcome.replayed)
    if as_json:
        show_json({**release.to_dict(), "repeated": outcome.replayed}, done=done)
        return
    if outcome.replayed:
        head = [deciding.words, f"{good} repeated  entry {outcome.entry} of {book}: answered before, nothing spent"]
    else:
        head = [
            deciding.words,
            f"{good} reserved  entry {outcome.entry} in {book}, before any noise was drawn",
            f"{good} counted   {counted}, {number_words(release)}",
        ]
    head += [f"{good} written   {' · '.join(str(w) for w in written)}", left_line(left)]
    check = next_step("dxp verify", written[0], "--ledger", book)
    show([*head, "", *lines, "", check, next_step("dxp ledger", book, *deciding.options)], done=done)


def _require_units(data: Any, deciding: "Deciding") -> None:
    # No digest covers units: the ledger may hold other units than the plan, and answers would show them.
    from dxprivacy.errors import LedgerError

    universe = data.get("universe")
    units = universe.get("units") if isinstance(universe, dict) else None
    if units != deciding.policy.universe.units():
        raise LedgerError(
            "does not hold the units of the plan; nothing spent, no data read",
            where=str(deciding.ledger),
            hints=[("--policy FILE", "the policy's own file has them")],
        )


@dataclass(frozen=True)
class _ReleaseFiles:
    """The files of a release; if one cannot be written, the release is still stored in the ledger."""

    folder: Path | None
    stem: str
    as_page: bool
    as_map: bool
    as_deployment: bool
    read: "Sequence[Path]"

    def require(self) -> None:
        """Before anything is spent."""
        from dxprivacy.formats.file_access import ANSWERS, DEPLOYMENT, GEOJSON, PAGE, RELEASE, require_place

        if self.folder is not None:
            kinds = [(".json", RELEASE), (".csv", ANSWERS), *([(".geojson", GEOJSON)] if self.as_map else [])]
            kinds += [(".yaml", DEPLOYMENT)] if self.as_deployment else []
            for end, kind in [*kinds, *([(".html", PAGE)] if self.as_page else [])]:
                note = "Nothing spent, no data read."
                require_place(self.folder / f"{self.stem}{end}", kind, inputs=self.read, note=note)

    def write(self, release: "Release", plan: "Plan", policy: "Policy") -> list[Path]:
        """Write all files, the page last: it takes longest."""
        from dxprivacy.formats.file_access import ANSWERS, DEPLOYMENT, GEOJSON, PAGE, RELEASE
        from dxprivacy.releases.deployment import deployment_text

        if self.folder is None:
            return []
        written = [self._put(".json", release.to_json(), RELEASE), self._put(".csv", release.to_csv(), ANSWERS)]
        if self.as_map:
            written.append(self._put(".geojson", release.to_geojson(), GEOJSON))
        if self.as_deployment:
            written.append(self._put(".yaml", deployment_text(release.deployment()), DEPLOYMENT))
        if self.as_page:
            from dxprivacy.output.charts import release_page

            written.append(self._put(".html", release_page(release, plan, policy=policy), PAGE))
        return written

    def _put(self, end: str, text: str, kind: "FileKind") -> Path:
        from dxprivacy.formats.file_access import write_file
        from dxprivacy.releases.release import KEPT

        return write_file((self.folder or Path()) / f"{self.stem}{end}", text, kind, inputs=self.read, note=KEPT)


def _require_map(plan: "Plan", folder: Path | None) -> None:
    # Checked before anything is spent: some answer must lie on the Earth.
    from dxprivacy.errors import UsageError
    from dxprivacy.releases.geojson import NOWHERE, lies_somewhere

    if folder is None:
        raise UsageError("--geojson with --json needs a folder to write to", hints=[("--out FOLDER", "")])
    facts = {"universe": plan.metric.universe.to_dict(), "policy": {"metric": plan.metric.spec()}}
    if not lies_somewhere(facts, {name for answer in plan.workload.answers for name, _ in answer.groups}):
        raise UsageError(
            "no answer of this plan lies on the Earth", details=["Nothing spent, no data read."], hints=NOWHERE
        )


def _require_deployment(folder: Path | None) -> None:
    """Before anything is spent."""
    from dxprivacy.errors import UsageError

    if folder is None:
        raise UsageError("--deployment with --json needs a folder to write to", hints=[("--out FOLDER", "")])


def _require_page(folder: Path | None) -> None:
    """Before anything is spent."""
    from dxprivacy.errors import UsageError
    from dxprivacy.output.charts.picture import require_rendering

    if folder is None:
        raise UsageError("--html with --json needs a folder to write to", hints=[("--out FOLDER", "")])
    require_rendering()
