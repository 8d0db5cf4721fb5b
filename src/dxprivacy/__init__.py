"""d_X-privacy: differential privacy with an ε for each pair of records, and the least noise that keeps it.

    import dxprivacy as dx

    d    = dx.metrics.euclidean(points, epsilon_per_unit=0.01)
    plan = dx.plan(Q, d)                      # certified scales, expected error, noise ratio; costs nothing
    z    = dx.laplace(plan, counts)           # exactly sampled noise

    session = dx.Session("policy.toml", "people.parquet", ledger="ledger.db", new_ledger=True)
    plan    = session.plan(dx.table("sex", "native"), dx.mean_of("income", by="sex", within=50), budget="25%")
    release = session.release(plan)           # reserves the cost in the ledger, then counts

Names are imported at first use, so that `import dxprivacy` is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxprivacy import errors as errors
    from dxprivacy import metrics as metrics
    from dxprivacy.histogram import Histogram as Histogram
    from dxprivacy.ledger import Ledger as Ledger
    from dxprivacy.mechanisms.direct.direct_by_hand import direct as direct
    from dxprivacy.mechanisms.direct.run import fit_histogram as fit_histogram
    from dxprivacy.mechanisms.linear.plan import Plan as Plan
    from dxprivacy.mechanisms.linear.planning.planner import make_plan as plan  # noqa: F401
    from dxprivacy.mechanisms.linear.run import laplace as laplace
    from dxprivacy.mechanisms.mwem.mwem_by_hand import mwem as mwem
    from dxprivacy.mechanisms.selection.exponential import Chosen as Chosen
    from dxprivacy.mechanisms.selection.exponential import exponential as exponential
    from dxprivacy.mechanisms.selection.plan import Selection as Selection
    from dxprivacy.mechanisms.selection.plan import make_selection as plan_selection  # noqa: F401
    from dxprivacy.mechanisms.selection.selection_release import SelectionRelease as SelectionRelease
    from dxprivacy.mechanisms.smalldb.plan import SmallDbPlan as SmallDbPlan
    from dxprivacy.mechanisms.smalldb.plan import make_smalldb as plan_smalldb  # noqa: F401
    from dxprivacy.mechanisms.smalldb.run import SmallDb as SmallDb
    from dxprivacy.mechanisms.smalldb.smalldb_by_hand import smalldb as smalldb
    from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan as SynthesisPlan
    from dxprivacy.mechanisms.synthesis.plan import plan_synthesis as plan_synthesis
    from dxprivacy.mechanisms.synthesis.synthetic_data import Synthetic as Synthetic
    from dxprivacy.output import charts as plots  # noqa: F401
    from dxprivacy.paper import baselines as baselines
    from dxprivacy.paper.statistical_queries import Statistical as Statistical
    from dxprivacy.paper.statistical_queries import statistical as statistical
    from dxprivacy.policy import Policy as Policy
    from dxprivacy.policy.query_files import load_queries as load_queries
    from dxprivacy.privacy import Bound as Bound
    from dxprivacy.privacy import GroupLoss as GroupLoss
    from dxprivacy.privacy import group_loss as group_loss
    from dxprivacy.privacy import max_ratio as max_ratio
    from dxprivacy.privacy import sensitivity as sensitivity
    from dxprivacy.privacy.certificate import Certificate as Certificate
    from dxprivacy.queries.asking import correlation_of as correlation_of
    from dxprivacy.queries.asking import count as count
    from dxprivacy.queries.asking import count_people as count_people
    from dxprivacy.queries.asking import covariance_of as covariance_of
    from dxprivacy.queries.asking import density_of as density_of
    from dxprivacy.queries.asking import marginals as marginals
    from dxprivacy.queries.asking import matrix as matrix
    from dxprivacy.queries.asking import mean_of as mean_of
    from dxprivacy.queries.asking import median_of as median_of
    from dxprivacy.queries.asking import prefixes as prefixes
    from dxprivacy.queries.asking import proportion_of as proportion_of
    from dxprivacy.queries.asking import quantile_of as quantile_of
    from dxprivacy.queries.asking import ranges as ranges
    from dxprivacy.queries.asking import ratio_of as ratio_of
    from dxprivacy.queries.asking import sd_of as sd_of
    from dxprivacy.queries.asking import sum_of as sum_of
    from dxprivacy.queries.asking import table as table
    from dxprivacy.queries.asking import variance_of as variance_of
    from dxprivacy.queries.conditions import above as above
    from dxprivacy.queries.conditions import any_of as any_of
    from dxprivacy.queries.conditions import at_least as at_least
    from dxprivacy.queries.conditions import at_most as at_most
    from dxprivacy.queries.conditions import below as below
    from dxprivacy.queries.conditions import none_of as none_of
    from dxprivacy.queries.selections import bin_edges as bin_edges
    from dxprivacy.queries.selections import closest as closest
    from dxprivacy.queries.selections import most_common as most_common
    from dxprivacy.releases import post_processing as post  # noqa: F401
    from dxprivacy.releases.release import Release as Release
    from dxprivacy.session import Session as Session
    from dxprivacy.synthetic.controlled_rounding import whole_counts as whole_counts
    from dxprivacy.synthetic.synthetic_records import Records as Records
    from dxprivacy.universe.attributes.attribute import Attribute as Attribute
    from dxprivacy.universe.attributes.attribute import Property as Property
    from dxprivacy.universe.attributes.binned_numbers import Numbers as Numbers
    from dxprivacy.universe.attributes.dates import Dates as Dates
    from dxprivacy.universe.attributes.grid import Grid as Grid
    from dxprivacy.universe.attributes.integers import Integers as Integers
    from dxprivacy.universe.attributes.listed_points import Points as Points
    from dxprivacy.universe.attributes.listed_values import Values as Values
    from dxprivacy.universe.attributes.nearest_place import Nearest as Nearest
    from dxprivacy.universe.attributes.ordered_values import Ordered as Ordered
    from dxprivacy.universe.attributes.series_of_numbers import Series as Series
    from dxprivacy.universe.reading.spelling import Spelling as Spelling
    from dxprivacy.universe.universe import Universe as Universe

_HOME = {
    "Selection": ("mechanisms.selection.plan", "Selection"),
    "SelectionRelease": ("mechanisms.selection.selection_release", "SelectionRelease"),
    "Chosen": ("mechanisms.selection.exponential", "Chosen"),
    "SmallDb": ("mechanisms.smalldb.run", "SmallDb"),
    "SmallDbPlan": ("mechanisms.smalldb.plan", "SmallDbPlan"),
    "baselines": ("paper.baselines", ""),
    "bin_edges": ("queries.selections", "bin_edges"),
    "closest": ("queries.selections", "closest"),
    "exponential": ("mechanisms.selection.exponential", "exponential"),
    "most_common": ("queries.selections", "most_common"),
    "plan_selection": ("mechanisms.selection.plan", "make_selection"),
    "plan_smalldb": ("mechanisms.smalldb.plan", "make_smalldb"),
    "smalldb": ("mechanisms.smalldb.smalldb_by_hand", "smalldb"),
    "Attribute": ("universe.attributes.attribute", "Attribute"),
    "Dates": ("universe.attributes.dates", "Dates"),
    "Numbers": ("universe.attributes.binned_numbers", "Numbers"),
    "Series": ("universe.attributes.series_of_numbers", "Series"),
    "Bound": ("privacy", "Bound"),
    "Certificate": ("privacy.certificate", "Certificate"),
    "GroupLoss": ("privacy", "GroupLoss"),
    "Grid": ("universe.attributes.grid", "Grid"),
    "Histogram": ("histogram", "Histogram"),
    "Integers": ("universe.attributes.integers", "Integers"),
    "Ledger": ("ledger", "Ledger"),
    "Nearest": ("universe.attributes.nearest_place", "Nearest"),
    "Ordered": ("universe.attributes.ordered_values", "Ordered"),
    "Plan": ("mechanisms.linear.plan", "Plan"),
    "Points": ("universe.attributes.listed_points", "Points"),
    "Policy": ("policy", "Policy"),
    "Property": ("universe.attributes.attribute", "Property"),
    "Records": ("synthetic.synthetic_records", "Records"),
    "Release": ("releases", "Release"),
    "Session": ("session", "Session"),
    "Statistical": ("paper.statistical_queries", "Statistical"),
    "Synthetic": ("mechanisms.synthesis.synthetic_data", "Synthetic"),
    "SynthesisPlan": ("mechanisms.synthesis.plan", "SynthesisPlan"),
    "Universe": ("universe.universe", "Universe"),
    "Spelling": ("universe.reading.spelling", "Spelling"),
    "Values": ("universe.attributes.listed_values", "Values"),
    "count": ("queries.asking", "count"),
    "count_people": ("queries.asking", "count_people"),
    "proportion_of": ("queries.asking", "proportion_of"),
    "ratio_of": ("queries.asking", "ratio_of"),
    "variance_of": ("queries.asking", "variance_of"),
    "sd_of": ("queries.asking", "sd_of"),
    "covariance_of": ("queries.asking", "covariance_of"),
    "correlation_of": ("queries.asking", "correlation_of"),
    "median_of": ("queries.asking", "median_of"),
    "quantile_of": ("queries.asking", "quantile_of"),
    "density_of": ("queries.asking", "density_of"),
    "above": ("queries.conditions", "above"),
    "any_of": ("queries.conditions", "any_of"),
    "at_least": ("queries.conditions", "at_least"),
    "at_most": ("queries.conditions", "at_most"),
    "below": ("queries.conditions", "below"),
    "none_of": ("queries.conditions", "none_of"),
    "direct": ("mechanisms.direct.direct_by_hand", "direct"),
    "errors": ("errors", ""),
    "group_loss": ("privacy", "group_loss"),
    "fit_histogram": ("mechanisms.direct.run", "fit_histogram"),
    "laplace": ("mechanisms.linear.run", "laplace"),
    "load_queries": ("policy.query_files", "load_queries"),
    "matrix": ("queries.asking", "matrix"),
    "max_ratio": ("privacy", "max_ratio"),
    "mean_of": ("queries.asking", "mean_of"),
    "ranges": ("queries.asking", "ranges"),
    "prefixes": ("queries.asking", "prefixes"),
    "marginals": ("queries.asking", "marginals"),
    "metrics": ("metrics", ""),
    "mwem": ("mechanisms.mwem.mwem_by_hand", "mwem"),
    "plan": ("mechanisms.linear.planning.planner", "make_plan"),
    "plan_synthesis": ("mechanisms.synthesis.plan", "plan_synthesis"),
    "plots": ("output.charts", ""),
    "post": ("releases.post_processing", ""),
    "sensitivity": ("privacy", "sensitivity"),
    "statistical": ("paper.statistical_queries", "statistical"),
    "sum_of": ("queries.asking", "sum_of"),
    "table": ("queries.asking", "table"),
    "whole_counts": ("synthetic.controlled_rounding", "whole_counts"),
}

_SCREENS = {
    "Check": ("output.text.check_text", "check_lines"),
    "Selection": ("output.text.selection_text", "selection_lines"),
    "SelectionRelease": ("output.text.selection_text", "selection_release_lines"),
    "Diff": ("output.text.check_text", "diff_lines"),
    "MwemPlan": ("output.text.synthesis_text", "mwem_lines"),
    "Plan": ("output.text.plan_text", "plan_lines"),
    "Processed": ("output.text.release_text", "processed_lines"),
    "Release": ("output.text.release_text", "release_lines"),
    "Report": ("output.text.synthesis_text", "report_lines"),
    "SmallDbPlan": ("output.text.synthesis_text", "smalldb_lines"),
}
"""The functions that make the lines of a value for `print`, by class name."""

_PRINTED = {
    "SelectionRelease": ("output.text.printed_tables", "selection_printed"),
    "Plan": ("output.text.printed_tables", "plan_printed"),
    "Processed": ("output.text.printed_tables", "processed_printed"),
    "Release": ("output.text.printed_tables", "release_printed"),
}
"""The functions that make the tables of a value for Markdown and LaTeX, by class name."""

_DISPLAYS = {
    "Selection": ("output.pages.notebook", "selection_display"),
    "SelectionRelease": ("output.pages.notebook", "selection_release_display"),
    "Ledger": ("output.pages.notebook", "ledger_display"),
    "Plan": ("output.pages.notebook", "plan_display"),
    "Policy": ("output.pages.notebook", "policy_display"),
    "Release": ("output.pages.notebook", "release_display"),
    "Report": ("output.pages.notebook", "report_display"),
}
"""The functions that make the HTML of a value for notebooks, by class name."""

__all__ = sorted(_HOME)


def _found(module: str, attribute: str) -> Any:
    found = importlib.import_module(f"dxprivacy.{module}")
    return getattr(found, attribute) if attribute else found


def screen_of(kind: type) -> Any:
    """Return the function that makes the lines of a value of this class, looked up along its base classes."""
    return _found(*next(_SCREENS[c.__name__] for c in kind.__mro__ if c.__name__ in _SCREENS))


def printed_of(kind: type) -> Any:
    """Return the function that makes the printed tables of a value of this class, looked up along its base classes."""
    return _found(*next(_PRINTED[c.__name__] for c in kind.__mro__ if c.__name__ in _PRINTED))


def display_of(kind: type) -> Any:
    """Return the function that makes the HTML of a value of this class; by default, that of its `repr`."""
    known = (_DISPLAYS[c.__name__] for c in kind.__mro__ if c.__name__ in _DISPLAYS)
    return _found(*next(known, ("output.pages.notebook", "line_display")))


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'dxprivacy' has no attribute {name!r}") from None
    value = _found(*home)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
