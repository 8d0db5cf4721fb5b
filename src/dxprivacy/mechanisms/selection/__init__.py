"""Selection: the exponential mechanism and permute-and-flip.

In reading order: `selection_facts`, `run`, `selection_release`, `plan`, `exponential`.
"""
