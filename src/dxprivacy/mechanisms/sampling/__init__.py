"""Exact samplers. No other package draws entropy.

In reading order: `exact_selection`, `zero_sum_tables`, `block_max_noise`, `discrete_laplace`, `system_noise`,
`hierarchy_tables`, `tree_noise`.
"""

from dxprivacy.mechanisms.sampling.system_noise import Noise, SystemNoise

__all__ = ["Noise", "SystemNoise"]
