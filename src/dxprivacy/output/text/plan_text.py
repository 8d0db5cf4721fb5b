"""A plan in the terminal: the error in the user's own units, and the pair that determines the noise."""

import math
from collections.abc import Sequence
from fractions import Fraction

from dxprivacy.errors import QueryError, did_you_mean
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.budget_remedies import reaches
from dxprivacy.mechanisms.linear.planning.limiting_pairs import LimitingPair, limits, policy_use, separated_answers
from dxprivacy.mechanisms.linear.planning.method_comparison import ComparedMethod
from dxprivacy.mechanisms.linear.planning.plan_notes import notes
from dxprivacy.mechanisms.uninformative import map_warnings, plan_warning
from dxprivacy.metrics import Metric
from dxprivacy.metrics.derived_metrics import Capped
from dxprivacy.metrics.place_metrics import length_between
from dxprivacy.metrics.with_other import WithOther, present
from dxprivacy.output.text.headings import under_headings
from dxprivacy.output.text.release_text import soft_border_notes
from dxprivacy.output.text.remedies_text import remedy_lines
from dxprivacy.releases.answer_tables import names
from dxprivacy.universe.answers import ErrorOf, QuantileRecipe
from dxprivacy.universe.people import People
from dxprivacy.universe.workload import Answer
from dxprivacy.wording import columns, digits, percent, plural, short, short_pair, tag, times, wrap

SHOWN = 6
_LABEL, _PAIR, _CLOSE_PAIR = 48, 72, 40
_BEYOND = 100_000


def apart(metric: Metric, pair: tuple[int, int]) -> str:
    """Return the distance of two places as text; empty if the universe does not consist of places."""
    axes = present(metric).axes or ()
    if len(axes) != 1:
        return ""
    base = axes[0].base if isinstance(axes[0], WithOther) else axes[0]
    base = base.base if isinstance(base, Capped) else base
    found = length_between(base, pair)
    if found is None:
        return ""
    length, unit = found
    return f"{digits(length) if length < 10 else f'{length:,.0f}'} {unit}".rstrip()


def pair_words(metric: Metric, pair: tuple[int, int] | None) -> str:
    """Return a pair of records as text, with their distance if they are places."""
    if pair is None:
        return "–"
    a, b = metric.universe.describe(*pair)
    distance = apart(metric, pair)
    return f"{a} – {b}" + (f", {distance}" if distance else "")


def _reached(answer: Answer, error: ErrorOf) -> bool:
    return answer.within is not None and reaches(error, answer.within)


def plan_lines(plan: Plan, *, everything: bool = False, why: str = "", in_ledger: bool = False) -> list[str]:
    """Return all lines of a plan; `why` names an answer to explain instead of the hardest.

    `in_ledger`: the caller shows what a ledger has left.
    """
    answers = plan.workload.answers
    budget = f" · {percent(float(plan.budget))} of the policy"
    lines = [
        *warning_lines(plan_warning(plan)[0]),
        *(line for text in map_warnings(plan) for line in warning_lines(text)),
        f"{tag('bold', f'Plan {plan.name}')} · {plural(len(answers), 'answer')}{budget} · "
        + tag("good", "nothing spent, no data read"),
        "",
    ]
    limit = limits(plan)
    lines += _table(plan, limit, everything=everything)
    for note in [*notes(plan), *soft_border_notes(plan), *plan.queries.notes]:
        lines += [tag("dim", f"  {line}") for line in wrap(note, 94)]
    lines += [tag("warn", f"  {line}") for line in wrap(assumed_records_words(plan), 94) if line]
    if remedy := remedy_lines(plan):
        lines += ["", *remedy]
    if plan.about:
        lines += ["", *_paragraph("How it works", f"The plan {plan.about}.")]
    hard = _explained(plan, limit, why) if why else _hardest(plan, limit)
    lines += ["", *hard] if hard else []
    lines += [
        "",
        *_budget_lines(plan, in_ledger),
        "",
        *(tag("dim", line) for line in wrap(baseline_words(plan), 96) if line),
    ]
    lines += [tag("dim", line) for line in wrap(" · ".join(_proved(plan)), 96)]
    return lines


