"""File formats: their versions, canonical JSON, safe reading and writing.

In reading order: `canonical`, `reading_files`, `table_addresses`, `versions`, `writing_files`.
"""
