"""DuckDB, the embedded engine.

In reading order: `duckdb_dialect`, `duckdb_records`, `duckdb_query`, `duckdb_database`, `duckdb_nearest`,
`duckdb_tables`, `duckdb_source`.
"""
