"""Pictures of policies, plans, releases and ledgers, as Vega-Lite specifications that show and save themselves.

    dx.plots.policy(policy)        who is protected from what: a map of places, tables of pairs, bars by difference
    dx.plots.plan(plan)            the expected error of each answer, next to standard DP and the target
    dx.plots.trade(plan)           which pairs are protected more, and which less, than by standard DP
    dx.plots.gain(plan)            how much less noise than standard DP
    dx.plots.release(release)      the answers with their intervals
    dx.plots.budget(ledger)        the used fraction of each pair's ε, by attribute and by distance
    dx.plots.selection(selection)  how far from the best candidate a selection may be, by probability
    dx.plots.synthesis(report)     the answers of synthetic records next to the released intervals

Pictures show public facts only: the policy, a plan, published releases, costs in a ledger.

In reading order: `chart_style`, `picture`, `layers`, `shades`, `map_layout`, `value_groups`, `pair_heat`,
`guarantees`, `released`.
"""

from pathlib import Path

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.output.charts.guarantees.budget_picture import budget_picture as budget
from dxprivacy.output.charts.guarantees.by_distance import trade_picture as trade
from dxprivacy.output.charts.guarantees.plan_error import gain_picture as gain
from dxprivacy.output.charts.guarantees.plan_error import plan_picture as plan
from dxprivacy.output.charts.guarantees.policy_picture import policy_picture as policy
from dxprivacy.output.charts.guarantees.selection_chances import selection_picture as selection
from dxprivacy.output.charts.picture import Picture
from dxprivacy.output.charts.released.released_answers import release_picture as release
from dxprivacy.output.charts.released.synthetic_answers import synthesis_picture as synthesis
from dxprivacy.output.pages.check_page import check_page
from dxprivacy.output.pages.ledger_page import ledger_page
from dxprivacy.output.pages.plan_page import plan_page, release_page

__all__ = [
    "Picture",
    "budget",
    "check_page",
    "gain",
    "ledger_page",
    "plan",
    "plan_page",
    "policy",
    "release",
    "release_page",
    "save_plan_picture",
    "selection",
    "synthesis",
    "trade",
]


def save_plan_picture(planned: Plan, path: str | Path) -> Path:
    """Write `plan(planned)` to a .png, .svg, .html or .json file.

    >>> import tempfile, dxprivacy as dx
    >>> with tempfile.TemporaryDirectory() as here:
    ...     save_plan_picture(dx.plan([[1, 1, 0]], dx.metrics.line(3, 1)), f"{here}/plan.json").name
    'plan.json'
    """
    return plan(planned).save(path)
