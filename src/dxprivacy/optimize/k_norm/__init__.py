"""K-norm noise over hierarchies, stars and blocks of tables: moments and best scales.

In reading order: `block_max_moments`, `hierarchy_moments`, `hierarchy_fit`, `star_fit`.
"""
