"""The fields of a line."""

import re
import sys
from collections.abc import Sequence

_QUOTED = re.compile('"((?:[^"]++|"")*+)"?')  # up to its quote, or to the end; possessive, so that time is linear


def split_quoted(line: str, delimiter: str, at_most: int = sys.maxsize) -> list[str]:
    """The first fields of one line that may contain quotes.

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
            assert found is not None  # it matches wherever a quote stands
            at = found.end()
            text = found[1].replace('""', '"')
        end = line.find(delimiter, at)
        fields.append(text + (line[at:] if end < 0 else line[at:end]))
        if end < 0 or len(fields) == at_most:
            return fields
        at = end + 1


def split_all(lines: Sequence[str], delimiter: str, wanted: int) -> list[list[str]]:
    """The fields of each line, at least the wanted number of them."""
    rows = [
        line.split(delimiter, wanted) if '"' not in line else split_quoted(line, delimiter, wanted) for line in lines
    ]
    if min(map(len, rows)) < wanted:
        missing = [""] * wanted
        rows = [row + missing for row in rows]
    return rows
