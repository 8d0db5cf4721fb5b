"""What belongs to be said of queries: whom they leave out, what counts as what (docs/formats.md, section 8)."""

from fractions import Fraction

from dxprivacy.verify.grouping import Named, resolve
from dxprivacy.verify.queries.worded import Worded, bare
from dxprivacy.verify.words import number_text


def clamped(query: Worded) -> list[str]:
    """That coordinates are those of listed places, and that the ends of a range which clamps hold more than theirs."""
    if query.edition == 2:
        return []
    touched = [resolve(name, query.universe, query.where) for name in query.touched]
    listed = [(of.name, of.attribute.stands_for(of.fact.name)) for of in touched if of.fact is not None]
    return [
        f"{name} is {what}: answers and intervals are about it, not about where records lie"
        for name, what in listed
        if what
    ] + [
        f"{named.name} outside its range counts as the nearest end, so its first and last value hold all that lies "
        "beyond: how far that moves an answer is not known"
        for named in touched
        if named.attribute.clamp
    ]


def left_out(query: Worded) -> list[str]:
    """Whom no group holds."""
    grouped = [resolve(bare(by), query.universe, query.where) for by in query.by]
    names = list(dict.fromkeys(of.attribute.name for of in grouped if of.attribute.other))
    if not names:
        return []
    which = " or ".join(names)
    if query.edition == 2:
        return [f"records whose {which} is missing or invalid are in no group; they are: count where {names[0]}=other"]
    each = ", ".join(f"count where {name}=other" for name in names)
    return [f"records whose {which} is missing or invalid are in no group; to count them: {each}"]


def missing_in_sums(of: Named, value: Fraction, unit: str) -> list[str]:
    """What an invalid number counts in a sum."""
    return [f"{_counts_as(of, value, unit)} in sums"]


def missing_in_means(of: Named, value: Fraction, unit: str) -> list[str]:
    """That means leave invalid numbers out, or that there are none."""
    if of.attribute.complete:
        return [f"{_counts_as(of, value, unit)} in means; the policy says that there is none"]
    return [f"records whose {of.attribute.name} is missing or invalid are left out of means of {of.name}"]


def missing_in_both(of: Named, value: Fraction, unit: str, query: str) -> list[str]:
    """As 0.1.0 counted an invalid number, in sums and in means."""
    a = of.attribute
    if a.complete:
        return missing_in_means(of, value, unit)
    text = f"{_counts_as(of, value, unit)} in sums and means"
    return [text + ("" if a.range is None else f"; for valid ones only: {query} where {a.name}={a.range}")]


def _counts_as(of: Named, value: Fraction, unit: str) -> str:
    return f"a missing or invalid {of.attribute.name} counts as {number_text(value)} {unit}".rstrip()


def left_out_of(of: Named, called: str, unit: str) -> list[str]:
    """That only valid numbers count, and that cells hide something."""
    attribute, behind, out = of.attribute, f" {unit}" if unit else "", []
    if attribute.other and not attribute.complete:
        out.append(f"records whose {attribute.name} is missing or invalid are left out of “{called}”")
    if (counts := attribute.counts_as("" if of.fact is None else of.fact.name)) is not None:
        end, step, _ = counts
        out.append(
            f"{of.name} counts as the {end} of its step of {step}{behind}: what this can hide of “{called}” is in "
            "errors and intervals"
        )
    return out


def in_cells(of: Named, unit: str, edition: int) -> list[str]:
    """How far what a cell counts as may be from the number."""
    counts, cells = of.attribute.counts_as("" if of.fact is None else of.fact.name), of.attribute.cells
    if counts is None:
        return []
    behind = f" {unit}" if unit else ""
    end, size, most = counts
    step = f"its step of {size}{behind}"
    if edition == 2 and cells is not None:
        clamped = "; numbers outside the range count as the nearest end" if cells.clamp else ""
        half = number_text(cells.step / 2 * of.attribute.together(of.name))
        return [
            f"{of.name} counts as the middle of {step}: this moves a mean by at most {half}{behind}, a sum by at most "
            f"that much per record{clamped}"
        ]
    return [
        f"{of.name} counts as the {end} of {step}: errors and intervals include the most that this can hide, "
        f"{most}{behind} of a mean, that much per record of a sum"
    ]
