"""Mechanisms: everything that spends budget.

In reading order: `sampling`, `spending`, `known_facts`, `planned`, `fit_budget`, `planning_target`, `selection`,
`uninformative`, `linear`, `mwem`, `smalldb`, `synthesis`, `direct`.
"""
