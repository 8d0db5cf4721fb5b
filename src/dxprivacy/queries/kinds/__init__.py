"""One file per kind of query.

In reading order: `quantiles`, `maps`, `densities`, `matrix_query`, `marginals`, `soft_counts`, `soft_regions`,
`counts`, `sums`, `ratios`, `spreads`.
"""
