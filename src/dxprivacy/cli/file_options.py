"""Options of `dxp init` that declare how a file is written; they go into the policy, and nothing is guessed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dxprivacy.policy.skeleton import Written

_OPTIONS = (
    click.option("--delimiter", metavar="CHARACTER", help='What stands between fields: ";", "|", or "tab".'),
    click.option("--encoding", metavar="NAME", help="How letters are written: cp1252, latin-1, utf-16 …; else UTF-8."),
    click.option("--decimal-comma", is_flag=True, help="Numbers are written like 1.234,5; the policy shows how."),
    click.option("--date-format", metavar="FORMAT", help='Dates are written so: "%d.%m.%Y".'),
    click.option("--no-header", is_flag=True, help="The first line is a record; needs --columns, as no row is read."),
    click.option("--columns", metavar="NAMES", help="What the columns are called, in order: name,age,city."),
    click.option("--line-breaks", is_flag=True, help="Quoted fields may go on in the next line."),
    click.option("--rows-are-records", is_flag=True, help="Of a view of a server: each row comes from one record."),
    click.option("--row-security-role", metavar="ROLE", help="Of a server: the records are the rows that it sees."),
)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--delimiter`, `--encoding`, `--decimal-comma`, `--date-format`, `--no-header`, `--columns`, `--line-breaks`,
    `--rows-are-records`, `--row-security-role`.
    """
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def written(
    *,
    delimiter: str | None,
    encoding: str | None,
    decimal_comma: bool,
    date_format: str | None,
    no_header: bool,
    columns: str | None,
    line_breaks: bool,
    rows_are_records: bool,
    row_security_role: str | None,
) -> "Written":
    """What the options declare."""
    from dxprivacy.errors import PolicyError, UsageError
    from dxprivacy.policy.skeleton import Written
    from dxprivacy.policy.tables.file_table import known_encoding, why_no_delimiter
    from dxprivacy.universe.file_format import CODECS, FileFormat, is_role
    from dxprivacy.universe.reading.text_formats import DateFormat

    mark = {"tab": "\t", r"\t": "\t"}.get(delimiter or "", delimiter or "")
    if delimiter is not None and (why := why_no_delimiter(mark)):
        raise UsageError(f"--delimiter: {why}", hints=['--delimiter ";"', "--delimiter tab"])
    name = known_encoding(encoding or "utf-8")
    if not name:
        raise UsageError(f"no encoding “{(encoding or '')[:40]}”", hints=[f"known: {', '.join(CODECS)}"])
    names = tuple(part.strip() for part in columns.split(",")) if columns is not None else ()
    if no_header and not names:
        raise UsageError(
            "where no header names the columns, you do",
            details=["No row is read to find out how many columns there are."],
            hints=[("--no-header --columns name,age,city", "in their order")],
        )
    if names and not no_header:
        raise UsageError("columns are named by the header", hints=[("--no-header", "if the first line is a record")])
    if "" in names or len(set(names)) < len(names):
        raise UsageError("--columns needs a name of its own for each column", hints=["--columns name,age,city"])
    if date_format is not None:
        try:
            DateFormat.of(date_format)
        except PolicyError as error:
            raise UsageError(f"--date-format: {error.what}", hints=['--date-format "%d.%m.%Y"']) from None
    if row_security_role is not None and not (row_security_role and is_role(row_security_role)):
        raise UsageError("--row-security-role needs the name of a role", hints=["--row-security-role anna"])
    file = FileFormat(mark, name, names, line_breaks, rows_are_records, row_security_role or "")
    return Written(file, "1.234,5" if decimal_comma else "", date_format or "")
