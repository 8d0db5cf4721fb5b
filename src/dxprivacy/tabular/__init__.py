"""Tables in the forms that other programs read, and in those for people.

In reading order: `latex`, `markdown`, `columns`.
"""

from dxprivacy.tabular.columns import NUMBER, TEXT, Columnar, Columns, Printable, Tabular
from dxprivacy.tabular.latex import Printed, PrintedTable

__all__ = ["NUMBER", "TEXT", "Columnar", "Columns", "Printable", "Printed", "PrintedTable", "Tabular"]
