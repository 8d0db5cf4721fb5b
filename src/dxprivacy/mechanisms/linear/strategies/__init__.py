"""Which queries are measured, and with which scales.

In reading order: `separated_records`, `tables_in_rows`, `k_norm_strategies`, `matrix_mechanism`, `biased_rows`,
`hierarchies`, `other_rows`.
"""
