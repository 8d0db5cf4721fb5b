"""Synthetic data by a direct fit to noisy answers.

In reading order: `evening`, `max_entropy`, `weighted_fit`, `run`, `plan`, `direct_by_hand`.
"""
