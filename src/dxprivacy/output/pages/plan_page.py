"""A plan as one page (`dxp plan --html`), and a release as one page (`dxp release --html`).

Both hold the guarantee, a picture and a table of errors or answers, the pairs that limit the answers, the comparison
with standard DP, the used budget, the policy, and how to check the page.  They hold facts of the plan and the release
only, never a true answer.
"""

import math

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.limiting_pairs import LimitingPair, limits
from dxprivacy.mechanisms.linear.planning.plan_notes import notes
from dxprivacy.mechanisms.uninformative import map_warnings
from dxprivacy.output.charts.guarantees.by_distance import trade_picture
from dxprivacy.output.charts.guarantees.plan_error import plan_picture, require_plan
from dxprivacy.output.charts.picture import require
from dxprivacy.output.pages.answers_part import answers_part, interval_words
from dxprivacy.output.pages.page import (
    ROWS,
    budget_part,
    drawn,
    escaped,
    limit_words,
    listed,
    page,
    permitted,
    policy_part,
    proof_part,
    section,
    table,
    words,
)
from dxprivacy.output.text.plan_text import baseline_words, because, gain_words, pair_words
from dxprivacy.output.text.release_text import soft_border_notes
from dxprivacy.output.text.remedies_text import remedies
from dxprivacy.policy import Policy
from dxprivacy.privacy.costs import SumCost
from dxprivacy.releases.answer_tables import names
from dxprivacy.releases.release import Release
from dxprivacy.universe.people import People
from dxprivacy.wording import digits, percent, plural, quoted, short_pair

BINDING = 3


def plan_page(
    plan: Plan, *, policy: Policy | None = None, spent: SumCost | None = None, ledger: str = "", command: str = ""
) -> str:
    """Return the page as HTML text (needs the extra `plots`); `spent` is the cost in the ledger with that name.

    >>> import dxprivacy as dx
    >>> "<svg" in dx.plots.plan_page(dx.plan([[1, 1, 0]], dx.metrics.line(3, 1)))
    True
    """
    require_plan(plan)
    title = plan.title or f"Plan {plan.name}"
    picture = plan_picture(plan)
    limit = limits(plan)
    return page(
        title,
        [
            f"<h1>{escaped(title)}</h1>",
            words(
                f"Plan {plan.name}, {plural(len(plan.workload.answers), 'answer')}. {picture.title}. "
                f"{_capital(limit_words(plan.worst_epsilon))}. Nothing spent, no data read.",
                "lead",
            ),
            section("Errors", drawn(picture), errors_table(plan, limit), *_notes(plan)),
            section("What would meet the targets", listed(remedies(plan))),
            section("Guarantee of a release", listed(_guarantee(plan, spent, ledger), numbered=True)),
            _why(plan, limit),
            section("Trade-off against standard DP", drawn(trade_picture(plan))),
            _budget(plan, spent, ledger),
            policy_part(policy),
            proof_part([("plan", plan.name), *_proof(plan)], command),
        ],
    )


def release_page(release: Release, plan: Plan, *, policy: Policy | None = None) -> str:
    """Return the page as HTML text (needs the extra `plots`).

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"] * 100})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     plan = session.plan("count by sex", budget="25%")
    ...     page = dx.plots.release_page(session.release(plan), plan, policy=policy)
    >>> "Guarantee" in page
    True
    """
    require(release, Release, "a release")
    require_plan(plan)
    title = plan.title or f"Release {release.name}"
    remarks = [str(note) for note in release.facts.get("notes", ())]
    return page(
        title,
        [
            f"<h1>{escaped(title)}</h1>",
            words(
                f"Release {release.name}: {plural(len(release.answers), 'answer')}, "
                f"{limit_words(plan.worst_epsilon)}. {_widest(release)}",
                "lead",
            ),
            section(
                "Answers",
                words(f"Each interval covers {release.covered}, 95 % of the time.", "note"),
                answers_part(release),
                *(words(f"{_capital(note)}.", "note") for note in remarks),
            ),
            section("Guarantee", listed(release.guarantee, numbered=True)),
            _why(plan, limits(plan)),
            section("Trade-off against standard DP", drawn(trade_picture(plan))),
            _budget(plan, None, ""),
            policy_part(policy),
            proof_part(
                [
                    ("release", release.name),
                    *_proof(plan),
                    ("released by", str(release.facts.get("software", ""))),
                    ("to check it", f"dxp verify {quoted(f'release-{release.name}.json')}"),
                ]
            ),
        ],
    )


