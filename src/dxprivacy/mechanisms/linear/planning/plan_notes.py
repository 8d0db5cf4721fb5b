"""Notes of plans and releases: facts besides the numbers that a reader needs. They are derived from public
facts only.
"""

import re
from fractions import Fraction

from dxprivacy.exact.rounding import number_text
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.queries.asked import Asked
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.kinds.sums import LEFT_OUT, ZERO, OfNumbers
from dxprivacy.wording import digits

_NOT_INCLUDED = "errors do not include it: the number of records is not given"
_HALF = "half as many records mean twice the error"


def notes(plan: PlanFacts) -> list[str]:
    """Return the notes of a plan without duplicates."""
    found: dict[str, None] = {}
    for asked in plan.queries.queries:
        if isinstance(asked, OfNumbers):
            found |= dict.fromkeys([*_imputed(plan, asked), *_in_cells(resolve(asked.of, plan.metric.universe))])
        found |= dict.fromkeys(asked.remarks(plan.metric.universe))
        found |= dict.fromkeys(_of_places(plan, asked))
        found |= dict.fromkeys(_clamped(plan, asked))
        if asked.by:
            found |= dict.fromkeys(_left_out(plan, asked))
    for answer in plan.workload.answers:
        if answer.recipe.bias:
            most = f"{digits(float(answer.recipe.bias))} {answer.unit}".rstrip()
            title = plan.workload.titles[answer.query]
            included = "errors include it" if plan.records or answer.recipe.is_mean else _NOT_INCLUDED
            found[f"{title}: numbers are rounded to steps, by at most {most} per record; {included}"] = None
    found |= dict.fromkeys(_sizes(plan))
    if plan.metric.universe.absent is not None:
        many = "records" if plan.metric.universe.people is None else "rows"
        found[f"how many {many} there are is private too: “count” is answered with noise"] = None
    if plan.measured.note:
        found[plan.measured.note] = None
    return list(found)


def _sizes(plan: PlanFacts) -> list[str]:
    """The numbers of records that the errors of means assume: all, or the group size if all groups are
    equally large.
    """
    if not plan.records:
        return []
    titles = plan.workload.titles
    out: list[str] = []
    asked = ((a.recipe, titles[a.query]) for a in plan.workload.answers)
    recipes = {((r.noun, r.assumed), title): part for r, title in asked if (part := r.part) is not None}
    for noun, assumed in dict.fromkeys(kind for kind, _ in recipes):
        parts = {title: part for (kind, title), part in recipes.items() if kind == (noun, assumed)}
        out += _sizes_of(noun, assumed, parts, plan.records)
    return out


def _sizes_of(noun: str, assumed: str, parts: dict[str, Fraction], records: int) -> list[str]:
    """The same for the answers of one kind."""
    by_size: dict[int, list[str]] = {}
    for title, part in parts.items():
        if part < 1:
            by_size.setdefault(int(records * part), []).append(title)
    out = []
    if any(part == 1 for part in parts.values()):
        out.append(f"{noun}: errors are for {records:,} records{assumed}; {_HALF}")
    by = f"{noun} by group or condition"
    if len(by_size) == 1:
        (size,) = by_size
        out.append(f"{by}: errors are for groups of {size:,} records, whose sizes are private{assumed}; {_HALF}")
    elif by_size:
        sizes = ", ".join(f"{size:,} ({' and '.join(titles)})" for size, titles in by_size.items())
        these = f"groups of so many records, whose sizes are private{assumed}: {sizes}"
        out.append(f"{by}: errors are for {these}; {_HALF}")
    return out


def _left_out(plan: PlanFacts, asked: Asked) -> list[str]:
    """The note on records in no group, because their grouping value is missing or invalid."""
    refs = [resolve(re.split(r"[/\[]", spec)[0].strip(), plan.metric.universe) for spec in asked.by]
    names = list(dict.fromkeys(ref.attribute.name for ref in refs if ref.attribute.has_other))
    if not names:
        return []
    which, each = " or ".join(names), ", ".join(f"count where {name}=other" for name in names)
    return [f"records whose {which} is missing or invalid are in no group; to count them: {each}"]


def _imputed(plan: PlanFacts, asked: OfNumbers) -> list[str]:
    """The note on how missing numbers count, unless a condition or grouping leaves them out."""
    ref = resolve(asked.of, plan.metric.universe)
    attribute = ref.attribute
    conditioned = any(resolve(name, plan.metric.universe).axis == ref.axis for name, _ in asked.where)
    grouped = any(
        resolve(spec.partition("/")[0].partition("[")[0], plan.metric.universe).axis == ref.axis for spec in asked.by
    )
    if not attribute.has_other or conditioned or grouped or ref.numbers is None:
        return []
    if asked.missing == LEFT_OUT and not attribute.complete:
        return [f"records whose {attribute.name} is missing or invalid are left out of means of {ref.name}"]
    zero = asked.missing == ZERO
    value = number_text(attribute.other_in_sums(ref.numbers, Fraction(0) if zero else None))
    text = f"a missing or invalid {attribute.name} counts as {value} {ref.unit}".rstrip()
    if zero:
        return [f"{text} in sums"]
    if attribute.complete:
        return [f"{text} in means; the policy says that there is none"]
    text += " in sums and means"
    if attribute.span is not None:
        ends = "..".join(number_text(end) for end in attribute.span)
        text += f"; for valid ones only: {asked.ask} {asked.of} where {attribute.name}={ends}"
    return [text]


def _in_cells(ref: Reference) -> list[str]:
    """The note on binning: how much the bins of a number can hide."""
    if not ref.counts_as:
        return []
    unit = f" {ref.unit}" if ref.unit else ""
    most = f"{ref.most_hidden}{unit}"
    return [
        f"{ref.name} counts as {ref.counts_as}{unit}: "
        f"errors and intervals include the most that this can hide, {most} of a mean, that much per record of a sum"
    ]


def _of_places(plan: PlanFacts, asked: Asked) -> list[str]:
    """The note on coordinates that stand for listed places, not for the positions of records."""
    universe = plan.metric.universe
    refs = (resolve(name, universe) for name in asked.names(universe))
    about = ((ref.name, ref.attribute.stands_for(ref.fact)) for ref in refs if ref.fact is not None)
    return [
        f"{name} is {what}: answers and intervals are about it, not about where records lie"
        for name, what in about
        if what
    ]


def _clamped(plan: PlanFacts, asked: Asked) -> list[str]:
    """The note on clamping: the effect of numbers outside the range cannot be bounded."""
    universe = plan.metric.universe
    return [
        f"{ref.name} outside its range counts as the nearest end, so its first and last value hold all that lies "
        "beyond: how far that moves an answer is not known"
        for ref in (resolve(name, universe) for name in asked.names(universe))
        if ref.attribute.clamps
    ]
