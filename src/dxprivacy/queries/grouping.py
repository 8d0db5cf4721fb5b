"""Resolve the names in a query, and find the values in each group and those that fulfil a condition."""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import overload

import numpy as np

from dxprivacy.errors import Hint, QueryError, did_you_mean, listed_instead
from dxprivacy.exact.answer_grid import ends_of
from dxprivacy.exact.arrays import Bools, Ints
from dxprivacy.exact.rounding import number_text
from dxprivacy.queries.conditions import AllOf, AnyOf, Compared, Condition, Not, Plain, is_range
from dxprivacy.queries.text.written_names import end_text, named_condition, write_condition
from dxprivacy.universe.attributes.attribute import Attribute, Property
from dxprivacy.universe.ordering.order import Name, Places, Scale, SideOfGrid, rough_text
from dxprivacy.universe.ordering.order_of_names import from_to
from dxprivacy.universe.universe import Universe

SPEC = re.compile(r"(?P<name>[^\[\]/]+)(?:/(?P<width>[^\[\]/]+)|\[(?P<edges>[^\[\]]*)\])?")

_MANY = 500_000  # values; the labels of more are made on demand


@dataclass(frozen=True)
class Reference:
    """What a name in a query means: an attribute, or a public property of its values."""

    axis: int
    attribute: Attribute
    fact: Property | None = None

    @property
    def name(self) -> str:
        """The name as a user writes it."""
        return self.fact.name if self.fact else self.attribute.name

    @property
    def unit(self) -> str:
        """The unit of its numbers."""
        return self.fact.unit if self.fact else self.attribute.unit

    @property
    def numbers(self) -> Sequence[Fraction] | None:
        """The number of each listed value; None if there are no numbers."""
        return self.fact.numbers if self.fact else self.attribute.numbers

    @property
    def instead_of_numbers(self) -> tuple[Hint, ...]:
        """Hints for an attribute without numbers."""
        return self.attribute.instead_of_numbers if self.fact is None else ()

    @property
    def entry(self) -> Attribute | None:
        """The attribute that reads the entries of its column; None for a property without a column."""
        return self.attribute.entry_of(self.fact)

    @property
    def limits(self) -> tuple[str, str] | None:
        """The least and the largest valid entry, if records outside of them count as `other`; else None."""
        may_be_other = self.attribute.has_other and not self.attribute.complete
        return self.entry.limits if may_be_other and self.entry is not None and not self.entry.clamps else None

    @property
    def hides(self) -> tuple[Fraction, Fraction]:
        """The binning error: how far below and above its number a valid entry may lie."""
        return self.attribute.hides(self.fact)

    @property
    def counts_as(self) -> str:
        """What its numbers count as in sums, as text; empty if they count as themselves."""
        return self.attribute.counts_as_in_sums(self.fact)

    @property
    def counts_more(self) -> bool:
        """Whether a range or a value counts more than its text: bins, or ends that contain all values beyond them."""
        return self.entry.counts_more if self.entry is not None else self._on_a_side

    @property
    def _on_a_side(self) -> bool:
        return isinstance(self.attribute.order(self.fact), SideOfGrid)

    @property
    def most_hidden(self) -> str:
        """The largest binning error of its number, as text."""
        most = max(self.hides)
        return rough_text(most) if self._on_a_side else number_text(most)

    def ends(self, besides: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        """Return the range of a mean: of valid entries, and of the other numbers that count."""
        below, above = self.hides
        least, largest = ends_of(self.numbers or ())
        return min(*besides, least - below, least), max(*besides, largest + above, largest)

    def left_out_of(self, called: str) -> list[str]:
        """Return remarks about records that are left out and about binning errors."""
        attribute, unit = self.attribute, f" {self.unit}" if self.unit else ""
        out = []
        if attribute.has_other and not attribute.complete:
            out.append(f"records whose {attribute.name} is missing or invalid are left out of “{called}”")
        if self.counts_as:
            out.append(
                f"{self.name} counts as {self.counts_as}{unit}: what this can hide of “{called}” is in errors and "
                "intervals"
            )
        return out

    def text(self, index: int) -> str:
        """Return the label of a listed value."""
        return self.fact.entries[index] if self.fact else self.attribute.label(index)


def resolve(name: str, universe: Universe) -> Reference:
    """Find what a name means: `sex`, `home.state`, or just `state` if only one attribute has this property."""
    for axis, attribute in enumerate(universe.attributes):
        if attribute.name == name:
            return Reference(axis, attribute)
    owner, _, short = name.rpartition(".")
    found = [
        Reference(axis, attribute, fact)
        for axis, attribute in enumerate(universe.attributes)
        for fact in attribute.properties.values()
        if fact.name == short and owner in ("", attribute.name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise QueryError(f"“{name}” is ambiguous", hints=[f"{r.attribute.name}.{short}" for r in found])
    facts = [f"{a.name}.{p}" for a in universe.attributes for p in a.properties]
    known = [*universe.names, *facts]
    shorts = {fact.rpartition(".")[2]: fact for fact in facts}
    close = did_you_mean(name, [*known, *shorts])
    raise QueryError(
        f"no attribute “{name}”" + (f" · did you mean {close[0][0]}?" if close else ""),
        details=[f"there are: {', '.join(known)}"],
    )


@dataclass(frozen=True)
class Grouping:
    """The group of each value of one attribute (-1 for `other`), and the groups' labels."""

    axis: int
    groups: Ints
    labels: Sequence[str]
    name: str = ""
    ends: tuple[tuple[str, str], ...] = ()  # the first and last name of each group, if values are ordered names

    def from_to(self, first: int, last: int) -> str:
        """Return the label of several neighboring groups together."""
        if self.ends:
            return from_to(self.ends[first][0], self.ends[last][1])
        return joined(self.labels[first], self.labels[last])


def joined(first: str, last: str) -> str:
    """Join two labels: `0–9` and `30–39` become `0–39`, `0–9` and `65+` become `0+`; likewise `0 to 10`."""
    if first == last:
        return first
    if " to " in first and last.endswith("+"):
        return f"{first.partition(' to ')[0]}+"
    if " to " in first and " to " in last:
        return f"{first.partition(' to ')[0]} to {last.partition(' to ')[2]}"
    start = first.partition("–")[0]
    return f"{start}+" if last.endswith("+") else f"{start}–{last.rpartition('–')[2]}"


class _Texts(Sequence[str]):
    """Labels of very many values, each made on demand; often such a query is refused before any is needed."""

    def __init__(self, ref: "Reference") -> None:
        self._ref = ref

    def __len__(self) -> int:
        return self._ref.attribute.listed

    @overload
    def __getitem__(self, k: int) -> str: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[str]: ...
    def __getitem__(self, k: int | slice) -> str | Sequence[str]:
        places = range(len(self))
        return [self._ref.text(i) for i in places[k]] if isinstance(k, slice) else self._ref.text(places[k])


def group(spec: str, universe: Universe) -> Grouping:
    """Return the groups of `age`, `age/10`, `age[0,18,65]`, `home.state`, `visit/month` or `visit[2026-01-01,…]`."""
    match = SPEC.fullmatch(spec.strip())
    if match is None:
        raise QueryError(f"cannot group by “{spec}”", hints=["age", "age/10", "age[0,18,65]"])
    ref = resolve(match["name"].strip(), universe)
    if match["width"] is not None:
        keys, labels = _scale(ref, spec).steps(match["width"].strip())
        return _grouping(ref, keys, labels)
    if match["edges"] is not None:
        return _between_edges(ref, _scale(ref, spec), match["edges"])
    if ref.fact is not None and ref.entry is not None:
        return _grouping(ref, ref.attribute.places_of(ref.fact), [ref.entry.label(k) for k in range(ref.entry.listed)])
    if ref.fact is None:
        return _each_value(ref)
    texts = [ref.text(k) for k in range(ref.attribute.listed)]
    numbers = dict(zip(texts, ref.numbers, strict=True)) if ref.numbers is not None else {}
    place = {t: k for k, t in enumerate(sorted(set(texts), key=lambda t: (numbers.get(t, Fraction(0)), t)))}
    return _grouping(ref, [place[t] for t in texts], list(place))


def _each_value(ref: Reference) -> Grouping:
    """Return a grouping where every listed value is a group."""
    listed = ref.attribute.listed
    groups = np.arange(listed + ref.attribute.has_other, dtype=np.int64)
    groups[listed:] = -1
    labels = _Texts(ref) if listed > _MANY else tuple(ref.text(k) for k in range(listed))
    ends = tuple((label, label) for label in labels) if ref.attribute.ranked else ()
    return Grouping(ref.axis, groups, labels, ref.name, ends)


def _between_edges(ref: Reference, scale: Scale, written: str) -> Grouping:
    edges = [scale.read(e.strip()) for e in written.split(",") if e.strip()]
    if not edges or any(a >= b for a, b in pairwise(edges)):
        raise QueryError(f"the edges of {ref.name} must grow", hints=[f"{ref.name}[{scale.example}]"])
    lows, highs = edges, [*edges[1:], None]
    if ref.limits is not None and (bounds := scale.bounds) is not None:  # entries beyond the range are `other`
        least, most = bounds
        lows, highs = [max(low, least) for low in lows], [most if high is None else min(high, most) for high in highs]
    return _grouping(ref, scale.places(edges), [scale.label(a, b) for a, b in zip(lows, highs, strict=True)])


def _grouping(ref: Reference, groups: Places, labels: Sequence[str]) -> Grouping:
    """Return a grouping without the groups that contain no possible record, whose counts would always be 0."""
    of_each = np.asarray(groups, dtype=np.int64)
    present = np.unique(of_each[of_each >= 0])
    if not len(present):
        raise QueryError(f"no possible record is in any group of {ref.name}")
    if len(present) < len(labels):
        of_each = np.where(of_each < 0, -1, np.searchsorted(present, of_each))
        labels = [labels[g] for g in present]
    padded = np.concatenate([of_each, np.full(int(ref.attribute.has_other), -1, dtype=np.int64)])
    name = f"{ref.attribute.name}.{ref.name}" if ref.fact else ref.name
    ends = _named_ends(ref, of_each, len(labels)) if ref.fact is None and ref.attribute.ranked else ()
    return Grouping(ref.axis, padded, tuple(labels), name, ends)


def _named_ends(ref: Reference, groups: Ints, count: int) -> tuple[tuple[str, str], ...]:
    """Return the names of the first and last value of each group; groups consist of neighboring values."""
    starts = np.searchsorted(groups, np.arange(count + 1))
    return tuple((ref.text(int(a)), ref.text(int(b) - 1)) for a, b in pairwise(starts))


def _scale(ref: Reference, spec: str, ends: Plain = ()) -> Scale:
    scale = ref.attribute.order(ref.fact)
    if scale is None and ends and isinstance(ends[0], Name):
        raise QueryError(
            f"{ref.name} has no order, so nothing lies from {str(ends[0])[:40]!r} to {str(ends[1])[:40]!r}",
            hints=[
                (f"{spec}=…|…", "any of some values"),
                ('order = ["never", "rarely", "often"]', "in the policy: values in their order"),
            ],
        )
    if scale is None:
        raise QueryError(f"{ref.name} has no numbers, so “{spec}” has no meaning", hints=[ref.name])
    return scale


def told(name: str, wanted: Condition, universe: Universe) -> str | None:
    """Describe what a condition really counts, if that differs from its words; else return None.

    For binned numbers, a range is half open, except at the last end, and a single number means its bin.  The ends of a
    range that clamps contain all values beyond them.  A negated condition includes `other`.  A comparison ends where
    the policy's range ends, because entries beyond it are `other`.
    """
    ref = resolve(name, universe)
    if isinstance(wanted, Compared):
        limit = _limit_words(ref, wanted)
        return f"{named_condition(name, wanted)}{limit}" if limit else None
    if isinstance(wanted, tuple):
        words = _counted(ref, name, wanted)
        return None if words is None else f"{name} {words}"
    words, more = _phrase(ref, name, wanted)
    with_other = ref.attribute.has_other and bool(fulfilling(ref, name, wanted)[-1])
    return f"{name} {words}{' (other included)' if with_other else ''}" if more or with_other else None


def _counted(ref: Reference, name: str, wanted: Plain) -> str | None:
    """Describe what values or a range really count, if that is more than their words; else return None."""
    entry = ref.entry
    if entry is None and is_range(wanted):
        return _scale(ref, name, wanted).range_words(wanted[0], wanted[1])
    if entry is None or not entry.counts_more:
        return None
    if is_range(wanted):
        scale = _scale(ref, name)
        return entry.range_words(*scale.ends(wanted[0], wanted[1]))
    return entry.values_words(sorted({k for v in wanted for k in entry.find_all(v)}))


def require_within_limits(name: str, wanted: Plain | Compared, universe: Universe) -> None:
    """Refuse a range or comparison that names entries outside the policy's range, which count as `other`.

    Ranges of bins are accepted: their labels name the part that is counted.
    """
    ref = resolve(name, universe)
    ranged = not isinstance(wanted, Compared)
    if ref.limits is None or (ranged and (not is_range(wanted) or ref.counts_more)):
        return
    scale = _scale(ref, name)
    least, most = scale.reach
    if isinstance(wanted, Compared):
        low, high = scale.ends(wanted.end, wanted.end)
        low, high = {
            ">": (high + scale.grain, most),
            ">=": (low, most),
            "<": (least, low - scale.grain),
            "<=": (least, high),
        }[wanted.sign]
        instead = f"{name}>={ref.limits[0]}" if wanted.sign in (">", ">=") else f"{name}<={ref.limits[1]}"
    else:
        low, high = scale.ends(wanted[0], wanted[1])
        first = ref.limits[0] if low < least else end_text(wanted[0])
        instead = f"{name}={first}..{ref.limits[1] if high > most else end_text(wanted[1])}"
    if low < least or high > most:
        raise QueryError(
            f"{named_condition(name, wanted)} reaches beyond the policy's range of {ref.name}, "
            f"{ref.limits[0]} to {ref.limits[1]}",
            details=[f"A record whose {ref.name} is outside this range counts as `other`, not as a number."],
            hints=[(instead, "the part that is counted"), (f"count where {ref.attribute.name}=other", "the rest")],
        )


def _limit_words(ref: Reference, wanted: Compared) -> str:
    """Return the end of a comparison on its open side; empty if no record can lie beyond the policy's range."""
    if ref.limits is None:
        return ""
    return f" (up to {ref.limits[1]})" if wanted.sign in (">", ">=") else f" (from {ref.limits[0]})"


def _phrase(ref: Reference, name: str, wanted: Condition) -> tuple[str, bool]:
    """Write a condition without its name; also return whether its words differ from the given ones."""
    match wanted:
        case Compared(sign, end):
            limit = _limit_words(ref, wanted)
            return f"{sign}{end_text(end)}{limit}", bool(limit)
        case Not(inner):
            text, more = _phrase(ref, name, inner)
            return f"not ({text})" if isinstance(inner, (AnyOf, AllOf)) else f"not {text}", more
        case AnyOf(parts) | AllOf(parts):
            found = [(*_phrase(ref, name, part), isinstance(part, (AnyOf, AllOf))) for part in parts]
            joint = " or " if isinstance(wanted, AnyOf) else " and "
            return joint.join(f"({text})" if deep else text for text, _, deep in found), any(m for _, m, _ in found)
        case _:
            words = _counted(ref, name, wanted)
            return (write_condition(wanted, logic=True), False) if words is None else (words, True)


def selected(name: str, wanted: Condition, universe: Universe) -> tuple[int, Bools]:
    """Return the axis of a condition, and a mask of the attribute's values that fulfil it; refuse an empty mask."""
    ref = resolve(name, universe)
    mask = fulfilling(ref, name, wanted)
    if not mask.any():
        raise QueryError(f"no possible record fulfils the condition on {ref.name}")
    return ref.axis, mask


def fulfilling(ref: Reference, name: str, wanted: Condition) -> Bools:
    """Return a mask of the values that fulfil a condition; each value, range and comparison must match some value."""
    match wanted:
        case Not(inner):
            return ~fulfilling(ref, name, inner)
        case AnyOf(parts):
            return reduce(operator.or_, (fulfilling(ref, name, part) for part in parts))  # one by one: masks are large
        case AllOf(parts):
            return reduce(operator.and_, (fulfilling(ref, name, part) for part in parts))
        case Compared():
            hit = _on_one_side(ref, name, wanted)
        case _:
            hit = _among(ref, name, wanted)
    if not len(hit):
        raise QueryError(f"no possible record fulfils the condition on {ref.name}")
    mask = np.zeros(ref.attribute.size, dtype=bool)
    mask[slice(hit.start, hit.stop) if isinstance(hit, range) else hit] = True
    return mask


def _among(ref: Reference, name: str, wanted: Plain) -> Sequence[int]:
    if is_range(wanted):
        return _scale(ref, name, wanted).inside(wanted[0], wanted[1])
    if ref.fact is not None and ref.entry is not None:
        meant = {k for v in wanted for k in ref.entry.find_all(v)}
        return [k for k, place in enumerate(ref.attribute.places_of(ref.fact)) if place in meant]
    if ref.fact is None:
        return [k for v in wanted for k in ref.attribute.find_all(v)]
    known, asked = set(ref.fact.entries), {str(v) for v in wanted}
    unknown = [str(v) for v in wanted if v not in known]
    if unknown:
        hints = listed_instead(unknown[0], dict.fromkeys(ref.fact.entries))
        raise QueryError(f"{ref.name} has no value {unknown[0]!r}", hints=hints)
    return [k for k, entry in enumerate(ref.fact.entries) if entry in asked]


def _on_one_side(ref: Reference, name: str, wanted: Compared) -> Sequence[int]:
    """Return the values for which a comparison holds; refuse one that would also hold for entries beyond its words."""
    if ref.entry is None and ref.attribute.is_series and (any(ref.hides) or ref.attribute.clamps):
        raise QueryError(
            f"{name} adds up numbers that are known in bins or moved to the ends of a range; it cannot be compared",
            hints=[f"mean {name}", f"sum {name}"],
        )
    words = named_condition(name, wanted)
    scale = _scale(ref, words)
    hit = scale.compared(wanted.sign, wanted.end)
    if len(hit) and ref.entry is not None and ref.entry.clamps:
        starts = [scale.starts[k] for k in (hit[:: len(hit) - 1 or 1] if isinstance(hit, range) else hit)]
        least, most = ends_of(scale.starts)
        if min(starts) == least if wanted.sign in (">", ">=") else max(starts) == most:
            raise QueryError(
                f"{words} would also hold for entries beyond the range of {ref.name}",
                details=[f"The policy counts a {ref.name} outside its range as the nearest end of it."],
                hints=[("an end within the range", "the first and the last value hold all that lies beyond them")],
            )
    return hit
