import dxprivacy as dx

with dx.Session("graded.toml", "people.csv", ledger="graded.db", new_ledger=True) as session:
    plan = session.plan(dx.median_of("age"), budget="100%")  # spends nothing
(gain,) = plan.to_dict()["gains"]
print(f"standard DP at the strictest ε: ε {gain['standard_epsilon']:.3g}; at our worst: ε {plan.worst_epsilon:.3g}")
errors = plan.to_pandas()[
    ["label", "typical_error", "half_width_95", "standard_at_strictest_95", "standard_at_worst_case_95"]
]
print(errors.round(2).to_string(index=False))
