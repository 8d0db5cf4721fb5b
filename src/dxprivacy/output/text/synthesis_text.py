"""Synthetic records in the terminal: method, expected quality, budget, and the report."""

import math
from typing import Any

import numpy as np

from dxprivacy.mechanisms.direct.plan import DirectFit
from dxprivacy.mechanisms.direct.run import fit_words
from dxprivacy.mechanisms.mwem.plan import MwemPlan
from dxprivacy.mechanisms.smalldb.plan import SmallDbPlan
from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan
from dxprivacy.output.text.headings import under_headings
from dxprivacy.output.text.plan_text import left_words, warning_lines
from dxprivacy.output.text.release_text import number
from dxprivacy.releases.answer_tables import names
from dxprivacy.releases.release import TOO_FEW
from dxprivacy.synthetic.synthesis_report import ComparedAnswer, Report
from dxprivacy.wording import columns, digits, percent, plural, short, tag, wrap

# -- A planned run of MWEM ---------------------------------------------------------------------------------------------


def mwem_lines(plan: MwemPlan) -> list[str]:
    """Return the lines of a planned run; all numbers are public."""
    rows = len(plan.candidates)
    noise = plan.scales[plan.candidates] * np.array([float(u) for u in plan.workload.units])[plan.candidates]
    spread = sorted({digits(float(x)) for x in (noise.min(initial=np.inf), noise.max(initial=0.0))}) if rows else []
    steps = plural(2 * plan.rounds, "step")
    out = [
        f"MWEM plan {plan.name} · {plural(plan.rounds, 'round')} ({plan.why}) · nothing spent, no data read",
        f"{steps} of at most {percent(float(plan.part))} of the policy each; noise scale of a measurement "
        + (" to ".join(spread) or "0"),
    ]
    if plan.passes:
        out.append(f"after each round {plural(plan.passes, 'pass')} over all measurements so far")
    if plan.bound is not None:
        out.append(str(plan.bound))
    return out


# -- A planned small database ------------------------------------------------------------------------------------------


def smalldb_lines(plan: SmallDbPlan) -> list[str]:
    """Return its size, how it is sampled, and the bound on its errors."""
    head = f"{tag('bold', f'Small database {plan.name}')} · {tag('good', 'nothing spent, no data read')}"
    relative = plan.relative_bound / plan.records
    rows = [
        ["records", tag("bold", f"{plan.size:,}"), f"representing {plan.records:,}"],
        ["candidates", plan.route.candidates, f"chosen exactly, by {plan.route.name}"],
        ["largest error", tag("accent", f"at most {digits(float(plan.bounds.max()))}"), _probability(plan)],
        ["", percent(relative), "of the largest possible one"],
        ["uses", percent(float(plan.certificate.ratio)), "of the policy on its most used pair"],
    ]
    remarks = [plan.rows.words]
    if plan.free:
        remarks.append("nothing depends on the data: it is not read, and nothing is spent")
    elif plan.says_nothing:
        remarks.append("the bound says nothing here: more records, fewer queries, or another method")
    if plan.route.name == "rejection":
        remarks.append("its running time depends on the data: do not publish it")
    return [head, "", *columns(rows, "lrl"), "", *(tag("dim", line) for note in remarks for line in wrap(note, 96))]


def _probability(plan: SmallDbPlan) -> str:
    return f"over {plural(plan.workload.rows, 'answer')} together, {percent(1 - plan.beta)} of the time"


# -- A plan of synthetic records ---------------------------------------------------------------------------------------


def synthesis_lines(plan: SynthesisPlan, *, in_ledger: bool = False) -> list[str]:
    """Return the method with the reason; `in_ledger`: the caller shows what a ledger has left."""
    answers = plural(len(plan.made.workload.answers), "answer")
    compared = len(plan.expected.errors) > 1
    why = f"{plan.method} is expected to be better" if compared else f"by {plan.method}"
    lines = warning_lines(plan.uninformative())
    lines += [f"{tag('bold', f'Synthetic records for {answers}')} · {tag('accent', why)}"]
    if str(plan.expected):
        lines += [f"  {line}" for line in wrap(str(plan.expected), 94)]
    return [*lines, *(f"  {tag('dim', line)}" for line in wrap(_how(plan, in_ledger), 94))]


