"""Write tables as LaTeX, with booktabs.  Texts are untrusted: no character of them has a meaning for TeX."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dxprivacy.errors import one_line

# -- Tables for people: texts in rows and columns, before they are Markdown or LaTeX -----------------------------------


@dataclass(frozen=True)
class PrintedTable:
    """One table: its title, its head, the alignment of each column (`l` or `r`), and rows of texts."""

    title: str
    head: tuple[str, ...]
    align: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Printed:
    """Tables, the remarks below them, and the guarantee that goes with what was released."""

    tables: tuple[PrintedTable, ...]
    remarks: tuple[str, ...] = ()
    guarantee: tuple[str, ...] = ()


# -- Tables as LaTeX, with booktabs ------------------------------------------------------------------------------------


BEGINNING = "% made by dxprivacy; needs \\usepackage{booktabs,longtable}"
_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\symbol{34}",  # a shorthand in several languages
    "[": "{[}",  # after the end of a row it would begin an argument,
    "]": "{]}",
    "*": "{*}",  # and this would forbid a page break
    "\ufffd": "?",
    "\u00a0": "~",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "°": r"$^{\circ}$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "∞": r"$\infty$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "…": r"\ldots{}",
    "’": "'",
    "‘": "\\textquoteleft{}",
    "“": "``",
    "”": "''",
    "′": r"$'$",
    "\x00": "{}",  # where TeX would join two characters: see `_APART`
}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_APART = re.compile(r"(?<=([-',]))(?=\1)")  # two of them in a row are another character in TeX
_LONG = 40  # rows that fit on a page


def escaped(text: str) -> str:
    r"""Return text that TeX prints as it is, in one line.

    >>> print(escaped(r"50 % of a_b & $x$ \input{c} [d] --e"))
    50 \% of a\_b \& \$x\$ \textbackslash{}input\{c\} {[}d{]} -{}-e
    >>> print(escaped("ε = 3, −5 – 7"))
    $\varepsilon$ = 3, $-$5 -- 7
    """
    apart = _APART.sub("\x00", one_line(text))  # one_line leaves no such character of the text's own
    return _SIGN.sub(lambda sign: _SIGNS[sign.group()], apart).strip()


def latex(printed: Printed, *, guarantee: bool = True) -> str:
    """Write all tables with their titles as captions, the remarks and the guarantee; long tables span pages."""
    tables = [_long_table(table) if len(table.rows) > _LONG else _table(table) for table in printed.tables]
    parts = [BEGINNING, *tables, *(escaped(remark) for remark in printed.remarks)]
    if guarantee and printed.guarantee:
        items = "\n".join(f"  \\item {{}}{escaped(sentence)}" for sentence in printed.guarantee)
        parts.append(f"\\begin{{enumerate}}\n{items}\n\\end{{enumerate}}")
    return "\n\n".join(parts) + "\n"


def _table(table: PrintedTable) -> str:
    lines = [
        r"\begin{table}",
        r"\centering",
        *([_caption(table)] if table.title else []),
        f"\\begin{{tabular}}{{{table.align}}}",
        r"\toprule",
        _line(table.head),
        r"\midrule",
        *map(_line, table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _long_table(table: PrintedTable) -> str:
    lines = [
        f"\\begin{{longtable}}{{{table.align}}}",
        *([f"{_caption(table)} \\\\"] if table.title else []),
        r"\toprule",
        _line(table.head),
        r"\midrule",
        r"\endhead",
        *map(_line, table.rows),
        r"\bottomrule",
        r"\end{longtable}",
    ]
    return "\n".join(lines)


def _caption(table: PrintedTable) -> str:
    return f"\\caption{{{escaped(table.title)}}}"


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(escaped, cells))} \\\\"
