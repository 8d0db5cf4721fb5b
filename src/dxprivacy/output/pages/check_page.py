"""A policy as one page (`dxp check --html`): its guarantee, its pairs of values, and warnings."""

import math

from dxprivacy.output.charts.guarantees.policy_picture import policy_picture
from dxprivacy.output.charts.picture import require
from dxprivacy.output.pages.page import (
    drawn,
    escaped,
    limit_words,
    listed,
    page,
    proof_part,
    section,
    table,
    verbatim,
    warning_list,
    words,
)
from dxprivacy.policy import Policy
from dxprivacy.policy.policy_check import Check, check
from dxprivacy.universe.people import People
from dxprivacy.wording import digits, plural


def check_page(policy: Policy, *, command: str = "") -> str:
    """Return the page as HTML text (needs the extra `plots`).

    >>> import dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> "<h1>Survey</h1>" in dx.plots.check_page(policy)
    True
    """
    require(policy, Policy, "a policy")
    found = check(policy)
    worst = math.inf if found.public else found.worst_case
    warnings = plural(len(found.warnings), "warning") if found.warnings else "no warnings"
    return page(
        policy.title,
        [
            f"<h1>{escaped(policy.title)}</h1>",
            words(
                f"A valid policy for {plural(found.cells, 'possible record')}; {limit_words(worst)}, over all releases "
                f"ever; {warnings}. No data read.",
                "lead",
            ),
            section("Guarantee", listed(_guarantee(found), numbered=True)),
            section("Who is protected from what", drawn(policy_picture(policy)), pairs_table(found)),
            section("Warnings", warning_list(found), *_lists(found)),
            section("The policy itself", verbatim(policy.file.text)),
            proof_part(
                [("dataset", policy.dataset), ("version", policy.version), ("policy", policy.digest)],
                command,
            ),
        ],
    )


def _guarantee(found: Check) -> list[str]:
    change = "replaced by another record j"
    number = "The number of records is treated as public."
    if found.people is not None:
        return _guarantee_to_people(found.people)
    if found.presence is not None:
        change, number = "replaced by another record j, added or removed (j = absent)", "Their number is private."
    return [
        f"If any one record i is {change}, the probability of any set of outputs, over all releases ever, changes by "
        f"at most the factor e^ε(i,j), where ε(i,j) is the distance of the two records in this policy. {number}",
        "The ledger adds up the privacy loss of all releases for each pair, and refuses a release that would exceed "
        "ε(i,j).",
        "Pairs with a large ε are protected weakly, and public differences not at all; someone with several records, "
        "or with attributes that reveal one another, is protected less than this says.",
    ]


def _guarantee_to_people(people: People) -> list[str]:
    number = "The number of people is treated as public, the number of their rows is private."
    if people.max_people is not None:
        number = "The numbers of people and of rows are private."
    return [
        "If any one person with all their rows is replaced by another, the probability of any set of outputs, over all "
        "releases ever, changes by at most the factor e^ε, where ε is the largest distance of two matched rows in "
        f"this policy, in the best matching of their rows (at most {plural(people.max_rows, 'row')} of each person "
        f"count, and a row without a partner is matched with absence). {number}",
        "The ledger adds up the privacy loss of all releases for each two rows, and refuses a release that would "
        "exceed their ε.",
        "Rows with a large ε are protected weakly; people whose rows tell something about others, or whose "
        "attributes reveal one another, are protected less than this says.",
    ]


def pairs_table(found: Check) -> str:
    """Return a table with the strictest and the loosest pair of every attribute."""
    rows = []
    for row in found.rows:
        loosest = ["", "public"] if row.public else [row.loosest, digits(row.loosest_epsilon)]
        rows.append([row.attribute, row.strictest, digits(row.strictest_epsilon), *loosest])
        for beyond in row.other:
            epsilon = "public" if math.isinf(beyond.epsilon) else digits(beyond.epsilon)
            rows.append([f"{row.attribute}: “other”", *_in_columns(beyond.way, beyond.pair, epsilon)])
    if found.presence is not None:
        who = "anyone – absent" if found.people is None else "any row – no row"
        rows.append(["presence", who, digits(found.presence), who, digits(found.presence)])
    return table(["alike except", "strictest pair", "ε", "loosest pair", "ε"], rows, "nprpr")


def _in_columns(way: str, pair: str, epsilon: str) -> list[str]:
    """Put a pair into the columns of the strictest or of the loosest pair."""
    return [pair, epsilon, "", ""] if way == "stricter" else ["", "", pair, epsilon]


def _lists(found: Check) -> list[str]:
    """Return tables of the tightened and the identical pairs."""
    out = []
    if found.tightened:
        rows = [[f"{a} – {b}", digits(written), digits(kept)] for a, b, written, kept in found.tightened]
        out.append(table(["tightened", "you wrote", "the policy keeps"], rows, "prr"))
    if found.identical:
        rows = [[f"{a} – {b}", "0"] for a, b in found.identical]
        out.append(table(["identical: no query may separate them", "ε"], rows, "pr"))
    return out
