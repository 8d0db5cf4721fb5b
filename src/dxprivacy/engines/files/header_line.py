"""Whether a first line can be a header: names of columns, and not the first record of a file that has none.

A record that is taken for a header is shown to whoever looks at the schema, and is missing from the counts.  What can
be seen is what no name of a column looks like; a record of nothing but words cannot be told from names.
"""

import re
from collections.abc import Sequence

from dxprivacy.errors import DataError

_NO_NAME = re.compile(
    r"\s*(?:[+-]?[0-9][0-9.,'_ %:/eE+-]*"  # numbers, dates, times, years
    r"|[+-]?\.[0-9]+"
    r"|(?:true|false|null|none|nan|n/?a|nil|-|\?)"  # truths, and how nothing is written
    r"|\S+@\S+\.\S+"  # an address
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)\s*",
    re.IGNORECASE,
)
_LONGEST_NAME = 300


def require_header(where: str, names: Sequence[str]) -> None:
    """Refuse what cannot be a header; says which columns, never what stands in them.

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
    """Why these are no names."""
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
