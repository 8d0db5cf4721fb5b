"""Queries: what can be asked, and how it becomes integer rows.

In reading order: `asked`, `conditions`, `further_fields`, `assembling`, `strategy_rows`, `given_arguments`, `asking`,
`candidates`, `selections`, `stored_queries`, `text`, `grouping`, `query`, `grouped`, `kinds`, `recognized_tables`,
`sql`.
"""
