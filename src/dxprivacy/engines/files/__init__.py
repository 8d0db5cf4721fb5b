"""Text files, workbooks and damaged files: read in pieces, and where needed in a separate process.

In reading order: `parquet`, `apart`, `apart_reader`, `line_files`, `csv_records`, `csv_header`, `csv_quoted`,
`csv_lines`, `sheets`.
"""
