"""Lines for a terminal: what `print(plan)` and `dxp plan` show.

In reading order: `adoption_text`, `check_text`, `diff_text`, `ledger_text`, `mwem_text`, `release_text`,
`selection_release_text`, `printed_tables`, `headings`, `report_text`, `remedies_text`, `soft_borders`, `plan_text`,
`selection_text`, `smalldb_text`, `synthesis_text`.
"""
