"""From a problem to the best certified plan: methods, error objectives, limits, advice.

In reading order: `pair_limits`, `constraints`, `smoothing_widths`, `standard_quantiles`, `problem`, `methods`,
`planner`, `method_comparison`, `standard_baselines`, `budget_remedies`, `plan_notes`, `limiting_pairs`.
"""
