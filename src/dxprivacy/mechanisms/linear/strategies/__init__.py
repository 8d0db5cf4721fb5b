"""Which queries are measured, and with which scales.

In reading order: `k_norm_components`, `separated_records`, `table_costs`, `matrix_mechanism`, `biased_rows`,
`block_max_proposals`, `tables_in_rows`, `shared_margins`, `hierarchies`, `other_rows`.
"""
