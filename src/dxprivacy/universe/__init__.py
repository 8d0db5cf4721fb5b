"""The universe: all possible records, as a product of attributes; and blocks of queries over it.  It holds no data.

In reading order: `reading`, `ordering`, `attributes`, `attribute_matching`, `hierarchy`, `file_format`, `people`,
`universe`, `occupied`, `plane`, `blocks`, `loss_terms`, `answers`, `workload`.
"""
