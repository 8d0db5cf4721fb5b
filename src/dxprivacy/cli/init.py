"""`dxp init`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dxprivacy.cli.file_options import file_options, written
from dxprivacy.wording import tag

if TYPE_CHECKING:
    from dxprivacy.engines import Source
    from dxprivacy.engines.csv_header import Remedy

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
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("policy.toml"), show_default=True, help="The file."
)
@click.option(
    "--public",
    metavar="COLUMN",
    multiple=True,
    help="You declare that it may be known which values occur in this column: they are read and listed.",
)
@click.option("--header", is_flag=True, help="The first line names the columns, even where it looks like a record.")
@file_options
@click.option("--overwrite", is_flag=True, help="Replace a policy that dxp init wrote there.")
@click.option("--json", "as_json", is_flag=True, help="Columns and types for machines; writes nothing.")
def command(
    data: Path, out: Path, public: tuple[str, ...], header: bool, overwrite: bool, as_json: bool, **declared: Any
) -> None:
    """Write a policy to fill in, from column names and types only.

    No row is read: which values may occur, and how far they may be told apart, is yours to say. Every attribute is
    commented out until you have said it. Only for columns named with --public are rows read, and their values listed;
    the policy says so.

    A CSV file or a sheet must name its columns in its first line: one that looks like a record (numbers, dates, empty
    or repeated names) is refused, and not shown. How a file is written is yours to say, too; the policy then says it.

    \b
    Examples: dxp init people.parquet
              dxp init people.parquet --public state --public sex
              dxp init people.csv --delimiter ";" --decimal-comma --encoding cp1252
              dxp init people.csv --no-header --columns name,age,city
              edit policy.toml, then dxp check policy.toml
    """
    from dxprivacy.cli.inputs import command_files
    from dxprivacy.cli.screen import next_step, show, show_json
    from dxprivacy.engines import open_source
    from dxprivacy.engines.distinct import public_values
    from dxprivacy.engines.header import require_header
    from dxprivacy.engines.source import Kind
    from dxprivacy.errors import UsageError
    from dxprivacy.files.writing import POLICY, require_place, write_file
    from dxprivacy.policy.skeleton import skeleton

    if header and declared["no_header"]:
        raise UsageError("--header and --no-header cannot both be true", hints=["leave one of them out"])
    how = written(**declared)
    read = command_files(data=[str(data)])
    if not as_json:
        require_place(out, POLICY, inputs=read, overwrite=overwrite)
    source = open_source(data, file=how.file)
    columns = source.columns()
    show(_warnings(source), err=True)
    if how.file.has_header and not header and all(column.kind in (Kind.UNTYPED, Kind.OBJECT) for column in columns):
        require_header(source.name, [column.name for column in columns])
        for odd in _oddities(source):  # a record in one piece looks like a name
            require_header(source.name, odd.names)
    values = {column: public_values(source, column) for column in public}
    if as_json:
        shown = ({"values": list(values[c.name])} if c.name in values else {} for c in columns)
        show_json([{"column": c.name, "type": str(c), **more} for c, more in zip(columns, shown, strict=True)])
        return
    listed = [(c.name, _KINDS.get(str(c.kind or ""), ""), str(c)) for c in columns]
    text = skeleton(data.stem, data.stem, listed, values, how)
    write_file(out, text, POLICY, inputs=read, overwrite=overwrite)
    looked = "no row was read" if not values else f"rows were read for {', '.join(values)} alone"
    mark = tag("warn", "! declared")
    told = [
        f"{mark}  public: which values of {column} occur was read from the data, and stands in {out}"
        for column in values
    ]
    show(
        [
            f"{tag('good', '✓')} written  {out}: {len(columns):,} columns of {data.name}, from its schema; {looked}",
            *told,
            "  Remove the # before the attributes you want to ask about, and fill in their values and ε.",
            "",
            next_step("dxp check", out),
        ]
    )


def _warnings(source: "Source") -> list[str]:
    """What a header shows that is hardly meant: a file with semicolons would “succeed” with one column."""
    lines = []
    for odd in _oddities(source):
        way = f"; try {odd.option}" if odd.value else ": nothing seems to stand between fields"
        lines.append(f"{tag('warn', '! look twice')}  {source.name} {odd.what}{way}")
    return lines


def _oddities(source: "Source") -> "list[Remedy]":
    from dxprivacy.engines.csv_lines import CsvFile

    return source.oddities if isinstance(source, CsvFile) else []
