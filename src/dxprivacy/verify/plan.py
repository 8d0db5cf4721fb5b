"""Checking a plan, and the part that a release has in common with it (docs/formats.md, section 8)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dxprivacy.errors import Undecided
from dxprivacy.verify import noise, reading
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.certificate import largest_loss, tightest
from dxprivacy.verify.combined import WithAbsent
from dxprivacy.verify.distances import Distance
from dxprivacy.verify.loss import Loss, Tightest, ratio_of
from dxprivacy.verify.measured import Way, read_measured
from dxprivacy.verify.metric import distance
from dxprivacy.verify.noise import Law
from dxprivacy.verify.questions import Answer, Asked, ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

PLANS = {"dxprivacy-plan/2": 2, "dxprivacy-plan/3": 3}  # their editions
COMMON = (
    *("format", "name", "request", "policy", "universe", "questions", "workload", "rows", "share", "scales"),
    *("certificate", "worst_case_epsilon", "seal"),
)
_RULES = ("line", "generators", "all pairs", "one attribute at a time", "constant")
_LOOSE = ", upper bound per question"
_PRESENCE = ", and presence"
_LARGEST_SCALE = 2.0**52
_ROUNDED = Fraction(1, 1 << 58)  # how much larger a ratio may be where distances are irrational
CLOSE = 1e-8
LOOSELY = 1e-6  # where a system of equations was solved in floats


@dataclass(frozen=True)
class Check:
    """Something that holds: its name, and what was found."""

    name: str
    found: str


@dataclass(frozen=True)
class Kept:
    """What was found out about privacy: the largest ratio, and the largest loss."""

    tightest: Tightest
    worst_case: float


@dataclass(frozen=True)
class Claim:
    """What plans and releases have in common: who may be told apart how far, by which rows with which noise."""

    universe: Universe
    metric: Distance
    metric_digest: str
    dataset: str
    asked: Asked
    workload: str
    request: str
    name: str
    records: int | None
    share: Fraction
    scales: list[float]
    loss: Loss
    way: Way
    edition: int


def close(stated: float, found: float, tolerance: float = CLOSE) -> bool:
    """Equal up to rounding."""
    return stated == found or math.isclose(stated, found, rel_tol=tolerance, abs_tol=1e-300)


def infinite_as_null(value: Any, where: str) -> float:
    """A number, or null for infinity."""
    return math.inf if value is None else reading.number(value, where)


def check_seal(data: dict[str, Any]) -> None:
    """The seal is that of the content."""
    if reading.hash_text(data["seal"], "seal") != reading.seal_of(data):
        raise refuse("the file was edited or damaged after it was written", "seal")


def read_claim(data: dict[str, Any], edition: int, *, file_allowed: bool) -> Claim:
    """Everything that both files have in common, with right digests."""
    policy = reading.members(
        data["policy"], "policy", ("title", "dataset", "unit", "metric"), ("file",) if file_allowed else ()
    )
    for name in ("title", "dataset", *(("file",) if "file" in policy else ())):
        reading.text(policy[name], f"policy {name}")
    universe = Universe(data["universe"])
    if policy["unit"] != universe.privacy_unit:
        raise refuse(f"is not that of the universe, “{universe.privacy_unit}”", "policy unit")
    given = reading.members(policy["metric"], "metric", ("digest", "spec"))
    metric_digest = reading.hash_text(given["digest"], "metric digest")
    if metric_digest != reading.digest({"universe": universe.digest, "metric": given["spec"]}):
        raise refuse("is not the digest of universe and distances", "metric digest")
    metric = distance(given["spec"], universe.size)
    asked = ask(data["questions"], universe, edition=edition)
    workload = workload_digest(universe.digest, asked.blocks)
    if data["workload"] != workload:
        raise refuse("is not the digest of the rows that the questions ask for", "workload")
    share = reading.positive(data["share"], "share")
    if share > 1:
        raise refuse("is more than 1", "share")
    records = None if data["rows"] is None else reading.whole(data["rows"], "rows", 0, 1 << 62)
    counted, measured, way = read_measured(data.get("measured"), asked, universe)
    scales = read_scales(data["scales"], counted.rows)
    request = reading.digest(
        {
            **({"measured": [data["measured"]["how"], measured]} if measured else {}),
            "metric": metric_digest,
            "dataset": policy["dataset"],
            "questions": untitled(data["questions"]),
            "workload": workload,
            "scales": data["scales"],
            "share": data["share"],
            "rows": data["rows"],
        }
    )
    if data["request"] != request:
        raise refuse("is not the digest of the plan", "request")
    if data["name"] != request[:4]:
        raise refuse("is not the beginning of the request", "name")
    return Claim(
        universe, metric, metric_digest, policy["dataset"], asked, workload, request, request[:4], records, share,
        scales, Loss(universe, counted.blocks, scales), way(asked, counted, universe, scales, edition), edition,
    )  # fmt: skip


def untitled(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Questions whatever they are called: a question called otherwise is the same one."""
    return [{name: value for name, value in question.items() if name != "title"} for question in questions]


