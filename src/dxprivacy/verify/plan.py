"""Checking a plan, and the part that a release has in common with it (docs/formats.md, section 8)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dxprivacy.verify import noise, reading
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.combined import WithAbsent
from dxprivacy.verify.distances import Distance
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.measured import read_measured
from dxprivacy.verify.privacy import (
    Check,
    Spent,
    check_privacy,
    check_request,
    check_seal,
    close,
    infinite_as_null,
    read_budget,
    read_policy,
    read_scales,
    untitled,
)
from dxprivacy.verify.queries import Answer, Asked, ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.stated import Stated
from dxprivacy.verify.way import Way

PLANS = {f"dxprivacy-plan/{edition}": edition for edition in (5, 6)}
COMMON = (
    *("format", "name", "request", "policy", "universe", "queries", "workload", "rows", "budget", "scales"),
    *("certificate", "worst_case_epsilon", "seal"),
)
MANY_ANSWERS = 10_000
LOOSELY = 1e-6  # where a system of equations was solved in floats
_ROUNDING = 1e-8  # an error this small is what floats leave of a noise that practically never moves an answer


@dataclass(frozen=True)
class Claim(Spent):
    """What plans and releases have in common: the queries, and how their answers follow from what is counted."""

    asked: Asked
    records: int | None
    way: Way
    edition: int


class ClaimTogether(Claim):
    """The same of tables whose noise follows one distribution: of all rows the largest loss counts."""

    norm = "linf"
    cost = "block-max"


def read_claim(data: dict[str, Any], edition: int, *, file_allowed: bool) -> Claim:
    """Everything that both files have in common, with right digests."""
    policy = read_policy(data, file_allowed=file_allowed)
    universe = policy.universe
    asked = ask(data["queries"], universe, edition=edition)
    workload = workload_digest(universe.digest, asked.blocks)
    if data["workload"] != workload:
        raise refuse("is not the digest of the rows that the queries ask for", "workload")
    budget = read_budget(data["budget"])
    records = None if data["rows"] is None else reading.whole(data["rows"], "rows", 0, 1 << 62)
    counted, measured, make = read_measured(data.get("measured"), asked, universe, edition)
    scales = read_scales(data["scales"], counted.rows)
    covered = {
        **({"measured": [data["measured"]["how"], measured]} if measured else {}),
        "metric": policy.digest,
        "dataset": policy.dataset,
        "queries": untitled(data["queries"]),
        "workload": workload,
        "scales": data["scales"],
        "budget": data["budget"],
        "rows": data["rows"],
    }
    request = check_request(data, covered)
    way = make(asked, counted, universe, scales, edition)
    loss = Loss(universe, counted.blocks, scales, [range(counted.rows)] if way.largest else [])
    kind = ClaimTogether if way.largest else Claim
    return kind(policy, budget, loss, request, asked, records, way, edition)


def claim_checks(claim: Claim) -> Iterator[Check]:
    """What reading the claim has shown."""
    yield Check("digests", f"universe, metric, workload and request {claim.name}")
    silent = sum(s == 0 for s in claim.loss.scales)
    rows = f"{len(claim.loss.scales):,} rows" + (f" ({silent:,} of them exact)" if silent else "")
    found = f"{claim.asked.number:,} answers from {rows} over {claim.policy.universe.size:,} possible records"
    yield Check("queries", found + (f", {claim.way.words}" if claim.way.words else ""))


def verify_plan(data: Any) -> Iterator[Check]:
    """Check a plan; each thing that holds is told, the first that does not is raised."""
    edition = PLANS[data["format"]]
    compared = "strict_epsilon" if edition < 3 else "gains"
    reading.members(data, "plan", (*COMMON, "method", "about", "answers", compared), ("measured",))
    check_seal(data)
    yield Check("format", f"{data['format']}, sealed")
    reading.text(data["method"], "method")
    reading.text(data["about"], "about")
    claim = read_claim(data, edition, file_allowed=True)
    yield from claim_checks(claim)
    _check_errors(reading.items(data["answers"], "answers"), claim)
    yield Check("errors", f"of {claim.asked.number:,} answers, from the distribution of the noise")
    yield from check_privacy(data, claim)
    if edition < 3:
        _check_strict_epsilon(data["strict_epsilon"], claim)
    else:
        _read_gains(data["gains"], claim)


def _check_strict_epsilon(data: Any, claim: Claim) -> None:
    """Plans of 0.1.0 compared with standard DP at the least distance of the whole policy."""
    strict = strictest(claim.policy.metric)
    expected = math.inf if strict is None else strict * float(claim.budget)
    if not close(infinite_as_null(data, "strict_epsilon"), expected):
        raise refuse(f"is not the fraction of the least distance, {expected:.6g}", "strict_epsilon")


def _read_gains(data: Any, claim: Claim) -> None:
    """One for each query, and possible; that they are right is not checked: it would take a planner."""
    titles = [kind.title for kind in claim.asked.kinds]
    if len(reading.items(data, "gains")) != len(titles):
        raise refuse(f"{len(data):,} instead of {len(titles):,}", "gains")
    for k, (given, title) in enumerate(zip(data, titles, strict=True)):
        where = f"gain {k + 1}"
        reading.members(given, where, ("query", "standard_epsilon", "gain"))
        if given["query"] != title:
            raise refuse(f"query is not {title[:60]!r}", where)
        if (
            not infinite_as_null(given["standard_epsilon"], where) > 0
            or not infinite_as_null(given["gain"], where) >= 1
        ):
            raise refuse("an ε is more than 0, and a gain at least 1", where)


def strictest(metric: Distance) -> float | None:
    """The ε of standard DP that keeps every guarantee: replacing a record is removing one and adding one."""
    if not isinstance(metric, WithAbsent):
        return metric.least
    near, presence = metric.base.least, float(metric.radius)
    return presence if near is None else min(near / 2, presence)


def check_labels(given: dict[str, Any], answer: Answer, exact: bool, where: str) -> None:
    """Label, query, unit and whether it is exact."""
    for name, wanted in (("label", answer.label), ("query", answer.title), ("unit", answer.unit), ("exact", exact)):
        if type(given[name]) is not type(wanted) or given[name] != wanted:
            raise refuse(f"{name} is not {str(wanted)[:60]!r}", where)


def _check_errors(given: list[Any], claim: Claim) -> None:
    """Facts for each answer: of very many, what follows one another and is alike is written once, without names."""
    number = claim.asked.number
    may_be = Stated(claim.way.distributions(), claim.way.shifts(), claim.records or 0, claim.edition)
    if number > MANY_ANSWERS:
        _check_runs(given, claim, may_be)
        return
    if len(given) != number:
        raise refuse(f"{len(given):,} instead of {number:,}", "answers")
    for k, (facts, answer) in enumerate(zip(given, claim.asked.make(0), strict=True)):
        _check_error(facts, answer, claim, may_be, f"answer {k + 1}")


def _check_runs(given: list[Any], claim: Claim, may_be: Stated) -> None:
    answers, wanted, done = iter(claim.asked.make(0)), claim.asked.number, 0
    for k, facts in enumerate(given):
        where = f"answers {k + 1}"
        if not isinstance(facts, dict) or "label" in facts:
            raise refuse("more than 10,000 answers have no labels", where)
        number = reading.whole(facts.get("answers"), where, 1, wanted - done)
        rest = {name: value for name, value in facts.items() if name != "answers"}
        seen: set[tuple[object, ...]] = set()  # whatever the facts are compared with is the same for one kind
        for at, answer in enumerate(islice(answers, number), done + 1):
            kind = (*may_be.kind(answer), answer.title, answer.unit, answer.within)
            if kind not in seen:
                seen.add(kind)
                _check_error({"label": answer.label, **rest}, answer, claim, may_be, f"answer {at}")
        done += number
    if done != wanted:
        raise refuse(f"{done:,} instead of {wanted:,}", "answers")


def _check_error(data: Any, answer: Answer, claim: Claim, may_be: Stated, where: str) -> None:
    names = ("label", "query", "unit", "within", "rmse", "typical_error", "half_width_95", "exact")
    plain = ("gain",) if claim.edition < 3 else ("standard_at_strictest_95", "standard_at_worst_case_95")
    tolerance = 1e-9 if claim.way.exact else LOOSELY
    reading.members(data, where, (*names, *plain))
    check_labels(data, answer, may_be.exact(answer), where)
    if data["within"] != (None if answer.within is None else str(answer.within)):
        raise refuse("within is not the query's target", where)
    for name in plain:  # for information only
        infinite_as_null(data[name], f"{where} {name}")
    rmse, typical, half_widths = noise.expected(answer, may_be.distributions, may_be.records, may_be.shifts[answer.row])
    stated = [reading.number(data[name], f"{where} {name}") for name in ("rmse", "typical_error", "half_width_95")]
    if not close(stated[0], rmse, tolerance) and max(stated[0], rmse) > _ROUNDING:
        raise refuse(f"rmse is not {rmse:.6g}", where)
    if not close(stated[1], typical, tolerance) and max(stated[1], typical) > _ROUNDING:
        raise refuse(f"typical_error is not {typical:.6g}", where)
    if not any(close(stated[2], width, tolerance) for width in half_widths):
        raise refuse(f"half_width_95 is not {half_widths[0]:.6g}", where)
