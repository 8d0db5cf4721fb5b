"""What several reports have in common: the policy itself, what is used of it, and how to check the page."""

import importlib.metadata
import math
import platform
from collections.abc import Sequence

from dxprivacy.ledger.ledger_budget import Used, used_by_attribute
from dxprivacy.metrics import Metric
from dxprivacy.output.charts.guarantees.budget_picture import used_picture
from dxprivacy.output.pages.page import drawn, listed, section, table, verbatim, words
from dxprivacy.output.text.plan_text import pair_words
from dxprivacy.policy import Policy
from dxprivacy.policy.policy_check import Check, check
from dxprivacy.privacy.costs import SumCost
from dxprivacy.wording import digits, percent, short_pair


def policy_part(policy: Policy | None) -> str:
    """The text of the policy, and what to look at twice in it."""
    if policy is None:
        return ""
    warnings = warning_list(check(policy))
    head = section("The policy", words(f"Dataset {policy.dataset}, version {policy.version}."), warnings)
    return head + ("\n" + verbatim(policy.file.text) if policy.file.text else "")  # a ledger keeps no text


def warning_list(page: Check) -> str:
    """What is worth a second look."""
    return listed(f"{notice.kind}: {notice.text}" for notice in page.warnings)


def proof_part(rows: Sequence[tuple[str, str]], command: str = "") -> str:
    """Digests, versions and the command to repeat; empty ones are left out."""
    software = f"dxprivacy {importlib.metadata.version('dxprivacy')}, Python {platform.python_version()}"
    every = [*rows, ("made by", software), ("to repeat it", command)]
    return section("How to check it", table([], [list(row) for row in every if row[1]], "nc"))


def limit_words(epsilon: float) -> str:
    """A worst case in words."""
    if math.isinf(epsilon):
        return "no limit in standard-DP terms"
    return f"worst case ε {digits(epsilon)} in standard-DP terms"


def permitted(metric: Metric) -> str:
    """What a policy permits in standard-DP terms."""
    return "no limit" if metric.has_infinite else f"up to ε = {digits(metric.permitted)}"


def used_rows(before: SumCost | None, after: SumCost, metric: Metric) -> tuple[list[str], list[list[str]]]:
    """Head and rows: by attribute, the share of the most used pair, before (if there is a before) and after."""
    now = used_by_attribute(after, metric)
    shares = ["used"] if before is None else ["used before", "used after"]
    head = ["alike except", *shares, "left, worst pair", "worst pair"]
    earlier = {} if before is None else used_by_attribute(before, metric)
    rows = []
    for name, used in now.items():
        first = _share(used)
        was = [] if before is None else [percent(_share(earlier.get(name, [])))]
        pair = short_pair(pair_words(metric, used[0].pair), 72) if used else "–"
        rows.append([name, *was, percent(first), percent(used[0].left if used else 1.0), pair])
    return head, rows


def _share(used: Sequence[Used]) -> float:
    return min(max(one.share for one in used), 1.0) if used else 0.0


def budget_part(title: str, before: SumCost | None, after: SumCost, metric: Metric, note: str) -> str:
    """What is used of each pair's ε, as a table and as a picture."""
    head, rows = used_rows(before, after, metric)
    align = "nrrp" if before is None else "nrrrp"
    return section(title, words(note), table(head, rows, align), drawn(used_picture(after, metric)))