def _widest(release: Release) -> str:
    """Return a sentence on the answer with the widest interval; without noise, a sentence that says so."""
    noisy = [k for k, r in enumerate(release.answers) if not r.exact and r.high > r.low]
    if not noisy:
        return "No answer has noise."
    at = max(noisy, key=lambda k: release.answers[k].high - release.answers[k].low)
    worst = release.answers[at]
    name = names(release.answers)[at]
    which = name if name == worst.query or not worst.groups else f"{worst.query}, {name}"
    return f"Widest interval: {which}, {interval_words(worst)} {worst.unit}".rstrip() + "."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _guarantee(plan: Plan, spent: SumCost | None, ledger: str) -> list[str]:
    people = plan.metric.universe.people
    if people is not None:
        return _guarantee_to_people(plan, people, spent, ledger)
    n = plan.metric.universe.size
    known = f" ({plan.records:,})" if plan.records else ""
    what, records = "replaced by another record j", f"{known} is treated as public"
    if plan.metric.universe.absent is not None:
        what, records = "replaced by another record j, added or removed (j = absent)", " is private"
    so_far = _released_before(spent, ledger)
    return [
        f"If any one record i is {what}, the probability of any set of outputs of a release of this plan changes by at "
        f"most the factor e^L(i,j), where L is its privacy loss; the number of records{records}.",
        f"L(i,j) is at most {percent(float(plan.certificate.ratio))} of the policy’s ε for each of the "
        f"{n * (n - 1) // 2:,} pairs; the ledger adds it to the loss of earlier releases{so_far}, and refuses the "
        "release if any pair would exceed the policy.",
        f"In standard differential-privacy terms the release would be ε = {digits(plan.worst_epsilon)}, and the "
        f"policy permits {permitted(plan.metric)}; someone with several records, or with attributes that reveal one "
        "another, is protected less than this says.",
    ]


def _released_before(spent: SumCost | None, ledger: str) -> str:
    if spent is None or not spent.costs:
        return ""
    return f" ({plural(len(spent.costs), 'release')} in {ledger or 'the ledger'})"


def _guarantee_to_people(plan: Plan, people: People, spent: SumCost | None, ledger: str) -> list[str]:
    """Return the sentences of the guarantee if people have several rows."""
    number = "public" if people.max_people is None else "private"
    return [
        "If any one person with all their rows is replaced by another, the probability of any set of outputs of a "
        "release of this plan changes by at most the factor e^L, where L adds up L(i,j) over their kept rows in any "
        f"matching; at most {plural(people.max_rows, 'row')} of each person count, the number of people is "
        f"{number}, and the number of rows private.",
        f"L is at most {percent(float(plan.certificate.ratio))} of the largest ε that the policy gives to two matched "
        f"rows; the ledger adds it to the loss of earlier releases{_released_before(spent, ledger)}, and refuses the "
        "release if any two people could become more distinguishable than the policy allows.",
        f"In standard differential-privacy terms the release would be ε = {digits(plan.worst_epsilon)} for a whole "
        f"person, and the policy permits {permitted(plan.metric)}; people whose rows tell something about others, or "
        "whose attributes reveal one another, are protected less than this says.",
    ]


def _notes(plan: Plan) -> list[str]:
    compared = baseline_words(plan)
    every = [*map_warnings(plan), *notes(plan), *soft_border_notes(plan)]
    remarks = [words(f"{_capital(note)}.", "note") for note in every]
    return [*remarks, *([words(_capital(compared), "note")] if compared else [])]


