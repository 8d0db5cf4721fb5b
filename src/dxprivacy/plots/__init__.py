"""Pictures of plans and releases, as Vega-Lite specifications that show and save themselves.

    dx.plots.plan(plan)            how wrong each answer will be, beside plain DP and the target
    dx.plots.trade(plan)           what is promised more, and what less, than by plain DP
    dx.plots.gain(plan)            how much noise is saved
    dx.plots.release(release)      the answers with their intervals

Everything drawn is public: a plan's facts, or what a release publishes already.
"""

from dxprivacy.plots.picture import Picture
from dxprivacy.plots.plan_error import plan_picture as plan

__all__ = ["Picture", "plan"]
