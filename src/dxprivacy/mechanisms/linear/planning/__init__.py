"""From a problem to the best certified plan: methods, error objectives, limits, advice.

In reading order: `pair_limits`, `problem`, `constraints`, `methods`, `planner`, `smoothing_widths`,
`method_comparison`, `standard_quantiles`, `standard_baselines`, `budget_remedies`, `plan_notes`,
`limiting_pairs`.
"""
