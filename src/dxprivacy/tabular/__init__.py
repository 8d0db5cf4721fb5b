"""Tables in the forms that other programs read, and in those that people print.

In reading order: `printed_table`, `columns`, `latex`, `markdown`, `table_forms`.
"""

from dxprivacy.tabular.columns import NUMBER, TEXT, Columns
from dxprivacy.tabular.printed_table import Printed, PrintedTable
from dxprivacy.tabular.table_forms import Columnar, Printable, Tabular

__all__ = ["NUMBER", "TEXT", "Columnar", "Columns", "Printable", "Printed", "PrintedTable", "Tabular"]
