"""Checking a release: values, intervals, guarantee and notes follow from its noisy rows and facts (formats.md, 8)."""

import math
from collections.abc import Generator
from fractions import Fraction
from typing import Any

from dxprivacy.verify import noise, reading
from dxprivacy.verify.guarantee import check_guarantee, check_ledger_facts, read_records
from dxprivacy.verify.plan import (
    COMMON,
    LOOSELY,
    Claim,
    check_labels,
    claim_checks,
    read_claim,
)
from dxprivacy.verify.privacy import Check, Kept, check_privacy, check_seal
from dxprivacy.verify.queries import Answer
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.stated import Option, Stated
from dxprivacy.verify.words import three_digits

RELEASES = {f"dxprivacy-release/{edition}": edition for edition in (5, 6)}
_ANSWER = ("label", "value", "low", "high", "unit", "query", "exact", "vague", "groups")
_MEMBERS = frozenset(_ANSWER)
_LAST_DIGIT = 2e-9  # estimates have nine digits behind the point, and either neighbor may be stated


def verify_release(data: Any) -> Generator[Check, None, tuple[Claim, Kept]]:
    """Check a release without its ledger; returns its claim, and what was found about privacy."""
    reading.members(
        data,
        "release",
        (*COMMON, "records", "noisy", "answers", "guarantee", "ledger", "notes", "software"),
        ("repeated", "measured", "people"),
    )
    check_seal(data)
    yield Check("format", f"{data['format']}, sealed")
    if "repeated" in data:
        reading.flag(data["repeated"], "repeated")
    reading.text(data["software"], "software")
    claim = read_claim(data, RELEASES[data["format"]], file_allowed=False)
    yield from claim_checks(claim)
    records = read_records(data, claim.policy.universe)
    _check_answers(data, claim, records)
    yield Check("answers", f"{claim.asked.number:,} values and intervals follow from the noisy rows")
    _check_notes(data["notes"], claim)
    check_ledger_facts(data["ledger"], claim.request)
    kept = yield from check_privacy(data, claim)
    check_guarantee(data, claim, kept.worst_case, records)
    yield Check("guarantee", "says what follows from the facts")
    return claim, kept


def _check_answers(data: dict[str, Any], claim: Claim, records: int) -> None:
    noisy = reading.each(data["noisy"], "noisy", reading.whole)
    if len(noisy) != len(claim.loss.scales):
        raise refuse(f"{len(noisy):,} numbers for {len(claim.loss.scales):,} rows", "noisy")
    _check_constant_rows(noisy, claim, records)
    given = reading.items(data["answers"], "answers")
    if len(given) != claim.asked.number:
        raise refuse(f"{len(given):,} instead of {claim.asked.number:,}", "answers")
    may_be = Stated(claim.way.distributions(), claim.way.shifts(), records, claim.edition)
    rows = claim.way.rows(noisy, records)
    for k, (stated, answer) in enumerate(zip(given, claim.asked.make(0), strict=True)):
        exact, options = may_be.exact(answer), may_be.options(answer, rows)
        if not _as_worked_out(stated, answer, exact, options):
            _check_answer(stated, answer, exact, options, claim, records, f"answer {k + 1}")


def _as_worked_out(stated: Any, answer: Answer, exact: bool, options: list[Option]) -> bool:
    """Whether an answer is, to the last bit, what was worked out: so is almost every one, and that is quickly seen."""
    return (
        type(stated) is dict
        and stated.keys() == _MEMBERS
        and answer.within is None  # else it may be marked, and so may a blurred count
        and not answer.recipe.blur_bias
        and stated["label"] == answer.label
        and stated["query"] == answer.title
        and stated["unit"] == answer.unit
        and stated["exact"] is exact
        and stated["groups"] == answer.groups
        and type(stated["value"]) is type(stated["low"]) is type(stated["high"]) is float
        and type(stated["vague"]) is bool
        and (stated["value"], stated["low"], stated["high"], stated["vague"]) in options
    )


def _check_answer(
    stated: Any, answer: Answer, exact: bool, options: list[Option], claim: Claim, records: int, where: str
) -> None:
    """One thing after the other, with what may differ where rows were rounded."""
    reading.members(stated, where, _ANSWER, ("missed", "blur_bias") if claim.edition > 4 else ())
    check_labels(stated, answer, exact, where)
    if stated["groups"] != answer.groups:
        raise refuse("groups are not those of its label", where)
    numbers = tuple(reading.number(stated[name], f"{where} {name}") for name in ("value", "low", "high"))
    vague = reading.flag(stated["vague"], f"{where} vague")
    grain = 0.0 if claim.way.exact else noise.moved(answer, records) * _LAST_DIGIT
    # what is worked out without rounding is the number that it is; only its ends come from floats
    told = options if claim.way.rounded else [option for option in options if option[0] == numbers[0]]
    if not any(_same((*numbers, vague), option, grain) for option in told):
        at = next((n for n, x, y in zip(_ANSWER[1:4], numbers, options[0], strict=False) if x != y), "vague")
        raise refuse(f"{at} does not follow from the noisy rows", where)
    if claim.edition > 4:
        _check_marks(stated, answer, where)


