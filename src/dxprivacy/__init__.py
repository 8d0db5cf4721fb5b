"""d_X-privacy: say how far any two records may be told apart, and publish with the least noise that keeps it.

    import dxprivacy as dx

    d    = dx.metrics.euclidean(points, epsilon_per_unit=0.01)
    plan = dx.plan(Q, d)                      # certified scales, expected error, gain; costs nothing
    z    = dx.laplace(plan, counts)           # exact noise

    session = dx.Session("policy.toml", "people.parquet", ledger="ledger.db", new_ledger=True)
    plan    = session.plan(dx.table("sex", "native"), dx.mean_of("income", by="sex", within=50), share="25%")
    release = session.release(plan)           # reserved first, then answered

Names are loaded when first used, so that `import dxprivacy` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxprivacy import errors as errors
    from dxprivacy import metrics as metrics
    from dxprivacy import plots as plots
    from dxprivacy.accounting import Bound as Bound
    from dxprivacy.accounting import GroupLoss as GroupLoss
    from dxprivacy.accounting import group_loss as group_loss
    from dxprivacy.accounting import max_ratio as max_ratio
    from dxprivacy.accounting import sensitivity as sensitivity
    from dxprivacy.accounting.certificate import Certificate as Certificate
    from dxprivacy.attributes.base import Attribute as Attribute
    from dxprivacy.attributes.base import Property as Property
    from dxprivacy.attributes.dates import Dates as Dates
    from dxprivacy.attributes.grid import Grid as Grid
    from dxprivacy.attributes.integers import Integers as Integers
    from dxprivacy.attributes.nearest import Nearest as Nearest
    from dxprivacy.attributes.numbers import Numbers as Numbers
    from dxprivacy.attributes.ordered import Ordered as Ordered
    from dxprivacy.attributes.points import Points as Points
    from dxprivacy.attributes.series import Series as Series
    from dxprivacy.attributes.spelling import Spelling as Spelling
    from dxprivacy.attributes.values import Values as Values
    from dxprivacy.histogram import Histogram as Histogram
    from dxprivacy.ledger import Ledger as Ledger
    from dxprivacy.mechanisms import baselines as baselines
    from dxprivacy.mechanisms.choice.exponential import Chosen as Chosen
    from dxprivacy.mechanisms.choice.exponential import exponential as exponential
    from dxprivacy.mechanisms.choice.plan import Choice as Choice
    from dxprivacy.mechanisms.choice.plan import make_choice as plan_choice  # noqa: F401
    from dxprivacy.mechanisms.choice.release import ChoiceRelease as ChoiceRelease
    from dxprivacy.mechanisms.direct.by_hand import direct as direct
    from dxprivacy.mechanisms.direct.run import fit_histogram as fit_histogram
    from dxprivacy.mechanisms.laplace.plan import Plan as Plan
    from dxprivacy.mechanisms.laplace.planner import make_plan as plan  # noqa: F401
    from dxprivacy.mechanisms.laplace.run import laplace as laplace
    from dxprivacy.mechanisms.laplace.statistical import Statistical as Statistical
    from dxprivacy.mechanisms.laplace.statistical import statistical as statistical
    from dxprivacy.mechanisms.mwem.by_hand import mwem as mwem
    from dxprivacy.mechanisms.smalldb.by_hand import smalldb as smalldb
    from dxprivacy.mechanisms.smalldb.plan import SmallDbPlan as SmallDbPlan
    from dxprivacy.mechanisms.smalldb.plan import make_smalldb as plan_smalldb  # noqa: F401
    from dxprivacy.mechanisms.smalldb.run import SmallDb as SmallDb
    from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan as SynthesisPlan
    from dxprivacy.mechanisms.synthesis.plan import plan_synthesis as plan_synthesis
    from dxprivacy.mechanisms.synthesis.synthetic import Synthetic as Synthetic
    from dxprivacy.model.universe import Universe as Universe
    from dxprivacy.policy import Policy as Policy
    from dxprivacy.policy.asks import load_questions as load_questions
    from dxprivacy.questions.asking import correlation_of as correlation_of
    from dxprivacy.questions.asking import count as count
    from dxprivacy.questions.asking import count_people as count_people
    from dxprivacy.questions.asking import covariance_of as covariance_of
    from dxprivacy.questions.asking import density_of as density_of
    from dxprivacy.questions.asking import marginals as marginals
    from dxprivacy.questions.asking import matrix as matrix
    from dxprivacy.questions.asking import mean_of as mean_of
    from dxprivacy.questions.asking import median_of as median_of
    from dxprivacy.questions.asking import prefixes as prefixes
    from dxprivacy.questions.asking import quantile_of as quantile_of
    from dxprivacy.questions.asking import ranges as ranges
    from dxprivacy.questions.asking import ratio_of as ratio_of
    from dxprivacy.questions.asking import sd_of as sd_of
    from dxprivacy.questions.asking import share_of as share_of
    from dxprivacy.questions.asking import sum_of as sum_of
    from dxprivacy.questions.asking import table as table
    from dxprivacy.questions.asking import variance_of as variance_of
    from dxprivacy.questions.conditions import above as above
    from dxprivacy.questions.conditions import any_of as any_of
    from dxprivacy.questions.conditions import at_least as at_least
    from dxprivacy.questions.conditions import at_most as at_most
    from dxprivacy.questions.conditions import below as below
    from dxprivacy.questions.conditions import none_of as none_of
    from dxprivacy.questions.picks import bin_edges as bin_edges
    from dxprivacy.questions.picks import closest as closest
    from dxprivacy.questions.picks import most_common as most_common
    from dxprivacy.release import post as post
    from dxprivacy.release.release import Release as Release
    from dxprivacy.session import Session as Session
    from dxprivacy.synthetic.records import Records as Records
    from dxprivacy.synthetic.rounding import whole_counts as whole_counts

_HOME = {
    "Choice": ("mechanisms.choice.plan", "Choice"),
    "ChoiceRelease": ("mechanisms.choice.release", "ChoiceRelease"),
    "Chosen": ("mechanisms.choice.exponential", "Chosen"),
    "SmallDb": ("mechanisms.smalldb.run", "SmallDb"),
    "SmallDbPlan": ("mechanisms.smalldb.plan", "SmallDbPlan"),
    "baselines": ("mechanisms.baselines", ""),
    "bin_edges": ("questions.picks", "bin_edges"),
    "closest": ("questions.picks", "closest"),
    "exponential": ("mechanisms.choice.exponential", "exponential"),
    "most_common": ("questions.picks", "most_common"),
    "plan_choice": ("mechanisms.choice.plan", "make_choice"),
    "plan_smalldb": ("mechanisms.smalldb.plan", "make_smalldb"),
    "smalldb": ("mechanisms.smalldb.by_hand", "smalldb"),
    "Attribute": ("attributes.base", "Attribute"),
    "Dates": ("attributes.dates", "Dates"),
    "Numbers": ("attributes.numbers", "Numbers"),
    "Series": ("attributes.series", "Series"),
    "Bound": ("accounting", "Bound"),
    "Certificate": ("accounting.certificate", "Certificate"),
    "GroupLoss": ("accounting", "GroupLoss"),
    "Grid": ("attributes.grid", "Grid"),
    "Histogram": ("histogram", "Histogram"),
    "Integers": ("attributes.integers", "Integers"),
    "Ledger": ("ledger", "Ledger"),
    "Nearest": ("attributes.nearest", "Nearest"),
    "Ordered": ("attributes.ordered", "Ordered"),
    "Plan": ("mechanisms.laplace.plan", "Plan"),
    "Points": ("attributes.points", "Points"),
    "Policy": ("policy", "Policy"),
    "Property": ("attributes.base", "Property"),
    "Records": ("synthetic.records", "Records"),
    "Release": ("release", "Release"),
    "Session": ("session", "Session"),
    "Statistical": ("mechanisms.laplace.statistical", "Statistical"),
    "Synthetic": ("mechanisms.synthesis.synthetic", "Synthetic"),
    "SynthesisPlan": ("mechanisms.synthesis.plan", "SynthesisPlan"),
    "Universe": ("model.universe", "Universe"),
    "Spelling": ("attributes.spelling", "Spelling"),
    "Values": ("attributes.values", "Values"),
    "count": ("questions.asking", "count"),
    "count_people": ("questions.asking", "count_people"),
    "share_of": ("questions.asking", "share_of"),
    "ratio_of": ("questions.asking", "ratio_of"),
    "variance_of": ("questions.asking", "variance_of"),
    "sd_of": ("questions.asking", "sd_of"),
    "covariance_of": ("questions.asking", "covariance_of"),
    "correlation_of": ("questions.asking", "correlation_of"),
    "median_of": ("questions.asking", "median_of"),
    "quantile_of": ("questions.asking", "quantile_of"),
    "density_of": ("questions.asking", "density_of"),
    "above": ("questions.conditions", "above"),
    "any_of": ("questions.conditions", "any_of"),
    "at_least": ("questions.conditions", "at_least"),
    "at_most": ("questions.conditions", "at_most"),
    "below": ("questions.conditions", "below"),
    "none_of": ("questions.conditions", "none_of"),
    "direct": ("mechanisms.direct.by_hand", "direct"),
    "errors": ("errors", ""),
    "group_loss": ("accounting", "group_loss"),
    "fit_histogram": ("mechanisms.direct.run", "fit_histogram"),
    "laplace": ("mechanisms.laplace.run", "laplace"),
    "load_questions": ("policy.asks", "load_questions"),
    "matrix": ("questions.asking", "matrix"),
    "max_ratio": ("accounting", "max_ratio"),
    "mean_of": ("questions.asking", "mean_of"),
    "ranges": ("questions.asking", "ranges"),
    "prefixes": ("questions.asking", "prefixes"),
    "marginals": ("questions.asking", "marginals"),
    "metrics": ("metrics", ""),
    "mwem": ("mechanisms.mwem.by_hand", "mwem"),
    "plan": ("mechanisms.laplace.planner", "make_plan"),
    "plan_synthesis": ("mechanisms.synthesis.plan", "plan_synthesis"),
    "plots": ("plots", ""),
    "post": ("release.post", ""),
    "sensitivity": ("accounting", "sensitivity"),
    "statistical": ("mechanisms.laplace.statistical", "statistical"),
    "sum_of": ("questions.asking", "sum_of"),
    "table": ("questions.asking", "table"),
    "whole_counts": ("synthetic.rounding", "whole_counts"),
}

_SCREENS = {
    "Check": ("screens.check", "check_lines"),
    "Choice": ("screens.choice", "choice_lines"),
    "ChoiceRelease": ("screens.choice_release", "choice_release_lines"),
    "Diff": ("screens.diff", "diff_lines"),
    "MwemPlan": ("screens.mwem", "mwem_lines"),
    "Plan": ("screens.plan", "plan_lines"),
    "Processed": ("screens.release", "processed_lines"),
    "Release": ("screens.release", "release_lines"),
    "Report": ("screens.report", "report_lines"),
    "SmallDbPlan": ("screens.smalldb", "smalldb_lines"),
}
"""What `print` shows of a value, for those whose lines are made in a room above them."""

_PRINTED = {
    "ChoiceRelease": ("screens.printed", "choice_printed"),
    "Plan": ("screens.printed", "plan_printed"),
    "Processed": ("screens.printed", "processed_printed"),
    "Release": ("screens.printed", "release_printed"),
}
"""What Markdown and LaTeX show of a value."""

_DISPLAYS = {
    "Choice": ("plots.notebook", "choice_display"),
    "ChoiceRelease": ("plots.notebook", "choice_release_display"),
    "Ledger": ("plots.notebook", "ledger_display"),
    "Plan": ("plots.notebook", "plan_display"),
    "Policy": ("plots.notebook", "policy_display"),
    "Release": ("plots.notebook", "release_display"),
    "Report": ("plots.notebook", "report_display"),
}
"""What a notebook shows of a value."""

__all__ = sorted(_HOME)


def _found(module: str, attribute: str) -> Any:
    found = importlib.import_module(f"dxprivacy.{module}")
    return getattr(found, attribute) if attribute else found


def screen_of(kind: type) -> Any:
    """The function that makes the lines of a value of this kind, or of a class that it extends."""
    return _found(*next(_SCREENS[c.__name__] for c in kind.__mro__ if c.__name__ in _SCREENS))


def printed_of(kind: type) -> Any:
    """The function that makes the tables for print of a value of this kind, or of a class that it extends."""
    return _found(*next(_PRINTED[c.__name__] for c in kind.__mro__ if c.__name__ in _PRINTED))


def display_of(kind: type) -> Any:
    """The function that makes the HTML of a value of this kind, or of a class that it extends; else its line."""
    known = (_DISPLAYS[c.__name__] for c in kind.__mro__ if c.__name__ in _DISPLAYS)
    return _found(*next(known, ("plots.notebook", "line_display")))


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
