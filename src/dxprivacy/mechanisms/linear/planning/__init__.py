"""From a problem to the best certified plan: methods, error objectives, limits, advice.

In reading order: `guesses`, `pair_limits`, `searched_constraints`, `constraints`, `standard_dp`, `problem`,
`methods`, `method_comparison`, `smoothing_widths`, `noisy_maps`, `plan_notes`, `proportional_shares`, `planner`,
`policy_comparison`, `standard_quantiles`, `standard_baselines`, `budget_remedies`, `target_solving`.
"""
