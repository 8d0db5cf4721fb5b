"""Orders of values: which are neighbors, and how ranges of them are named.

In reading order: `neighbor_groups`, `range_ends`, `order`, `order_of_days`, `order_of_names`.
"""
