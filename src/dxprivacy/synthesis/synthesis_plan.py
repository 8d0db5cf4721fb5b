"""How synthetic records will be made: which method, and how good it is expected to be.  Never sees data."""

from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import UsageError, did_you_mean
from dxprivacy.model.metrics import Metric
from dxprivacy.planning import Plan
from dxprivacy.planning.smalldb import SmallDbPlan, make_smalldb
from dxprivacy.synthesis.direct_plan import plan_direct
from dxprivacy.synthesis.mwem_plan import PASSES, MwemPlan, plan_mwem

METHODS = ("auto", "direct", "mwem", "smalldb")


@dataclass(frozen=True, eq=False)
class SynthesisPlan:
    """The certified plan of one method."""

    method: str
    chosen: Plan | MwemPlan | SmallDbPlan

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"method": self.method, "plan": self.chosen.to_dict()}


def plan_synthesis(
    questions: Any,
    metric: Metric,
    *,
    rows: int | None,
    method: str = "auto",
    share: object = 1,
    rounds: int | str | None = None,
    passes: int | None = None,
    title: str = "",
    dataset: str = "",
) -> SynthesisPlan:
    """A certified plan for synthetic records."""
    if method not in METHODS:
        hints = did_you_mean(str(method), METHODS) or [(f"one of {', '.join(METHODS)}", "")]
        raise UsageError(f"no method “{method}” for synthetic records", hints=hints)
    if (rounds is not None or passes is not None) and method in ("direct", "smalldb"):
        raise UsageError(f"rounds and passes are for mwem, not for {method}", hints=['method="mwem"'])
    if method == "mwem":
        planned = plan_mwem(
            questions,
            metric,
            records=rows or 0,
            share=share,
            rounds=rounds,
            passes=PASSES if passes is None else passes,
            dataset=dataset,
        )
        return SynthesisPlan("mwem", planned)
    if method == "smalldb":
        small = make_smalldb(questions, metric, rows=rows or 0, alpha=None, share=share, title=title, dataset=dataset)
        return SynthesisPlan("smalldb", small)
    return SynthesisPlan("direct", plan_direct(questions, metric, share=share, rows=rows, title=title, dataset=dataset))


def synthesis_lines(plan: SynthesisPlan) -> list[str]:
    """On the screen."""
    return [f"expected: {plan.method}"]
