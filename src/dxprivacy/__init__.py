"""d_X-privacy: say how far any two records may be told apart, and publish with the least noise that keeps it.

    import dxprivacy as dx

    d    = dx.metrics.euclidean(points, epsilon_per_unit=0.01)
    plan = dx.plan(Q, d)                      # certified scales, expected error, gain; costs nothing
    z    = dx.laplace(plan, counts)           # exact noise

    session = dx.Session("policy.toml", "people.parquet", ledger="ledger.db")
    plan    = session.plan(dx.table("sex", "native"), dx.mean_of("income", by="sex", within=50), share="25%")
    release = session.release(plan)           # reserved first, then answered

Names are loaded when first used, so that `import dxprivacy` costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxprivacy import errors as errors
    from dxprivacy import plots as plots
    from dxprivacy.bounds import Bound as Bound
    from dxprivacy.bounds import GroupLoss as GroupLoss
    from dxprivacy.bounds import group_loss as group_loss
    from dxprivacy.bounds import max_ratio as max_ratio
    from dxprivacy.bounds import sensitivity as sensitivity
    from dxprivacy.histogram import Histogram as Histogram
    from dxprivacy.ledger import Ledger as Ledger
    from dxprivacy.mechanisms import laplace as laplace
    from dxprivacy.mechanisms.exponential import Chosen as Chosen
    from dxprivacy.mechanisms.exponential import exponential as exponential
    from dxprivacy.mechanisms.smalldb import SmallDb as SmallDb
    from dxprivacy.mechanisms.smalldb import smalldb as smalldb
    from dxprivacy.model import metrics as metrics
    from dxprivacy.model.attributes import Attribute as Attribute
    from dxprivacy.model.attributes import Integers as Integers
    from dxprivacy.model.attributes import Points as Points
    from dxprivacy.model.attributes import Property as Property
    from dxprivacy.model.attributes import Values as Values
    from dxprivacy.model.ordered import Dates as Dates
    from dxprivacy.model.ordered import Numbers as Numbers
    from dxprivacy.model.ordered import Series as Series
    from dxprivacy.model.picks import bin_edges as bin_edges
    from dxprivacy.model.picks import closest as closest
    from dxprivacy.model.picks import median_of as median_of
    from dxprivacy.model.picks import most_common as most_common
    from dxprivacy.model.picks import quantile_of as quantile_of
    from dxprivacy.model.questions import count as count
    from dxprivacy.model.questions import marginals as marginals
    from dxprivacy.model.questions import matrix as matrix
    from dxprivacy.model.questions import mean_of as mean_of
    from dxprivacy.model.questions import prefixes as prefixes
    from dxprivacy.model.questions import ranges as ranges
    from dxprivacy.model.questions import sum_of as sum_of
    from dxprivacy.model.questions import table as table
    from dxprivacy.model.universe import Universe as Universe
    from dxprivacy.planning import Certificate as Certificate
    from dxprivacy.planning import Plan as Plan
    from dxprivacy.planning import make_plan as plan  # noqa: F401
    from dxprivacy.planning.choice import Choice as Choice
    from dxprivacy.planning.choice import make_choice as plan_choice  # noqa: F401
    from dxprivacy.planning.smalldb import SmallDbPlan as SmallDbPlan
    from dxprivacy.planning.smalldb import make_smalldb as plan_smalldb  # noqa: F401
    from dxprivacy.planning.statistical import Statistical as Statistical
    from dxprivacy.planning.statistical import statistical as statistical
    from dxprivacy.policy import Policy as Policy
    from dxprivacy.policy.asks import load_questions as load_questions
    from dxprivacy.release import Release as Release
    from dxprivacy.release import post as post
    from dxprivacy.release.choice import ChoiceRelease as ChoiceRelease
    from dxprivacy.session import Session as Session
    from dxprivacy.synthesis.direct import direct as direct
    from dxprivacy.synthesis.direct import fit_histogram as fit_histogram
    from dxprivacy.synthesis.mwem import mwem as mwem
    from dxprivacy.synthesis.plan import SynthesisPlan as SynthesisPlan
    from dxprivacy.synthesis.plan import plan_synthesis as plan_synthesis
    from dxprivacy.synthesis.records import Records as Records
    from dxprivacy.synthesis.rounding import whole_counts as whole_counts
    from dxprivacy.synthesis.synthetic import Synthetic as Synthetic

_HOME = {
    "Choice": ("planning.choice", "Choice"),
    "ChoiceRelease": ("release.choice", "ChoiceRelease"),
    "Chosen": ("mechanisms.exponential", "Chosen"),
    "SmallDb": ("mechanisms.smalldb", "SmallDb"),
    "SmallDbPlan": ("planning.smalldb", "SmallDbPlan"),
    "bin_edges": ("model.picks", "bin_edges"),
    "closest": ("model.picks", "closest"),
    "exponential": ("mechanisms.exponential", "exponential"),
    "median_of": ("model.picks", "median_of"),
    "most_common": ("model.picks", "most_common"),
    "plan_choice": ("planning.choice", "make_choice"),
    "plan_smalldb": ("planning.smalldb", "make_smalldb"),
    "quantile_of": ("model.picks", "quantile_of"),
    "smalldb": ("mechanisms.smalldb", "smalldb"),
    "Attribute": ("model.attributes", "Attribute"),
    "Dates": ("model.ordered", "Dates"),
    "Numbers": ("model.ordered", "Numbers"),
    "Series": ("model.ordered", "Series"),
    "Bound": ("bounds", "Bound"),
    "Certificate": ("planning", "Certificate"),
    "GroupLoss": ("bounds", "GroupLoss"),
    "Histogram": ("histogram", "Histogram"),
    "Integers": ("model.attributes", "Integers"),
    "Ledger": ("ledger", "Ledger"),
    "Plan": ("planning", "Plan"),
    "Points": ("model.attributes", "Points"),
    "Policy": ("policy", "Policy"),
    "Property": ("model.attributes", "Property"),
    "Records": ("synthesis.records", "Records"),
    "Release": ("release", "Release"),
    "Session": ("session", "Session"),
    "Statistical": ("planning.statistical", "Statistical"),
    "Synthetic": ("synthesis.synthetic", "Synthetic"),
    "SynthesisPlan": ("synthesis.plan", "SynthesisPlan"),
    "Universe": ("model.universe", "Universe"),
    "Values": ("model.attributes", "Values"),
    "count": ("model.questions", "count"),
    "direct": ("synthesis.direct", "direct"),
    "errors": ("errors", ""),
    "group_loss": ("bounds", "group_loss"),
    "fit_histogram": ("synthesis.direct", "fit_histogram"),
    "laplace": ("mechanisms", "laplace"),
    "load_questions": ("policy.asks", "load_questions"),
    "matrix": ("model.questions", "matrix"),
    "max_ratio": ("bounds", "max_ratio"),
    "mean_of": ("model.questions", "mean_of"),
    "ranges": ("model.questions", "ranges"),
    "prefixes": ("model.questions", "prefixes"),
    "marginals": ("model.questions", "marginals"),
    "metrics": ("model.metrics", ""),
    "mwem": ("synthesis.mwem", "mwem"),
    "plan": ("planning", "make_plan"),
    "plan_synthesis": ("synthesis.plan", "plan_synthesis"),
    "plots": ("plots", ""),
    "post": ("release.post", ""),
    "sensitivity": ("bounds", "sensitivity"),
    "statistical": ("planning.statistical", "statistical"),
    "sum_of": ("model.questions", "sum_of"),
    "table": ("model.questions", "table"),
    "whole_counts": ("synthesis.rounding", "whole_counts"),
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'dxprivacy' has no attribute {name!r}") from None
    import importlib

    found = importlib.import_module(f"dxprivacy.{module}")
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
