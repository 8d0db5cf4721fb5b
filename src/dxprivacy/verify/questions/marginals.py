"""Contingency tables of every choice of so many attributes."""

import re
from dataclasses import replace
from itertools import combinations

from dxprivacy.verify.blocks import Block
from dxprivacy.verify.questions.answers import Asked, Recipe
from dxprivacy.verify.questions.grouped import Count
from dxprivacy.verify.questions.notes import clamped, left_out
from dxprivacy.verify.questions.worded import Worded
from dxprivacy.verify.reading import refuse


class Marginals(Worded):
    """`marginals`."""

    ask = "marginals"
    listing = "of"
    optional = ("by", *Worded.optional)

    @property
    def touched(self) -> list[str]:
        return super().touched if self.by else self.universe.names

    def bound(self) -> Asked:
        """A table for every choice of so many attributes."""
        names = self.by or self.universe.names
        order = int(self.of) if re.fullmatch("[0-9]{1,4}", self.of) else 0
        if not 1 <= order <= len(names):
            raise refuse(f"tables of {self.of[:20]!r} attributes", self.where)
        blocks: list[Block] = []
        labels: list[str] = []
        groups: list[dict[str, str]] = []
        recipes: list[Recipe] = []
        for chosen in combinations(names, order):
            table = Count({"ask": "count", "by": [*chosen]}, self.universe, self.where, edition=3, units=True).bound()
            start = sum(b.rows for b in blocks)
            blocks += table.blocks
            labels += [f"{', '.join(chosen)}: {a.label}" for a in table.answers]
            groups += [a.groups for a in table.answers]
            recipes += [replace(a.recipe, row=a.recipe.row + start) for a in table.answers]
        return self.asked(blocks, labels, groups, recipes, notes=[*clamped(self), *left_out(self)])
