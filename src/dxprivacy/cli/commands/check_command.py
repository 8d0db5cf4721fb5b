"""`dxp check`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dxprivacy.cli.given_files import DATA
from dxprivacy.wording import tag

if TYPE_CHECKING:
    from dxprivacy.engines.source import Source
    from dxprivacy.policy import Policy
    from dxprivacy.universe.people import People
    from dxprivacy.universe.universe import Universe


@click.command("check")
@click.argument("policy", type=click.Path(path_type=Path))
@click.option(
    "--list",
    "listing",
    metavar="KIND",
    type=click.Choice(["public", "identical", "tightened"]),
    help="List all pairs that are public, identical or tightened.",
)
@click.option(
    "--diff",
    "other",
    metavar="OTHER",
    type=click.Path(path_type=Path),
    help="Compare with another policy: what becomes stricter, looser, public; how errors change.",
)
@click.option(
    "--data",
    type=DATA,
    multiple=True,
    help="Also whether this file, pattern or table of a server fits, by its column names and types; reads no row.",
)
@click.option(
    "--html", "as_page", is_flag=True, help="Also write check-DATASET.html: guarantee, pictures and warnings."
)
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines.")
def command(
    policy: Path, listing: str | None, other: Path | None, data: tuple[str, ...], as_page: bool, as_json: bool
) -> None:
    """Explain a policy: its possible records, the strictest and loosest pair of each attribute, and warnings.

    Two records of a pair are distinguishable by at most ε, over all releases ever: the odds between them change
    by a factor of at most e^ε. Reads the policy and the points file that it names; no data.

    \b
    A policy:   title = "Household survey 2026"
                dataset = "household-2026"         # the ledger is bound to it
                [attributes.sex]
                values = ["M", "F"]
                epsilon = 1.0                      # M and F: privacy loss at most 1
                [attributes.age]
                integers = [0, 120]
                epsilon = 0.5
                per = 10                           # 0.5 for every 10 years apart

    \b
    Examples:   dxp check demo/policy.toml
                dxp check policy.toml --list tightened
                dxp check policy.toml --diff draft.toml        what changes from the first to the second
                dxp check policy.toml --html                   a page to print and to sign
                dxp check policy.toml --data visits.parquet    whether the columns fit
    """
    if as_page:
        _require_page(policy, other)
    if other is not None:
        _compare(policy, other, listing, as_json)
        return
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.output.text.check_text import check_lines
    from dxprivacy.policy import Policy, check

    with working("checking"):
        loaded = Policy.load(policy)
        page = check(loaded)
        fits = _fit(loaded, data) if data else []
        written = _write_page(loaded, policy) if as_page else None
    if as_json:
        show_json(page.to_dict())
    else:
        done = [] if written is None else ["", f"{tag('good', '✓')} written  {written}"]
        step = next_step("dxp plan", policy, first_query(loaded.universe))
        show([*check_lines(page, listing or ""), *fits, *done, "", step])


def _fit(policy: "Policy", data: tuple[str, ...]) -> list[str]:
    # Whether columns fit, by names and types, and whether an unread column looks like a key.
    from dxprivacy.cli.commands.init_command import key_lines, kind_of
    from dxprivacy.engines import open_data

    source = open_data(data[0] if len(data) == 1 else list(data), policy.universe, policy.people_data)
    source.check(policy.universe)
    lines = [
        "",
        f"{tag('good', '✓')} fits     {source.name}: its columns have the names and types that the policy needs",
    ]
    if policy.universe.people is not None:
        return lines + _key_notes(source, policy.universe.people)
    if not source.has_schema:
        return lines
    read = {column for attribute in policy.universe.attributes for column in attribute.reads}
    others = [(c.name, kind_of(c)) for c in source.columns() if c.name not in read]
    return lines + key_lines(others, '[people] key = "…"')


def _key_notes(source: "Source", people: "People") -> list[str]:
    # Notes on key columns of numbers, of the rows and of the table of people.
    from dxprivacy.engines.beside_people import key_columns
    from dxprivacy.engines.fit import key_notes
    from dxprivacy.wording import wrap

    notes = key_notes(key_columns(source, people))
    return [line for note in notes for line in wrap(f"{tag('warn', '!')} {note}", 88, "  ")]


def _require_page(policy: Path, other: Path | None) -> None:
    # Checked before any work.
    from dxprivacy.cli.given_files import require_pages
    from dxprivacy.errors import UsageError
    from dxprivacy.wording import quoted

    if other is not None:
        hint = (f"dxp check {quoted(policy)} --html", "a page about one policy")
        raise UsageError("--html and --diff do not go together", hints=[hint])
    require_pages()


def _write_page(policy: "Policy", file: Path) -> Path:
    from dxprivacy.cli.given_files import command_files, command_line, page_name, write_page
    from dxprivacy.output.charts import check_page

    target = page_name("check", policy.dataset, policy.digest[:4])
    return write_page(check_page(policy, command=command_line()), target, command_files(file, policy))


def _compare(policy: Path, other: Path, listing: str | None, as_json: bool) -> None:
    # Compare two policies: distances first, then the effect on tables of counts.
    from dataclasses import replace

    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.errors import UsageError
    from dxprivacy.mechanisms.linear.planning.method_comparison import errors_gained
    from dxprivacy.output.text.check_text import diff_lines
    from dxprivacy.policy import Policy
    from dxprivacy.wording import quoted

    if listing:
        hint = (f"dxp check {quoted(policy)} --list {listing}", "lists the pairs of one policy")
        raise UsageError("--list and --diff do not go together", hints=[hint])
    with working("comparing"):
        before, after = Policy.load(policy), Policy.load(other)
        page = replace(before.diff(after), before=str(policy), after=str(other))
        errors = {} if page.identical else errors_gained(before.metric, after.metric)
    if as_json:
        show_json({**page.to_dict(), "errors": [gained.to_dict() for gained in errors.values()]})
    else:
        step = next_step("dxp check", other)
        show([*diff_lines(page, {name: str(gained) for name, gained in errors.items()}), "", step])


def first_query(universe: "Universe") -> str:
    """A query that works at once: by the first attribute, or by the property that groups its places."""
    first = universe.attributes[0]
    groups = {fact.name: len(set(fact.entries)) for fact in first.properties.values() if fact.numbers is None}
    several = {name: count for name, count in groups.items() if 1 < count < first.listed}
    name = min(several, key=lambda n: several[n]) if several else first.name
    return f"count by {name}" if " " not in name else f"count by '{name}'"
