"""Choices: the exponential mechanism and permute-and-flip, among candidates with scores."""
