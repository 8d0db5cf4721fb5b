"""Checking a selection, released or only planned: candidates, scale, certificate, guarantee (docs/formats.md, 11)."""

import math
from collections.abc import Generator, Iterator
from typing import Any

from dxprivacy.errors import NotVerified
from dxprivacy.verify import reading
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.guarantee import check_guarantee, check_ledger_facts, read_records
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.picks import Pick, read_pick
from dxprivacy.verify.privacy import (
    Check,
    Kept,
    Policy,
    Spent,
    check_privacy,
    check_request,
    check_seal,
    close,
    read_budget,
    read_policy,
    read_scales,
    untitled,
)
from dxprivacy.verify.queries import ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.words import three_digits

SELECTIONS = ("dxprivacy-selection/1",)
SELECTION_PLANS = ("dxprivacy-selection-plan/1",)
_MEMBERS = (
    *("format", "name", "request", "title", "policy", "universe", "select", "queries", "workload", "candidates"),
    *("budget", "scale", "mechanism", "certificate", "worst_case_epsilon", "short_by_at_most_95", "short_in", "seal"),
)
_RELEASED = ("records", "chosen", "guarantee", "ledger", "software")
_MECHANISMS = {"exponential": False, "permute-and-flip": True}
_EDITIONS = (3, 2)  # 0.1.0 called some candidates otherwise
_MISSED = math.log(20)  # 1 in 20 falls further short


class SelectionSpent(Spent):
    """What a selection spends: the largest loss of any of its rows."""

    norm = "linf"
    cost = "selection"
    word = "selection"


def verify_selection_plan(data: Any) -> Iterator[Check]:
    """Check a planned selection."""
    reading.members(data, "selection", _MEMBERS)
    spent = yield from _planned(data)
    yield from check_privacy(data, spent)


def verify_selection(data: Any) -> Generator[Check, None, tuple[Spent, Kept]]:
    """Check a released selection without its ledger; returns what it spent, and what was found about privacy."""
    reading.members(data, "selection", (*_MEMBERS, *_RELEASED), ("repeated", "people"))
    spent = yield from _planned(data)
    if "repeated" in data:
        reading.flag(data["repeated"], "repeated")
    reading.text(data["software"], "software")
    records = read_records(data, spent.policy.universe)
    _check_chosen(data)
    yield Check("chosen", f"“{data['chosen']['label']}”, one of the candidates")
    check_ledger_facts(data["ledger"], spent.request)
    kept = yield from check_privacy(data, spent)
    check_guarantee(data, spent, kept.worst_case, records)
    yield Check("guarantee", "says what follows from the facts")
    return spent, kept


def _planned(data: dict[str, Any]) -> Generator[Check, None, SelectionSpent]:
    """What a planned selection and its release have in common, with right digests."""
    check_seal(data)
    yield Check("format", f"{data['format']}, sealed")
    policy = read_policy(data)
    pick = _pick(data, policy)
    blocks = ask(data["queries"], policy.universe, edition=pick.edition).blocks
    workload = workload_digest(policy.universe.digest, blocks)
    if data["workload"] != workload:
        raise refuse("is not the digest of the rows that the scores are made of", "workload")
    budget = read_budget(data["budget"])
    (scale,) = read_scales([data["scale"]], 1)
    mechanism = reading.text(data["mechanism"], "mechanism")
    if mechanism not in _MECHANISMS:
        raise refuse(f"is {mechanism[:40]!r}", "mechanism")
    covered = {
        "metric": policy.digest,
        "dataset": policy.dataset,
        "select": {name: untitled(x) if name == "queries" else x for name, x in data["select"].items()},
        "workload": workload,
        "candidates": reading.digest(data["candidates"]),
        "scale": data["scale"],
        "budget": data["budget"],
        "flip": _MECHANISMS[mechanism],
    }
    request = check_request(data, covered)
    yield Check("digests", f"universe, metric, workload and request {request[:4]}")
    rows = sum(block.rows for block in blocks)
    found = f"{len(pick.labels):,} from {rows:,} rows over {policy.universe.size:,} possible records"
    yield Check("candidates", found)
    yield _shortfall(data, pick, scale)
    return SelectionSpent(policy, budget, Loss(policy.universe, blocks, [scale] * rows, [range(rows)]), request)


def _pick(data: dict[str, Any], policy: Policy) -> Pick:
    """Title, candidates and queries follow from what is chosen, as one of the editions says it."""
    refusal: NotVerified | None = None
    for edition in _EDITIONS:
        pick = read_pick(data["select"], policy.universe, edition)
        for name, found in (("title", pick.title), ("candidates", pick.labels), ("queries", pick.queries)):
            if reading.canonical(data[name]) != reading.canonical(found):
                refusal = refusal or refuse("is not that of what is chosen", name)
                break
        else:
            return pick
    raise refusal or refuse("says nothing", "select")


def _shortfall(data: dict[str, Any], pick: Pick, scale: float) -> Check:
    """Theorem 4: the score falls short of the best by 2c (ln R + t) with a probability of at most e^-t."""
    found = 2 * scale * (math.log(len(pick.labels)) + _MISSED) * float(pick.unit)
    if not close(reading.number(data["short_by_at_most_95"], "short_by_at_most_95"), found):
        raise refuse(f"is not {found:.6g}", "short_by_at_most_95")
    if data["short_in"] != pick.measure:
        raise refuse("is not what the scores count", "short_in")
    return Check("short by", f"at most {three_digits(found)} {pick.measure}, 95 % of the time")


def _check_chosen(data: dict[str, Any]) -> None:
    given = reading.members(data["chosen"], "chosen", ("label", "index"))
    labels = data["candidates"]
    if labels[reading.whole(given["index"], "chosen", 0, len(labels) - 1)] != given["label"]:
        raise refuse("is not the candidate of that number", "chosen")
