"""A plan on the screen: error in the user's own units, before anything is spent, and the pair to blame."""

import math
from dataclasses import dataclass

import numpy as np

from dxprivacy.bounds import cover, ratios
from dxprivacy.model.metrics import Metric, Places, WithOther, all_pairs
from dxprivacy.model.questions import Question
from dxprivacy.model.workload import Answer
from dxprivacy.planning.expected import ErrorOf
from dxprivacy.planning.plan import Plan
from dxprivacy.wording import columns, digits, percent, plural, tag, times, wrap

SHOWN = 6


@dataclass(frozen=True)
class Limit:
    """What keeps an answer from being better: a pair that is used up, or nothing."""

    pair: tuple[int, int] | None
    used: float


def limits(plan: Plan) -> list[Limit]:
    """Per answer, the most used pair that it touches."""
    best = np.zeros(plan.workload.rows)
    first, second = np.zeros(plan.workload.rows, dtype=np.int64), np.zeros(plan.workload.rows, dtype=np.int64)
    for i, j in cover(plan.cost, plan.metric).pairs(1 << 14):
        r = ratios(plan.cost, plan.metric, i, j)
        d = plan.metric.pairwise(i, j)
        pair, row, _ = plan.workload.differences(i, j)
        asks = np.isfinite(d)[pair]
        pair, row = pair[asks], row[asks]
        order = np.argsort(r[pair], kind="stable")  # the largest last, so it wins the assignment
        pair, row = pair[order], row[order]
        top, at = np.zeros(len(best)), np.zeros(len(best), dtype=np.int64)
        top[row], at[row] = r[pair], pair
        better = top > best
        best[better], first[better], second[better] = top[better], i[at[better]], j[at[better]]
    out = []
    for answer in plan.workload.answers:
        tight = max(answer.rows, key=lambda k: float(best[k]))
        out.append(Limit((int(first[tight]), int(second[tight])) if best[tight] > 0 else None, float(best[tight])))
    return out


def apart(metric: Metric, pair: tuple[int, int]) -> str:
    """How far two places lie apart, for universes of places; empty otherwise."""
    axes = metric.axes or ()
    if len(axes) != 1:
        return ""
    base = axes[0].base if isinstance(axes[0], WithOther) else axes[0]
    if not isinstance(base, Places) or max(pair) >= base.universe.size:
        return ""
    length = float(base.lengths(np.array([pair[0]]), np.array([pair[1]]))[0])
    unit = f" {base.unit}" if base.unit else ""
    return f"{digits(length) if length < 10 else f'{length:,.0f}'}{unit}"


def pair_words(metric: Metric, pair: tuple[int, int] | None) -> str:
    """A pair of records in words, with their distance where they are places."""
    if pair is None:
        return "–"
    a, b = metric.universe.tell(*pair)
    distance = apart(metric, pair)
    return f"{a} – {b}" + (f", {distance}" if distance else "")


def _reached(answer: Answer, error: ErrorOf) -> bool:
    return answer.within is not None and error.half_width <= float(answer.within) * (1 + 1e-9)


def plan_lines(plan: Plan, *, everything: bool = False) -> list[str]:
    """The whole page."""
    answers = plan.workload.answers
    share = "" if plan.share == 1 else f" · {percent(float(plan.share))} of the policy"
    lines = [
        f"{tag('bold', f'Plan {plan.name}')} · {plural(len(answers), 'answer')}{share} · "
        + tag("good", "nothing spent, no data read"),
        "",
    ]
    limit = limits(plan)
    head = [tag("dim", t) for t in ("", "typical error", "± 95 %", "asked", "gain", "limited by")]
    table = [head]
    asked = any(a.within is not None for a in answers)
    for label, members in _grouped(plan, everything):
        table.append(_line(plan, label, members, limit))
    if not asked:
        table = [row[:3] + row[4:] for row in table]
    lines += columns(table, "lrrrrl" if asked else "lrrrl")
    if any(hasattr(a.recipe, "bottom") for a in answers):
        lines.append(tag("dim", "  means by group: as if the groups were equally large; their sizes are private"))
    hard = _why(plan, limit)
    lines += ["", *hard] if hard else []
    lines += ["", *_budget_lines(plan), "", *_baseline_lines(plan)]
    lines.append(tag("dim", f"certified for every pair, exact arithmetic · rule: {plan.certificate.rule}"))
    return lines


def _grouped(plan: Plan, everything: bool) -> list[tuple[str, list[int]]]:
    """Lines of the table: every answer where there are few, otherwise groups with the same fate."""
    out: list[tuple[str, list[int]]] = []
    for question, title in enumerate(plan.workload.titles):
        members = [k for k, a in enumerate(plan.workload.answers) if a.question == question]
        if everything or len(members) <= SHOWN:
            out += [(plan.workload.answers[k].label, [k]) for k in members]
            continue
        ordered = sorted(members, key=lambda k: plan.errors[k].half_width)
        reached = [k for k in ordered if _reached(plan.workload.answers[k], plan.errors[k])]
        rest = [k for k in ordered if k not in set(reached)]
        name = title.split(" within ")[0]
        if reached:
            out.append((_several(plan, question, len(reached)) if rest else f"{name}, all {len(reached)}", reached))
        if len({plan.errors[k].half_width for k in rest}) == 1 and len(rest) > 2:
            out.append((_several(plan, question, len(rest)) if reached else f"{name}, all {len(rest)}", rest))
            continue
        if len(rest) > 3:
            out.append((_several(plan, question, len(rest) - 2), rest[:-2]))
            rest = rest[-2:]
        out += [(plan.workload.answers[k].label, [k]) for k in rest]
    return out


