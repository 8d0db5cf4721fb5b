"""Text files, workbooks and damaged files: read in pieces, and where needed in a separate process.

In reading order: `alike_kinds`, `apart`, `apart_reader`, `recoded`, `line_files`, `csv_fields`, `csv_header`,
`csv_quoted`, `csv_lines`, `csv_records`, `header_line`, `json_lines`, `parquet`, `workbook`, `sheets`.
"""
