"""Pages: one file of plain HTML with charts and tables; and what notebooks show.

In reading order: `document`, `page`, `shared_parts`, `answers_part`, `check_page`, `ledger_page`, `plan_page`,
`notebook`.
"""
