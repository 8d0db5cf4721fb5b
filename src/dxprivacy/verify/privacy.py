"""What every file that spends says of privacy: policy, certificate, worst case (docs/formats.md, sections 3, 7, 8)."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dxprivacy.errors import Undecided
from dxprivacy.verify import reading
from dxprivacy.verify.certificate import earlier_bound, largest_loss, tightest
from dxprivacy.verify.distances import Distance
from dxprivacy.verify.loss import Loss, Tightest, ratio_of
from dxprivacy.verify.metric import distance
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

_RULES = ("line", "generators", "all pairs", "one attribute at a time", "constant")
_LOOSE = ", upper bound per query"
_PRESENCE = ", and presence"
_LARGEST_SCALE = 2.0**52
_ROUNDED = Fraction(1, 1 << 58)  # how much larger a ratio may be where distances are irrational
CLOSE = 1e-8


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
class Policy:
    """Who may be told apart how far: the possible records, their distances, and of which dataset they are."""

    universe: Universe
    metric: Distance
    digest: str
    dataset: str


@dataclass(frozen=True)
class Spent:
    """What is spent under a policy: by which rows with which noise, of which budget, under which name."""

    norm: ClassVar[str] = "l1"  # of the certificate: losses of rows add up
    cost: ClassVar[str] = "laplace"  # what a ledger calls it
    word: ClassVar[str] = "release"

    policy: Policy
    budget: Fraction
    loss: Loss
    request: str

    @property
    def name(self) -> str:
        """The beginning of the request."""
        return self.request[:4]


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


def read_policy(data: dict[str, Any], *, file_allowed: bool = False) -> Policy:
    """Universe and distances, with right digests."""
    policy = reading.members(
        data["policy"], "policy", ("title", "dataset", "neighbors", "metric"), ("file",) if file_allowed else ()
    )
    for name in ("title", "dataset", *(("file",) if "file" in policy else ())):
        reading.text(policy[name], f"policy {name}")
    universe = Universe(data["universe"])
    if policy["neighbors"] != universe.neighbors:
        raise refuse(f"is not that of the universe, “{universe.neighbors}”", "policy neighbors")
    given = reading.members(policy["metric"], "metric", ("digest", "spec"))
    digest = reading.hash_text(given["digest"], "metric digest")
    if digest != reading.digest({"universe": universe.digest, "metric": given["spec"]}):
        raise refuse("is not the digest of universe and distances", "metric digest")
    return Policy(universe, distance(given["spec"], universe.size), digest, policy["dataset"])


def read_budget(data: Any) -> Fraction:
    """More than 0, at most 1."""
    budget = reading.positive(data, "budget")
    if budget > 1:
        raise refuse("is more than 1", "budget")
    return budget


def check_request(data: dict[str, Any], covered: dict[str, Any]) -> str:
    """The request is the digest of all that matters, and the name its beginning."""
    request = reading.digest(covered)
    if data["request"] != request:
        raise refuse("is not the digest of the plan", "request")
    if data["name"] != request[:4]:
        raise refuse("is not the beginning of the request", "name")
    return request


def untitled(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Queries whatever they are called: a query called otherwise is the same one."""
    return [{name: value for name, value in query.items() if name != "title"} for query in queries]


def check_privacy(data: dict[str, Any], spent: Spent) -> Generator[Check, None, Kept]:
    """Certificate and worst case; returns what was found."""
    found = tightest(spent.loss, spent.policy.metric, spent.budget)
    yield check_certificate(data["certificate"], found, spent)
    worst = largest_loss(spent.loss)
    stated = infinite_as_null(data["worst_case_epsilon"], "worst_case_epsilon")
    if not close(stated, worst) and not worst < stated <= earlier_bound(spent.loss) * (1 + CLOSE):
        raise refuse(f"is not the largest loss of any pair, {worst:.6g}", "worst_case_epsilon")
    yield Check(
        "worst case", f"ε {worst:.6g} in standard-DP terms" if worst < math.inf else "no limit in standard-DP terms"
    )
    return Kept(found, worst)


