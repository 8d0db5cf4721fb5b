"""Noise distributions: variances, interval widths, tails.

In reading order: `discrete_laplace_distribution`, `noise_distributions`.
"""
