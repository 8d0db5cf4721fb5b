"""Queries and selections, and how they become integer rows over a universe.

In reading order: `asked`, `conditions`, `further_fields`, `grouping`, `query`, `grouped`, `kinds`, `assembling`,
`text`, `asking`, `strategy_rows`, `selections`, `stored_queries`, `sql`.
"""