def read_scales(data: Any, rows: int) -> list[float]:
    """One scale per row, not negative, below 2^52."""
    scales = reading.each(data, "scales", reading.hex_float)
    if len(scales) != rows:
        raise refuse(f"{len(scales):,} scales for {rows:,} rows", "scales")
    for s in scales:
        if not 0 <= s < _LARGEST_SCALE or math.copysign(1.0, s) < 0:
            raise refuse(f"a scale is {s}", "scales")
    return scales


def check_certificate(data: Any, found: Tightest, spent: Spent) -> Check:
    """The ratio is at most the budget, what was stated, and attained."""
    given = reading.members(data, "certificate", ("norm", "ratio", "witness", "rule", "metric"))
    if given["norm"] != spent.norm or given["metric"] != spent.policy.digest:
        raise refuse("speaks about another norm or metric", "certificate")
    rule = reading.text(given["rule"], "certificate rule")
    loose = _LOOSE in rule
    _require_rule(rule, spent.loss, absent=spent.policy.universe.absent is not None)
    stated = reading.fraction(given["ratio"], "certificate ratio")
    budget = spent.budget
    where = f", at {spent.policy.universe.tell(*found.pair)}" if found.pair else ""
    if found.low > budget:
        shown = "without limit" if found.low == math.inf else f"{float(found.low):.6g} of its distance"
        raise refuse(f"a pair is told apart by {shown}, more than the budget {budget}{where}", "certificate")
    if stated > budget:
        raise refuse(f"states {float(stated):.6g}, more than the budget {budget}", "certificate")
    if found.high > budget:
        raise Undecided("the loss could only be bounded from above, by more than the budget", where="certificate")
    _check_stated(stated, given["witness"], found, loose, spent)
    kind = "" if found.exact else " at most"
    upper = float(found.high if not found.exact else found.low)
    return Check(
        "certificate", f"uses{kind} {100 * upper:.6g} % of the policy, {100 * float(budget):.6g} % granted{where}"
    )


def _require_rule(rule: str, loss: Loss, *, absent: bool) -> None:
    """How the ratio was found, among the records that are there; and where records may be absent, against that.

    What is accounted as a whole, and nothing else, is named behind it; alone where there is nothing besides.
    """
    proportional = " and ".join(name for name, some in (("maps", loss.maps), ("people", loss.people)) if some)
    if proportional and not loss.by_pairs.blocks:
        if rule != proportional:
            raise refuse(f"unknown rule {rule[:40]!r}", "certificate")
        return
    if proportional:
        if not rule.endswith(f", and {proportional}"):
            raise refuse(f"is for {proportional} too, and its rule {rule[:40]!r} does not say so", "certificate")
        rule = rule.removesuffix(f", and {proportional}")
    inside, presence, bound = rule.partition(_PRESENCE)
    known = (*_RULES, *(name + _LOOSE for name in _RULES[3:]))
    if inside not in known or (presence and not absent) or bound not in ("", _LOOSE):
        raise refuse(f"unknown rule {rule[:40]!r}", "certificate")


def _check_stated(stated: Fraction, witness: Any, found: Tightest, loose: bool, spent: Spent) -> None:
    room = 1 + found.room
    if stated < found.low:
        raise refuse(f"states {float(stated):.6g}, but it is {float(found.low):.6g}", "certificate ratio")
    if found.exact and not loose and stated > found.high * room:
        raise refuse(f"states {float(stated):.6g}, but it is only {float(found.high):.6g}", "certificate ratio")
    if witness is None:
        if stated and not loose:
            raise refuse("names no pair", "certificate witness")
        return
    last = spent.policy.universe.size - 1
    pair = reading.each(witness, "certificate witness", lambda x, w: reading.whole(x, w, 0, last))
    if len(pair) != 2 or not pair[0] < pair[1]:
        raise refuse("is no pair of records", "certificate witness")
    if spent.loss.people or spent.loss.maps:  # what they take is the same part of all distances: any pair attains it
        return
    high = ratio_of(spent.loss, spent.policy.metric, pair[0], pair[1])[1]
    if high > stated * (1 + _ROUNDED):
        raise refuse("names a pair that is told apart more than stated", "certificate witness")
    if not loose and (high * room < stated or (found.exact and high * (1 + found.room - _ROUNDED) < found.low)):
        raise refuse("names a pair that does not attain the ratio", "certificate witness")
