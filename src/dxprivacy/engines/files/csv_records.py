"""Write records as CSV in the format that the policy declares, so that our own reader reads them back.

A line is a record. Fields are quoted as in RFC 4180 if needed. A line feed within a field is refused, because a line
that it ends would look like a record.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

import numpy as np

from dxprivacy.engines.fields import Field, texts_of
from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.universe.file_format import PLAIN, FileFormat

# -- The fields of a line ----------------------------------------------------------------------------------------------


_QUOTED = re.compile('"((?:[^"]++|"")*+)"?')  # up to its quote, or to the end; possessive, so that time is linear


def split_quoted(line: str, delimiter: str, max_rows: int = sys.maxsize) -> list[str]:
    """Return the first fields of one line that may contain quotes.

    >>> split_quoted('"a,b",c"d,"e ""f"" g",""', ",")
    ['a,b', 'c"d', 'e "f" g', '']
    >>> split_quoted('a,"never closed,b', ",")
    ['a', 'never closed,b']
    """
    fields, at = [], 0
    while True:
        text = ""
        if line.startswith('"', at):
            found = _QUOTED.match(line, at)
            assert found is not None  # it matches at any quote
            at = found.end()
            text = found[1].replace('""', '"')
        end = line.find(delimiter, at)
        fields.append(text + (line[at:] if end < 0 else line[at:end]))
        if end < 0 or len(fields) == max_rows:
            return fields
        at = end + 1


def split_all(lines: Sequence[str], delimiter: str, wanted: int) -> list[list[str]]:
    """Return the fields of each line, at least the wanted number of them."""
    rows = [
        line.split(delimiter, wanted) if '"' not in line else split_quoted(line, delimiter, wanted) for line in lines
    ]
    if min(map(len, rows)) < wanted:
        missing = [""] * wanted
        rows = [row + missing for row in rows]
    return rows


# -- CSV records -------------------------------------------------------------------------------------------------------


_BLOCK = 1 << 16  # possible records at a time
_PIECE = 1 << 14  # equal lines at a time


def require_csv(fields: Sequence[Field], layout: FileFormat = PLAIN) -> None:
    """Refuse what cannot be written as CSV, or in the declared encoding, before anything is spent."""
    for field in fields:
        for text in (field.name, *field.entry.texts):
            if "\n" in text or not _fits(text, layout.codec):
                known = _fits(text, "utf-8")
                raise UsageError(
                    f"column {field.name[:60]!r} has a text that CSV cannot hold"
                    + (f" in {layout.encoding}" if known and "\n" not in text else ""),
                    details=["A line feed would end the record."] if "\n" in text else [],
                    hints=[("--out synthetic.parquet", "holds any text")] if known else [],
                )
        if layout.columns and field.name not in layout.columns:
            what = f"column {field.name[:60]!r} is not among the columns that [file] names"
            raise UsageError(what, hints=[("--out synthetic.parquet", "names its columns itself")])


def write_csv(
    file: TextIO, fields: Sequence[Field], cells: Ints, counts: Ints, delimiter: str = ",", layout: FileFormat = PLAIN
) -> None:
    """Write a header, and `counts[k]` equal lines for each possible record, in their order.

    If the policy names the columns of a file without a header, all of them are written, and no header.
    """
    delimiter = layout.delimiter or delimiter
    named = {field.name: field for field in fields}
    wanted = [named.get(name) for name in layout.columns or named]
    if layout.has_header:
        file.write(delimiter.join(quoted(named, delimiter)) + "\n")
    for first in range(0, len(cells), _BLOCK):
        part = cells[first : first + _BLOCK]
        columns = [
            [""] * len(part) if field is None else _column(field, part, delimiter, alone=len(wanted) == 1)
            for field in wanted
        ]
        lines = (delimiter.join(entries) + "\n" for entries in zip(*columns, strict=True))
        file.writelines(_repeated(lines, counts[first : first + _BLOCK].tolist()))


def quoted(texts: Iterable[str], delimiter: str) -> list[str]:
    """Quote the fields that need it.

    >>> quoted(["a", "b,c", 'd"e', ""], ",")
    ['a', '"b,c"', '"d""e"', '']
    """
    needs = re.compile(f'[{re.escape(delimiter)}"\\r\\n]|^\\ufeff')  # a byte-order mark at the start would be dropped
    return ['"' + text.replace('"', '""') + '"' if needs.search(text) else text for text in texts]


def _column(field: Field, cells: Ints, delimiter: str, *, alone: bool) -> list[str]:
    """Return the texts of one column; each different entry is written once."""
    distinct, which = np.unique(field.places(cells), return_inverse=True)
    texts = quoted(texts_of(field.entry, distinct.tolist()), delimiter)
    if alone:  # an empty line is a record here, but not for all programs
        texts = [text or '""' for text in texts]
    entries: list[str] = np.array(texts, dtype=object)[which.reshape(-1)].tolist()
    return entries


def _repeated(lines: Iterable[str], times: Sequence[int]) -> Iterator[str]:
    for line, count in zip(lines, times, strict=True):
        if count <= _PIECE:
            yield line * count
        else:
            whole, rest = divmod(count, _PIECE)
            piece = line * _PIECE
            for _ in range(whole):
                yield piece
            yield line * rest


def _fits(text: str, codec: str) -> bool:
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return True
