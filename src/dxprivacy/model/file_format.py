"""How a file of lines is written: declared in the policy, never guessed from its rows.

It decides which record a line is.  So it belongs to the universe and to its digest: a plan that was made for one way of
reading cannot be released under another.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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

_KEYS = {"kind", "delimiter", "encoding", "columns", "quoted_line_breaks", "rows_are_records"}


@dataclass(frozen=True)
class FileFormat:
    """What a policy's `[file]` says, and whether views count as tables.

    >>> str(FileFormat(";", "latin-1")), bool(FileFormat())
    ('“;” between fields, latin-1', False)
    """

    delimiter: str = ""  # that of the file's ending, where none is declared
    encoding: str = "utf-8"
    columns: tuple[str, ...] = ()  # the names of columns where no header names them
    quoted_line_breaks: bool = False
    rows_are_records: bool = False  # also of views and foreign tables of a server, each row comes from one record

    def __post_init__(self) -> None:
        if self.encoding not in CODECS or len(self.delimiter) > 1 or len(set(self.columns)) < len(self.columns):
            raise PolicyError("a file is described by a known encoding, one delimiter, and different names of columns")

    def __bool__(self) -> bool:
        return self != PLAIN

    def __str__(self) -> str:
        told = [f"“{self.delimiter}” between fields".replace("\t", "tab")] if self.delimiter else []
        told += [self.encoding] if self.encoding != PLAIN.encoding else []
        told += [f"no header: {', '.join(self.columns)}"] if self.columns else []
        told += ["line breaks in quotes"] if self.quoted_line_breaks else []
        return ", ".join([*told, *(["rows of views are records"] if self.rows_are_records else [])])

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

    def spec(self) -> list[dict[str, Any]]:
        """What the digest of a universe covers; nothing where a file is as its ending says."""
        told: dict[str, Any] = {
            "delimiter": self.delimiter,
            "encoding": "" if self.encoding == PLAIN.encoding else self.encoding,
            "columns": list(self.columns),
            "quoted_line_breaks": self.quoted_line_breaks,
            "rows_are_records": self.rows_are_records,
        }
        return [{"kind": KIND} | {key: value for key, value in told.items() if value}] if self else []

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "FileFormat":
        """The inverse of `spec`; what does not come back as it was is refused.

        >>> FileFormat.from_spec({"kind": "file", "delimiter": ";"})
        FileFormat(delimiter=';', encoding='utf-8', columns=(), quoted_line_breaks=False, rows_are_records=False)
        """
        try:
            if not set(spec) <= _KEYS:
                raise ValueError
            columns = tuple(str(name) for name in spec.get("columns", ()))
            breaks, declared = (spec.get(key, False) for key in ("quoted_line_breaks", "rows_are_records"))
            made = cls(spec.get("delimiter", ""), spec.get("encoding", PLAIN.encoding), columns, breaks, declared)
            if made.spec() != [dict(spec)]:
                raise ValueError
        except (ValueError, TypeError, PolicyError):
            raise PolicyError("the description of a file is damaged") from None
        return made


PLAIN = FileFormat()
"""As the file's ending says, in UTF-8, with a header."""
