"""One file per kind of query.

In reading order: `quantiles`, `maps`, `densities`, `matrix_query`, `soft_counts`, `soft_regions`, `counts`,
`marginals`, `sums`, `ratios`, `spreads`.
"""
