"""Tables for people: texts in rows and columns, before they are Markdown or LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedTable:
    """One table: its title, a head, a side for each column (`l` or `r`), and rows of texts."""

    title: str
    head: tuple[str, ...]
    align: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Printed:
    """Tables, the remarks that belong below them, and the guarantee that goes with what was released."""

    tables: tuple[PrintedTable, ...]
    remarks: tuple[str, ...] = ()
    guarantee: tuple[str, ...] = ()
