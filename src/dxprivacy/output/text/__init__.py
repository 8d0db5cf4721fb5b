"""Lines for a terminal: what `print(plan)` and `dxp plan` show.

In reading order: `ledger_text`, `check_text`, `release_text`, `headings`, `remedies_text`, `plan_text`,
`synthesis_text`, `selection_text`, `printed_tables`.
"""