def assumed_records_words(plan: Plan) -> str:
    """Return a warning if errors depend on a private number of records, and the maximum was assumed."""
    universe = plan.metric.universe
    if universe.max_records is None or plan.records != universe.max_records:
        return ""
    if not any(answer.recipe.is_mean for answer in plan.workload.answers):
        return ""
    option, of = ("--n-records", "") if universe.people is None else ("--people", ", all rows of max_people")
    return (
        f"the number of records is private: errors are for the largest possible number, {plan.records:,}{of}. With "
        f"fewer records they are larger: {option} N assumes another number"
    )


def warning_lines(text: str) -> list[str]:
    """Return the lines of a warning, which precede everything else."""
    return [tag("warn", f"! {line}" if not k else f"  {line}") for k, line in enumerate(wrap(text, 94)) if text]


def budget_words(budget: Fraction, *, in_ledger: bool = False) -> str:
    """Return how much of the policy may be used and, without a ledger, what is left."""
    if in_ledger:
        return "of every pair's ε may be used (--budget)"
    if budget == 1:
        return "of every pair's ε may be used: nothing is certain to be left for other releases"
    return f"of every pair's ε may be used (--budget); {left_words(budget)}"


def left_words(budget: Fraction) -> str:
    """Return what is left in a new ledger."""
    return f"in a new ledger, {percent(float(1 - budget))} and more is left"


def _proved(plan: Plan) -> list[str]:
    # The certificate, and how close the plan is to the best one, if known.
    out = ["certified for every pair, exact arithmetic", f"rule: {plan.certificate.rule}"]
    gap = plan.certificate.gap
    if gap is None or not any(plan.scales):
        return out
    # The bound is over scales for these rows; a plan that meets targets first may be far above it.
    if gap <= 1e-4:
        out.append("error within 0.01 % of the best Laplace plan for these rows")
    elif all(answer.within is None for answer in plan.workload.answers):
        out.append(f"error at most {digits(100 * gap * 1.005)} % above the best Laplace plan for these rows")
    return out


def _grouped(plan: Plan, everything: bool) -> list[tuple[str, list[int]]]:
    # Lines of the table: all answers of a query if there are few, otherwise groups with equal errors.
    out: list[tuple[str, list[int]]] = []
    called = names(plan.workload.answers)
    for query, asked in enumerate(plan.queries.queries):
        members = [k for k, a in enumerate(plan.workload.answers) if a.query == query]
        if everything or len(members) <= SHOWN:
            out += [(called[k], [k]) for k in members]
            continue
        ordered = sorted(members, key=lambda k: plan.errors[k].half_width)
        reached = [k for k in ordered if _reached(plan.workload.answers[k], plan.errors[k])]
        met = set(reached)
        rest = [k for k in ordered if k not in met]
        name = asked.name
        if reached:
            out.append((_several(plan, query, len(reached)) if rest else f"{name}, all {len(reached)}", reached))
        if len({plan.errors[k].half_width for k in rest}) == 1 and len(rest) > 2:
            out.append((_several(plan, query, len(rest)) if reached else f"{name}, all {len(rest)}", rest))
            continue
        if len(rest) > 3:
            out.append((_several(plan, query, len(rest) - 2), rest[:-2]))
            rest = rest[-2:]
        out += [(called[k], [k]) for k in rest]
    return out


def _several(plan: Plan, query: int, count: int) -> str:
    # `24 states` for a query by one attribute, `24 of …` otherwise.
    asked = plan.queries.queries[query]
    by = asked.by
    columns = {len(a.groups) for a in plan.workload.answers if a.query == query}  # more than `by`: quantiles
    single = by[0].rpartition(".")[2] if len(by) == 1 and columns == {1} else ""
    return plural(count, single) if single.isalpha() else f"{count} of {asked.name}"


def _span(values: list[float], unit: str = "") -> str:
    low, high = (x if x >= 1e-6 else 0.0 for x in (min(values), max(values)))
    text = digits(low) if math.isclose(low, high, rel_tol=0.005) else f"{digits(low)} – {digits(high)}"
    return f"{text} {unit}".rstrip()