def claim_checks(claim: Claim) -> Iterator[Check]:
    """What reading the claim has shown."""
    yield Check("digests", f"universe, metric, workload and request {claim.name}")
    silent = sum(s == 0 for s in claim.scales)
    rows = f"{len(claim.scales):,} rows" + (f" ({silent:,} of them exact)" if silent else "")
    found = f"{len(claim.asked.answers):,} answers from {rows} over {claim.universe.size:,} possible records"
    yield Check("questions", found + (f", {claim.way.words}" if claim.way.words else ""))


def check_privacy(data: dict[str, Any], claim: Claim) -> Iterator[Check | Kept]:
    """Certificate and worst case; the last thing that comes is what was found."""
    found = tightest(claim.loss, claim.metric)
    yield check_certificate(data["certificate"], found, claim)
    worst = largest_loss(claim.loss)
    if not close(infinite_as_null(data["worst_case_epsilon"], "worst_case_epsilon"), worst):
        raise refuse(f"is not the largest loss of any pair, {worst:.6g}", "worst_case_epsilon")
    yield Check("worst case", f"ε {worst:.6g} in plain-DP terms" if worst < math.inf else "no limit in plain-DP terms")
    yield Kept(found, worst)


def read_scales(data: Any, rows: int) -> list[float]:
    """One scale per row, not negative, below 2^52."""
    scales = reading.each(data, "scales", reading.hex_float)
    if len(scales) != rows:
        raise refuse(f"{len(scales):,} scales for {rows:,} rows", "scales")
    for s in scales:
        if not 0 <= s < _LARGEST_SCALE or math.copysign(1.0, s) < 0:
            raise refuse(f"a scale is {s}", "scales")
    return scales


def check_certificate(data: Any, found: Tightest, claim: Claim) -> Check:
    """The ratio is at most the share, what was stated, and attained."""
    given = reading.members(data, "certificate", ("norm", "ratio", "witness", "rule", "metric"))
    if given["norm"] != "l1" or given["metric"] != claim.metric_digest:
        raise refuse("speaks about another norm or metric", "certificate")
    rule = reading.text(given["rule"], "certificate rule")
    loose = _LOOSE in rule
    _require_rule(rule, absent=claim.universe.absent is not None)
    stated = reading.fraction(given["ratio"], "certificate ratio")
    share = claim.share
    where = f", at {claim.universe.tell(*found.pair)}" if found.pair else ""
    if found.low > share:
        shown = "without limit" if found.low == math.inf else f"{float(found.low):.6g} of its distance"
        raise refuse(f"a pair is told apart by {shown}, more than the share {share}{where}", "certificate")
    if stated > share:
        raise refuse(f"states {float(stated):.6g}, more than the share {share}", "certificate")
    if found.high > share:
        raise Undecided("the loss could only be bounded from above, by more than the share", where="certificate")
    _check_stated(stated, given["witness"], found, loose, claim)
    kind = "" if found.exact else " at most"
    upper = float(found.high if not found.exact else found.low)
    return Check(
        "certificate", f"uses{kind} {100 * upper:.6g} % of the policy, {100 * float(share):.6g} % granted{where}"
    )


def _require_rule(rule: str, *, absent: bool) -> None:
    """How the ratio was found, among the records that are there; and where records may be absent, against that."""
    inside, presence, bound = rule.partition(_PRESENCE)
    known = (*_RULES, *(name + _LOOSE for name in _RULES[3:]))
    if inside not in known or (presence and not absent) or bound not in ("", _LOOSE):
        raise refuse(f"unknown rule {rule[:40]!r}", "certificate")


def _check_stated(stated: Fraction, witness: Any, found: Tightest, loose: bool, claim: Claim) -> None:
    if stated < found.low:
        raise refuse(f"states {float(stated):.6g}, but it is {float(found.low):.6g}", "certificate ratio")
    if found.exact and not loose and stated > found.high * (1 + _ROUNDED):
        raise refuse(f"states {float(stated):.6g}, but it is only {float(found.high):.6g}", "certificate ratio")
    if witness is None:
        if stated and not loose:
            raise refuse("names no pair", "certificate witness")
        return
    pair = reading.each(witness, "certificate witness", lambda x, w: reading.whole(x, w, 0, claim.universe.size - 1))
    if len(pair) != 2 or not pair[0] < pair[1]:
        raise refuse("is no pair of records", "certificate witness")
    high = ratio_of(claim.loss, claim.metric, pair[0], pair[1])[1]
    if high > stated * (1 + _ROUNDED):
        raise refuse("names a pair that is told apart more than stated", "certificate witness")
    if not loose and (high * (1 + _ROUNDED) < stated or (found.exact and high < found.low)):
        raise refuse("names a pair that does not attain the ratio", "certificate witness")


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
    yield Check("errors", f"of {len(claim.asked.answers):,} answers, from the law of the noise")
    for step in check_privacy(data, claim):
        if isinstance(step, Check):
            yield step
    if edition < 3:
        _check_strict_epsilon(data["strict_epsilon"], claim)
    else:
        _read_gains(data["gains"], claim)