def _several(plan: Plan, question: int, count: int) -> str:
    """`24 states` for a question by one thing, `24 of …` otherwise."""
    asked = plan.questions.questions[question]
    by: tuple[str, ...] = asked.by if isinstance(asked, Question) else ()
    single = by[0].rpartition(".")[2] if len(by) == 1 else ""
    return f"{count} {single}s" if single.isalpha() else f"{count} of {str(asked).split(' within ')[0]}"


def _span(values: list[float], unit: str = "") -> str:
    low, high = min(values), max(values)
    text = digits(low) if math.isclose(low, high, rel_tol=0.005) else f"{digits(low)} – {digits(high)}"
    return f"{text} {unit}".rstrip()


def _line(plan: Plan, label: str, members: list[int], limit: list[Limit]) -> list[str]:
    answers = [plan.workload.answers[k] for k in members]
    errors = [plan.errors[k] for k in members]
    unit = answers[0].unit
    if all(plan.scales[r] == 0 for a in answers for r in a.rows):
        return [label, "0", tag("accent", "exact"), "", "", tag("dim", "nothing: public, or the same for all records")]
    gains = [float(plan.improvement[k]) for k in members]
    low, high = min(gains), max(gains)
    gain = times(high) if math.isclose(low, high, rel_tol=0.02) else f"{times(high)[:-1]} – {times(low)}"
    target = answers[0].within
    wanted = "" if target is None else f"{digits(float(target))} {unit}".rstrip()
    if all(_reached(a, e) for a, e in zip(answers, errors, strict=True)):
        why = tag("dim", "nothing: target reached")
    elif len(members) == 1 or len({limit[k].pair for k in members}) == 1:
        why = pair_words(plan.metric, limit[members[0]].pair)
    else:
        why = tag("dim", "--all")
    return [
        label,
        _span([e.typical for e in errors], unit),
        tag("accent", _span([e.half_width for e in errors], unit)),
        wanted,
        gain,
        why,
    ]


def _why(plan: Plan, limit: list[Limit]) -> list[str]:
    """The hardest answer, explained by its pair."""
    noisy = [k for k, a in enumerate(plan.workload.answers) if not _reached(a, plan.errors[k]) and limit[k].pair]
    noisy = [k for k in noisy if plan.errors[k].half_width > 0]
    if len(plan.workload.answers) < 2 or not noisy:
        return []
    worst = min(noisy, key=lambda k: plan.improvement[k])
    pair = limit[worst].pair
    if pair is None or limit[worst].used < 0.98 * float(plan.share):
        return []
    changed = len(set(plan.workload.differences(np.array([pair[0]]), np.array([pair[1]]))[1].tolist()))
    if changed < 2:
        return []
    a, b = plan.metric.universe.tell(*pair)
    allowed = float(plan.metric.exact(*pair)) * float(plan.share)
    label = plan.workload.answers[worst].label
    text = (
        f"Moving one person from {a} to {b} changes {changed} answers. The policy lets that move show by "
        f"{digits(allowed)} in total, so they must share it."
    )
    first, *more = wrap(f"Why {label} is hard  {text}", 94, "  ")
    return [tag("bold", f"Why {label} is hard") + first[len(f"Why {label} is hard") :], *more]


def _budget_lines(plan: Plan) -> list[str]:
    lines = [tag("bold", "Budget it would use")]
    rows = []
    n = plan.metric.universe.size
    if n <= 3_000:
        used = np.concatenate([ratios(plan.cost, plan.metric, i, j) for i, j in all_pairs(n)] or [np.zeros(1)])
        tight = int((used > 0.99 * float(plan.share)).sum())
        rows += [
            [plural(tight, "pair"), f"over {digits(99 * float(plan.share))} %", "of what the policy allows them"],
            [
                "half of all",
                f"under {digits(100 * float(np.median(used)))} %" if np.median(used) > 0 else "0 %",
                plural(len(used), "pair"),
            ],
        ]
    else:
        rows.append(
            ["tightest", percent(float(plan.certificate.ratio)), pair_words(plan.metric, plan.certificate.witness)]
        )
    worst = plan.baselines
    text = "no limit" if math.isinf(worst.worst_epsilon) else f"ε {digits(worst.worst_epsilon)}"
    rows.append(["worst case", tag("bold", text), f"in plain-DP terms: {pair_words(plan.metric, worst.worst_pair)}"])
    return lines + columns(rows, "lll")


def _baseline_lines(plan: Plan) -> list[str]:
    b = plan.baselines
    if not math.isfinite(b.strict_epsilon):
        return []
    text = f"gain: over plain DP at ε {digits(b.strict_epsilon)}, our strictest pair"
    text += "." if plan.share == 1 else ", and the same share."
    if math.isfinite(b.worst_epsilon) and b.worst_epsilon > 0:
        theirs = plan.errors_of(b.worst_scales)
        seen: dict[int, str] = {}
        for answer, error in zip(plan.workload.answers, theirs, strict=True):
            if answer.question not in seen and error.half_width > 0:
                seen[answer.question] = f"± {digits(error.half_width)} {answer.unit}".rstrip()
        if seen:
            text += f" At ε {digits(b.worst_epsilon)} plain DP gives {' and '.join(list(seen.values())[:3])}."
    return [tag("dim", line) for line in wrap(text, 96)]
