"""Rows worked out from other noisy rows by least squares: the matrix mechanism's way back.

The counted rows B x + noise and the public total tell about the histogram x; the estimate of least variance among
those without bias is the generalised least squares solution, and each row that was asked for is read off it, so that
all answers agree with one another.  Rows over disjoint attributes have nothing to tell one another, so the attributes
fall into components, each solved for itself: over the cells that its rows tell apart, or table by table in closed form
where those are too many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.model.blocks import Block, joint_classes
from dxprivacy.model.questions import Stack
from dxprivacy.model.workload import Workload
from dxprivacy.planning.laws import Blend, Laplace, Law
from dxprivacy.planning.measured import Measured
from dxprivacy.planning.noise_law import variance

MOST_CELLS = 1_500


@dataclass(frozen=True, eq=False)
class Component:
    """Blocks that share attributes: which blocks were asked and which are counted, by their numbers."""

    axes: tuple[int, ...]
    asked: tuple[int, ...]
    counted: tuple[int, ...]


def components(asked: Sequence[Block], counted: Sequence[Block]) -> list[Component]:
    """The finest partition in which blocks with a common attribute stay together, in order of their attributes."""
    groups: list[set[int]] = []
    for block in (*asked, *counted):
        mine = {a for a in block.axes if block.moving(a).any()}
        touching = [g for g in groups if g & mine]
        groups = [g for g in groups if not g & mine]
        if mine:
            groups.append(mine.union(*touching))
    out = []
    for group in sorted(groups, key=min):
        chosen = [tuple(k for k, b in enumerate(blocks) if _moves(b) & group) for blocks in (asked, counted)]
        out.append(Component(tuple(sorted(group)), chosen[0], chosen[1]))
    return out


def _moves(block: Block) -> set[int]:
    return {a for a in block.axes if block.moving(a).any()}


def classes_of(blocks: Sequence[Block], axis: int) -> Ints:
    """Values of an attribute that no block tells apart, numbered in the order of the values."""
    size = blocks[0].universe.shape[axis]
    found = joint_classes([b.moving(axis) for b in blocks], size)
    first = np.full(int(found.max(initial=0)) + 1, size)
    np.minimum.at(first, found, np.arange(size))
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[found].astype(np.int64)


def representatives(blocks: Sequence[Block], axes: Sequence[int]) -> Ints:
    """One cell for each combination of classes, the last attribute fastest; others at their first value."""
    universe = blocks[0].universe
    cells = np.zeros(1, dtype=np.int64)
    for axis in axes:
        first = np.unique(classes_of(blocks, axis), return_index=True)[1].astype(np.int64)
        cells = (cells[:, None] + first * universe.strides[axis]).ravel()
    return cells


def cells_told_apart(blocks: Sequence[Block], axes: Sequence[int]) -> int:
    """How many combinations of classes there are."""
    out = 1
    for axis in axes:
        out *= int(classes_of(blocks, axis).max(initial=0)) + 1
    return out


class LeastSquares(Measured):
    """The estimate of least variance without bias, given the counted rows and the public number of records."""

    how = "least squares"

    def __init__(self, asked: Workload, questions: Stack) -> None:
        super().__init__(asked, questions)
        if asked.universe.absent is not None:
            raise NotCertified("least squares needs a public number of records", hints=['method="optimal"'])

    @cached_property
    def parts(self) -> "list[_Cells]":
        """Each component with its solution."""
        found = components(self.asked.blocks, self.workload.blocks)
        return [_Cells(self, part) for part in found]

    def laws(self, scales: Sequence[float]) -> tuple[Law, ...]:
        """Blends of the counted rows' noises; rows that are the same for all records have none."""
        spread = np.zeros(self.asked.rows)
        noises = np.array([variance(s) for s in scales])
        for part in self.parts:
            spread[part.asked_rows] = part.variances(noises)
        known: dict[float, Law] = {}
        return tuple(known.setdefault(v, Blend(v) if v > 0 else Laplace(0.0)) for v in spread.tolist())

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":
        """Component by component; rows that are the same for all records tell their number."""
        base = self.asked.columns(np.zeros(1, dtype=np.int64))[:, 0] * records
        out: list[int | float | Fraction] = list(base.tolist())
        noises = np.array([variance(s) for s in scales])
        for part in self.parts:
            rows = part.estimate(noisy, noises, records)
            for row, value in zip(part.asked_rows.tolist(), rows.tolist(), strict=True):
                out[row] = value
        return out


