"""The demo (`dxp demo`): a simulated survey, and a comparison of its release with standard DP.

In reading order: `demo_survey`, `demo_story`.
"""
