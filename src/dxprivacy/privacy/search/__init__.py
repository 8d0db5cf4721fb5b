"""`max_ratio`: the largest ratio of a loss to a metric, by value classes, generating pairs, and branch and bound.

In reading order: `tree_search`, `candidate_pairs`, `value_classes`, `generating_pairs`, `worst_case`, `max_ratio`.
"""
