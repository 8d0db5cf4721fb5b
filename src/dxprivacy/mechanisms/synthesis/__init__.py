"""What synthetic histograms share, and which method is expected to be better.

In reading order: `histogram_answers`, `synthetic_data`, `made`, `measured_rows`, `all_cells`, `simulated_noise`,
`tried_out`, `plan`.
"""
