"""`dxp init`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dxprivacy.cli.given_files import DATA
from dxprivacy.cli.options import file_options, written
from dxprivacy.formats.file_access import is_address
from dxprivacy.wording import tag

if TYPE_CHECKING:
    from dxprivacy.engines import Source
    from dxprivacy.engines.files.csv_header import HeaderRemedy
    from dxprivacy.engines.source import Column

_KINDS = {
    "whole numbers": "whole",
    "floating-point numbers": "number",
    "decimal numbers": "number",
    "dates": "date",
    "points in time": "date",
    "points in time with a zone": "instant",
    "times of day": "time",
    "true or false": "truth",
    "text": "text",
    "untyped text": "untyped",
    "untyped entries": "untyped",
}


@click.command("init")
@click.argument("data", type=DATA)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("policy.toml"), show_default=True, help="The file."
)
@click.option(
    "--public",
    metavar="COLUMN",
    multiple=True,
    help="Declares that the occurring values of this column are public: they are read and listed.",
)
@click.option(
    "--key",
    metavar="COLUMN",
    multiple=True,
    help="This column identifies the person: people have several rows. Repeat it for a key of several columns.",
)
@click.option("--header", is_flag=True, help="The first line names the columns, even if it looks like a record.")
@file_options
@click.option("--overwrite", is_flag=True, help="Replace a policy that dxp init wrote there.")
@click.option("--json", "as_json", is_flag=True, help="Columns and types for machines; writes nothing.")
def command(
    data: str,
    out: Path,
    public: tuple[str, ...],
    key: tuple[str, ...],
    header: bool,
    overwrite: bool,
    as_json: bool,
    **declared: Any,
) -> None:
    """Write a policy to fill in, from column names and types only.

    No row is read: you declare which values may occur, and how distinguishable they may be. Every attribute is
    commented out until you do. Rows are read only for columns named with --public, whose values are listed; the policy
    says so.

    A CSV file or a sheet must name its columns in its first line: one that looks like a record (numbers, dates, empty
    or repeated names) is refused, and not shown. You also declare the format of a file; the policy records it.

    \b
    Examples: dxp init people.parquet
              dxp init people.parquet --public state --public sex
              dxp init visits.parquet --key patient
              dxp init people.csv --delimiter ";" --decimal-comma --encoding cp1252
              dxp init people.csv --no-header --columns name,age,city
              dxp init "postgresql://anna@db.example.org/survey::people"
              edit policy.toml, then dxp check policy.toml
    """
    from dxprivacy.cli.given_files import command_files
    from dxprivacy.cli.terminal import next_step, show, show_json
    from dxprivacy.engines import open_source
    from dxprivacy.engines.files.csv_quoted import require_header
    from dxprivacy.engines.fit import public_values
    from dxprivacy.engines.source import ColumnKind
    from dxprivacy.errors import UsageError
    from dxprivacy.formats.file_access import POLICY, require_place, write_file
    from dxprivacy.policy.skeleton import skeleton

    if header and declared["no_header"]:
        raise UsageError("--header and --no-header cannot both be true", hints=["leave one of them out"])
    how = written(**declared)
    read = command_files(data=[data])
    if not as_json:
        require_place(out, POLICY, inputs=read, overwrite=overwrite)
    source = open_source(data, file=how.file)
    columns = source.columns()
    show(_warnings(source), err=True)
    if (
        how.file.has_header
        and not header
        and all(column.kind in (ColumnKind.UNTYPED, ColumnKind.OBJECT) for column in columns)
    ):
        require_header(source.name, [column.name for column in columns])
        for odd in _oddities(source):  # a record in one piece looks like a name
            require_header(source.name, odd.names)
    _require_keys(source.name, columns, key, public)
    values = {column: public_values(source, column) for column in public}
    if as_json:
        shown = ({"values": list(values[c.name])} if c.name in values else {} for c in columns)
        show_json([{"column": c.name, "type": str(c), **more} for c, more in zip(columns, shown, strict=True)])
        return
    listed = [(c.name, kind_of(c), str(c)) for c in columns]
    called = _called(data)
    text = skeleton(called, called, listed, values, how, key)
    write_file(out, text, POLICY, inputs=read, overwrite=overwrite)
    looked = "no row was read" if not values else f"rows were read for {', '.join(values)} alone"
    mark = tag("warn", "! declared")
    told = [
        f"{mark}  public: which values of {column} occur was read from the data, and stands in {out}"
        for column in values
    ]
    told += [] if key else key_lines([(name, kind) for name, kind, _ in listed], "dxp init … --key")
    show(
        [
            f"{tag('good', '✓')} written  {out}: {len(columns):,} columns of {source.name}, from its schema; {looked}",
            *told,
            "  Remove the # before the attributes you want to ask about, and fill in their values and ε.",
            "",
            next_step("dxp check", out),
        ]
    )


def _called(data: str) -> str:
    # The default title: the name of the file or table.
    return data.rpartition("::")[2].rpartition(":")[2].rpartition("/")[2] if is_address(data) else Path(data).stem


def _require_keys(where: str, columns: "list[Column]", key: tuple[str, ...], public: tuple[str, ...]) -> None:
    # Refuse keys that are not columns, or that cannot be keys.
    from dxprivacy.engines.fit import check_keys, find_keys
    from dxprivacy.errors import UsageError
    from dxprivacy.universe.people import People

    if not key:
        return
    if both := [column for column in key if column in public]:
        raise UsageError(f"{both[0]} cannot be a key and public", hints=["a key appears in no output"])
    found = find_keys(where, [column.name for column in columns], People(key, 1))
    check_keys(where, [columns[position] for position in found])


def kind_of(column: "Column") -> str:
    """The kind of a column in the new policy; empty if none fits."""
    return _KINDS.get(str(column.kind or ""), "")


def key_lines(columns: list[tuple[str, str]], remedy: str) -> list[str]:
    """A warning if columns look like keys."""
    from dxprivacy.policy.skeleton import looks_like_key
    from dxprivacy.wording import short

    found = [name for name, kind in columns if looks_like_key(name, kind)]
    if not found:
        return []
    some = ", ".join(short(name, 24) for name in found[:3]) + (", …" if len(found) > 3 else "")
    says = "looks like the key of a person" if len(found) == 1 else "look like keys of people"
    text = f"{some} {says}. If a person can have several rows: {remedy}. Otherwise each row is protected alone."
    return [f"{tag('warn', '! people')}    {text}"]


def _warnings(source: "Source") -> list[str]:
    # A warning about an odd header: a file with semicolons would be read as one column.
    lines = []
    for odd in _oddities(source):
        way = f"; try {odd.option}" if odd.value else ": nothing seems to stand between fields"
        lines.append(f"{tag('warn', '! look twice')}  {source.name} {odd.what}{way}")
    return lines


def _oddities(source: "Source") -> "list[HeaderRemedy]":
    from dxprivacy.engines.files.csv_lines import CsvFile

    return source.oddities if isinstance(source, CsvFile) else []
