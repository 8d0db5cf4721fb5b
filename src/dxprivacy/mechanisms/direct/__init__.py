"""Synthetic data by a direct fit to noisy answers.

In reading order: `evening`, `weighted_fit`, `run`, `plan`, `direct_by_hand`.
"""
