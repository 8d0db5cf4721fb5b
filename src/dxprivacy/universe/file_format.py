"""The format of a text file: declared in the policy, never guessed from the file's rows.

The format decides which record a line is read as.  So it is part of the universe and of its digest: a plan that was
made for one format cannot be released under another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dxprivacy.errors import PolicyError

KIND = "file"
CODECS = {
    "utf-8": "utf-8",
    "utf-16": "utf-16-le",  # as Windows writes it
    "utf-16-be": "utf-16-be",
    "latin-1": "latin-1",
    "latin-9": "iso8859-15",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1252": "cp1252",
    "cp437": "cp437",
    "cp850": "cp850",
    "mac-roman": "mac-roman",
}
"""The encodings that a policy may name, with Python's names.  In all of them a line feed is never part of another
character, so that an invalid byte cannot affect the next row."""

_KEYS = {"kind", "delimiter", "encoding", "columns", "quoted_line_breaks", "rows_are_records", "row_security_role"}
_LONGEST_ROLE = 63  # bytes of a role's name; PostgreSQL allows no more


@dataclass(frozen=True)
class FileFormat:
    """The `[file]` section of a policy, and its declarations about the tables of a server.

    >>> str(FileFormat(";", "latin-1")), bool(FileFormat())
    ('“;” between fields, latin-1', False)
    """

    delimiter: str = ""  # if empty, the default of the file's ending
    encoding: str = "utf-8"
    columns: tuple[str, ...] = ()  # the names of the columns, if the file has no header
    quoted_line_breaks: bool = False
    rows_are_records: bool = False  # each row comes from one record, also in views and foreign tables of a server
    row_security_role: str = ""  # the records are the rows that this role of a server sees

    def __post_init__(self) -> None:
        if not is_role(self.row_security_role):
            raise PolicyError("a role has a name of at most 63 bytes, without control characters")
        if self.encoding not in CODECS or len(self.delimiter) > 1 or len(set(self.columns)) < len(self.columns):
            raise PolicyError("a file is described by a known encoding, one delimiter, and different names of columns")

    def __bool__(self) -> bool:
        return self != PLAIN

    def __str__(self) -> str:
        told = [f"“{self.delimiter}” between fields".replace("\t", "tab")] if self.delimiter else []
        told += [self.encoding] if self.encoding != PLAIN.encoding else []
        told += [f"no header: {', '.join(self.columns)}"] if self.columns else []
        told += ["line breaks in quotes"] if self.quoted_line_breaks else []
        told += ["rows of views are records"] if self.rows_are_records else []
        told += [f"rows that role {self.row_security_role} sees"] if self.row_security_role else []
        return ", ".join(told)

    @property
    def has_header(self) -> bool:
        """Whether the first line names the columns."""
        return not self.columns

    @property
    def codec(self) -> str:
        """Python's name of the encoding."""
        return CODECS[self.encoding]

    def read_alike(self, other: "FileFormat") -> bool:
        """Return whether both formats split a line into the same fields; the names of columns may differ."""
        mine, theirs = ((f.delimiter, f.encoding, f.has_header, f.quoted_line_breaks) for f in (self, other))
        return mine == theirs

    @property
    def of_servers(self) -> "FileFormat":
        """Only the declarations about tables of servers."""
        return FileFormat(rows_are_records=self.rows_are_records, row_security_role=self.row_security_role)

    @property
    def of_lines(self) -> "FileFormat":
        """Only the declarations about files (`[file]`)."""
        return replace(self, rows_are_records=False, row_security_role="")

    def spec(self) -> list[dict[str, Any]]:
        """Return the part of a universe's spec for this format; an empty list for the default format."""
        told: dict[str, Any] = {
            "delimiter": self.delimiter,
            "encoding": "" if self.encoding == PLAIN.encoding else self.encoding,
            "columns": list(self.columns),
            "quoted_line_breaks": self.quoted_line_breaks,
            "rows_are_records": self.rows_are_records,
            "row_security_role": self.row_security_role,
        }
        return [{"kind": KIND} | {key: value for key, value in told.items() if value}] if self else []

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "FileFormat":
        """Return the format that a spec describes; raise PolicyError if `spec()` of the result differs from it.

        >>> FileFormat.from_spec({"kind": "file", "delimiter": ";"})
        FileFormat(delimiter=';', encoding='utf-8', columns=(), quoted_line_breaks=False, rows_are_records=False, \
row_security_role='')
        """
        try:
            if not set(spec) <= _KEYS:
                raise ValueError
            columns = tuple(str(name) for name in spec.get("columns", ()))
            breaks, declared = (spec.get(key, False) for key in ("quoted_line_breaks", "rows_are_records"))
            role = spec.get("row_security_role", "")
            made = cls(spec.get("delimiter", ""), spec.get("encoding", PLAIN.encoding), columns, breaks, declared, role)
            if made.spec() != [dict(spec)]:
                raise ValueError
        except (ValueError, TypeError, AttributeError, PolicyError):
            raise PolicyError("the description of a file is damaged") from None
        return made


def is_role(name: str) -> bool:
    """Return whether a server can have a role of this name; the empty name stands for no role.

    >>> is_role("anna"), is_role(""), is_role("a\\nb"), is_role("x" * 64)
    (True, True, False, False)
    """
    return len(name.encode(errors="replace")) <= _LONGEST_ROLE and name.isprintable()


PLAIN = FileFormat()
"""The default format: the delimiter of the file's ending, UTF-8, with a header."""
