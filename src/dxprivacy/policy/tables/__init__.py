"""The tables of a policy file: one reader per kind of attribute.

In reading order: `file_table`, `table_keys`, `place_files`, `found_by_coordinates`, `listed_kinds`, `grid_kind`,
`number_kinds`, `ordered_kinds`, `table_kinds`.
"""
