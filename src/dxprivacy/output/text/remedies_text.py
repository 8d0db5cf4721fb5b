"""Targets that a plan misses, in words: how far, and what would meet them."""

from collections.abc import Callable
from fractions import Fraction

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.budget_remedies import Missed, missed_targets
from dxprivacy.mechanisms.linear.planning.target_solving import Solved, three_digits
from dxprivacy.wording import digits, percent, plural, short, tag, wrap

SHOWN = 6
_NAME = 60


def remedy_lines(plan: Plan) -> list[str]:
    """A paragraph for every question whose target is missed; nothing where all are met."""
    told = remedies(plan)
    if not told:
        return []
    lines = [tag("bold", "What would meet the targets")]
    for sentence in told[:SHOWN]:
        lines += [f"  {line}" for line in wrap(sentence, 94, "  ")]
    if len(told) > SHOWN:
        lines.append(tag("dim", f"  {plural(len(told) - SHOWN, 'further question')} missed"))
    return [
        *lines,
        tag("dim", "  reckoned from this plan; --solve share and --solve epsilon plan anew, and look for less"),
    ]


def remedies(plan: Plan) -> list[str]:
    """A sentence or two for each question: what was asked, what it would get, and what would be enough."""
    return [_told(plan, missed) for missed in missed_targets(plan)]


def _told(plan: Plan, missed: Missed) -> str:
    answer, error = plan.workload.answers[missed.widest], plan.errors[missed.widest]
    unit = f" {answer.unit}" if answer.unit else ""
    within = digits(float(answer.within or 0))
    name = short(plan.questions.questions[missed.question].name, _NAME)
    total = sum(a.question == missed.question for a in plan.workload.answers)
    of = "" if total == 1 else f", {len(missed.answers):,} of {plural(total, 'answer')}"
    head = f"{name}{of}: ± {digits(error.half_width)}{unit} where {within}{unit} was asked."
    ways = _ways(plan, missed)
    if not ways:
        if error.hidden >= float(answer.within or 0):
            return f"{head} What its steps hide, {digits(error.hidden)}{unit}, is more: smaller steps in the policy."
        return f"{head} Neither budget nor records meet that."
    return f"{head} Enough: {'; or '.join(ways)}."


def _ways(plan: Plan, missed: Missed) -> list[str]:
    """Share, ε, records and groups, as far as they help."""
    out = []
    if missed.factor is not None:
        share = three_digits(plan.share * Fraction(str(missed.factor)))
        if share <= 1:
            out.append(f"--share {_share(share)}")
        times = f"every ε of the policy × {digits(missed.factor)}, at this share"
        out.append(times if share <= 1 else f"{times} (a share of {percent(float(share))} is more than there is)")
    if missed.records is not None:
        out.append(f"{missed.records:,} records (planned for {plan.records:,})")
    if missed.group is not None and plan.records:
        part = plan.workload.answers[missed.widest].recipe.part or 1
        out.append(f"wider groups, of {missed.group:,} records (now {int(plan.records * part):,})")
    return out


def solved_share_line(solved: Solved[Plan]) -> str:
    """What `--solve share` found."""
    if not solved.met:
        return f"{tag('warn', '! solved')}  no share of the policy meets a target; --solve epsilon says what would"
    mark = tag("good", "✓ solved") if solved.met == solved.targets else tag("warn", "! solved")
    return f"{mark}  --share {_share(solved.amount)} meets {_which(solved)}{_less(solved, _share)}"


def solved_epsilon_line(solved: Solved[Plan]) -> str:
    """What `--solve epsilon` found: the policy is the curator's, and nothing is changed."""
    if not solved.met:
        return f"{tag('warn', '! solved')}  no ε meets a target: what steps of the policy hide is more than was asked"
    mark = tag("good", "✓ solved") if solved.met == solved.targets else tag("warn", "! solved")
    if solved.amount <= 1:
        return f"{mark}  the policy as it is meets {_which(solved)}"
    times, share = digits(float(solved.amount)), percent(float(solved.plan.share))
    told = f"every ε of the policy × {times}, at a share of {share}, meets {_which(solved)}"
    return f"{mark}  {told}{_less(solved, lambda x: f'× {digits(float(x))}')}; the policy was not changed"


def _share(amount: Fraction) -> str:
    return percent(float(amount)).replace(" ", "")


def _which(solved: Solved[Plan]) -> str:
    if solved.met == solved.targets:
        return "the target" if solved.targets == 1 else f"all {solved.targets:,} targets"
    return f"{solved.met:,} of {plural(solved.targets, 'target')}, and no more can be met"


def _less(solved: Solved[Plan], words: Callable[[Fraction], str]) -> str:
    return "" if solved.too_little is None else f"; {words(solved.too_little)} does not"
