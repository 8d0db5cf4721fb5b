"""Selection: the exponential mechanism and permute-and-flip.

In reading order: `selection_facts`, `chance_of_best`, `run`, `selection_release`, `plan`, `exponential`.
"""
