"""One table, many forms: whoever says what its columns are, or how it is printed, has them all.

Other packages are used if they are there, and named in an error if they are not; none is needed for
`__arrow_c_stream__`, which the engine makes.
"""

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from dxprivacy.errors import UsageError
from dxprivacy.tabular.columns import Columns
from dxprivacy.tabular.latex import latex
from dxprivacy.tabular.markdown import markdown
from dxprivacy.tabular.printed_table import Printed

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation as Relation


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
        """Made in a room above, as the lines for `print` are."""
        made: Printed = sys.modules["dxprivacy"].printed_of(type(self))(self)
        return made

    def to_markdown(self, *, guarantee: bool = True) -> str:
        """As tables of Markdown, with what readers must know below them; `guarantee=False` leaves the guarantee out."""
        return markdown(self._printed(), guarantee=guarantee)

    def to_latex(self, *, guarantee: bool = True) -> str:
        """As tables of LaTeX (package booktabs), with what readers must know; `guarantee=False` leaves that out.

        A row does not break across pages: many answers are better taken by question.  Letters beyond those of Western
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
