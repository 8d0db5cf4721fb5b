"""Charts of facts that are known before a release: policies, plans, budgets.

In reading order: `loss_profiles`, `plan_error`, `by_distance`, `policy_map`, `policy_picture`, `budget_panels`,
`budget_picture`, `selection_chances`.
"""
