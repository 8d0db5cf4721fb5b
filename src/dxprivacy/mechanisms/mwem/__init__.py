"""MWEM: multiplicative weights with the exponential mechanism.

In reading order: `mwem_facts`, `weights`, `run`, `plan`, `mwem_by_hand`.
"""
