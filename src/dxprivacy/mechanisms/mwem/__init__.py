"""MWEM: multiplicative weights with the exponential mechanism.

In reading order: `weights`, `mwem_facts`, `run`, `plan`, `mwem_by_hand`.
"""
