"""The three sentences of a guarantee, and what a file says of its ledger (docs/formats.md, section 8)."""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.privacy import Policy, Spent, close, infinite_as_null
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import People, Universe
from dxprivacy.verify.words import three_digits


def read_records(data: dict[str, Any], universe: Universe) -> int:
    """The number of records; where it is private, nothing stands there, and how many there can be counts."""
    people = universe.people
    if (people is not None and people.max_people is None) != ("people" in data):
        raise refuse("is told where it is public, and nowhere else", "people")
    if universe.absent is None:
        return reading.whole(data["records"], "records", 0, 1 << 62)
    if data["records"] is not None:
        raise refuse("is private under this policy", "records")
    if "people" in data:
        return reading.whole(data["people"], "people", 0, 1 << 62) * universe.rows_each
    assert universe.max_records is not None
    return universe.max_records


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


def guarantee(universe: Universe, records: int, file: str, worst: float, so_far: float, largest: float) -> list[str]:
    """The three sentences."""
    if universe.people is not None:
        return guarantee_to_people(universe.people, records, file, worst, so_far, largest)
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
        f"In standard differential-privacy terms this release is ε = {three_digits(worst)}, all releases "
        f"so far ε = {three_digits(so_far)}, and the policy permits {permits}; someone with several records, or with "
        "attributes that reveal one another, is protected less than this says.",
    ]


def guarantee_to_people(
    people: People, records: int, file: str, worst: float, so_far: float, largest: float
) -> list[str]:
    """The same where people have several rows."""
    m = people.max_rows
    gone = "" if people.max_people is None else ", added or removed"
    number = f"({records // m:,}) is treated as public" if people.max_people is None else "is private"
    kept = "only one row of each person is" if m == 1 else f"at most {m:,} rows of each person are"
    more = "one row" if m == 1 else f"{m:,} rows"
    return [
        f"If any one person with all their rows is replaced by another person{gone}, the probability of any set of "
        "outputs of this release changes by at most the factor e^L, where L adds up L(i,j) over their kept rows i and "
        f"j, matched in whatever way (a row that one of them does not have is absent), and the part that counts of "
        f"people take of the largest ε between two matched rows; {kept} kept, the number of people {number}, and that "
        "of rows is private.",
        f"Added over every release in {file}, L stays at or below the largest ε that the policy gives to two matched "
        "rows, for every two people; rows that the policy sets far apart are protected weakly. Of somebody with more "
        f"than {more} this holds for those that are kept: a small change of one can change which they are.",
        f"In standard differential-privacy terms this release is ε = {three_digits(worst)} for a whole person, all "
        f"releases so far ε = {three_digits(so_far)}, and the policy permits up to ε = {three_digits(largest)}; people "
        "whose rows tell something about other people, or whose attributes reveal one another, are protected less "
        "than this says.",
    ]


def check_guarantee(data: dict[str, Any], spent: Spent, found: float, records: int) -> None:
    """The sentences of a release follow from its facts."""
    so_far = infinite_as_null(data["ledger"]["worst_case_epsilon"], "ledger worst_case_epsilon")
    if so_far < found and not close(so_far, found):
        raise refuse("is less than this release's own", "ledger worst_case_epsilon")
    worst = infinite_as_null(data["worst_case_epsilon"], "worst_case_epsilon")
    check_sentences(data["guarantee"], spent.policy, records, data["ledger"]["file"], worst, [so_far])


def check_sentences(
    data: Any, policy: Policy, records: int, file: str, worst: float, so_far: Sequence[float] | None
) -> None:
    """Three sentences, each as it must be; `so_far` is what all releases may have come to, None where nobody knows."""
    stated = sentences_for(data, file)
    # a distance right between two roundings may be printed as either
    most = policy.metric.largest * policy.universe.rows_each
    largest = [most * f for f in (1, 1 - 1e-6, 1 + 1e-6)]
    totals = [0.0] if so_far is None else so_far
    options = [guarantee(policy.universe, records, file, worst, total, far) for far in largest for total in totals]
    for k in range(3 if so_far is not None else 2):
        if stated[k] not in [option[k] for option in options]:
            raise refuse(f"sentence {k + 1} does not follow from the facts", "guarantee")


def sentences_for(data: Any, file: str) -> list[str]:
    """Three sentences that are written as those of a guarantee are, with whatever numbers in them."""
    stated = reading.each(data, "guarantee", reading.text)
    if len(stated) != 3:
        raise refuse("is not three sentences", "guarantee")
    number = r"(?:∞|[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-][0-9]+)?)"
    what = r"replaced by another record j(?:, added or removed \(j = absent\))?"
    patterns = (
        rf"If any one record i is {what}, the probability of any set of outputs of this release changes by at most the "
        r"factor e\^L\(i,j\); the number of records (?:\([0-9,]+\) is treated as public|is private)\.",
        rf"Added over every release in {re.escape(file)}, L\(i,j\) stays at or below the policy's ε for each of the "
        r"[0-9,]+ pairs; pairs that the policy sets far apart are protected weakly, and public ones not at all\.",
        rf"In standard differential-privacy terms this release is ε = {number}, all releases so far ε = {number}, and "
        rf"the policy permits (?:no limit|up to ε = {number}); someone with several records, or with attributes that "
        r"reveal one another, is protected less than this says\.",
    )
    if stated[0].startswith("If any one person"):
        patterns = _patterns_of_people(file, number)
    for k, (sentence, pattern) in enumerate(zip(stated, patterns, strict=True)):
        if not re.fullmatch(pattern, sentence):
            raise refuse(f"sentence {k + 1} does not follow from the facts", "guarantee")
    return stated


def _patterns_of_people(file: str, number: str) -> tuple[str, str, str]:
    """The sentences to people with several rows, with whatever numbers in them."""
    m = r"(?:only one row of each person is|at most [0-9,]+ rows of each person are)"
    return (
        r"If any one person with all their rows is replaced by another person(?:, added or removed)?, the probability "
        r"of any set of outputs of this release changes by at most the factor e\^L, where L adds up L\(i,j\) over "
        r"their kept rows i and j, matched in whatever way \(a row that one of them does not have is absent\), and the "
        rf"part that counts of people take of the largest ε between two matched rows; {m} kept, the number of people "
        r"(?:\([0-9,]+\) is treated as public|is private), and that of rows is private\.",
        rf"Added over every release in {re.escape(file)}, L stays at or below the largest ε that the policy gives to "
        r"two matched rows, for every two people; rows that the policy sets far apart are protected weakly\. Of "
        r"somebody with more than (?:one row|[0-9,]+ rows) this holds for those that are kept: a small change of one "
        r"can change which they are\.",
        rf"In standard differential-privacy terms this release is ε = {number} for a whole person, all releases so far "
        rf"ε = {number}, and the policy permits (?:no limit|up to ε = {number}); people whose rows tell something "
        r"about other people, or whose attributes reveal one another, are protected less than this says\.",
    )


def check_number(data: Any, records: int) -> None:
    """The first sentence tells the public number of records."""
    if f"the number of records ({records:,}) is treated as public" not in data[0]:
        raise refuse("sentence 1 does not follow from the facts", "guarantee")
