"""Multiplicative weights (Algorithm 2 of the paper, corrected): update a histogram towards measurements.

For a row a in a unit range and a measurement m of a x, the entry of every possible record i is multiplied by `exp(a_i
(m - a y) / (2n))`, and the histogram is rescaled to n records. Both terms have the same scale. As printed they do not,
and then y changes even if y = x and there is no noise. Rows are scaled to a unit range first.

Possible records that no measured row separates always change together. So the passes over past measurements work on
these classes (*atoms*), however many possible records there are: each round updates the records that some row counts,
and multiplies the rest once. This is post-processing: only released numbers enter.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import round_up
from dxprivacy.mechanisms.synthesis.histogram_answers import AnswerLine
from dxprivacy.metrics import Metric
from dxprivacy.privacy import cover, max_ratio
from dxprivacy.privacy.certificate import separates
from dxprivacy.privacy.costs import Cost, LaplaceCost, SelectionCost
from dxprivacy.privacy.repair import Allowance, repaired
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.blocks.block import ENTRIES_AT_ONCE
from dxprivacy.universe.workload import Workload

# -- The least scale of each row by itself: its largest change relative to the distance --------------------------------
# Row k alone, with scale s_k, uses max |A_ki - A_kj| / (s_k d(i, j)) of the policy. A selection among rows uses the
# largest of these, not their sum. So every row can have the least scale that it could have alone. Floats propose here;
# `max_ratio` decides.


_MOST_PAIRS = 3_000_000


def row_ratios(workload: Workload, metric: Metric) -> Floats:
    """Return, per row, the largest |A_ki - A_kj| / d(i, j), in floats; 0 for rows that the policy leaves free.

    If a block has too many pairs, all its rows get the largest of their ratios.

    >>> from dxprivacy import metrics
    >>> from dxprivacy.queries.asking import gather
    >>> d = metrics.line(3, 1)
    >>> row_ratios(gather([[0, 1, 2], [0, 0, 4], [5, 5, 5]]).on(d.universe), d).tolist()
    [1.0, 4.0, 0.0]
    """
    return np.concatenate([_block_ratios(block, workload, metric) for block in workload.blocks])


def _block_ratios(block: Block, workload: Workload, metric: Metric) -> Floats:
    alone = Workload(workload.universe, (block,), ())
    pairs = cover(
        LaplaceCost(alone, np.arange(1.0, block.rows + 1.0)), metric, tree_searches=True
    )  # contexts distinguish rows
    if not pairs.tight or pairs.size * block.width > _MOST_PAIRS:
        bound = max_ratio(SelectionCost(alone, np.ones(block.rows)), metric)
        if bound.upper == math.inf:
            raise separates(workload, metric, bound.witness)
        return np.full(block.rows, round_up(bound.upper))
    out = np.zeros(block.rows)
    for i, j in pairs.pairs(max(1, min(1 << 12, ENTRIES_AT_ONCE // block.width))):
        d = metric.pairwise(i, j)
        asks = np.isfinite(d)
        i, j, d = i[asks], j[asks], d[asks]
        pair, row, amount = block.differences(i, j)
        if (d[pair] <= 0).any():
            at = int(pair[int((d[pair] <= 0).argmax())])
            raise separates(workload, metric, (int(i[at]), int(j[at])))
        np.maximum.at(out, row, amount / d[pair])
    return out


def certified_scales(
    workload: Workload,
    metric: Metric,
    part: Fraction,
    ratios: Floats | None = None,
    *,
    steps: int = 1,
    spent: Cost | None = None,
) -> Floats:
    """Return scales at which a selection among all rows, and each row alone, uses at most `part` of the policy.

    `steps` such steps fit next to what was spent. One certificate suffices for both, because the loss of a selection is
    the largest loss of a row. Free rows get 0.
    """
    ratios = row_ratios(workload, metric) if ratios is None else ratios
    known = {r: round_up(Fraction(r) / part) for r in np.unique(ratios).tolist()}
    scales = np.array([known[r] for r in ratios.tolist()])
    if (bound := max_ratio(SelectionCost(workload, scales), metric)).upper == math.inf:
        raise separates(workload, metric, bound.witness)
    fits, _ = repaired(scales, lambda s: SelectionCost(workload, s), Allowance(metric, part), workload)
    if spent is None:
        return fits
    # All steps together, each at most a selection among all rows, next to what was spent.
    beside = Allowance(metric, steps * part, spent)
    return repaired(fits, lambda s: SelectionCost(workload, np.nextafter(s / steps, 0)), beside, workload)[0]


def row_spans(workload: Workload) -> Floats:
    """Return, per row, its largest minus its least entry over all records: rows divided by it have a unit range.

    >>> from dxprivacy.queries.asking import gather
    >>> from dxprivacy.universe.universe import Universe
    >>> row_spans(gather([[0, 1, 2], [-1, 0, 4], [5, 5, 5]]).on(Universe.listed("abc"))).tolist()
    [2.0, 5.0, 0.0]
    """
    return np.concatenate([block.spans() for block in workload.blocks])


# -- Multiplicative weights (Algorithm 2 of the paper, corrected) ------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """A measured row on the atoms: its least value, its range, and the target answer."""

    low: float
    span: float
    target: float
    binary: bool  # whether it has only two values


class Weights:
    """A histogram of `records` records, and the measurements that it has learned.

    >>> w = Weights(np.ones(4), 100.0)
    >>> w.learn(AnswerLine(np.array([0]), np.ones(1)), 60.0)
    >>> w.sweep(500)
    >>> w.y.round(1).tolist()
    [60.0, 13.3, 13.3, 13.3]
    """

    def __init__(self, start: Floats, records: float) -> None:
        self.records = records
        self.y: Floats = start * (records / start.sum())
        self._atom: Ints = np.zeros(len(start), dtype=np.int64)  # 0: separated by no row
        self._moved: Ints = np.zeros(0, dtype=np.int64)  # the possible records of all other atoms
        self._sizes: Ints = np.array([len(start)], dtype=np.int64)
        self._rows: list[_Row] = []
        self._values: Floats = np.zeros((0, 1))  # per measured row and atom, in [0, 1]

    def learn(self, line: AnswerLine, measured: float) -> None:
        """Add the measured answer of a row, clipped to the answers that a histogram can have."""
        inside = len(line.cells) == len(self.y)
        low = min(float(line.weights.min(initial=np.inf)), np.inf if inside else 0.0)
        high = max(float(line.weights.max(initial=-np.inf)), -np.inf if inside else 0.0)
        if high <= low:
            return  # constant: it carries no information besides n
        self._refine(line, low, high - low)
        binary = bool(((line.weights == low) | (line.weights == high)).all()) and (inside or 0.0 in (low, high))
        target = min(max(measured, low * self.records), high * self.records)
        self._rows.append(_Row(low, high - low, (target - low * self.records) / (high - low), binary))

    def step(self) -> None:
        """Apply the update of Algorithm 2 once, for the latest measurement."""
        self._lean(0, newest=True)

    def sweep(self, passes: int) -> None:
        """Apply the update for every measurement so far, oldest first, `passes` times."""
        self._lean(passes, newest=False)

    def _lean(self, passes: int, *, newest: bool) -> None:
        if not self._rows:
            return
        atoms = self._atom[self._moved]
        before: Floats = np.bincount(atoms, weights=self.y[self._moved], minlength=len(self._sizes)).astype(np.float64)
        before[0] = max(self.records - float(before[1:].sum()), 0.0) if self._sizes[0] else 0.0
        after: Floats = np.array(before, dtype=np.float64)
        some = [len(self._rows) - 1] if newest else [*range(len(self._rows))] * passes
        n, targets, binary = self.records, [row.target for row in self._rows], [row.binary for row in self._rows]
        lines, ones, change = list(self._values), np.ones(len(before)), np.empty(len(before))
        for k in some:
            a = lines[k]
            answer = float(a.dot(after))
            strength = (targets[k] - answer) / (2 * n)
            if binary[k]:  # then exp(a t) = 1 + a (exp(t) - 1), and the sum is known too
                grown = math.expm1(strength)
                scale = n / (n + grown * answer)
                np.multiply(a, grown * scale, out=change)
                change += scale
                after *= change
            else:
                np.multiply(a, strength, out=change)
                np.exp(change, out=change)
                after *= change
                after *= n / float(after.dot(ones))
        ratio = np.ones(len(before))
        np.divide(after, before, out=ratio, where=before > 0)
        rest = float(ratio[0])
        self.y *= rest
        self.y[self._moved] *= (ratio / rest)[atoms]
        self.y *= n / float(self.y.sum())  # rounding errors of many rounds would add up

    def _refine(self, line: AnswerLine, low: float, span: float) -> None:
        """Split the atoms that the row separates; add a column for every new atom, and a line for the row."""
        weights, which = np.unique(line.weights, return_inverse=True)
        pieces, inverse = np.unique(self._atom[line.cells] * len(weights) + which.reshape(-1), return_inverse=True)
        inverse = inverse.reshape(-1)
        parent, value = pieces // len(weights), weights[pieces % len(weights)]
        counts = np.bincount(inverse, minlength=len(pieces))
        new = counts < self._sizes[parent]  # a piece that is a whole atom keeps its number
        number = parent.copy()
        number[new] = len(self._sizes) + np.arange(int(new.sum()))
        self._moved = np.concatenate([self._moved, line.cells[(self._atom[line.cells] == 0) & (number[inverse] > 0)]])
        self._atom[line.cells] = number[inverse]
        np.subtract.at(self._sizes, parent[new], counts[new])
        self._sizes = np.concatenate([self._sizes, counts[new]])
        row = np.zeros(len(self._sizes))
        row[number] = value
        self._values = np.vstack([np.hstack([self._values, self._values[:, parent[new]]]), (row - low) / span])
