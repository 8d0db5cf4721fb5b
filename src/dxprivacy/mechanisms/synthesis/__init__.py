"""The common parts of synthetic histograms, and the choice of the method with the least expected error.

In reading order: `histogram_answers`, `synthetic_data`, `tried_out`, `plan`.
"""
