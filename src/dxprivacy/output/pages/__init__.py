"""Pages: single HTML files with charts and tables; and the notebook display of values.

In reading order: `document`, `page`, `answers_part`, `check_page`, `ledger_page`, `plan_page`, `notebook`.
"""

# Pages and charts import each other. Importing the charts first here allows importing either package first.
import dxprivacy.output.charts  # noqa: F401
