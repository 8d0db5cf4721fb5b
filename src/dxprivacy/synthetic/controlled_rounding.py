"""Controlled rounding: round a histogram of fractions to integers; deterministic post-processing without data.

Every bin (one for each possible record) is rounded down or up, and the total is kept exactly.  The selection of bins to
round up determines the error of sums over many bins.  Rounding up the largest fractions fails if there are more bins
than records: with 0.2 in each of ten thousand bins, it fills the first two thousand.  Rounding along one order keeps
every prefix sum, but other sums drift.

This algorithm is a form of error diffusion, as in image processing.  It goes through the bins in their order, a few at
a time, and rounds up as many as keep the prefix sum within one.  Which ones depends on the remaining error of the sums
that users query: margins of one, two and three attributes, and runs of neighboring values of each.  So the error of one
bin is compensated by bins that share most of its margins.

For one attribute, this is rounding along its order: every range of neighboring values is off by less than one.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import is_whole

ORDERS = 3  # the most attributes of a margin
_TOGETHER = 64  # the number of bins that are decided together ...
_STEPS = 1 << 14  # ... or more, if that would take more steps than this
_WORK = 80_000_000  # bins times kept sums
_MOST = 1 << 50


def whole_counts(histogram: object, shape: Sequence[int], records: int) -> Ints:
    """Return integers that sum to `records` and nearly have the margins of the histogram, scaled to that sum.

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
    """The remaining error of each sum: the sum of the fractions seen, minus the number of bins rounded up.

    The index of a bin in a table of sums is linear in its values along the axes, each divided by the length of a run.
    So one product of small matrices gives the indices of many bins (exact: all numbers are far below 2^53).
    """

    amounts: Floats
    sizes: Ints  # for each digit the size of its axis, ...
    strides: Ints  # ... the stride of its values in the order of bins, ...
    runs: Ints  # ... and the length of its runs
    weights: Floats  # tables x digits
    starts: Floats

    @classmethod
    def of(cls, shape: Sequence[int]) -> "_Owed":
        """Track all margins of one, two and three attributes and runs of 2, 4, 8, ... neighbors, within `_WORK`."""
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
        """Return, for each table and each of these bins, the index of the sum that it belongs to."""
        digits = np.arange(first, last, dtype=np.int64) // self.strides % self.sizes // self.runs
        return (self.weights @ digits.astype(np.float64) + self.starts).astype(np.int64)


def _kept_sums(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Yield (axes, run, number of sums) of each table; margins of one order only if all of them are within `_WORK`."""
    cells, kept = math.prod(shape), 0
    for axis, size in enumerate(shape):
        for level in range(max(1, (size - 1).bit_length())):
            yield (axis,), 1 << level, -(-size >> level)
            kept += 1
    for order in range(2, min(ORDERS, len(shape)) + 1):
        chosen = [
            (axes, math.prod(shape[a] for a in axes)) for axes in itertools.combinations(range(len(shape)), order)
        ]
        useful = [(axes, size) for axes, size in chosen if 4 * size <= cells]  # others sum over few bins
        kept += len(useful)
        if kept * cells > _WORK:
            return
        for axes, size in useful:
            yield axes, 1, size


def _diffuse(out: Ints, fractions: Floats, so_far: Ints, owed: _Owed) -> None:
    """Round up, a few bins at a time, those whose sums have the largest remaining error."""
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
            # A quarter at a time, so that later choices see the effect of earlier ones.
            now = max(1, up // 4)
            wish = np.where(free, owed.amounts[places].sum(axis=0) + part, -np.inf)
            chosen = np.argsort(-wish, kind="stable")[:now]
            np.subtract.at(owed.amounts, places[:, chosen], 1.0)
            free[chosen] = False
            out[first + chosen] += 1
            up -= now


def _mend(out: Ints, fractions: Floats, records: int) -> None:
    """Correct a total that is off by one or two because of float errors, in the bins that are nearest to rounding."""
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
        raise UsageError("a histogram is a list of numbers, one for each possible record") from None
    if y.shape != (math.prod(shape),):
        raise UsageError(
            f"the histogram has the wrong shape; {math.prod(shape):,} numbers are needed, one for each possible record"
        )
    if not np.isfinite(y).all() or y.min() < 0:
        raise UsageError("a histogram holds finite numbers that are not negative")
    if records and not y.sum() > 0:
        raise UsageError("an empty histogram has no records", hints=["records=0"])
    return y
