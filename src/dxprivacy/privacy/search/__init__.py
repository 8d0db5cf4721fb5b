"""`max_ratio`: the largest ratio of a loss to a metric, by value classes, generating pairs, and branch and bound.

In reading order: `tree_search`, `value_classes`, `candidate_pairs`, `generating_pairs`, `worst_case`, `max_ratio`.
"""
