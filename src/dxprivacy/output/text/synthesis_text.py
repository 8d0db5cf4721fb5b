"""A plan of synthetic records on the screen: which method, how good it is expected to be, what it may take."""

from typing import Any

from dxprivacy.mechanisms.direct.plan import DirectFit
from dxprivacy.mechanisms.mwem.plan import MwemPlan
from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan
from dxprivacy.output.text.plan_text import left_words, warning_lines
from dxprivacy.wording import percent, plural, tag, wrap


def synthesis_lines(plan: SynthesisPlan, *, in_ledger: bool = False) -> list[str]:
    """The method with the reason, and how it goes about it; `in_ledger`: the caller says what a ledger has left."""
    answers = plural(len(plan.made.workload.answers), "answer")
    compared = len(plan.expected.errors) > 1
    why = f"{plan.method} is expected to be better" if compared else f"by {plan.method}"
    lines = warning_lines(plan.uninformative())
    lines += [f"{tag('bold', f'Synthetic records for {answers}')} · {tag('accent', why)}"]
    if str(plan.expected):
        lines += [f"  {line}" for line in wrap(str(plan.expected), 94)]
    return [*lines, *(f"  {tag('dim', line)}" for line in wrap(_how(plan, in_ledger), 94))]


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


def _how(plan: SynthesisPlan, in_ledger: bool) -> str:
    share, left = percent(float(plan.made.share)), " (--share)"
    if not in_ledger:
        left += "; nothing is certain to be left" if plan.made.share == 1 else f"; {left_words(plan.made.share)}"
    match plan.made:
        case DirectFit():
            return (
                f"all answers at once, with at most {share} of every pair's ε{left}; dxp plan shows the error of each"
            )
        case MwemPlan():
            rounds = f"{plural(plan.made.rounds, 'round')} ({plan.made.why})"
            return f"{rounds}, together with at most {share} of every pair's ε{left}"
        case _:
            size = f"{plan.made.size:,} records, chosen among all sets of so many"
            return f"{size}, with at most {share} of every pair's ε{left}"
