"""From noisy measurements to answers: estimators with their errors.

In reading order: `exact_reconstruction`, `measured`, `least_squares`, `block_max_tables`, `k_norm_counts`.
"""
