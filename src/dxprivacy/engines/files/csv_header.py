"""Detect from the first line alone, which is public, that a file is not written as declared.

A file with semicolons has one column if it is read with commas, and an old encoding shows in the first ä. Rows are
never read. Nothing of the line is shown, because in a file without a header it would be a record.
"""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass

from dxprivacy.engines.files.csv_records import split_quoted
from dxprivacy.errors import DataError, Hint
from dxprivacy.universe.file_format import FileFormat

_MARKS = {"\ufffe": "utf-16-be", "\u00ef\u00bb\u00bf": "utf-8"}  # byte-order marks, decoded in another encoding
_USUAL = (",", ";", "\t", "|")
_OLD = ("cp1252", "latin-1", "cp850", "mac-roman")


@dataclass(frozen=True)
class HeaderRemedy:
    """A possible problem, and the declaration that would explain it; `value` is empty if it is unknown."""

    what: str
    key: str
    value: str
    names: tuple[str, ...]  # of the columns, under this declaration and those before it

    @property
    def line(self) -> str:
        """The line for the table [file] of a policy."""
        return f'{self.key} = "{_shown(self.value)}"'

    @property
    def option(self) -> str:
        """The option of `dxp init`."""
        return f'--{self.key} "{_shown(self.value)}"'


def remedies(line: bytes, delimiter: str, file: FileFormat) -> list[HeaderRemedy]:
    """List possible problems of a header line, given in UTF-8 (as it is, if the declared encoding is UTF-8).

    >>> [(r.what, r.line) for r in remedies("größe;alter".encode("latin-1"), ",", FileFormat())]
    [('shows bytes that are not UTF-8', 'encoding = "cp1252"'), ('shows one column', 'delimiter = ";"')]
    """
    found: list[HeaderRemedy] = []
    line = line.removeprefix(codecs.BOM_UTF8).removesuffix(b"\n").removesuffix(b"\r")
    text = line.decode("utf-8", errors="replace")
    if file.encoding == "utf-8" and "\ufffd" in text:
        text = line.decode(_OLD[0], errors="replace")
        names = tuple(split_quoted(text, delimiter))
        found.append(HeaderRemedy("shows bytes that are not UTF-8", "encoding", _OLD[0], names))
    if len(split_quoted(text, delimiter)) == 1:
        best = max((mark for mark in _USUAL if mark != delimiter), key=text.count)
        value = best if best in text else ""
        names = tuple(split_quoted(text, value)) if value else ()
        found.append(HeaderRemedy("shows one column", "delimiter", value, names))
    return found


def hints(line: bytes, delimiter: str, file: FileFormat, wanted: Iterable[str]) -> list[Hint]:
    """Return the declarations under which the line names columns that a policy needs: then it is a header."""
    told = [r for r in remedies(line, delimiter, file) if r.value]
    if not told or not set(wanted) & set(told[-1].names):
        return []
    return [(r.line, "in [file]: then the first line names what the policy reads") for r in told]


def require_readable(line: bytes, text: str, file: FileFormat, where: str) -> None:
    """Refuse a first line that certainly has another encoding, or another kind of line breaks."""
    wide = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16-be"}.get(line[:2], "")
    told = wide if file.encoding == "utf-8" else next((e for mark, e in _MARKS.items() if text.startswith(mark)), "")
    if told and told != file.encoding:
        name = {"utf-8": "UTF-8", "utf-16": "UTF-16"}.get(told, "UTF-16, the other way round")
        declared = "UTF-8" if file.encoding == "utf-8" else file.encoding
        way = (f'encoding = "{told}"', "in [file]") if told != "utf-8" else ("without encoding", "UTF-8 is usual")
        raise DataError(f"is {name}, not {declared}", where=where, hints=[way, ("save it as UTF-8", "")])
    if file.encoding == "utf-8" and "\0" in text:
        raise DataError(
            "has zero bytes in its first line, as UTF-16 has",
            where=where,
            hints=[('encoding = "utf-16"', "in [file]"), ("save it as UTF-8", "")],
        )
    if re.search("\r(?!\n)", text):
        raise DataError(
            "has lines that end in carriage returns, as on very old computers",
            where=where,
            details=["One line of it would be the whole file."],
            hints=["save it with line feeds (Unix) or both (Windows)"],
        )


def _shown(value: str) -> str:
    return r"\t" if value == "\t" else value
