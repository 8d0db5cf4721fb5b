"""The universe: every record that could occur, as a product of attributes; blocks of queries over it; no data.

In reading order: `reading`, `ordering`, `attributes`, `attribute_matching`, `hierarchy`, `file_format`, `people`,
`universe`, `occupied`, `plane`, `blocks`, `loss_terms`, `answers`, `workload`.
"""
