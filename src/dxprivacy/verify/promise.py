"""The three sentences of a promise, and what a file says of its ledger (docs/formats.md, section 8)."""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.privacy import Policy, Spent, close, infinite_as_null
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.words import three_digits


def read_records(data: Any, universe: Universe) -> int:
    """The number of records; where it is private, nothing stands there, and the declared most counts."""
    most = universe.max_records
    if most is None:
        return reading.whole(data, "records", 0, 1 << 62)
    if data is not None:
        raise refuse("is private under this policy", "records")
    return most


def check_ledger_facts(data: Any, request_of: str) -> None:
    """What must be so whatever stands in the ledger: types, a time, and a request that begins as the plan's does."""
    given = reading.members(data, "ledger", ("file", "entry", "at", "request", "worst_case_epsilon"))
    reading.text(given["file"], "ledger file")
    reading.whole(given["entry"], "ledger entry", 1)
    try:
        moment = datetime.fromisoformat(reading.text(given["at"], "ledger at"))
    except ValueError:
        raise refuse("is no time", "ledger at") from None
    if moment.tzinfo is None:
        raise refuse("has no time zone", "ledger at")
    request = reading.text(given["request"], "ledger request")
    if request != request_of[:16] and not request.startswith(f"{request_of[:16]} "):
        raise refuse("is not this plan's", "ledger request")
    infinite_as_null(given["worst_case_epsilon"], "ledger worst_case_epsilon")


def promise(universe: Universe, records: int, file: str, worst: float, so_far: float, largest: float) -> list[str]:
    """The three sentences."""
    n = universe.size
    permits = "no limit" if math.isinf(largest) else f"up to ε = {three_digits(largest)}"
    what, number = "replaced by another record j", f"({records:,}) is treated as public"
    if universe.absent is not None:
        what, number = f"{what}, added or removed (j = absent)", "is private"
    return [
        f"If any one record i is {what}, the probability of any set of outputs of this release "
        f"changes by at most the factor e^L(i,j); the number of records {number}.",
        f"Added over every release in {file}, L(i,j) stays at or below the policy's ε for each of the "
        f"{n * (n - 1) // 2:,} pairs; pairs that the policy sets far apart are protected weakly, and public ones not "
        "at all.",
        f"In plain differential-privacy terms this release is ε = {three_digits(worst)}, all releases "
        f"so far ε = {three_digits(so_far)}, and the policy permits {permits}; someone with several records, or with "
        "attributes that reveal one another, is protected less than this says.",
    ]


def check_promise(data: dict[str, Any], spent: Spent, found: float, records: int) -> None:
    """The sentences of a release follow from its facts."""
    so_far = infinite_as_null(data["ledger"]["worst_case_epsilon"], "ledger worst_case_epsilon")
    if so_far < found and not close(so_far, found):
        raise refuse("is less than this release's own", "ledger worst_case_epsilon")
    worst = infinite_as_null(data["worst_case_epsilon"], "worst_case_epsilon")
    check_sentences(data["promise"], spent.policy, records, data["ledger"]["file"], worst, [so_far])


def check_sentences(
    data: Any, policy: Policy, records: int, file: str, worst: float, so_far: Sequence[float] | None
) -> None:
    """Three sentences, each as it must be; `so_far` is what all releases may have come to, None where nobody knows."""
    stated = sentences_for(data, file)
    # a distance right between two roundings may be printed as either
    largest = [policy.metric.largest * f for f in (1, 1 - 1e-6, 1 + 1e-6)]
    totals = [0.0] if so_far is None else so_far
    options = [promise(policy.universe, records, file, worst, total, far) for far in largest for total in totals]
    for k in range(3 if so_far is not None else 2):
        if stated[k] not in [option[k] for option in options]:
            raise refuse(f"sentence {k + 1} does not follow from the facts", "promise")


def sentences_for(data: Any, file: str) -> list[str]:
    """Three sentences that are written as those of a promise are, with whatever numbers in them."""
    stated = reading.each(data, "promise", reading.text)
    if len(stated) != 3:
        raise refuse("is not three sentences", "promise")
    number = r"(?:∞|[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-][0-9]+)?)"
    what = r"replaced by another record j(?:, added or removed \(j = absent\))?"
    patterns = (
        rf"If any one record i is {what}, the probability of any set of outputs of this release changes by at most the "
        r"factor e\^L\(i,j\); the number of records (?:\([0-9,]+\) is treated as public|is private)\.",
        rf"Added over every release in {re.escape(file)}, L\(i,j\) stays at or below the policy's ε for each of the "
        r"[0-9,]+ pairs; pairs that the policy sets far apart are protected weakly, and public ones not at all\.",
        rf"In plain differential-privacy terms this release is ε = {number}, all releases so far ε = {number}, and the "
        rf"policy permits (?:no limit|up to ε = {number}); someone with several records, or with attributes that "
        r"reveal one another, is protected less than this says\.",
    )
    for k, (sentence, pattern) in enumerate(zip(stated, patterns, strict=True)):
        if not re.fullmatch(pattern, sentence):
            raise refuse(f"sentence {k + 1} does not follow from the facts", "promise")
    return stated


def check_number(data: Any, records: int) -> None:
    """The first sentence tells the public number of records."""
    if f"the number of records ({records:,}) is treated as public" not in data[0]:
        raise refuse("sentence 1 does not follow from the facts", "promise")
