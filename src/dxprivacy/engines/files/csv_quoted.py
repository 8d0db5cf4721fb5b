"""CSV records whose quoted fields go on over several lines, for files whose policy says that they may.

Then a record is no longer a line, and one stray quote would swallow its neighbors.  So the file must be what a table
is written as (RFC 4180): a field has no quotes at all, or stands in quotes with every quote in it doubled.  Such a file
is read back as exactly the table that was written: replacing one record replaces one record.  Any other file is no
table's, and refused as a whole, as a damaged one is (docs/adr/0019).
"""

import codecs
import re
from collections.abc import Callable, Iterator

from dxprivacy.engines.files.line_files import CUT, LONGEST_LINE
from dxprivacy.errors import DataError

_AT_ONCE = 1 << 16  # records


def sound_record(delimiter: str) -> re.Pattern[str]:
    """What a record looks like; possessive, so that time is linear.

    >>> [bool(sound_record(";").fullmatch(r)) for r in ('a;"b\\n""c"', 'a;b"c', 'a;"b"c', '"a', "")]
    [True, False, False, False, True]
    """
    field = rf'(?:"(?:[^"]++|"")*+"|[^"{re.escape(delimiter)}]*+)'
    return re.compile(rf"{field}(?:{re.escape(delimiter)}{field})*+")


def records(read: Callable[[], bytes], delimiter: str, name: str) -> Iterator[list[str]]:
    """The records of a file behind its header, many at a time; `read` gives its next bytes, in UTF-8."""
    sound, decoder = sound_record(delimiter), codecs.getincrementaldecoder("utf-8")(errors="replace")
    made: list[str] = []
    held: list[str] = []  # of the record that has begun, as much as is looked at
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
            if k:  # a line feed stands before it
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
    """The refusal of a file that is no table's; which record it was is not said."""
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
