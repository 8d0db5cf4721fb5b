"""The tables of a policy file: one reader per kind of attribute.

In reading order: `file_table`, `table_keys`, `place_files`, `number_kinds`, `listed_kinds`, `table_kinds`.
"""
