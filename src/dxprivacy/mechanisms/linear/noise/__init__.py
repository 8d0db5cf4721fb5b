"""Noise distributions: variances, interval widths, tails.

In reading order: `discrete_laplace_law`, `noise_laws`.
"""
