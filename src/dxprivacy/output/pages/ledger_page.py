"""A ledger as one page (`dxp ledger --html`): what was released, what each pair has used, and what was guaranteed."""

from dxprivacy.ledger import Ledger
from dxprivacy.output.charts.picture import require
from dxprivacy.output.pages.page import (
    budget_part,
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
from dxprivacy.output.text.ledger_text import ledger_to_dict
from dxprivacy.output.text.plan_text import pair_words
from dxprivacy.policy import Policy
from dxprivacy.privacy import max_ratio
from dxprivacy.wording import digits, numbered, percent, plural, short_pair

MOST_USED = 3


def ledger_page(ledger: Ledger, policy: Policy, *, command: str = "") -> str:
    """The whole page as text (needs the extra `plots`); checks the chain first.

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     page = dx.plots.ledger_page(session.ledger, policy)
    >>> "Survey: the ledger" in page
    True
    """
    require(ledger, Ledger, "a ledger")
    rows = ledger.verify()
    metric, so_far, count = ledger.metric, ledger.worst_case(), len(ledger.entries())
    note = "Of each pair’s ε, by all releases so far; the worst pair of each attribute."
    return page(
        policy.title,
        [
            f"<h1>{escaped(policy.title)}: the ledger</h1>",
            words(
                f"{plural(count, 'release')} so far, {limit_words(so_far)}; the policy permits {permitted(metric)}. "
                "The chain is intact.",
                "lead",
            ),
            section("Guarantee", listed(_guarantee(ledger, count), numbered=True)),
            section("Releases", entries_table(ledger) or words("Nothing was released yet.")),
            section("Most used pairs", listed(_most_used(ledger))),
            budget_part("Budget", None, ledger.spent, metric, note),
            policy_part(policy),
            proof_part(
                [
                    ("ledger", ledger.path.name),
                    ("chain", f"{plural(rows, 'row')}, intact when this page was written"),
                    ("policy", metric.digest),
                    *(("followed before", f"{v.words}, {v.digest}") for v in ledger.versions[:-1]),
                ],
                command,
            ),
        ],
    )


def _guarantee(ledger: Ledger, count: int) -> list[str]:
    n, people = ledger.universe.size, ledger.universe.people
    who, several = ("records i and j", "someone with several records, or with attributes that reveal one another")
    of = f"for each of the {n * (n - 1) // 2:,} pairs"
    if people is not None:
        who = f"people i and j, of each of whom at most {plural(people.max_rows, 'row')} count"
        of, several = "of their rows in the best matching", "someone with attributes that reveal one another"
    return [
        f"Everything released so far together changes the odds between any two {who} by at most the factor e^L(i,j), "
        f"where L adds up what {plural(count, 'release')} may tell.",
        f"L(i,j) stays at or below the policy’s ε {of}, now and after every further release; what would exceed it is "
        "refused before any noise is drawn.",
        f"In standard differential-privacy terms everything so far is ε = {digits(ledger.worst_case())}, and the "
        f"policy permits {permitted(ledger.metric)}; {several}, is protected less than this says.",
    ]


def entries_table(ledger: Ledger) -> str:
    """Every release that was paid for."""
    rows = []
    told = ledger_to_dict(ledger)["entries"]
    for entry, facts in zip(ledger.entries(), told, strict=True):
        bound = max_ratio(entry.cost, ledger.metric)
        worst = facts["worst_case_epsilon"]
        rows.append(
            [
                str(entry.number),
                entry.at[:10],
                entry.title,
                "no limit" if worst is None else digits(worst),
                percent(float(bound.upper)),
                short_pair(pair_words(ledger.metric, bound.witness), 72),
            ]
        )
    return table(["", "date", "released", "worst ε", "used", "most used pair"], rows, "rnprrp")


def _most_used(ledger: Ledger) -> list[str]:
    """Three pairs in words, those with the least left."""
    out: dict[str, str] = {}
    entries = ledger.entries()
    for used in ledger.most_exhausted(10 * MOST_USED):
        pair = pair_words(ledger.metric, used.pair)
        by = [e.number for e in entries if e.cost.exact(*used.pair) > 0]
        budget = percent(min(used.fraction, 1.0))
        told = f"{pair}: {digits(used.charged)} of ε {digits(used.allowed)} used, {budget}, by {numbered(by)}."
        out.setdefault(pair, told)
        if len(out) == MOST_USED:
            break
    return list(out.values())
