"""The mechanism of linear queries: integer answers plus exactly sampled noise.

In reading order: `plan_facts`, `noise`, `estimators`, `strategies`, `planning`, `release_answers`, `run`, `plan`.
"""