def _check_marks(stated: dict[str, Any], answer: Answer, where: str) -> None:
    """A missed target and the bias of a blur are stated where they are, and nowhere else."""
    value, low, high = (float(stated[name]) for name in ("value", "low", "high"))
    within = None if answer.within is None or stated["exact"] else float(answer.within) * (1 + 1e-9)
    if stated.get("missed", False) is not (within is not None and max(high - value, value - low) > within):
        raise refuse("does not say whether its target was missed", where)
    if stated.get("blur_bias", 0.0) != answer.recipe.blur_bias:
        raise refuse("does not state the bias of its blur", where)


def _same(stated: tuple[float, ...], found: tuple[float, ...], grain: float) -> bool:
    """Equal; where rows were rounded to a grain, equal compared with it, the width of the interval and the value."""
    if not grain or stated == found:
        return stated == found
    room = grain + LOOSELY * max(abs(found[2] - found[1]), 1e-3 * max(abs(x) for x in found))
    return stated[3] == found[3] and all(abs(x - y) <= room for x, y in zip(stated[:3], found[:3], strict=True))


def _check_constant_rows(noisy: list[int], claim: Claim, records: int) -> None:
    """What is the same for all records tells their number, and nothing else.

    Where that number is private, only rows of zeros can do without noise: the certificate has seen to it.
    """
    for block in claim.loss.blocks:
        alike = all(
            len({block.moving(axis, value) for value in range(claim.policy.universe.shape[axis])}) == 1
            for axis in block.axes
        )
        if not alike:
            continue
        column = block.column([0] * len(claim.policy.universe.shape))
        for row in range(block.first, block.first + block.rows):
            if claim.loss.scales[row] == 0 and noisy[row] != column.get(row, 0) * records:
                raise refuse("is not the number of records, though a row tells it exactly", "noisy")


def _check_notes(data: Any, claim: Claim) -> None:
    wanted = list(claim.asked.notes)
    private = claim.policy.universe.absent is not None
    recipes = [(kind, recipe) for kind in claim.asked.kinds for recipe in kind.recipes]
    for kind, recipe in recipes if claim.edition > 2 else ():
        if recipe.bias:
            most = f"{three_digits(float(recipe.bias))} {kind.unit}".rstrip()
            known = claim.records or recipe.ratio or recipe.over_all
            included = "errors include it" if known else _NOT_INCLUDED
            note = f"{kind.title}: numbers are rounded to steps, by at most {most} per record; {included}"
            wanted += [note] if note not in wanted else []
    wanted += (_sizes_2 if claim.edition == 2 else _sizes)(claim)
    if private:
        rows = "rows" if claim.policy.universe.people is not None else "records"
        wanted.append(f"how many {rows} there are is private too: “count” is answered with noise")
    wanted += [claim.way.note] if claim.way.note else []
    if reading.each(data, "notes", reading.text) != wanted:
        raise refuse("are not those that belong to these queries", "notes")


_NOT_INCLUDED = "errors do not include it: the number of records is not given"
_HALF = "half as many records mean twice the error"


def _sizes(claim: Claim) -> list[str]:
    """For how many records the errors of means are."""
    if not claim.records:
        return []
    found = {((r.noun, r.assumed), kind.title): r.part for kind in claim.asked.kinds for r in kind.recipes if r.ratio}
    out = []
    for noun in dict.fromkeys(noun for noun, _ in found):
        out += _sizes_of(*noun, {title: p for (called, title), p in found.items() if called == noun}, claim.records)
    return out


def _sizes_of(noun: str, assumed: str, parts: dict[str, Fraction], records: int) -> list[str]:
    sizes: dict[int, list[str]] = {}
    for title, part in parts.items():
        if part != 1:
            sizes.setdefault(math.floor(records * part), []).append(title)
    out = [f"{noun}: errors are for {records:,} records{assumed}; {_HALF}"] if 1 in parts.values() else []
    private = f"whose sizes are private{assumed}"
    if len(sizes) == 1:
        these = f"groups of {next(iter(sizes)):,} records, {private}"
    else:
        listed = ", ".join(f"{size:,} ({' and '.join(titles)})" for size, titles in sizes.items())
        these = f"groups of so many records, {private}: {listed}"
    return [*out, f"{noun} by group or condition: errors are for {these}; {_HALF}"] if sizes else out


def _sizes_2(claim: Claim) -> list[str]:
    """The same as edition 2 said it."""
    sizes = [kind.number for kind in claim.asked.kinds if any(r.ratio for r in kind.recipes)]
    if not sizes or not claim.records:
        return []
    records = f"{claim.records // max(sizes):,} records"
    which = "means" if claim.policy.universe.absent is not None else "means by group or condition"
    these = f"groups of {records}, whose sizes are private" if max(sizes) > 1 else records
    return [f"{which}: errors are for {these}; {_HALF}"]
