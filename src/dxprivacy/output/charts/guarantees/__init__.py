"""Charts of what is known before a release: policies, plans, budgets.

In reading order: `attribute_moves`, `policy_panels`, `budget_panels`, `budget_picture`, `error_rows`, `plan_error`,
`loss_profiles`, `by_distance`, `noise_ratio_histogram`, `policy_map`, `policy_picture`, `selection_chances`.
"""
