"""Queries and selections, and how they become integer rows over a universe.

In reading order: `asked`, `conditions`, `further_fields`, `assembling`, `strategy_rows`, `asking`, `selections`,
`stored_queries`, `text`, `grouping`, `query`, `grouped`, `kinds`, `sql`.
"""
