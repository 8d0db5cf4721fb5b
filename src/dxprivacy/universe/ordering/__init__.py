"""Orders of values: which values are neighbors, and how ranges of them are labeled.

In reading order: `order`, `order_of_names`, `order_of_days`.
"""