_HEAD = ("", "typical error", "± 95 %", "target", "standard DP*", "", "", "at worst-case ε", "limited by")
_ASKED, _PLAIN = 3, (4, 5, 6, 7)


def _table(plan: Plan, limit: list[LimitingPair], *, everything: bool) -> list[str]:
    # Our error next to both comparisons with standard DP; the smallest of a line is marked, empty columns are left out.
    grouped = _grouped(plan, everything)
    rows = [_line(plan, label, members, limit) for label, members in grouped]
    titles = [plan.workload.titles[plan.workload.answers[members[0]].query] for _, members in grouped]
    wanted = [k for k in range(1, len(_HEAD)) if k not in (_ASKED, *_PLAIN) or any(row[k] for row in rows)]
    head = [tag("dim", _HEAD[k]) for k in (0, *wanted)]
    told = [(title, row[0], [row[k] for k in wanted]) for title, row in zip(titles, rows, strict=True)]
    return columns([head, *under_headings(told)], "".join("lrrrrrrrl"[k] for k in (0, *wanted)))


def _line(plan: Plan, label: str, members: list[int], limit: list[LimitingPair]) -> list[str]:
    answers = [plan.workload.answers[k] for k in members]
    errors = [plan.errors[k] for k in members]
    unit = answers[0].unit
    if all(plan.is_exact(a) for a in answers):
        nothing = tag("dim", "nothing: public, or the same for all records")
        return [short(label, _LABEL), f"0 {unit}".rstrip(), tag("accent", "exact"), "", "", "", "", "", nothing]
    target = answers[0].within
    missed = target is not None and not all(_reached(a, e) for a, e in zip(answers, errors, strict=True))
    wanted = (
        "" if target is None else f"{digits(float(target))} {unit}".rstrip() + (tag("warn", " !") if missed else "")
    )
    if all(_reached(a, e) for a, e in zip(answers, errors, strict=True)):
        assumed = any(a.recipe.part is not None and a.groups for a in answers)
        why = tag("dim", "nothing: target reached" + (" for groups of that size" if assumed else ""))
    elif target is not None and all(e.good_enough(target) for e in errors):
        why = tag("dim", f"what its steps hide: {_span([e.hidden for e in errors], unit)}")
    elif len(members) == 1 or len({limit[k].pair for k in members}) == 1:
        why = short_pair(pair_words(plan.metric, limit[members[0]].pair), _PAIR)
    else:
        why = tag("dim", "--all")
    ours, standard_dp = _beside(plan, members, unit)
    return [short(label, _LABEL), _span([e.typical for e in errors], unit), ours, wanted, *standard_dp, why]


def _beside(plan: Plan, members: list[int], unit: str) -> tuple[str, list[str]]:
    # Our ±; ε, ± and noise ratio of standard DP at the strictest ε; ± of standard DP at our worst-case ε.
    both = plan.baselines
    widths = [plan.errors[k].half_width for k in members]
    strict = [e.half_width for k in members if (e := both.strict[k]) is not None]
    worst = [e.half_width for k in members if (e := both.worst[k]) is not None]
    least = min(max(each) for each in (widths, strict, worst) if each)

    def shown(each: list[float], style: str) -> str:
        text = _span(each, unit)
        return tag(style, text) if max(each) <= least * (1 + 1e-9) else text

    gains = [float(plan.improvement[k]) for k in members if math.isfinite(plan.improvement[k])]
    query = plan.workload.answers[members[0]].query
    epsilon = both.queries[query].epsilon
    return shown(widths, "accent"), [
        f"ε {digits(epsilon)}" if strict else "",
        f"± {shown(strict, 'bold')}" if strict else "",
        gain_words(plan, query, gains) if gains else "",
        f"± {shown(worst, 'bold')}" if worst else "",
    ]


def gain_words(plan: Plan, query: int, gains: Sequence[float]) -> str:
    """Return the noise ratio of standard DP; a very large one is due to one close pair, which is named instead."""
    low, high = min(gains), max(gains)
    pair = plan.baselines.queries[query].pair
    if high > _BEYOND and pair is not None:
        return f"because of {short_pair(pair_words(plan.metric, pair), _CLOSE_PAIR)}"
    return times(high) if math.isclose(low, high, rel_tol=0.02) else f"{times(low)[:-1]} – {times(high)}"


