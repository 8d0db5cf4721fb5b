"""The values of an attribute in at most so many groups: each value by itself, or neighbors together.

Where a picture shows a group, it shows the worst pair in it: nothing is averaged.  Numbers are grouped at round
numbers, days by months, quarters or years, everything else in the order of the policy; `other` stays by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.output.charts.chart_style import clean, distinct
from dxprivacy.universe.attributes.attribute import OTHER, Attribute

MOST = 24  # so many values stand by themselves
BINS = 13  # more are put into so many groups at most: few enough for a number in each cell
_LABEL = 16
_STRETCH = 24


@dataclass(frozen=True)
class Groups:
    """Groups of neighboring values: group k holds the values from starts[k] to starts[k + 1], that not included.

    >>> from dxprivacy.universe.attributes.integers import Integers
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

    @cached_property
    def _edges(self) -> Ints:
        return np.array(self.starts, dtype=np.int64)

    def find(self, values: Ints) -> Ints:
        return (np.searchsorted(self._edges, values, side="right") - 1).astype(np.int64)


def _starts(attribute: Attribute, most: int) -> list[int]:
    if attribute.listed <= most:
        return list(range(attribute.listed))
    return attribute.coarse(min(most, BINS))


def _label(attribute: Attribute, first: int, last: int) -> str:
    words = attribute.stretch(first, last)
    if words:
        return clean(words, _STRETCH)
    if first == last:
        return clean(attribute.label(first), _LABEL)
    half = _LABEL // 2
    return f"{clean(attribute.label(first), half)} … {clean(attribute.label(last), half)}"


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
