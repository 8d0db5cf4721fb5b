"""Multiplicative weights (Algorithm 2 of the paper, corrected): a histogram that leans towards what was measured.

For a row a in a unit range and a measurement m of a x, every cell is multiplied by `exp(a_i (m - a y) / (2n))`, and
the whole is brought back to n records.  Both terms are on one scale; as printed they are not, and then y moves even
where y = x and nothing was added (MATH section 2, correction 2).  Rows are brought to a unit range first.

Cells that no measured row tells apart always move together, so that the passes over past measurements work on those
*atoms*, however many cells there are: each round touches the cells that some row counts, and multiplies the rest once.
Post-processing: only released numbers enter.
"""

import math
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.synthesis.histogram_answers import Line


@dataclass(frozen=True)
class _Row:
    """What a measured row says about the atoms: its least value, its range, and the answer to lean towards."""

    low: float
    span: float
    target: float
    binary: bool  # whether each cell counts fully or not at all


class Weights:
    """A histogram of `records` records, and what it has learned.

    >>> w = Weights(np.ones(4), 100.0)
    >>> w.learn(Line(np.array([0]), np.ones(1)), 60.0)
    >>> w.sweep(500)
    >>> w.y.round(1).tolist()
    [60.0, 13.3, 13.3, 13.3]
    """

    def __init__(self, start: Floats, records: float) -> None:
        self.records = records
        self.y: Floats = start * (records / start.sum())
        self._atom: Ints = np.zeros(len(start), dtype=np.int64)  # 0: no row has singled it out
        self._moved: Ints = np.zeros(0, dtype=np.int64)  # the cells of all other atoms
        self._sizes: Ints = np.array([len(start)], dtype=np.int64)
        self._rows: list[_Row] = []
        self._values: Floats = np.zeros((0, 1))  # per measured row and atom, in [0, 1]

    def learn(self, line: Line, measured: float) -> None:
        """Take in the answer of a row; what no histogram could answer counts as the nearest that one could."""
        inside = len(line.cells) == len(self.y)
        low = min(float(line.weights.min(initial=np.inf)), np.inf if inside else 0.0)
        high = max(float(line.weights.max(initial=-np.inf)), -np.inf if inside else 0.0)
        if high <= low:
            return  # constant: it says nothing but n
        self._refine(line, low, high - low)
        binary = bool(((line.weights == low) | (line.weights == high)).all()) and (inside or 0.0 in (low, high))
        target = min(max(measured, low * self.records), high * self.records)
        self._rows.append(_Row(low, high - low, (target - low * self.records) / (high - low), binary))

    def step(self) -> None:
        """The update of Algorithm 2: lean towards the newest measurement, once."""
        self._lean(0, newest=True)

    def sweep(self, passes: int) -> None:
        """Lean towards every measurement so far, oldest first, so many times."""
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
        self.y *= n / float(self.y.sum())  # roundings of many rounds would add up

    def _refine(self, line: Line, low: float, span: float) -> None:
        """Split the atoms that the row tells apart; a new column for every new atom, a new line for the row."""
        weights, which = np.unique(line.weights, return_inverse=True)
        pieces, inverse = np.unique(self._atom[line.cells] * len(weights) + which.reshape(-1), return_inverse=True)
        inverse = inverse.reshape(-1)
        parent, value = pieces // len(weights), weights[pieces % len(weights)]
        counts = np.bincount(inverse, minlength=len(pieces))
        new = counts < self._sizes[parent]  # a piece that is the whole of an atom keeps its number
        number = parent.copy()
        number[new] = len(self._sizes) + np.arange(int(new.sum()))
        self._moved = np.concatenate([self._moved, line.cells[(self._atom[line.cells] == 0) & (number[inverse] > 0)]])
        self._atom[line.cells] = number[inverse]
        np.subtract.at(self._sizes, parent[new], counts[new])
        self._sizes = np.concatenate([self._sizes, counts[new]])
        row = np.zeros(len(self._sizes))
        row[number] = value
        self._values = np.vstack([np.hstack([self._values, self._values[:, parent[new]]]), (row - low) / span])
