"""Typed columns, also as a relation of DuckDB, which exports them to any reader of Arrow.

Types are declared by the maker of the columns: none is inferred from the entries.
"""

import importlib
import importlib.util
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dxprivacy.errors import UsageError
from dxprivacy.tabular.latex import Printed, latex
from dxprivacy.tabular.markdown import markdown

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation as Relation

TEXT, NUMBER = "VARCHAR", "DOUBLE"


@dataclass(frozen=True)
class Columns:
    """Names, types and entries of columns; None is a missing entry.

    >>> Columns.of([("sex", TEXT), ("value", NUMBER)], [["M", 3], ["F", 4.5]]).values
    (('M', 'F'), (3, 4.5))
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, head: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> "Columns":
        """Build from rows."""
        values = tuple(zip(*rows, strict=True)) or ((),) * len(head)
        return cls(tuple(name for name, _ in head), tuple(kind for _, kind in head), values)

    def rows(self) -> list[dict[str, Any]]:
        """Return dictionaries, row by row."""
        return [dict(zip(self.names, row, strict=True)) for row in zip(*self.values, strict=True)]

    def by_name(self) -> dict[str, list[Any]]:
        """Return lists, column by column; a missing number is NaN."""
        told = zip(self.names, self.types, self.values, strict=True)
        return {name: [_absent(kind) if x is None else x for x in column] for name, kind, column in told}

    def relation(self) -> "Relation":
        """Return a relation of DuckDB, in a database of its own, which lives as long as it is used."""
        import duckdb

        con = duckdb.connect(":memory:", config={"threads": "1", "python_enable_replacements": "false"})
        con.execute("SET enable_progress_bar = false")
        # Numbered columns and parameters are used, because names and entries are untrusted text.
        parts = ", ".join(f"unnest($c{k}::{kind}[]) AS c{k}" for k, kind in enumerate(self.types))
        given = {f"c{k}": list(map(_unicode, column)) for k, column in enumerate(self.values)}
        con.execute(f"CREATE TEMP TABLE held AS SELECT {parts}", given)
        named = ", ".join(f"c{k} AS {identifier(name)}" for k, name in enumerate(self.names))
        return con.sql(f"SELECT {named} FROM held")


def identifier(name: str) -> str:
    """Quote a name for DuckDB's SQL; a NUL, which would end the name, is replaced.

    >>> identifier('a "b"')
    '"a ""b\"""'
    """
    return '"' + str(_unicode(name)).replace("\x00", "\ufffd").replace('"', '""') + '"'


def _absent(kind: str) -> float | None:
    return math.nan if kind == NUMBER else None


def _unicode(entry: Any) -> Any:
    """Replace halves of surrogate pairs, which files can hold but which have no form outside of Python."""
    return entry.encode("utf-8", "replace").decode() if isinstance(entry, str) and not entry.isascii() else entry


# -- Base classes: a class that provides its columns, or how it is printed, gets all forms -----------------------------
# Other packages are used if they are installed, and named in an error if not.  `__arrow_c_stream__` needs none: DuckDB
# makes it.


class Columnar:
    """Base class of objects with typed columns, for programs."""

    def _relation(self) -> "Relation":
        """Return the columns as a relation of DuckDB."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export to any reader of Arrow: `polars.DataFrame(x)`, `pyarrow.table(x)`, `duckdb.sql("from x")`."""
        return self._relation().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """Return a pyarrow Table."""
        return package("pyarrow").table(self)

    def to_polars(self) -> Any:
        """Return a polars DataFrame."""
        return package("polars").DataFrame(self)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame."""
        package("pandas")
        return self._relation().df()


class Tabular(Columnar):
    """Base class of objects that are one table, row by row."""

    def _columns(self) -> Columns:
        raise NotImplementedError

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of the table as dictionaries."""
        return self._columns().rows()

    def _relation(self) -> "Relation":
        return self._columns().relation()

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame; columns of whole numbers alone hold whole numbers."""
        return package("pandas").DataFrame(self._columns().by_name())


class Printable:
    """Base class of objects with tables for people, rounded as in the terminal output."""

    def _printed(self) -> Printed:
        """Return the printed tables, which a higher package makes, as it makes the lines for `print`."""
        made: Printed = sys.modules["dxprivacy"].printed_of(type(self))(self)
        return made

    def to_markdown(self, *, guarantee: bool = True) -> str:
        """Return tables of Markdown, and below them what readers must know; `guarantee=False` omits the guarantee."""
        return markdown(self._printed(), guarantee=guarantee)

    def to_latex(self, *, guarantee: bool = True) -> str:
        """Return tables of LaTeX (package booktabs), and what readers must know; `guarantee=False` omits the guarantee.

        A row does not break across pages: for many answers, export each query by itself. Letters beyond those of
        Western Europe need XeLaTeX or LuaLaTeX.
        """
        return latex(self._printed(), guarantee=guarantee)


def package(name: str) -> Any:
    """Import an optional package, or raise an error that says how to get it.

    >>> package("no_such_package")
    Traceback (most recent call last):
        ...
    dxprivacy.errors.UsageError: no_such_package is not installed
      → pip install no_such_package
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(f"{name} is not installed", hints=[f"pip install {name}"]) from None
