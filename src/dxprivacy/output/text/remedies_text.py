"""Missed targets of a plan: by how much they are missed, and what would meet them."""

from collections.abc import Callable
from fractions import Fraction

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.budget_remedies import Missed, Solved, missed_targets, three_digits
from dxprivacy.wording import digits, percent, plural, short, tag, wrap

SHOWN = 6
_NAME = 60


def remedy_lines(plan: Plan) -> list[str]:
    """Return a paragraph for each query with a missed target; empty if all are met."""
    told = remedies(plan)
    if not told:
        return []
    lines = [tag("bold", "What would meet the targets")]
    for sentence in told[:SHOWN]:
        lines += [f"  {line}" for line in wrap(sentence, 94, "  ")]
    if len(told) > SHOWN:
        lines.append(tag("dim", f"  {plural(len(told) - SHOWN, 'further query')} missed"))
    return [
        *lines,
        tag("dim", "  estimated from this plan; --solve budget and --solve epsilon plan again, and look for less"),
    ]


def remedies(plan: Plan) -> list[str]:
    """Return a sentence or two for each query: the target, the planned error, and what would be enough."""
    return [_told(plan, missed) for missed in missed_targets(plan)]


def _told(plan: Plan, missed: Missed) -> str:
    answer, error = plan.workload.answers[missed.widest], plan.errors[missed.widest]
    unit = f" {answer.unit}" if answer.unit else ""
    within = digits(float(answer.within or 0))
    name = short(plan.queries.queries[missed.query].name, _NAME)
    total = sum(a.query == missed.query for a in plan.workload.answers)
    of = "" if total == 1 else f", {len(missed.answers):,} of {plural(total, 'answer')}"
    head = f"{name}{of}: ± {digits(error.half_width)}{unit}, the target is {within}{unit}."
    ways = _ways(plan, missed)
    if not ways:
        if error.hidden >= float(answer.within or 0):
            return f"{head} Binning alone hides {digits(error.hidden)}{unit}: the policy needs smaller steps."
        return f"{head} Neither more budget nor more records meet it."
    return f"{head} Enough: {'; or '.join(ways)}."


def _ways(plan: Plan, missed: Missed) -> list[str]:
    # Budget, ε, records and group sizes that would meet the target.
    out = []
    if missed.factor is not None:
        budget = three_digits(plan.budget * Fraction(str(missed.factor)))
        if budget <= 1:
            out.append(f"--budget {_budget(budget)}")
        times = f"every ε of the policy × {digits(missed.factor)}, at this budget"
        out.append(times if budget <= 1 else f"{times} (it would need a budget of {percent(float(budget))})")
    if missed.records is not None:
        out.append(f"{missed.records:,} records (planned for {plan.records:,})")
    if missed.group is not None and plan.records:
        part = plan.workload.answers[missed.widest].recipe.part or 1
        out.append(f"wider groups, of {missed.group:,} records (now {int(plan.records * part):,})")
    return out


def solved_budget_line(solved: Solved[Plan]) -> str:
    """Return the result of `--solve budget`."""
    if not solved.met:
        return f"{tag('warn', '! solved')}  no budget meets a target; --solve epsilon finds the ε that would"
    mark = tag("good", "✓ solved") if solved.met == solved.targets else tag("warn", "! solved")
    return f"{mark}  --budget {_budget(solved.amount)} meets {_which(solved)}{_less(solved, _budget)}"


def solved_epsilon_line(solved: Solved[Plan]) -> str:
    """Return the result of `--solve epsilon`; the policy is not changed."""
    if not solved.met:
        return f"{tag('warn', '! solved')}  no ε meets a target: binning in the policy hides more than that"
    mark = tag("good", "✓ solved") if solved.met == solved.targets else tag("warn", "! solved")
    if solved.amount <= 1:
        return f"{mark}  the policy as it is meets {_which(solved)}"
    times, budget = digits(float(solved.amount)), percent(float(solved.plan.budget))
    told = f"every ε of the policy × {times}, at a budget of {budget}, meets {_which(solved)}"
    return f"{mark}  {told}{_less(solved, lambda x: f'× {digits(float(x))}')}; the policy was not changed"


def _budget(amount: Fraction) -> str:
    return percent(float(amount)).replace(" ", "")


def _which(solved: Solved[Plan]) -> str:
    if solved.met == solved.targets:
        return "the target" if solved.targets == 1 else f"all {solved.targets:,} targets"
    return f"{solved.met:,} of {plural(solved.targets, 'target')}, and no more can be met"


def _less(solved: Solved[Plan], words: Callable[[Fraction], str]) -> str:
    return "" if solved.too_little is None else f"; {words(solved.too_little)} does not"
