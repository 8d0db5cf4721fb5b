"""Compare two policies: the pairs with larger and with smaller distances in the second, and all other changes.

Attributes are compared one by one, over pairs of records that differ only there.  Such pairs have the attribute's own
distance, whether attributes are combined by sum or by maximum.  Under a sum they generate the whole metric: if none of
them is looser, no pair of records is.  If records may be absent, the compared distances are at most twice the presence;
presence is also a setting of its own.  Values are matched by their texts in the data.  One block of pairs is in memory
at a time.

Distances within a billionth of each other count as equal: this is a page to read, not a certificate.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import number_text
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant, LineMetric
from dxprivacy.metrics.derived_metrics import AttributeMax, Capped
from dxprivacy.metrics.metric import all_pairs
from dxprivacy.metrics.with_other import WithAbsent, WithOther, along, present
from dxprivacy.policy.policy_check import finite
from dxprivacy.policy.policy_facts import PolicyFacts
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.people import People
from dxprivacy.wording import shown

_EQUAL = 1e-9
_BLOCK = 1 << 18
_OF_PEOPLE = ("key", "max_rows", "no_key", "max_people")
_PARTS = ("kind", "column", "unit", "other_value", "complete", "clamps", "bin_value", "format", "spelling")


@dataclass(frozen=True)
class Changed:
    """A pair of values and its ε in both policies."""

    pair: str
    before: float
    after: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite numbers as null."""
        return {"pair": self.pair, "before": finite(self.before), "after": finite(self.after)}


@dataclass(frozen=True)
class Changes:
    """How many pairs changed, in which direction, and the pair that changed most each way."""

    pairs: int = 0
    stricter: int = 0
    looser: int = 0
    public: int = 0  # among the looser pairs: infinite distance now
    identical: int = 0  # among the stricter pairs: distance 0 now
    tightened_most: Changed | None = None
    loosened_most: Changed | None = None

    @property
    def most(self) -> Changed | None:
        """The pair that changed most, in either direction."""
        both = [c for c in (self.loosened_most, self.tightened_most) if c]
        return max(both, key=lambda c: _size(c.before, c.after), default=None)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "pairs": self.pairs,
            "stricter": self.stricter,
            "looser": self.looser,
            "public": self.public,
            "identical": self.identical,
            "tightened_most": self.tightened_most.to_dict() if self.tightened_most else None,
            "loosened_most": self.loosened_most.to_dict() if self.loosened_most else None,
        }


@dataclass(frozen=True)
class AttributeDiff:
    """Changes of an attribute that both policies have: among listed values, and between `other` and each of them."""

    name: str
    listed: Changes
    other: Changes
    added: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing changed."""
        changed = (c.stricter or c.looser for c in (self.listed, self.other))
        return not (any(changed) or self.added or self.removed)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "listed": self.listed.to_dict(),
            "other": self.other.to_dict(),
            "values_added": list(self.added),
            "values_removed": list(self.removed),
        }


@dataclass(frozen=True)
class Setting:
    """A change that is not a distance between values: a dataset, a unit, a column; empty if not given."""

    what: str
    before: str
    after: str

    @property
    def way(self) -> str:
        """Whether the change alone makes the policy `looser` or `stricter`; empty if it does neither.

        >>> Setting("neighbors", "add-remove", "replace").way, Setting("presence", "1", "0.5").way
        ('looser', 'stricter')
        """
        if self.what == "combine":
            return "looser" if self.after == "sum" else "stricter"
        if self.what == "neighbors":  # "replace" makes n public and excludes absent records
            return "looser" if self.after == "replace" else "stricter"
        if self.what == "presence" and self.before and self.after:
            return "looser" if Fraction(self.after) > Fraction(self.before) else "stricter"
        return ""


@dataclass(frozen=True)
class WorstCaseChange:
    """The largest finite ε of a policy, and whether some distances are infinite."""

    epsilon: float
    public: bool

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"worst_case_epsilon": None if self.public else self.epsilon, "largest_finite_epsilon": self.epsilon}


@dataclass(frozen=True)
class Diff:
    """All differences between two policies."""

    before: str
    after: str
    identical: bool  # the same records at the same distances
    attributes: tuple[AttributeDiff, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    settings: tuple[Setting, ...]
    worst_before: WorstCaseChange
    worst_after: WorstCaseChange

    @property
    def looser(self) -> bool:
        """Whether some pair of records has a larger distance in the second policy."""
        if any(setting.way == "looser" for setting in self.settings):
            return True
        return any(c.looser for a in self.attributes for c in (a.listed, a.other))

    def __str__(self) -> str:
        return shown(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite numbers as null."""
        return {
            "before": {"policy": self.before, **self.worst_before.to_dict()},
            "after": {"policy": self.after, **self.worst_after.to_dict()},
            "identical": self.identical,
            "looser": self.looser,
            "attributes": [a.to_dict() for a in self.attributes],
            "attributes_added": list(self.added),
            "attributes_removed": list(self.removed),
            "settings": [vars(s) for s in self.settings],
        }


