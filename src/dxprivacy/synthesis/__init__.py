"""Synthetic data: histograms that answer like the released numbers, and records that make them up."""
