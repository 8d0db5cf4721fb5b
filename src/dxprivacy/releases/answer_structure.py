"""Public facts about the answers of a release: which are nonnegative, which are integers, which form tables.

They follow from the queries and the universe in the release, never from its values.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from dxprivacy.errors import DxError, UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.releases.release import Release
from dxprivacy.universe.blocks import AlongAxis, Block, Explicit, OneHot, PeopleTable
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload


@dataclass(frozen=True)
class AnswerAxis:
    """An attribute of a table, identified by its groups; `complete` if every record is in one of them."""

    key: Hashable
    size: int
    complete: bool
    complete_without_other: bool  # every record except `other` is in one of them


@dataclass(frozen=True, eq=False)
class AnswerPart:
    """The positions, among all answers, of the answers of one block, in the order of its rows."""

    places: Ints
    nonnegative: bool  # no record counts negatively
    whole: bool
    table: tuple[AnswerAxis, ...] | None  # axes of a table that counts each record at most once

    @property
    def complete(self) -> bool:
        """Whether each record counts exactly once, so that the answers add up to the number of records."""
        return self.table is not None and all(axis.complete for axis in self.table)


def parts_of(release: Release) -> list[AnswerPart]:
    """Return the answers that are rows of the workload, block by block; ratios are left out."""
    workload = _workload(release)
    rows: dict[int, int] = {}
    for place, answer in enumerate(workload.answers):
        if (row := answer.recipe.single) is not None:
            rows[row] = place
    out = []
    for block, start in zip(workload.blocks, workload.offsets, strict=True):
        places = [rows.get(row) for row in range(start, start + block.rows)]
        if any(place is None for place in places):
            continue
        recipes = [workload.answers[place].recipe for place in places if place is not None]
        counts = all(r.single is not None and not r.is_mean and r.factor.denominator == 1 for r in recipes)
        plain = isinstance(block, OneHot) and block.unit == 1 and _ones(block)
        out.append(
            AnswerPart(
                np.array(places, dtype=np.int64),
                _nonnegative(block),
                counts,
                _axes(block) if plain and isinstance(block, OneHot) else None,
            )
        )
    return out


def _workload(release: Release) -> Workload:
    try:
        universe = Universe.from_spec(release.facts["universe"]["attributes"])
        workload = Stack(tuple(from_dict(q) for q in release.facts["queries"])).on(universe)
        same = workload.digest == release.facts["workload"] and len(workload.answers) == len(release.answers)
    except (KeyError, TypeError, ValueError, AttributeError, DxError):
        same = False
    if not same:
        raise UsageError("the release does not state valid queries for its answers", hints=["dxp verify release.json"])
    return workload


def _nonnegative(block: Block) -> bool:
    if isinstance(block, PeopleTable):
        return True
    if isinstance(block, OneHot):
        return all(bool((factor.values >= 0).all()) for factor in block.factors.values())
    if isinstance(block, AlongAxis):
        return bool((block.matrix >= 0).all())
    if isinstance(block, Explicit):
        return bool((block.matrix.data if block.sparse else block.matrix).min(initial=0) >= 0)
    return False


def _ones(block: OneHot) -> bool:
    return all(bool(((f.values == 1) | (f.groups < 0)).all()) for f in block.factors.values())


def _axes(block: OneHot) -> tuple[AnswerAxis, ...]:
    """Return the axes of a table in the order of its rows, the last one fastest."""
    out = []
    for axis, size in block.sizes.items():
        groups = block.factors[axis].groups
        listed = block.universe.attributes[axis].listed
        inside, without = bool((groups >= 0).all()), bool((groups[:listed] >= 0).all())
        out.append(AnswerAxis((axis, groups.tobytes()), size, inside, without))
    return tuple(out)
