"""Orders of values: which are neighbors, and how ranges of them are named.

In reading order: `order_of_names`, `order`, `order_of_days`.
"""
