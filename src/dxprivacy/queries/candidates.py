"""Candidates and their scores: what a choice is made among, bound to a universe, in whole numbers.

The score of candidate r is `u_r = -max_t (sign_t (A x)_row(t) - offset_t)` over its terms t, with signs -1, 0 or 1.
That is one form for many scores: the largest row (sign -1), the rows closest to public targets (both signs), the rank
of a value (below it, above it, and a constant 0).

Sensitivity (Definition 5 of the paper): replacing record i by j moves every term by at most |A_ki - A_kj| of its row,
and a maximum moves by no more than the most that any of its terms does.  So every score moves by at most `D(i, j) =
max_k |A_ki - A_kj|`, which `SelectionCost` compares with the policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import repr_of_half_built

Term = tuple[int, int, int]
"""Row, sign and offset."""


@repr_of_half_built
@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """What can be chosen, the rows that are counted for it, and how the scores follow from them."""

    questions: Stack
    workload: Workload
    labels: tuple[str, ...]
    starts: Ints  # the first term of each candidate
    rows: Ints
    signs: Ints
    offsets: Ints
    unit: Fraction  # what one step of a score means to people
    measure: str  # what a score that falls short is, in words: "records fewer"

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            given = "one candidate" if self.labels else "no candidates"
            raise QuestionError(f"{given}: there is nothing to choose", hints=["give at least two"])
        # A score that counted a row twice would move twice as far as the certificate says.
        if not np.isin(self.signs, (-1, 0, 1)).all() or not len(self.rows) == len(self.signs) == len(self.offsets):
            raise QuestionError("a score follows each of its rows once, up or down")
        for name in ("starts", "rows", "signs", "offsets"):
            object.__setattr__(self, name, read_only(np.array(getattr(self, name), dtype=np.int64)))
        used = np.unique(self.rows)
        if len(used) != self.workload.rows:
            raise QuestionError("a row that no candidate's score uses")

    def __repr__(self) -> str:
        return f"Candidates({len(self.labels):,} over {self.workload.rows:,} rows)"

    def __len__(self) -> int:
        return len(self.labels)

    def scores(self, answers: Ints) -> Ints:
        """The score of every candidate, from the rows' exact answers: as secret as these."""
        return np.asarray(-np.maximum.reduceat(self.signs * answers[self.rows] - self.offsets, self.starts))

    def largest(self, records: int) -> int:
        """The largest absolute score that so many records can give."""
        return self.workload.largest * records + int(np.abs(self.offsets).max(initial=0))


def candidates(
    questions: Stack,
    workload: Workload,
    labels: Sequence[str],
    terms: Sequence[Sequence[Term]],
    *,
    unit: Fraction,
    measure: str,
) -> Candidates:
    """Candidates from the terms of each."""
    lengths = [len(some) for some in terms]
    if 0 in lengths or len(lengths) != len(labels):
        raise QuestionError("every candidate needs a score")
    table: Ints = np.array([t for some in terms for t in some], dtype=np.int64).reshape(-1, 3)
    starts: Ints = np.cumsum([0, *lengths[:-1]]).astype(np.int64)[: len(lengths)]
    rows, signs, offsets = (np.ascontiguousarray(table[:, k]) for k in range(3))
    return Candidates(questions, workload, tuple(labels), starts, rows, signs, offsets, unit, measure)