def diff(before: PolicyFacts, after: PolicyFacts) -> Diff:
    """Return what changes from one policy to another.

    >>> from dxprivacy.policy import Policy
    >>> text = 'title = "T"\\ndataset = "t"\\n[attributes.sex]\\nvalues = ["M", "F"]\\nepsilon = {}'
    >>> page = diff(Policy.parse(text.format(1)), Policy.parse(text.format(2)))
    >>> page.attributes[0].listed.looser, page.attributes[0].listed.most
    (1, Changed(pair='M – F', before=1.0, after=2.0))
    """
    old, new = _axes(before), _axes(after)
    return Diff(
        before.file.name,
        after.file.name,
        before.digest == after.digest,
        tuple(_attribute(*old[name], *new[name]) for name in old if name in new),
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        _settings(before, after),
        _worst(before.of_people),
        _worst(after.of_people),
    )


def _axes(policy: PolicyFacts) -> dict[str, tuple[Attribute, Metric]]:
    axes = along(policy.of_people) or (policy.of_people,)
    return {a.name: (a, m) for a, m in zip(policy.universe.attributes, axes, strict=True)}


def _worst(metric: Metric) -> WorstCaseChange:
    far = metric.farthest
    return WorstCaseChange(far.distance if far else 0.0, metric.has_infinite)


def _settings(before: PolicyFacts, after: PolicyFacts) -> tuple[Setting, ...]:
    found = [Setting(w, getattr(before, w), getattr(after, w)) for w in ("title", "dataset", "version")]
    found.append(Setting("neighbors", *(str(p.file.tables.get("neighbors", "replace")) for p in (before, after))))
    found.append(Setting("presence", *(_presence(p.of_people) for p in (before, after))))
    one, two = before.universe.people, after.universe.people
    if one is None and two is None:
        found.append(Setting("max records", *(str(p.universe.max_records or "") for p in (before, after))))
    found += [Setting(f"people: {what.replace('_', ' ')}", _of(one, what), _of(two, what)) for what in _OF_PEOPLE]
    found.append(Setting("file", *(str(p.universe.file) for p in (before, after))))
    if min(len(p.universe.attributes) for p in (before, after)) > 1:
        found.append(Setting("combine", *(_how(p.of_people) for p in (before, after))))
    old, new = ({a.name: a for a in p.universe.attributes} for p in (before, after))
    for name in old:
        for part in _PARTS if name in new else ():
            texts = ("" if x is None else str(x) for x in (getattr(a[name], part, None) for a in (old, new)))
            found.append(Setting(f"{name}: {part.replace('_', ' ')}", *texts))
    return tuple(s for s in found if s.before != s.after)


def _of(people: People | None, what: str) -> str:
    if people is None:
        return ""
    value = getattr(people, what)
    return ", ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)


def _how(metric: Metric) -> str:
    return "max" if isinstance(present(metric), AttributeMax) else "sum"


def _presence(metric: Metric) -> str:
    return number_text(Fraction(metric.radius)) if isinstance(metric, WithAbsent) else ""


