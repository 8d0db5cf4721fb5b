"""From a histogram of fractions to whole numbers of records: post-processing, without data and without chance.

Every cell is rounded down or up, and the total is kept exactly.  Which cells go up decides what sums over many cells
lose: rounding the largest fractions up is hopeless where there are more cells than records (of ten thousand cells with
0.2 each it fills the first two thousand), and rounding along one order keeps every sum over that order's beginning, but
lets the others drift.  Here the cells are taken in their order, a few at a time, as many of them up as keeps the sum
so far within one; which ones is decided by what is still owed to the sums that people ask for: the margins of one, two
and three attributes, and runs of neighboring values of each.  What one cell loses is thereby made good by cells that
share most of its margins, as error diffusion does in the printing of pictures.

Over one attribute alone this is rounding along its order: every range of neighbors is off by less than one.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import is_whole

ORDERS = 3  # margins of so many attributes at most
_TOGETHER = 64  # so many cells are decided together ...
_STEPS = 1 << 14  # ... or more, where that would take more steps than this
_WORK = 80_000_000  # cells times kept sums
_MOST = 1 << 50


def whole_counts(histogram: object, shape: Sequence[int], records: int) -> Ints:
    """Whole numbers that sum to `records` and answer nearly as the histogram does, scaled to that sum.

    `shape` is that of the universe: its last attribute varies fastest.

    >>> whole_counts([0.25] * 12, (3, 4), 3).reshape(3, 4).sum(axis=1).tolist()
    [1, 1, 1]
    >>> whole_counts([0.5, 1.5, 0.5, 1.5], (4,), 4).tolist()
    [1, 1, 1, 1]
    """
    y = _checked(histogram, shape, records)
    if records == 0:
        return np.zeros(len(y), dtype=np.int64)
    y = y * (records / y.sum())
    out: Ints = np.floor(y).astype(np.int64)
    fractions = y - out
    so_far = np.floor(np.cumsum(fractions) + 0.5).astype(np.int64)
    if len(shape) == 1:
        out += np.diff(so_far, prepend=0)
    else:
        _diffuse(out, fractions, so_far, _Owed.of(shape))
    _mend(out, fractions, records)
    return out


@dataclass(frozen=True)
class _Owed:
    """What the rounded cells still owe to each sum: the sum of the fractions seen, less the cells rounded up.

    The place of a cell in a table of sums is linear in its values along the axes, each divided by the length of a run:
    one product of small matrices for many cells (exact: all numbers are far below 2^53).
    """

    amounts: Floats
    sizes: Ints  # for each digit the size of its axis, ...
    strides: Ints  # ... how far apart its values are in the order of cells, ...
    runs: Ints  # ... and the length of its runs
    weights: Floats  # tables x digits
    starts: Floats

    @classmethod
    def of(cls, shape: Sequence[int]) -> "_Owed":
        """All margins of one, two and three attributes and runs of 2, 4, 8, ... neighbors, as far as work allows."""
        tables = list(_kept_sums(tuple(shape)))
        digits = list(dict.fromkeys((axis, run) for axes, run, _ in tables for axis in axes))
        weights = np.zeros((len(tables), len(digits)))
        for row, (axes, run, _) in zip(weights, tables, strict=True):
            for k, axis in enumerate(axes):
                row[digits.index((axis, run))] = math.prod(shape[a] for a in axes[k + 1 :])
        ends = np.cumsum([size for *_, size in tables])
        along = [(shape[axis], math.prod(shape[axis + 1 :]), run) for axis, run in digits]
        sizes, strides, runs = np.array(along, dtype=np.int64).T[:, :, None]
        return cls(np.zeros(ends[-1]), sizes, strides, runs, weights, np.r_[0.0, ends[:-1]][:, None])

    def places(self, first: int, last: int) -> Ints:
        """For each table and each of these cells, the place of the sum that it belongs to."""
        digits = np.arange(first, last, dtype=np.int64) // self.strides % self.sizes // self.runs
        return (self.weights @ digits.astype(np.float64) + self.starts).astype(np.int64)


def _kept_sums(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """(axes, run, number of sums) of each table; higher margins only where all of that order can be afforded."""
    cells, kept = math.prod(shape), 0
    for axis, size in enumerate(shape):
        for level in range(max(1, (size - 1).bit_length())):
            yield (axis,), 1 << level, -(-size >> level)
            kept += 1
    for order in range(2, min(ORDERS, len(shape)) + 1):
        chosen = [
            (axes, math.prod(shape[a] for a in axes)) for axes in itertools.combinations(range(len(shape)), order)
        ]
        useful = [(axes, size) for axes, size in chosen if 4 * size <= cells]  # others hardly sum anything up
        kept += len(useful)
        if kept * cells > _WORK:
            return
        for axes, size in useful:
            yield axes, 1, size


def _diffuse(out: Ints, fractions: Floats, so_far: Ints, owed: _Owed) -> None:
    """Round up, a few cells at a time, those whose sums are owed most."""
    cells = len(out)
    together = max(_TOGETHER, -(-cells // _STEPS))
    for first in range(0, cells, together):
        last = min(first + together, cells)
        part = fractions[first:last]
        free = part > 0
        if not free.any():
            continue
        places = owed.places(first, last)
        np.add.at(owed.amounts, places, np.broadcast_to(part, places.shape))
        up = int(so_far[last - 1] - (so_far[first - 1] if first else 0))
        up = min(up, int(free.sum()))
        while up > 0:
            # A quarter at a time: those that follow see what the first ones have paid.
            now = max(1, up // 4)
            wish = np.where(free, owed.amounts[places].sum(axis=0) + part, -np.inf)
            chosen = np.argsort(-wish, kind="stable")[:now]
            np.subtract.at(owed.amounts, places[:, chosen], 1.0)
            free[chosen] = False
            out[first + chosen] += 1
            up -= now


def _mend(out: Ints, fractions: Floats, records: int) -> None:
    """Sums of floats may be off by a little, and then the total by one or two: the nearest cells make up for it."""
    missing = records - int(out.sum())
    while missing:
        step = 1 if missing > 0 else -1
        able = np.flatnonzero(out > 0) if step < 0 else np.arange(len(out))
        order = np.argsort(-step * fractions[able], kind="stable")[: abs(missing)]
        out[able[order]] += step
        missing -= step * len(order)


def _checked(histogram: object, shape: Sequence[int], records: int) -> Floats:
    if not is_whole(records) or not 0 <= records < _MOST:
        raise UsageError(f"{records!r} records; a whole number that is not negative is needed")
    try:
        y = np.asarray(histogram, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("a histogram is a list of numbers, one for each cell") from None
    if y.shape != (math.prod(shape),):
        raise UsageError(
            f"the histogram has the wrong shape; {math.prod(shape):,} numbers are needed, one for each cell"
        )
    if not np.isfinite(y).all() or y.min() < 0:
        raise UsageError("a histogram holds finite numbers that are not negative")
    if records and not y.sum() > 0:
        raise UsageError("an empty histogram has no records", hints=["records=0"])
    return y
