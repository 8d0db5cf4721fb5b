"""Queries: what can be asked, and how it becomes integer rows.

In reading order: `asked`, `conditions`, `further_fields`, `assembling`, `strategy_rows`, `asking`, `selections`,
`stored_queries`, `text`, `grouping`, `query`, `grouped`, `kinds`, `sql`.
"""
