"""Rows of a table under the titles of their queries, if their names alone are ambiguous."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from dxprivacy.wording import short, tag


def under_headings(lines: Sequence[tuple[str, str, Sequence[str]]]) -> list[list[str]]:
    """Return rows of a table from (query, name, further fields), with queries as headings if names are ambiguous.

    `count by sex` and `count by sex where age=1` have answers with the same names; then queries are headings.  So they
    are if several queries have several answers each: `M` does not show whether records or people are counted.
    """
    owners: dict[str, set[str]] = {}
    for query, name, _ in lines:
        owners.setdefault(name, set()).add(query)
    several = [query for query, many in Counter(query for query, *_ in lines).items() if many > 1]
    if all(len(found) == 1 for found in owners.values()) and len(several) < 2:
        return [[name, *cells] for _, name, cells in lines]
    out: list[list[str]] = []
    for query, members in groupby(lines, key=lambda line: line[0]):
        rows = [[name, *cells] for _, name, cells in members]
        if len(rows) == 1 and len(owners[rows[0][0]]) == 1:  # no heading needed: usually it is the query itself
            out += rows
            continue
        out.append([tag("dim", short(query, _HEADING))])
        out += [[f"  {row[0]}", *row[1:]] for row in rows]
    return out


_HEADING = 94
