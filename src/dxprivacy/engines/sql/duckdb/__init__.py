"""DuckDB, the embedded engine.

In reading order: `duckdb_dialect`, `duckdb_database`, `duckdb_query`, `duckdb_tables`, `duckdb_source`.
"""
