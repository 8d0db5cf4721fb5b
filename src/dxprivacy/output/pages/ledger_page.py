"""A ledger as one page (`dxp ledger --html`): its releases, the used budget of pairs, and the guarantee."""

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
    """Return the page as HTML text (needs the extra `plots`); verifies the chain first.

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
    note = "Used fraction of each pair’s ε, by all releases so far; the most used pair of each attribute."
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
            section("Releases", entries_table(ledger) or words("No releases yet.")),
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
        who = f"people i and j (at most {plural(people.max_rows, 'row')} of each person count)"
        of, several = "of their rows in the best matching", "someone with attributes that reveal one another"
    return [
        f"All releases so far together change the odds between any two {who} by at most the factor e^L(i,j), "
        f"where L adds up the privacy loss of {plural(count, 'release')}.",
        f"L(i,j) stays at or below the policy’s ε {of}, now and after every further release; a release that would "
        "exceed it is refused before any noise is drawn.",
        f"In standard differential-privacy terms all releases so far have ε = {digits(ledger.worst_case())}, and the "
        f"policy permits {permitted(ledger.metric)}; {several}, is protected less than this says.",
    ]


def entries_table(ledger: Ledger) -> str:
    """Return a table of the releases in the ledger."""
    rows = []
    entries = ledger_to_dict(ledger)["entries"]
    for entry, facts in zip(ledger.entries(), entries, strict=True):
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
    """Return sentences on the three pairs with the smallest remaining fraction."""
    out: dict[str, str] = {}
    entries = ledger.entries()
    for used in ledger.most_exhausted(10 * MOST_USED):
        pair = pair_words(ledger.metric, used.pair)
        by = [e.number for e in entries if e.cost.exact(*used.pair) > 0]
        fraction = percent(min(used.fraction, 1.0))
        sentence = f"{pair}: {digits(used.charged)} of ε {digits(used.allowed)} used, {fraction}, by {numbered(by)}."
        out.setdefault(pair, sentence)
        if len(out) == MOST_USED:
            break
    return list(out.values())
