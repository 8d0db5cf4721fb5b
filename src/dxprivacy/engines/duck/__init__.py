"""DuckDB: Parquet files, data frames and its own databases."""
