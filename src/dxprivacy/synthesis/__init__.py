"""Synthetic histograms: data that answers questions, made from private answers only."""
