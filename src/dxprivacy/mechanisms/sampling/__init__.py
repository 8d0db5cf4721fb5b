"""Exact samplers; the only package that draws entropy.

In reading order: `exact_exp`, `exact_selection`, `zero_sum_tables`, `block_max_noise`, `kept_records`,
`discrete_laplace`, `system_noise`, `equal_counts`, `hierarchy_tables`, `tree_noise`, `weighted_selection`.
"""

from dxprivacy.mechanisms.sampling.system_noise import Noise, SystemNoise

__all__ = ["Noise", "SystemNoise"]