def _attribute(a: Attribute, d: Metric, b: Attribute, e: Metric) -> AttributeDiff:
    here, there, removed, added = a.shared_with(b)
    sides = (d, e)
    listed = _Counting(a, here)
    for i, j, weight in _pairs(sides, here, there):
        listed.add(i, j, weight, d.pairwise(here[i], here[j]), e.pairwise(there[i], there[j]))
    other = _Counting(a, np.append(here, a.listed))
    if a.has_other and b.has_other:
        last = len(here)
        for start in range(0, last, _BLOCK):
            i = np.arange(start, min(start + _BLOCK, last), dtype=np.int64)
            one = np.ones(len(i), dtype=np.int64)
            before = d.pairwise(here[i], np.full(len(i), a.listed))
            other.add(i, np.full(len(i), last), one, before, e.pairwise(there[i], np.full(len(i), b.listed)))
    return AttributeDiff(a.name, listed.changes, other.changes, added, removed)


def _pairs(sides: tuple[Metric, Metric], here: Ints, there: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield pairs of positions to compare, each with the number of pairs that it represents."""
    n = len(here)
    if n > 1 and _by_difference(sides[0], here) and _by_difference(sides[1], there):
        for start in range(1, n, _BLOCK):
            j = np.arange(start, min(start + _BLOCK, n), dtype=np.int64)
            yield np.zeros(len(j), dtype=np.int64), j, n - j
        return
    for i, j in all_pairs(n):
        yield i, j, np.ones(len(i), dtype=np.int64)


def _by_difference(metric: Metric, at: Ints) -> bool:
    """Whether d(u, v) of these values depends on v - u alone, so that one pair of each difference is enough."""
    base = metric
    while isinstance(base, (WithOther, Capped)):  # `absent` and `other` come last: other indices do not change
        base = base.base
    if isinstance(base, Constant):
        return True
    return isinstance(base, LineMetric) and bool((np.diff(base.positions[at]) == 1).all())


class _Counting:
    """Counts changes block by block."""

    def __init__(self, attribute: Attribute, at: Ints) -> None:
        self._attribute, self._at = attribute, at
        self._counts = dict.fromkeys(("pairs", "stricter", "looser", "public", "identical"), 0)
        self._most: dict[str, tuple[tuple[float, float], int, int, float, float]] = {}

    def add(self, i: Ints, j: Ints, weight: Ints, before: Floats, after: Floats) -> None:
        """Add one block: pairs of positions, the number of pairs that each represents, and both distances."""
        with np.errstate(invalid="ignore"):
            close = np.abs(after - before) <= _EQUAL * np.maximum(after, before)
        same = (before == after) | (close & np.isfinite(before) & np.isfinite(after))
        masks = {"pairs": np.ones(len(i), dtype=bool), "stricter": ~same & (after < before)}
        masks["looser"] = ~same & (after > before)
        masks["public"] = masks["looser"] & np.isinf(after)
        masks["identical"] = masks["stricter"] & (after == 0)
        for what, mask in masks.items():
            self._counts[what] += int(weight[mask].sum())
        for what in ("stricter", "looser"):
            hit = np.flatnonzero(masks[what])
            if len(hit):
                self._remember(what, i[hit], j[hit], before[hit], after[hit])

    def _remember(self, what: str, i: Ints, j: Ints, before: Floats, after: Floats) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.round(np.abs(np.log(after / before)), 9)
            step = np.where(factor == factor.max(), np.abs(after - before), -1.0)  # ties go to the largest difference
        k = int(step.argmax())
        b, a = float(before[k]), float(after[k])
        found = (_size(b, a), int(i[k]), int(j[k]), b, a)
        if what not in self._most or found[0] > self._most[what][0]:
            self._most[what] = found

    @property
    def changes(self) -> Changes:
        """The counted changes."""
        label = self._attribute.label
        most = {
            what: Changed(f"{label(int(self._at[i]))} – {label(int(self._at[j]))}", before, after)
            for what, (_, i, j, before, after) in self._most.items()
        }
        return Changes(**self._counts, tightened_most=most.get("stricter"), loosened_most=most.get("looser"))


def _size(before: float, after: float) -> tuple[float, float]:
    """Return the size of a change, for comparison: by factor, then by difference; 0 and infinity are the largest."""
    if 0 in (before, after) or math.inf in (before, after):
        return math.inf, abs(after - before)
    return round(abs(math.log(after / before)), 9), abs(after - before)
