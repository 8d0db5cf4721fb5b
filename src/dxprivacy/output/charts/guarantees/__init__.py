"""Charts of facts that are known before a release: policies, plans, budgets.

In reading order: `loss_profiles`, `policy_picture`, `budget_panels`, `budget_picture`, `plan_error`, `by_distance`,
`policy_map`, `selection_chances`.
"""
