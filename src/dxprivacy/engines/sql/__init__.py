"""Count in SQL: what all dialects share, and one package per database.

In reading order: `dialect`, `counting_sql`, `people_sql`, `duckdb`, `postgres`, `spark`.
"""