def _hardest(plan: Plan, limit: list[LimitingPair]) -> list[str]:
    # Explain the hardest answer by its pair, if several answers share the budget of that pair.
    noisy = [k for k, a in enumerate(plan.workload.answers) if not _reached(a, plan.errors[k]) and limit[k].pair]
    noisy = [k for k in noisy if plan.errors[k].half_width > 0]
    if len(plan.workload.answers) < 2 or not noisy:
        return []
    worst = min(noisy, key=lambda k: plan.improvement[k])
    pair = limit[worst].pair
    if limit[worst].used < 0.98 * float(plan.budget) or pair is None or len(separated_answers(plan, pair)) < 2:
        return []
    alike = len({round(float(plan.improvement[k]), 6) for k in noisy}) == 1
    head = "Why not better" if alike else f"Why {short(names(plan.workload.answers)[worst], _LABEL)} is hard"
    return _paragraph(head, because(plan, limit[worst]))


def _explained(plan: Plan, limit: list[LimitingPair], label: str) -> list[str]:
    # Explain an answer, given by its displayed name or its label.
    called, labels = names(plan.workload.answers), [a.label for a in plan.workload.answers]
    if label not in (*called, *labels):
        raise QueryError(
            f"no answer “{label}” in this plan", hints=did_you_mean(label, called) or [("--all", "shows every answer")]
        )
    at = (called if label in called else labels).index(label)
    answer, error = plan.workload.answers[at], plan.errors[at]
    if plan.is_exact(answer):
        text = "It is noise-free: public, or the same for all records. Nothing is spent on it."
    elif _reached(answer, error):
        text = f"Its target is reached: ± {digits(error.half_width)} {answer.unit}".rstrip() + ". The rest is kept."
    else:
        also = limit[at].also
        more = f" {plural(also, 'other pair')} {'is' if also == 1 else 'are'} as tight for it." if also else ""
        text = because(plan, limit[at]) + more
    return _paragraph(f"Why {short(called[at], _LABEL)}", text)


def because(plan: Plan, limit: LimitingPair) -> str:
    """Explain how a pair limits its answers."""
    if limit.pair is None:
        return "No pair limits it."
    a, b = plan.metric.universe.describe(*limit.pair)
    moved = len(separated_answers(plan, limit.pair))
    universe = plan.metric.universe
    allowed = float(plan.metric.exact(*limit.pair)) * float(plan.budget) * universe.rows_each
    budget = ", so they must share it" if moved > 1 else ""
    full = "" if limit.used >= 0.98 * float(plan.budget) else f" This plan uses {percent(limit.used)} of it."
    rows = f" with all their rows (at most {universe.rows_each:,})" if universe.rows_each > 1 else ""
    changes = f"changes {plural(moved, 'answer')}" if moved else "changes many grid cells of a map, each by a little"
    return (
        f"Moving one person{rows} from {a} to {b} {changes}. The policy allows that move a privacy loss of "
        f"ε {digits(allowed)} in total{budget}.{full}"
    )


def _paragraph(head: str, text: str) -> list[str]:
    first, *more = wrap(f"{head}  {text}", 94, "  ")
    return [tag("bold", head) + first[len(head) :], *more]


def _budget_lines(plan: Plan, in_ledger: bool) -> list[str]:
    lines = [tag("bold", "Budget it would use")]
    if not any(plan.scales):
        free = "none: the policy does not limit these answers"
        return [*lines, f"  {free}", *_public_case(plan)]
    rows = []
    if (use := policy_use(plan)) is not None:
        over, half = f"over {digits(99 * float(plan.budget))} %", f"up to {digits(100 * use.median)} %"
        rows += [
            [plural(use.used_up, "pair"), over, "of what the policy allows them"],
            ["half of all", half if use.median > 0 else "0 %", plural(use.pairs, "pair")],
        ]
    else:
        pair = short_pair(pair_words(plan.metric, plan.certificate.witness), _PAIR)
        rows.append(["tightest", percent(float(plan.certificate.ratio)), pair])
    epsilon, worst = plan.worst_case
    text = "no limit" if math.isinf(epsilon) else f"ε {digits(epsilon)}"
    at = f": {short_pair(pair_words(plan.metric, worst), _PAIR)}" if worst else ""
    rows.append(["worst case", tag("bold", text), f"in standard-DP terms{at}"])
    rows.append(["budget", percent(float(plan.budget)), budget_words(plan.budget, in_ledger=in_ledger)])
    rows += _rows_each(plan.metric.universe.people)
    return lines + columns(rows, "lll")


