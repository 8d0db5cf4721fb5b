"""A plan of synthetic records on the screen: which method, how good it is expected to be, what it may take."""

from typing import Any

from dxprivacy.planning import Plan
from dxprivacy.synthesis.mwem_plan import MwemPlan
from dxprivacy.synthesis.plan import SynthesisPlan
from dxprivacy.wording import percent, plural, tag, wrap


def synthesis_lines(plan: SynthesisPlan) -> list[str]:
    """The method with the reason, and how it goes about it."""
    answers = plural(len(plan.made.workload.answers), "answer")
    compared = len(plan.expected.errors) > 1
    why = f"{plan.method} is expected to be better" if compared else f"by {plan.method}"
    lines = [f"{tag('bold', f'Synthetic records for {answers}')} · {tag('accent', why)}"]
    if str(plan.expected):
        lines += [f"  {line}" for line in wrap(str(plan.expected), 94)]
    return [*lines, *(f"  {tag('dim', line)}" for line in wrap(_how(plan), 94))]


def synthesis_to_dict(plan: SynthesisPlan) -> dict[str, Any]:
    """For JSON."""
    return {
        "method": plan.method,
        "name": plan.name,
        "expected": dict(plan.expected.errors),
        "sentence": str(plan.expected),
        "share": str(plan.made.share),
        "plan": plan.made.to_dict(),
    }


def _how(plan: SynthesisPlan) -> str:
    share = percent(float(plan.made.share))
    match plan.made:
        case Plan():
            return f"all answers at once, with at most {share} of every pair's ε; dxp plan shows the error of each"
        case MwemPlan():
            rounds = f"{plural(plan.made.rounds, 'round')} ({plan.made.why})"
            return f"{rounds}, together with at most {share} of every pair's ε"
        case _:
            return (
                f"{plan.made.size:,} records, chosen among all sets of so many, with at most {share} of every pair's ε"
            )
