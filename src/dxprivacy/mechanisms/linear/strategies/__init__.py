"""Which queries are measured, and with which scales.

In reading order: `k_norm_strategies`, `separated_records`, `tables_in_rows`, `matrix_mechanism`, `biased_rows`,
`hierarchies`, `other_rows`.
"""
