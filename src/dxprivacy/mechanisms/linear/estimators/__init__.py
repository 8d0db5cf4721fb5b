"""From noisy measurements to answers: estimators with their errors.

In reading order: `exact_reconstruction`, `measured`, `least_squares`, `block_max_tables`, `expected_errors`,
`hierarchy_sums`, `star_means`, `unrelated_rows`, `k_norm_counts`.
"""
