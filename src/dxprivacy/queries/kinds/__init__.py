"""One file per kind of query.

In reading order: `number_lines`, `maps`, `map_limits`, `densities`, `matrix_query`, `explicit_rows`, `intervals`,
`soft_counts`, `soft_regions`, `counts`, `marginals`, `quantiles`, `sums`, `ratios`, `spreads`.
"""
