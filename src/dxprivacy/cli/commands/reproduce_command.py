"""`dxp reproduce`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dxprivacy.paper.figures import FIGURES

if TYPE_CHECKING:
    from dxprivacy.paper.reproducing import Progress, Reproduced

_LISTED = "\n".join(f"                {figure.name:<10} {figure.about}" for figure in FIGURES)


@click.command(
    "reproduce",
    help=f"""Run the paper's experiments again with our own code, and some that go further.

    Each figure is written as PNG, SVG, Vega-Lite and CSV, all together as one offline page, report.html. Everything is
    random numbers from a seed: no private data is involved, and none is read. The same seed gives the same CSV files. A
    run that was stopped goes on where it was: finished figures are kept.

    \b
    Figures:    {_LISTED.lstrip()}

    \b
    Examples:   dxp reproduce --quick                     20 universes, about a minute of processor time
                dxp reproduce --out figures               200 universes, some minutes
                dxp reproduce fig1b fig2 --out some --universes 50 --seed 7
    """,
)
@click.argument("figures", nargs=-1, metavar="[FIGURE]...")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("reproduction"),
    help="The folder to write to (reproduction).",
)
@click.option("--universes", type=int, metavar="N", help="Random universes: 200, with --quick 20.")
@click.option("--seed", type=int, metavar="S", help="Of the random numbers: 2020.")
@click.option("--quick", is_flag=True, help="Fewer universes and queries, smaller ranges.")
@click.option("--overwrite", is_flag=True, help="Write into a folder that is not empty; measure these figures again.")
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines.")
def command(
    figures: tuple[str, ...],
    out: Path,
    universes: int | None,
    seed: int | None,
    quick: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """The help text above includes the list of figures."""
    from dxprivacy.cli.given_files import require_folder_name
    from dxprivacy.cli.terminal import show, show_json
    from dxprivacy.paper.figures import chosen

    chosen(figures)  # a misspelt name is told before anything heavy is loaded
    require_folder_name(out, "--out", "the figures")
    from dxprivacy.paper.experiment import FULL, QUICK, SEED, Settings
    from dxprivacy.paper.reproducing import reproduce

    many = (QUICK if quick else FULL) if universes is None else universes
    settings = Settings(many, SEED if seed is None else seed, quick)
    with _bar() as progress:
        done = reproduce(figures, out=out, settings=settings, overwrite=overwrite, progress=progress)
    if as_json:
        show_json(done.to_dict())
    else:
        show(_page(done))


def _page(done: "Reproduced") -> list[str]:
    from dxprivacy.cli.terminal import next_step
    from dxprivacy.wording import plural, tag, wrap

    quick = ", quick" if done.settings.quick else ""
    head = (
        f"{plural(len(done.figures), 'figure')} · {plural(done.settings.universes, 'universe')}, seed "
        f"{done.settings.seed}{quick}"
    )
    lines = [f"{tag('good', '✓')} {head} · {done.folder}", ""]
    width = max(map(len, done.figures)) + 2
    for name, figure in done.figures.items():
        first, *rest = wrap(figure.found, 96 - width)
        mark = tag("dim", " (kept)") if name in done.kept else ""
        lines += [f"  {tag('accent', name.ljust(width))}{first}", *(f"  {' ' * width}{line}" for line in rest)]
        lines[-1] += mark
    return [*lines, "", next_step("python -m webbrowser", done.report)]


@contextmanager
def _bar() -> "Iterator[Progress | None]":
    """Progress on stderr; silent without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None)

        def tell(name: str, done: int, total: int) -> None:
            progress.update(task, description=name, completed=done, total=total)

        yield tell
