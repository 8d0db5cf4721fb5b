"""Attributes, one module per kind: values, labels, order, and how entries are read.

In reading order: `attribute`, `binned_numbers`, `listed_points`, `grid`, `integers`, `listed_values`, `dates`,
`nearest_place`, `ordered_values`, `series_of_numbers`, `times`, `attribute_kinds`.
"""