def _rows_each(people: People | None) -> list[list[str]]:
    # The effect of another `max_rows`, from public numbers.
    if people is None:
        return []
    m = people.max_rows
    fewer = f"{m // 2:,} would give {digits((m // 2) / m)} of the noise of rows, " if m > 1 else ""
    return [["rows each", f"{m:,}", f"max_rows: {fewer}{2 * m:,} twice of it; further rows of a person do not count"]]


def _public_case(plan: Plan) -> list[str]:
    if not math.isinf(plan.worst_epsilon):
        return []
    pair = short_pair(pair_words(plan.metric, plan.worst_case[1]), _PAIR)
    at = f": {pair}" if plan.worst_case[1] else ""
    return columns([["worst case", tag("bold", "no limit"), f"in standard-DP terms{at}"]], "lll")


def baseline_words(plan: Plan) -> str:
    """Explain the columns of standard DP and count where they are better; empty without a comparison."""
    both = plan.baselines
    known = [k for k, e in enumerate(both.strict) if e is not None]
    if not known or not any(plan.scales):
        return ""
    text = (
        "* Standard DP at the strictest ε: the same planner under one ε for all pairs, the smallest of a pair that "
        "the query separates, and the same budget; ε, ± and noise ratio."
    )
    if any(query.by_table for query in both.queries):
        text += " Queries of very many answers or records are measured as asked, with one scale for each table."
    if any(isinstance(plan.workload.answers[k].recipe, QuantileRecipe) for k in known):
        text += " Quantiles are selected there, by the exponential mechanism."
    fewer = sum(float(plan.improvement[k]) < 0.995 for k in known)
    if fewer:
        text += f" {plural(fewer, 'answer')} came out wider than that: the total error is minimized, not each error."
    if any(e is not None for e in both.worst):
        text += f" At our worst-case ε: standard DP at ε {digits(plan.worst_epsilon)} in all"
        wins = [k for k in known if (e := both.worst[k]) is not None and e.half_width < plan.errors[k].half_width]
        if wins:
            which = "every answer" if len(wins) == len(known) else f"{len(wins):,} of {plural(len(known), 'answer')}"
            text += f", which is closer for {which}, and protects close pairs less"
        text += "."
    return text


def compare_lines(lines: Sequence[ComparedMethod]) -> list[str]:
    """Return the table of compared methods, the best one marked."""
    targets = any(line.missed for line in lines)
    head = ["", "method", "median ± 95 %", "worst ± 95 %", "missed", "error", "worst case", "gap", "seconds"]
    table = [[tag("dim", cell) for cell in head]]
    for line in lines:
        if line.refused:
            continue
        mark = tag("good", "✓") if line.best else ""
        gap = "?" if line.gap is None else percent(line.gap) if line.gap >= 1e-6 else "0 %"
        worst = "no limit" if math.isinf(line.worst_case) else f"ε {digits(line.worst_case)}"
        row = [mark, line.method, digits(line.median_95), digits(line.worst_95), str(line.missed)]
        table.append([*row, f"{line.relative:.3f}×", worst, gap, f"{line.seconds:.2f}"])
    if not targets:
        table = [row[:4] + row[5:] for row in table]
    out = columns(table, "llrrrrrrr" if targets else "llrrrrrr")
    for line in lines:
        if line.refused:
            out.append(tag("dim", f"  {line.method}: {line.refused}"))
    text = (
        "error: of all answers together, each relative to its target or to standard DP, divided by the least. gap: "
        "upper bound on the excess over the best Laplace plan for these rows; ? if unknown. Marked: the method that "
        "auto takes; it measures other queries only if the error is a tenth less."
    )
    return out + [tag("dim", part) for part in wrap(text, 96)]