def _check_strict_epsilon(data: Any, claim: Claim) -> None:
    """Plans of 0.1.0 compared with plain DP at the least distance of the whole policy."""
    strict = strictest(claim.metric)
    expected = math.inf if strict is None else strict * float(claim.share)
    if not close(infinite_as_null(data, "strict_epsilon"), expected):
        raise refuse(f"is not the share of the least distance, {expected:.6g}", "strict_epsilon")


def _read_gains(data: Any, claim: Claim) -> None:
    """One for each question, and possible; that they are right is not checked: it would take a planner."""
    titles, answers = [], claim.asked.answers
    while answers:
        titles.append(answers[0].title)
        answers = answers[answers[0].siblings :]
    if len(reading.items(data, "gains")) != len(titles):
        raise refuse(f"{len(data):,} instead of {len(titles):,}", "gains")
    for k, (given, title) in enumerate(zip(data, titles, strict=True)):
        where = f"gain {k + 1}"
        reading.members(given, where, ("question", "plain_epsilon", "gain"))
        if given["question"] != title:
            raise refuse(f"question is not {title[:60]!r}", where)
        if not infinite_as_null(given["plain_epsilon"], where) > 0 or not infinite_as_null(given["gain"], where) >= 1:
            raise refuse("an ε is more than 0, and a gain at least 1", where)


def strictest(metric: Distance) -> float | None:
    """The ε of plain DP that keeps every promise: replacing a record is removing one and adding one."""
    if not isinstance(metric, WithAbsent):
        return metric.least
    near, presence = metric.base.least, float(metric.radius)
    return presence if near is None else min(near / 2, presence)


def check_labels(given: dict[str, Any], answer: Answer, exact: bool, where: str) -> None:
    """Label, question, unit and whether it is exact."""
    for name, wanted in (("label", answer.label), ("question", answer.title), ("unit", answer.unit), ("exact", exact)):
        if type(given[name]) is not type(wanted) or given[name] != wanted:
            raise refuse(f"{name} is not {str(wanted)[:60]!r}", where)


def is_exact(answer: Answer, laws: Sequence[Law], shifts: Sequence[float], edition: int) -> bool:
    """Whether no row of an answer has noise, or is moved, no cell hides a part of it, and nothing was rounded.

    In edition 2 rounding was passed over.
    """
    recipe = answer.recipe
    moved = recipe.below or recipe.above or (recipe.bias if edition > 2 else 0)
    return not moved and all(laws[row].variance == 0 and not shifts[row] for row in recipe.rows)


def _check_errors(given: list[Any], claim: Claim) -> None:
    if len(given) != len(claim.asked.answers):
        raise refuse(f"{len(given):,} instead of {len(claim.asked.answers):,}", "answers")
    names = ("label", "question", "unit", "within", "rmse", "typical_error", "half_width_95", "exact")
    plain = ("gain",) if claim.edition < 3 else ("plain_as_strict_95", "plain_at_worst_case_95")
    laws, shifts = claim.way.laws(), claim.way.shifts()
    tolerance = 1e-9 if claim.way.exact else LOOSELY
    for k, (data, answer) in enumerate(zip(given, claim.asked.answers, strict=True)):
        where = f"answer {k + 1}"
        reading.members(data, where, (*names, *plain))
        check_labels(data, answer, is_exact(answer, laws, shifts, claim.edition), where)
        if data["within"] != (None if answer.within is None else str(answer.within)):
            raise refuse("within is not the question's target", where)
        for name in plain:  # for information only
            infinite_as_null(data[name], f"{where} {name}")
        rmse, typical, half_widths = noise.expected(answer, laws, claim.records or 0, shifts[answer.recipe.row])
        stated = [reading.number(data[name], f"{where} {name}") for name in ("rmse", "typical_error", "half_width_95")]
        if not close(stated[0], rmse, tolerance):
            raise refuse(f"rmse is not {rmse:.6g}", where)
        if not close(stated[1], typical, tolerance):
            raise refuse(f"typical_error is not {typical:.6g}", where)
        if not any(close(stated[2], width, tolerance) for width in half_widths):
            raise refuse(f"half_width_95 is not {half_widths[0]:.6g}", where)
