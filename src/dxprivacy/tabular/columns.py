"""Typed columns, and the same as a relation of the engine, which hands them to whoever reads Arrow.

Types are declared by whoever makes the columns: none is inferred from what stands in them.
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
    """Names and types of columns, and what stands in each; nothing stands where there is None.

    >>> Columns.of([("sex", TEXT), ("value", NUMBER)], [["M", 3], ["F", 4.5]]).values
    (('M', 'F'), (3, 4.5))
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, head: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> "Columns":
        """From rows."""
        values = tuple(zip(*rows, strict=True)) or ((),) * len(head)
        return cls(tuple(name for name, _ in head), tuple(kind for _, kind in head), values)

    def rows(self) -> list[dict[str, Any]]:
        """As dictionaries, row by row."""
        return [dict(zip(self.names, row, strict=True)) for row in zip(*self.values, strict=True)]

    def by_name(self) -> dict[str, list[Any]]:
        """As lists, column by column; a number that is not there is none: NaN."""
        told = zip(self.names, self.types, self.values, strict=True)
        return {name: [_absent(kind) if x is None else x for x in column] for name, kind, column in told}

    def relation(self) -> "Relation":
        """As a relation of the engine, in a database of its own, which lives as long as it is used."""
        import duckdb

        con = duckdb.connect(":memory:", config={"threads": "1", "python_enable_replacements": "false"})
        con.execute("SET enable_progress_bar = false")
        # As numbered columns and parameters: names and entries are anybody's text.
        parts = ", ".join(f"unnest($c{k}::{kind}[]) AS c{k}" for k, kind in enumerate(self.types))
        given = {f"c{k}": list(map(_unicode, column)) for k, column in enumerate(self.values)}
        con.execute(f"CREATE TEMP TABLE held AS SELECT {parts}", given)
        named = ", ".join(f"c{k} AS {identifier(name)}" for k, name in enumerate(self.names))
        return con.sql(f"SELECT {named} FROM held")


def identifier(name: str) -> str:
    """A name in the engine's SQL; no name has a NUL, which ends one there.

    >>> identifier('a "b"')
    '"a ""b\"""'
    """
    return '"' + str(_unicode(name)).replace("\x00", "\ufffd").replace('"', '""') + '"'


def _absent(kind: str) -> float | None:
    return math.nan if kind == NUMBER else None


def _unicode(entry: Any) -> Any:
    """Halves of characters, which files can hold, have no form outside of Python."""
    return entry.encode("utf-8", "replace").decode() if isinstance(entry, str) and not entry.isascii() else entry


# -- One table, many forms: whoever says what its columns are, or how it is printed, has them all ----------------------
# Other packages are used if they are there, and named in an error if they are not; none is needed for
# `__arrow_c_stream__`, which the engine makes.


class Columnar:
    """Something with typed columns, for programs."""

    def _relation(self) -> "Relation":
        """Its columns, as a relation of the engine."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For whatever reads Arrow: `polars.DataFrame(x)`, `pyarrow.table(x)`, `duckdb.sql("from x")`."""
        return self._relation().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """As a pyarrow Table."""
        return package("pyarrow").table(self)

    def to_polars(self) -> Any:
        """As a polars DataFrame."""
        return package("polars").DataFrame(self)

    def to_pandas(self) -> Any:
        """As a pandas DataFrame."""
        package("pandas")
        return self._relation().df()


class Tabular(Columnar):
    """Something that is one table, row by row."""

    def _columns(self) -> Columns:
        raise NotImplementedError

    def table(self) -> list[dict[str, Any]]:
        """As rows of one table."""
        return self._columns().rows()

    def _relation(self) -> "Relation":
        return self._columns().relation()

    def to_pandas(self) -> Any:
        """As a pandas DataFrame; columns of nothing but whole numbers hold whole numbers."""
        return package("pandas").DataFrame(self._columns().by_name())


class Printable:
    """Something with tables for people, rounded as on the screen."""

    def _printed(self) -> Printed:
        """Made in a package above, as the lines for `print` are."""
        made: Printed = sys.modules["dxprivacy"].printed_of(type(self))(self)
        return made

    def to_markdown(self, *, guarantee: bool = True) -> str:
        """As tables of Markdown, with what readers must know below them; `guarantee=False` leaves the guarantee out."""
        return markdown(self._printed(), guarantee=guarantee)

    def to_latex(self, *, guarantee: bool = True) -> str:
        """As tables of LaTeX (package booktabs), with what readers must know; `guarantee=False` leaves that out.

        A row does not break across pages: many answers are better taken by query.  Letters beyond those of Western
        Europe need XeLaTeX or LuaLaTeX.
        """
        return latex(self._printed(), guarantee=guarantee)


def package(name: str) -> Any:
    """A package that is not needed for anything else, or an error that says how to get it.

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
