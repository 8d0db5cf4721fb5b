"""What synthetic histograms share, and which method is expected to be better.

In reading order: `histogram_answers`, `synthetic_data`, `tried_out`, `plan`.
"""
