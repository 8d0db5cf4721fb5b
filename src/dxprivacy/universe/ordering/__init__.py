"""Orders of values: which values are neighbors, and how ranges of them are labeled.

In reading order: `order_of_names`, `order`, `order_of_days`.
"""
