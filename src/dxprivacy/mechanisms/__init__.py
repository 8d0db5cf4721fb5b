"""Mechanisms: everything that spends budget.

In reading order: `sampling`, `spending`, `planned`, `fit_budget`, `selection`, `uninformative`, `linear`, `mwem`,
`smalldb`, `synthesis`, `direct`.
"""
