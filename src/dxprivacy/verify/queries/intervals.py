"""Counts of neighboring groups: all up to each, or from each to each."""

from abc import abstractmethod

from dxprivacy.verify.blocks import Along
from dxprivacy.verify.grouping import group
from dxprivacy.verify.queries.answers import Asked
from dxprivacy.verify.queries.base import each_row
from dxprivacy.verify.queries.notes import clamped
from dxprivacy.verify.queries.worded import Worded, bare
from dxprivacy.verify.reading import refuse

_MOST_RANGES = 300


class _Intervals(Worded):
    """From one group to another."""

    @abstractmethod
    def spans(self, groups: int) -> list[tuple[int, int]]:
        """The first and the last group of each."""

    @property
    def touched(self) -> list[str]:
        return [bare(self.of)]

    def bound(self) -> Asked:
        grouping = group(self.of, self.universe, self.where, edition=self.edition)
        spans = self.spans(len(grouping.labels))
        block = Along(grouping.axis, grouping.groups, spans)
        labels = [grouping.joined(a, b) for a, b in spans]
        named = [((grouping.column, label),) for label in labels]
        return self.asked([block], labels, named, each_row(block), notes=clamped(self))


class Prefixes(_Intervals):
    """`prefixes`."""

    ask = "prefixes"

    def spans(self, groups: int) -> list[tuple[int, int]]:
        return [(0, k) for k in range(groups)]


class Ranges(_Intervals):
    """`ranges`."""

    ask = "ranges"

    def spans(self, groups: int) -> list[tuple[int, int]]:
        if groups > _MOST_RANGES:
            raise refuse("asks for too many ranges", self.where)
        return [(a, b) for a in range(groups) for b in range(a, groups)]
