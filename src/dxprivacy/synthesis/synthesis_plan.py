"""provisional"""

from dataclasses import dataclass
from typing import Any
from dxprivacy.planning import Plan
from dxprivacy.synthesis.direct_plan import plan_direct
from dxprivacy.synthesis.mwem_plan import MwemPlan, plan_mwem, PASSES


@dataclass(frozen=True, eq=False)
class SynthesisPlan:
    """x."""

    method: str
    chosen: Plan | MwemPlan

    def to_dict(self) -> dict[str, Any]:
        """x."""
        return {"method": self.method}


def plan_synthesis(
    asked: Any,
    metric: Any,
    *,
    method: str,
    share: Any,
    rounds: Any,
    passes: Any,
    rows: Any,
    title: str = "",
    dataset: str = "",
) -> SynthesisPlan:
    """x."""
    if method == "mwem":
        return SynthesisPlan(
            "mwem",
            plan_mwem(
                asked,
                metric,
                records=rows,
                share=share,
                rounds=rounds,
                passes=PASSES if passes is None else passes,
                dataset=dataset,
            ),
        )
    return SynthesisPlan("direct", plan_direct(asked, metric, share=share, rows=rows, title=title, dataset=dataset))


def synthesis_lines(plan: SynthesisPlan) -> list[str]:
    """x."""
    return [f"expected: {plan.method}"]