def synthesis_to_dict(plan: SynthesisPlan) -> dict[str, Any]:
    """Return a plan for JSON."""
    return {
        "method": plan.method,
        "name": plan.name,
        "expected": dict(plan.expected.errors),
        "sentence": str(plan.expected),
        "budget": str(plan.made.budget),
        "plan": plan.made.to_dict(),
    }


def _how(plan: SynthesisPlan, in_ledger: bool) -> str:
    budget, left = percent(float(plan.made.budget)), " (--budget)"
    if not in_ledger:
        left += "; nothing is certain to be left" if plan.made.budget == 1 else f"; {left_words(plan.made.budget)}"
    match plan.made:
        case DirectFit():
            return (
                f"all answers at once, with at most {budget} of every pair's ε{left}; dxp plan shows the error of each"
            )
        case MwemPlan():
            rounds = f"{plural(plan.made.rounds, 'round')} ({plan.made.why})"
            return f"{rounds}, together with at most {budget} of every pair's ε{left}"
        case _:
            size = f"{plan.made.size:,} records, selected among all sets of this size"
            return f"{size}, with at most {budget} of every pair's ε{left}"


# -- A report of synthetic records: released answers next to those of the records --------------------------------------


SHOWN = 12


def report_lines(report: Report, *, everything: bool = False, file: str = "") -> list[str]:
    """Return some answers, first those outside their intervals, and a summary; `file` has all answers."""
    shown = list(report.answers)
    called = [short(name, 48) for name in names(shown)]
    if not everything and len(shown) > SHOWN + 3:
        # Answers outside their intervals first, then those that can be compared; shown in the order of the queries.
        ranked = sorted(range(len(shown)), key=lambda k: (-shown[k].beyond, shown[k].released is None, k))
        misfits = [k for k in ranked if shown[k].beyond > 0][: SHOWN // 2]
        others = [k for k in ranked if not shown[k].beyond]
        kept = sorted([*misfits, *others[: SHOWN - len(misfits)]])
        shown, called = [shown[k] for k in kept], [called[k] for k in kept]
    table = [[tag("dim", t) for t in ("", "released", "95 % interval", "synthetic", "")]]
    table += under_headings([(a.query, name, _cells(a)) for a, name in zip(shown, called, strict=True)])
    lines = columns(table, "lrlrl")
    hidden = len(report.answers) - len(shown)
    if hidden:
        lines.append(tag("dim", f"  {hidden:,} more in {file or 'report.answers'}."))
    # A released interval misses the truth in 5 of 100 cases, and then a good synthetic answer lies outside.
    sign = tag("good", "✓") if report.inside >= 0.9 * len(report.compared) else tag("warn", "!")
    fit = report.facts.get("fit")
    if fit and not fit["converged"]:
        sign = tag("warn", "!")
    sentence = report.summary[0].upper() + report.summary[1:]
    lines += ["", f"{sign} {tag('bold', sentence)}."]
    if fit:
        lines += [
            f"  {tag('dim', line)}" for words in fit_words(fit) for line in wrap(words[0].upper() + words[1:] + ".", 94)
        ]
    unreleased = len(report.answers) - len(report.compared)
    if unreleased and report.compared:
        further = plural(unreleased, "further answer")
        about = f"{further} had no noisy answer of {'its' if unreleased == 1 else 'their'} own to compare with."
        lines += [f"  {tag('dim', line)}" for line in wrap(about, 94)]
    return lines


def _cells(answer: ComparedAnswer) -> list[str]:
    # The released and the synthetic answer.
    row = answer.released
    unit = f" {answer.unit}" if answer.unit else ""
    if row is None:
        return [tag("dim", "–"), "", _plain(answer.synthetic) + unit, ""]
    if row.vague:
        return [TOO_FEW, "", _plain(answer.synthetic) + unit, ""]
    ends = "exact" if row.exact else f"{number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)}"
    value = number(row.value, row.low, row.high) + unit
    synthetic = number(answer.synthetic, row.low, row.high) if row.high > row.low else _plain(answer.synthetic)
    return [value, ends, tag("accent", synthetic + unit), "" if answer.inside else tag("warn", "! outside")]


def _plain(value: float) -> str:
    """Format a number without an interval.

    >>> _plain(1234.0), _plain(0.123456), _plain(-2.0)
    ('1,234', '0.1235', '−2')
    """
    text = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.{_places(value)}f}"
    return text.replace("-", "−")


def _places(value: float) -> int:
    return max(0, 3 - math.floor(math.log10(abs(value))))
