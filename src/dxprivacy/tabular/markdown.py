"""Write tables as Markdown of GitHub and similar sites.  Texts are untrusted: they stay plain text."""

import re

from dxprivacy.errors import one_line
from dxprivacy.tabular.latex import Printed, PrintedTable

BEGINNING = "<!-- made by dxprivacy -->"
# Characters with a meaning inside a line: emphasis, code, links, tags, entities, table cells, formulas, mentions.
_SIGNS = re.compile(r"[\\`*_{}\[\]<>|~^$&@#!]|:(?=[A-Za-z/])|(?<=\bwww)\.", re.IGNORECASE)


def escaped(text: str) -> str:
    r"""Return text that is shown as it is, in one line, inside a table cell or outside.

    >>> escaped("a|b *c* <d> $e$ http://f"), escaped("8:15, 5–9")
    ('a\\|b \\*c\\* \\<d\\> \\$e\\$ http\\://f', '8:15, 5–9')
    """
    return _SIGNS.sub(lambda sign: f"\\{sign.group()}", one_line(text)).strip()


def markdown(printed: Printed, *, guarantee: bool = True) -> str:
    """Write all tables with their titles, the remarks and the guarantee."""
    parts = [BEGINNING, *map(_table, printed.tables), *(escaped(remark) for remark in printed.remarks)]
    if guarantee and printed.guarantee:
        parts.append("\n".join(f"{k}. {escaped(sentence)}" for k, sentence in enumerate(printed.guarantee, 1)))
    return "\n\n".join(parts) + "\n"


def _table(table: PrintedTable) -> str:
    rows = [table.head, *table.rows]
    cells = [[escaped(text) for text in row] for row in rows]
    widths = [max(3, *(len(row[k]) for row in cells)) for k in range(len(table.head))]
    lines = [_line(row, widths, table.align) for row in cells]
    rule = [":" + "-" * (w - 1) if side == "l" else "-" * (w - 1) + ":" for w, side in _sides(widths, table.align)]
    title = [f"**{escaped(table.title)}**", ""] if table.title else []
    return "\n".join([*title, lines[0], f"| {' | '.join(rule)} |", *lines[1:]])


def _line(cells: list[str], widths: list[int], align: str) -> str:
    sides = _sides(widths, align)
    padded = [c.ljust(w) if side == "l" else c.rjust(w) for c, (w, side) in zip(cells, sides, strict=True)]
    return f"| {' | '.join(padded)} |"


def _sides(widths: list[int], align: str) -> list[tuple[int, str]]:
    return list(zip(widths, align, strict=True))
