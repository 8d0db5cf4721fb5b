"""How a file of lines is written: declared in the policy, never guessed from its rows.

It decides which record a line is.  So it belongs to the universe and to its digest: a plan that was made for one way of
reading cannot be released under another.
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
"""The encodings that a policy may name, and what Python calls them.  In all of them a line feed is never a part of
another character, so that no bad byte reaches the next row."""

_KEYS = {"kind", "delimiter", "encoding", "columns", "quoted_line_breaks", "rows_are_records", "row_security_role"}
_LONGEST_ROLE = 63  # bytes of a role's name; PostgreSQL allows no more


@dataclass(frozen=True)
class FileFormat:
    """What a policy's `[file]` says, and what it declares of the tables of a server.

    >>> str(FileFormat(";", "latin-1")), bool(FileFormat())
    ('“;” between fields, latin-1', False)
    """

    delimiter: str = ""  # that of the file's ending, where none is declared
    encoding: str = "utf-8"
    columns: tuple[str, ...] = ()  # the names of columns where no header names them
    quoted_line_breaks: bool = False
    rows_are_records: bool = False  # also of views and foreign tables of a server, each row comes from one record
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
        """What Python calls the encoding."""
        return CODECS[self.encoding]

    def read_alike(self, other: "FileFormat") -> bool:
        """Whether the fields of a line are the same for both, whatever they are called."""
        mine, theirs = ((f.delimiter, f.encoding, f.has_header, f.quoted_line_breaks) for f in (self, other))
        return mine == theirs

    @property
    def of_servers(self) -> "FileFormat":
        """What is declared of the tables of servers alone."""
        return FileFormat(rows_are_records=self.rows_are_records, row_security_role=self.row_security_role)

    @property
    def of_lines(self) -> "FileFormat":
        """What is declared of files alone: `[file]`."""
        return replace(self, rows_are_records=False, row_security_role="")

    def spec(self) -> list[dict[str, Any]]:
        """What the digest of a universe covers; nothing where a file is as its ending says."""
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
        """The inverse of `spec`; what does not come back as it was is refused.

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
    """Whether a server can have a role of this name; no name stands for no role.

    >>> is_role("anna"), is_role(""), is_role("a\\nb"), is_role("x" * 64)
    (True, True, False, False)
    """
    return len(name.encode(errors="replace")) <= _LONGEST_ROLE and name.isprintable()


PLAIN = FileFormat()
"""As the file's ending says, in UTF-8, with a header."""
