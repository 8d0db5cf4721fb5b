"""Contingency tables of every subset of that many attributes."""

import re
from collections.abc import Iterator
from itertools import chain, combinations

from dxprivacy.verify.blocks import Block
from dxprivacy.verify.grouping import group
from dxprivacy.verify.queries.answers import Asked, Each
from dxprivacy.verify.queries.base import each_row
from dxprivacy.verify.queries.grouped import Grouped
from dxprivacy.verify.queries.notes import clamped, left_out
from dxprivacy.verify.queries.soft_lines import Count
from dxprivacy.verify.queries.worded import Worded
from dxprivacy.verify.reading import refuse


class Marginals(Worded):
    """`marginals`."""

    ask = "marginals"
    listing = "of"
    optional = ("by", *Worded.optional)

    @property
    def touched(self) -> list[str]:
        return super().touched if self.by else self.universe.names

    def _axis(self, by: str) -> int:
        """Labels have values in the order of the attributes, whatever order they were named in."""
        return group(by, self.universe, self.where, edition=5).axis

    def bound(self) -> Asked:
        """A table for every selection of so many attributes."""
        names = self.by or self.universe.names
        order = int(self.of) if re.fullmatch("[0-9]{1,4}", self.of) else 0
        if not 1 <= order <= len(names):
            raise refuse(f"tables of {self.of[:20]!r} attributes", self.where)
        blocks: list[Block] = []
        tables: list[tuple[str, Grouped]] = []
        for chosen in combinations(names, order):
            count = Count({"ask": "count", "by": [*chosen]}, self.universe, self.where, edition=5, units=True)
            found = count.grouped()
            blocks.append(found.counts())
            tables.append((", ".join(sorted(chosen, key=self._axis)), found))
        number = sum(block.rows for block in blocks)

        def labels() -> Iterator[str]:
            return (f"{name}: {label}" for name, found in tables for label in found.labels)

        groups = Each(number, lambda: chain.from_iterable(found.named for _, found in tables))
        notes = [*clamped(self), *left_out(self)]
        return self.asked(blocks, Each(number, labels), groups, each_row(*blocks), notes=notes)
