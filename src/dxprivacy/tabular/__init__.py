"""Tables in the forms that other programs read, and in those that people print."""

from dxprivacy.tabular.columns import NUMBER, TEXT, Columns
from dxprivacy.tabular.forms import Columnar, Printable, Tabular
from dxprivacy.tabular.printed import Printed, PrintedTable

__all__ = ["NUMBER", "TEXT", "Columnar", "Columns", "Printable", "Printed", "PrintedTable", "Tabular"]
