"""Data frames of pandas, polars and Arrow, as tables that the engine can count.

In reading order: `frame`, `arrow_columns`, `arrow_data`, `duckdb_relations`, `pandas_frames`, `polars_frames`,
`any_frame`.
"""
