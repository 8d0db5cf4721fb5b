"""Optimizers: arrays in, arrays out; no policies, no words.

In reading order: `deadline`, `pair_constraints`, `barrier`, `objectives`, `biased`, `strategies`, `tables`, `k_norm`,
`variable_symmetry`.
"""
