"""Pages: one file of plain HTML with charts and tables; and what notebooks show.

In reading order: `document`, `page`, `answers_part`, `check_page`, `ledger_page`, `plan_page`, `notebook`.
"""

# Pages and charts import each other: beginning with the charts, either can be imported first.
import dxprivacy.output.charts  # noqa: F401
