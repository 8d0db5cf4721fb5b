"""The demo: a simulated survey, and the tour that releases it.

In reading order: `demo_survey`, `demo_story`.
"""