def _rows_of(workload: Workload, blocks: Sequence[int]) -> Ints:
    spans = [np.arange(workload.offsets[b], workload.offsets[b] + workload.blocks[b].rows) for b in blocks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *spans]).astype(np.int64)


class _Cells:
    """A component solved over the cells that its rows tell apart."""

    def __init__(self, whole: LeastSquares, part: Component) -> None:
        self.asked_rows = _rows_of(whole.asked, part.asked)
        self.counted_rows = _rows_of(whole.workload, part.counted)
        blocks = [whole.asked.blocks[b] for b in part.asked] + [whole.workload.blocks[b] for b in part.counted]
        if cells_told_apart(blocks, part.axes) > MOST_CELLS:
            raise NotCertified("too many cells for least squares")
        cells = representatives(blocks, part.axes)
        empty: Ints = np.zeros((0, len(cells)), dtype=np.int64)
        wanted = [whole.asked.blocks[b].columns(cells) for b in part.asked]
        counted = [whole.workload.blocks[b].columns(cells) for b in part.counted]
        self.wanted = np.vstack([empty, *wanted]).astype(np.float64)
        self.counted = np.vstack([empty, *counted]).astype(np.float64)
        self._solved: tuple[bytes, Floats, Floats] | None = None

    def _way(self, noises: Floats) -> tuple[Floats, Floats]:
        """Coefficients R and constants r with `estimate = R noisy + r records`, given the variances of the noise."""
        key = noises.tobytes()
        if self._solved is None or self._solved[0] != key:
            self._solved = (key, *least_squares(self.wanted, self.counted, noises))
        return self._solved[1], self._solved[2]

    def variances(self, noises: Floats) -> Floats:
        """Of the rows that were asked for."""
        mine = noises[self.counted_rows]
        return np.asarray(self._way(mine)[0] ** 2 @ mine, dtype=np.float64)

    def estimate(self, noisy: Ints, noises: Floats, records: int) -> Floats:
        """The rows that were asked for."""
        back, constant = self._way(noises[self.counted_rows])
        return np.asarray(back @ noisy[self.counted_rows] + constant * records, dtype=np.float64)


def least_squares(wanted: Floats, counted: Floats, noises: Floats) -> tuple[Floats, Floats]:
    """R and r with `wanted @ x` estimated by `R noisy + r n`: unbiased, and of least variance.

    Rows without noise, and the total, are kept exactly: x = x0 + U y with U a basis of what they leave open.

    >>> R, r = least_squares(np.eye(2), np.array([[1.0, -1.0]]), np.ones(1))
    >>> R.round(3).ravel().tolist(), r.round(3).tolist()
    ([0.5, -0.5], [0.5, 0.5])
    """
    size = wanted.shape[1]
    sure = noises == 0
    fixed = np.vstack([np.ones((1, size)), counted[sure]])
    left, strengths, right = np.linalg.svd(fixed, full_matrices=True)
    rank = int((strengths > strengths.max() * 1e-12).sum())
    open_ = right[rank:].T
    first = (right[:rank].T / strengths[:rank]) @ left[:, :rank].T  # x0 = first @ [n, exact rows]
    weights = 1 / np.sqrt(noises[~sure])
    seen = (counted[~sure] * weights[:, None]) @ open_
    scale = np.linalg.norm(seen, axis=1).max(initial=0.0)
    back = np.linalg.pinv(seen, rcond=1e-11) if scale > 0 else np.zeros((open_.shape[1], len(weights)))
    asked = wanted @ open_
    lost = np.abs(asked - asked @ back @ seen).max(initial=0.0)
    if lost > 1e-6 * max(1.0, float(np.abs(asked).max(initial=0.0))):
        raise NotCertified("the counted rows do not tell everything that is asked")
    toward = asked @ back * weights  # answers to what the noisy rows say beyond x0
    start = wanted @ first - toward @ counted[~sure] @ first
    out = np.zeros((len(wanted), len(noises)))
    out[:, ~sure] = toward
    out[:, sure] = start[:, 1:]
    return out, np.asarray(start[:, 0], dtype=np.float64)
