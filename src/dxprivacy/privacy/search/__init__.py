"""`max_ratio`: the largest ratio of a loss to a metric, by quotients, trees of value classes, and branch and bound.

In reading order: `tree_search`, `candidate_pairs`, `line_ends`, `value_classes`, `value_symmetry`, `contexts`,
`generating_pairs`, `restriction`, `worst_case`, `max_ratio`.
"""
