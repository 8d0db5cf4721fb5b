"""Pictures of plans and releases, as Vega-Lite specifications that show and save themselves.

    dx.plots.plan(plan)            how wrong each answer will be, beside plain DP and the target
    dx.plots.trade(plan)           what is promised more, and what less, than by plain DP
    dx.plots.gain(plan)            how much noise is saved
    dx.plots.release(release)      the answers with their intervals
    dx.plots.synthesis(report)     the answers of synthetic records beside the released intervals

Everything drawn is public: a plan's facts, or what a release publishes already.
"""

from pathlib import Path

from dxprivacy.planning import Plan
from dxprivacy.plots.answers import release_picture as release
from dxprivacy.plots.by_distance import trade_picture as trade
from dxprivacy.plots.gain_histogram import gain_picture as gain
from dxprivacy.plots.page import release_page
from dxprivacy.plots.picture import Picture
from dxprivacy.plots.plan_error import plan_picture as plan
from dxprivacy.plots.synthesis import synthesis_picture as synthesis

__all__ = ["Picture", "gain", "plan", "release", "release_page", "save_plan_picture", "synthesis", "trade"]


def save_plan_picture(planned: Plan, path: str | Path) -> Path:
    """Write `plan(planned)` to a .png, .svg, .html or .json file."""
    return plan(planned).save(path)
