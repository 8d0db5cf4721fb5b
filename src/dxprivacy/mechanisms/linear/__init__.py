"""The mechanism of linear queries: integer answers plus exactly sampled noise.

In reading order: `plan`, `run`, `plan_facts`, `noise`, `strategies`, `estimators`, `planning`, `release_answers`.
"""
