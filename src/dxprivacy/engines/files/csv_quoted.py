"""Read CSV records whose quoted fields span several lines, for files whose policy declares that they may.

Then a record is not a line, and one stray quote would swallow its neighbors. So the file must be written as RFC 4180
says: a field has no quotes at all, or is enclosed in quotes with every quote in it doubled. Such a file is read back as
exactly the table that was written: replacing one record replaces one record. Any other file cannot come from a table,
and is refused as a whole, like a damaged one (docs/adr/0019).
"""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence

from dxprivacy.engines.files.line_files import CUT, LONGEST_LINE
from dxprivacy.errors import DataError

# -- Whether a first line can be a header: names of columns, and not the first record of a file that has none ----------
# A record that is taken for a header is shown with the schema, and is missing from the counts.  The check finds entries
# that do not look like names of columns; a record of words alone cannot be distinguished from names.


_NO_NAME = re.compile(
    r"\s*(?:[+-]?[0-9][0-9.,'_ %:/eE+-]*"  # numbers, dates, times, years
    r"|[+-]?\.[0-9]+"
    r"|(?:true|false|null|none|nan|n/?a|nil|-|\?)"  # booleans, and signs for missing values
    r"|\S+@\S+\.\S+"  # an address
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)\s*",
    re.IGNORECASE,
)
_LONGEST_NAME = 300


def require_header(where: str, names: Sequence[str]) -> None:
    """Refuse a first line that cannot be a header; the message names columns, never their entries.

    >>> require_header("people.csv", ["name", "age"])
    >>> require_header("people.csv", ["Ada", "36"])
    Traceback (most recent call last):
    dxprivacy.errors.DataError: people.csv · the first line is no header: column 2 looks like an entry, not like a name
      If it is a record, the file has no header, and that record would be lost and shown.
      → add a line of names as the first one
      → --no-header --columns name,age         if it has none: say what its columns are called, in their order
      → --header                               if it is one all the same
    """
    why = _misfit(names)
    if why:
        raise DataError(
            f"the first line is no header: {why}",
            where=where,
            details=["If it is a record, the file has no header, and that record would be lost and shown."],
            hints=[
                "add a line of names as the first one",
                ("--no-header --columns name,age", "if it has none: say what its columns are called, in their order"),
                ("--header", "if it is one all the same"),
            ],
        )


def _misfit(names: Sequence[str]) -> str:
    """Return why these are not names of columns; empty if they may be."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if not name.strip():
            return f"column {number} has no name"
        if name in seen:
            return f"columns {seen[name]} and {number} have the same name"
        if len(name) > _LONGEST_NAME or _NO_NAME.fullmatch(name):
            return f"column {number} looks like an entry, not like a name"
        seen[name] = number
    return ""


# -- CSV records whose quoted fields span several lines, for files whose policy declares that they may -----------------


_AT_ONCE = 1 << 16  # records


def sound_record(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of a well-formed record; possessive, so that time is linear.

    >>> [bool(sound_record(";").fullmatch(r)) for r in ('a;"b\\n""c"', 'a;b"c', 'a;"b"c', '"a', "")]
    [True, False, False, False, True]
    """
    field = rf'(?:"(?:[^"]++|"")*+"|[^"{re.escape(delimiter)}]*+)'
    return re.compile(rf"{field}(?:{re.escape(delimiter)}{field})*+")


def records(read: Callable[[], bytes], delimiter: str, name: str) -> Iterator[list[str]]:
    """Yield the records of a file behind its header, many at a time; `read` returns its next bytes, in UTF-8."""
    sound, decoder = sound_record(delimiter), codecs.getincrementaldecoder("utf-8")(errors="replace")
    made: list[str] = []
    held: list[str] = []  # the part of the current record that is kept
    room, inside, begun = LONGEST_LINE, False, False

    def finished() -> str:
        record = "".join(held).removesuffix("\r")
        if room < 0:
            return record[:LONGEST_LINE] + CUT
        if '"' in record and not sound.fullmatch(record):
            raise unsound(name)
        return record

    at_end = False
    while not at_end:
        chunk = read()
        at_end = not chunk
        lines = decoder.decode(chunk, final=at_end).split("\n")
        for k, line in enumerate(lines):
            if k:  # a line feed precedes it
                if inside:
                    held.append("\n"[: max(room, 0)])
                    room -= 1
                else:
                    made.append(finished())
                    held, room, begun = [], LONGEST_LINE, False
            if line:
                inside ^= line.count('"') % 2 == 1
                held.append(line[: max(room, 0)])
                room -= len(line)
                begun = True
        if len(made) >= _AT_ONCE:
            yield made
            made = []
    if inside:
        raise unsound(name)
    if begun:
        made.append(finished())
    if made:
        yield made


def unsound(name: str) -> DataError:
    """Return the refusal of a file that cannot come from a table; it does not show which record it was."""
    return DataError(
        "is not written as quoted_line_breaks in [file] says",
        where=name,
        details=[
            "A field with a quote, a delimiter or a line break in it stands in quotes, and its own quotes are doubled.",
            "A single stray quote would make several records one, so nothing was counted.",
        ],
        hints=[
            ("without quoted_line_breaks", "each line is a record, and a stray quote stays in its own"),
            ("convert it to Parquet", "with the program that wrote it"),
        ],
    )
