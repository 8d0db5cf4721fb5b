"""The values of an attribute in at most so many groups: each value by itself, or neighbours together.

Where a picture shows a group, it shows the worst pair in it: nothing is averaged.  Numbers are grouped at round
numbers, days by months, quarters or years, everything else in the order of the policy; `other` stays by itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.attributes.base import OTHER, Attribute, Integers
from dxprivacy.attributes.ordered import Dates, Numbers
from dxprivacy.exact.arrays import Ints
from dxprivacy.plots.style import clean, distinct

MOST = 24  # so many values stand by themselves
BINS = 13  # more are put into so many groups at most: few enough for a number in each cell
_LABEL = 16


@dataclass(frozen=True)
class Groups:
    """Groups of neighbouring values: group k holds the values from starts[k] to starts[k + 1], that not included.

    >>> Groups.of(Integers(name="age", low=0, high=100)).labels[:3]
    ('0 – 9', '10 – 19', '20 – 29')
    """

    starts: tuple[int, ...]
    size: int
    labels: tuple[str, ...]

    @classmethod
    def of(cls, attribute: Attribute, most: int = MOST) -> "Groups":
        """Every value by itself where there are at most so many, otherwise in groups; `other` by itself."""
        starts = _starts(attribute, most)
        ends = [*starts[1:], attribute.listed]
        labels = [_label(attribute, a, b - 1) for a, b in zip(starts, ends, strict=True)]
        if attribute.has_other:
            starts, labels = [*starts, attribute.listed], [*labels, OTHER]
        return cls(tuple(starts), attribute.size, tuple(distinct(labels)))

    @property
    def coarse(self) -> bool:
        """Whether any group holds several values."""
        return len(self.starts) < self.size

    def single(self, k: int) -> bool:
        """Whether a group holds one value only."""
        return (self.starts[k + 1] if k + 1 < len(self.starts) else self.size) - self.starts[k] == 1

    @cached_property
    def _edges(self) -> Ints:
        return np.array(self.starts, dtype=np.int64)

    def find(self, values: Ints) -> Ints:
        """The group of each value."""
        return (np.searchsorted(self._edges, values, side="right") - 1).astype(np.int64)


def _starts(attribute: Attribute, most: int) -> list[int]:
    n = attribute.listed
    if n <= most:
        return list(range(n))
    most = min(most, BINS)
    if isinstance(attribute, Dates):
        found = _calendar(attribute, most)
        if found:
            return found
    if isinstance(attribute, (Integers, Numbers)):
        step = float(attribute.step) if isinstance(attribute, Numbers) else 1.0
        low = float(attribute.low)
        for size in _round_sizes(n * step / most):
            # Rounded to whole steps of the attribute: a cell of its grid is never cut.
            edges = {math.ceil((k * size - low) / step - 1e-9) for k in range(*_span(low, low + n * step, size))}
            starts = sorted({0, *(e for e in edges if 0 < e < n)})
            if len(starts) <= most:
                return starts
    return [round(k * n / most) for k in range(most)]


def _round_sizes(least: float) -> list[float]:
    """Round numbers, from the first that is large enough."""
    power = 10.0 ** math.floor(math.log10(least))
    return [m * power for m in (1, 2, 5, 10, 20, 50, 100) if m * power >= least * (1 - 1e-9)]


def _span(low: float, high: float, size: float) -> tuple[int, int]:
    return math.floor(low / size), math.ceil(high / size) + 1


def _calendar(attribute: Dates, most: int) -> list[int]:
    """By months, quarters or years, the finest that fits; nothing where even years are too many."""
    days = [attribute.day(k) for k in range(attribute.listed)]
    for months in (1, 3, 12):
        keys = [(12 * d.year + d.month - 1) // months for d in days]
        starts = [k for k, key in enumerate(keys) if not k or key != keys[k - 1]]
        if len(starts) <= most:
            return starts
    return []


def _label(attribute: Attribute, first: int, last: int) -> str:
    if isinstance(attribute, Numbers):
        return _from_to(attribute, first, last)
    if first == last:
        return clean(attribute.label(first), _LABEL)
    if isinstance(attribute, Dates):
        return _days(attribute, first, last)
    if isinstance(attribute, Integers):
        return clean(f"{attribute.label(first)} – {attribute.label(last)}", 24)
    half = _LABEL // 2
    return f"{clean(attribute.label(first), half)} … {clean(attribute.label(last), half)}"


def _from_to(attribute: Numbers, first: int, last: int) -> str:
    return f"{_short(float(attribute.start(first)))} – {_short(float(attribute.start(last + 1)))}"


def _short(x: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= 10 * size or (abs(x) >= size and x % (size / 10) == 0):
            return f"{x / size:.4g}{letter}"
    return f"{x:.4g}"


def _days(attribute: Dates, first: int, last: int) -> str:
    a, b = attribute.day(first), attribute.day(last)
    if (a.year, a.month) == (b.year, b.month):
        return f"{a:%Y-%m}"
    if a.year == b.year and (a.month - 1) // 3 == (b.month - 1) // 3:
        return f"{a.year} Q{(a.month - 1) // 3 + 1}"
    return f"{a.year}" if a.year == b.year else f"{a:%Y-%m} – {b:%Y-%m}"


def runs(classes: Ints, groups: Groups) -> Ints:
    """The first and the last value of each run of equal classes within each group.

    On a line nothing else can be the worst: of two runs, their closest ends are the closest pair that tells the same.
    """
    n = len(classes)
    if n < 2:
        return np.arange(n, dtype=np.int64)
    at = groups.find(np.arange(n, dtype=np.int64))
    change = np.flatnonzero((np.diff(classes) != 0) | (np.diff(at) != 0))
    return np.unique(np.concatenate([[0, n - 1], change, change + 1])).astype(np.int64)


def pairs_of(values: Ints, more: Sequence[int] = ()) -> tuple[Ints, Ints]:
    """All pairs of the given values, the smaller first.

    >>> [x.tolist() for x in pairs_of(np.array([1, 3]), [7])]
    [[1, 1, 3], [3, 7, 7]]
    """
    chosen = np.unique(np.append(values, np.array(list(more), dtype=np.int64)))
    first, second = np.triu_indices(len(chosen), 1)
    return chosen[first], chosen[second]