def errors_table(plan: Plan, limit: list[LimitingPair], most: int = ROWS) -> str:
    """Return a table with a row for every answer: its error, both baselines of standard DP, and its limiting pair."""
    rows = []
    targets = any(a.within is not None for a in plan.workload.answers)
    called = names(plan.workload.answers)
    several = len(plan.queries.queries) > 1
    for k, (answer, error) in enumerate(zip(plan.workload.answers, plan.errors, strict=True)):
        exact = plan.is_exact(answer)
        target = "" if answer.within is None else f"{digits(float(answer.within))} {answer.unit}".rstrip()
        rows.append(
            [
                *([plan.queries.queries[answer.query].name] if several else []),
                called[k],
                "0" if exact else f"{digits(error.typical)} {answer.unit}".rstrip(),
                "exact" if exact else f"{digits(error.half_width)} {answer.unit}".rstrip(),
                *([target] if targets else []),
                *_standard_dp_fields(plan, k),
                "nothing" if limit[k].pair is None else short_pair(pair_words(plan.metric, limit[k].pair), 72),
            ]
        )
    standard_dp = [
        "standard DP*, ε",
        "± 95 %",
        "noise ratio",
        f"at ε {digits(plan.worst_epsilon)}, ± 95 %",
    ]
    named = ["query", "answer"] if several else ["answer"]
    head = [*named, "typical error", "± 95 %", *(["target"] if targets else []), *standard_dp, "tightest pair"]
    gain = "p" if any(row[-3].startswith("because") for row in rows) else "r"  # texts may wrap, numbers must not
    align = "l" * len(named) + "rr" + "r" * targets + f"rr{gain}rp"
    rest = f"in plan-{plan.name}.json, and dxp plan … --all shows them"
    return table(head, rows, align, rest=rest, most=most)


def _standard_dp_fields(plan: Plan, k: int) -> list[str]:
    """Return for one answer ε, ± and noise ratio of standard DP at the strictest ε, and its ± at our worst-case ε."""
    answer, strict, worst = plan.workload.answers[k], plan.baselines.strict[k], plan.baselines.worst[k]
    if strict is None:
        return ["", "", "", ""]
    gain = float(plan.improvement[k])
    return [
        digits(plan.baselines.queries[answer.query].epsilon),
        f"{digits(strict.half_width)} {answer.unit}".rstrip(),
        gain_words(plan, answer.query, [gain]) if math.isfinite(gain) else "",
        "" if worst is None else f"{digits(worst.half_width)} {answer.unit}".rstrip(),
    ]


def _why(plan: Plan, limit: list[LimitingPair]) -> str:
    """Return a section on the pairs that limit the answers, the most used ones first, each once."""
    found: dict[str, str] = {}
    for each in sorted((x for x in limit if x.pair is not None), key=lambda x: -x.used):
        pair = pair_words(plan.metric, each.pair)
        if pair not in found:  # thousands of grid cells of a map share one pair
            found[pair] = because(plan, each)
        if len(found) == BINDING:
            break
    reasons = [f"{pair}: {why}" for pair, why in found.items()]
    return section("Why not better", listed(reasons) or words("No pair limits these answers."))


def _budget(plan: Plan, spent: SumCost | None, ledger: str) -> str:
    after = SumCost(plan.metric.universe, [*(spent.costs if spent is not None else ()), plan.cost])
    if spent is None:
        note = "Used fraction of each pair’s ε, by this release alone; other releases from the same data add to it."
        return budget_part("Budget it uses", None, after, plan.metric, note)
    note = f"Used fraction of each pair’s ε: by {plural(len(spent.costs), 'release')} in {ledger or 'the ledger'}, "
    return budget_part("Budget before and after", spent, after, plan.metric, f"{note}then with this plan added.")


def _proof(plan: Plan) -> list[tuple[str, str]]:
    proved = f"at most {percent(float(plan.certificate.ratio))} of the policy, exactly, by {plan.certificate.rule}"
    return [
        ("request", plan.request),
        ("policy", plan.metric.digest),
        ("queries", plan.workload.digest),
        ("certified", proved),
        ("tightest pair", pair_words(plan.metric, plan.certificate.witness)),
        ("method", plan.method),
    ]
