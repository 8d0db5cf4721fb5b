"""`[file]`: the format of the data's lines.

    [file]
    delimiter = ";"                   # default by the file's ending: commas, or tabs for .tsv
    encoding = "latin-1"              # default UTF-8
    header = false                    # the first line is a record; then
    columns = ["name", "age"]         # name the columns, in their order
    quoted_line_breaks = true         # a quoted field may continue on the next line

These declarations are the same for every row, so that each row is still mapped to its possible record by itself.
"""

from collections.abc import Mapping
from typing import Any

from dxprivacy.policy.toml_file import UNPRINTABLE, PolicyFile
from dxprivacy.universe.file_format import CODECS, FileFormat, is_role

_KEYS = ("delimiter", "encoding", "header", "columns", "quoted_line_breaks")
_ALSO_CALLED = {
    "utf8": "utf-8",
    "utf-8-sig": "utf-8",
    "utf16": "utf-16",
    "utf-16-le": "utf-16",
    "utf-16le": "utf-16",
    "utf-16be": "utf-16-be",
    "latin1": "latin-1",
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "iso-8859-15": "latin-9",
    "iso8859-15": "latin-9",
    "latin9": "latin-9",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
    "windows-1252": "cp1252",
    "macroman": "mac-roman",
    "mac_roman": "mac-roman",
}
SERVER_KEYS = ("rows_are_records", "row_security_role")
"""The top-level keys of a policy that describe the tables of a database server."""
MOST_COLUMNS = 10_000


def known_encoding(name: str) -> str:
    """Return the encoding that a name means; empty if it is unknown.

    >>> known_encoding("Windows-1252"), known_encoding("ebcdic")
    ('cp1252', '')
    """
    name = _ALSO_CALLED.get(name.lower(), name.lower())
    return name if name in CODECS else ""


def why_no_delimiter(text: str) -> str:
    """Return why a text cannot separate fields; empty if it can.

    >>> why_no_delimiter(";"), why_no_delimiter("||")
    ('', 'a delimiter is one character')
    """
    if len(text) != 1:
        return "a delimiter is one character"
    if text == '"':
        return "quotes enclose fields; they do not separate them"
    if text.isalnum() or text in "+-._":
        return "letters, digits and + - . _ occur in entries; they do not separate them"
    return "a delimiter can be seen, or is a tab" if text != "\t" and UNPRINTABLE.search(text) else ""


def file_format(file: PolicyFile, top: Mapping[str, Any]) -> FileFormat:
    """Read the table `[file]` and the declarations about the tables of a server; errors name their lines."""
    given = top.get("file", {})
    rows_are_records, role = top.get("rows_are_records", False), top.get("row_security_role", "")
    if not isinstance(rows_are_records, bool):
        hints = ["rows_are_records = true"]
        raise file.error("rows_are_records is true or false", key="rows_are_records", hints=hints)
    if not isinstance(role, str) or not is_role(role) or (not role and "row_security_role" in top):
        hint = ('row_security_role = "anna"', "the role that connects to the server, and whose rows are the records")
        raise file.error("row_security_role is the name of a role", key="row_security_role", hints=[hint])
    if not isinstance(given, dict):
        raise file.error("file is a table", key="file", hints=["[file]", 'delimiter = ";"'])
    file.only(given, _KEYS, "file")
    breaks = _flag(file, given, "quoted_line_breaks")
    lines = (_delimiter(file, given), _encoding(file, given), _columns(file, given), breaks)
    return FileFormat(*lines, rows_are_records, role)


def _delimiter(file: PolicyFile, given: dict[str, Any]) -> str:
    text = given.get("delimiter", "")
    if "delimiter" not in given:
        return ""
    why = why_no_delimiter(text) if isinstance(text, str) else "a delimiter is one character, in quotes"
    if why:
        hints = [('delimiter = ";"', ""), (r'delimiter = "\t"', "a tab")]
        raise file.error(f"{why}", section="file", key="delimiter", hints=hints)
    return str(text)


def _encoding(file: PolicyFile, given: dict[str, Any]) -> str:
    name = given.get("encoding", "utf-8")
    found = known_encoding(name) if isinstance(name, str) else ""
    if not found:
        raise file.error(
            f"no encoding “{str(name)[:40]}”",
            section="file",
            key="encoding",
            hints=[('encoding = "cp1252"', "what Windows writes in Western Europe"), f"known: {', '.join(CODECS)}"],
        )
    return found


def _columns(file: PolicyFile, given: dict[str, Any]) -> tuple[str, ...]:
    header, columns = _flag(file, given, "header", usual=True), given.get("columns")
    example = ('columns = ["name", "age"]', "the names of the columns, in their order")
    if header and columns is not None:
        hints = [("header = false", "if the first line is a record"), ("remove columns", "if it names the columns")]
        raise file.error("columns are named by the header", section="file", key="columns", hints=hints)
    if header:
        return ()
    if columns is None:
        details = ("No row is read to count the columns.",)
        what = "without a header, the policy must name the columns"
        raise file.error(what, section="file", key="header", details=details, hints=[example])
    names = columns if isinstance(columns, list) else []
    if not names or not all(isinstance(name, str) and name.strip() and not UNPRINTABLE.search(name) for name in names):
        raise file.error("columns is a list of names", section="file", key="columns", hints=[example])
    at: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if at.setdefault(name, number) != number:
            what = f"columns {at[name]} and {number} are both called “{name[:60]}”"
            raise file.error(what, section="file", key="columns", hints=["a name of its own for each"])
    if len(names) > MOST_COLUMNS:
        raise file.error(f"{len(names):,} columns; a file may have {MOST_COLUMNS:,}", section="file", key="columns")
    return tuple(names)


def _flag(file: PolicyFile, given: dict[str, Any], key: str, *, usual: bool = False) -> bool:
    value = given.get(key, usual)
    if not isinstance(value, bool):
        raise file.error(
            f"{key} is true or false", section="file", key=key, hints=[f"{key} = {str(not usual).lower()}"]
        )
    return value
