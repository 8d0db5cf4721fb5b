"""Optimizers on plain arrays: they know no policies and write no text.

In reading order: `deadline`, `pair_constraints`, `barrier`, `objectives`, `biased`, `strategies`, `tables`, `k_norm`,
`variable_symmetry`.
"""
