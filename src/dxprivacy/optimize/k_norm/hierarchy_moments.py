"""Variances and covariances of k-norm noise, in floats: P(z) proportional to exp(-sum of w |z|) over nested counts.

The computation is belief propagation on the tree, with functions of one integer.  The counts below a count of noise s
contribute the weight f(s) = e^(-w |s|) (f_left * f_right)(s), all others the weight o(s), so P(s) ~ f(s) o(s).  The two
parts of a whole have the joint distribution J(l, r) ~ around(l + r) f_left(l) f_right(r), around(s) = o(s) e^(-w |s|).
With
E_i(s) = E[z_i | s] for a cell i below, Cov(z_i, z_j) = sum of J(l, r) E_i(l) E_j(r) for cells of different parts: given
l and r they are independent.  All means are 0.  (Cells are the leaves of the hierarchy.)

If the parts consist of equal counts, a on the left and b on the right, E[l | s] = s a / (a + b); then all E_i below are
multiples of s, and variances of sums suffice.  These numbers are used for errors and plans; privacy does not depend on
them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.universe.hierarchy import NO_ROW, Nest

_TAIL = 42.0  # a weight of e^-42 is negligible in floats
_NOTHING = 1e-14  # negligible relative to the largest probability
_LOST = 1e-15  # the relative error of a Fourier transform
_SHORT = 200  # longer tables are convolved by Fourier transforms
_HARDLY = 1e-9  # cells whose expected noise is below this fraction of a count's noise are dropped
MOST_PLACES = 1 << 17  # the largest size of a table
MOST_SQUARE = 3_000  # the largest size of a table if pairs of entries matter


@dataclass(frozen=True, eq=False)
class _HierarchyKind:
    """The distribution of a count: its weight and the kinds of its parts.

    An auxiliary count that is a sum of `times` equal counts names their kind as `base`.
    """

    weight: float
    halves: "tuple[_HierarchyKind, _HierarchyKind] | None" = None
    base: "_HierarchyKind | None" = None
    times: int = 1

    @cached_property
    def table(self) -> Floats:
        """The function f on the integers from -M to M, with maximum 1."""
        if self.halves is None:
            ends = int(_TAIL / self.weight) + 1 if self.weight > 0 else MOST_PLACES
            return _powers(self.weight, min(ends, MOST_PLACES))
        left, right = self.halves
        both = _convolved(left.table, right.table)
        f = both * _powers(self.weight, len(both) // 2)
        return _trimmed(f / f.max())

    def equal_parts(self) -> "tuple[_HierarchyKind, int]":
        """Return the kind of the equal counts of which it is the sum, and their number."""
        return (self, 1) if self.base is None else (self.base, self.times)


@dataclass(frozen=True, eq=False)
class _Context:
    """The context of equivalent counts: the function o on the integers from -M to M."""

    around: Floats


class Moments:
    """The covariances of the cells of a hierarchy whose rows have these weights.

    >>> from dxprivacy.universe.hierarchy import nest_of
    >>> cells = Moments(nest_of(np.eye(3, dtype=np.int64)), np.full(3, 0.01))
    >>> print(f"{np.trace(cells.covariance) * 0.01**2:.3f}")  # 2.5 where it is continuous, 3 for independent noise
    2.500
    """

    def __init__(self, nest: Nest, weights: Floats) -> None:
        self.nest, self.weights = nest, weights
        self._kinds = self._distribution()

    def _distribution(self) -> list[_HierarchyKind]:
        """Return the kind of each count; counts of equal distribution share one object."""
        nest, known = self.nest, dict[tuple[object, ...], _HierarchyKind]()
        out: list[_HierarchyKind] = [_HierarchyKind(0.0)] * nest.size
        parts = {int(a): (int(b), int(c)) for a, b, c in nest.divided.tolist()}
        for k in range(nest.size - 1, -1, -1):
            weight = float(self.weights[nest.row[k]]) if nest.row[k] != NO_ROW else 0.0
            if k not in parts:
                key: tuple[object, ...] = (weight,)
                made = _HierarchyKind(weight)
            else:
                left, right = (out[p] for p in parts[k])
                key = (weight, left, right)
                (one, a), (other, b) = left.equal_parts(), right.equal_parts()
                alike = weight == 0 and one is other
                made = _HierarchyKind(weight, (left, right), one if alike else None, a + b if alike else 1)
            out[k] = known.setdefault(key, made)
        return out

    @cached_property
    def covariance(self) -> Floats:
        """The covariance matrix of all cells, in their order."""
        start, order = self._spans
        found = np.zeros((len(order), len(order)))
        known: dict[tuple[object, object], tuple[int, _Below]] = {}
        made: dict[int, _Below] = {}
        for k in range(self.nest.size - 1, -1, -1):
            mine = slice(start[k], start[k] + self._cells[k])
            key = (self._kinds[k], self._contexts[k])
            if key in known:
                first, made[k] = known[key]
                found[mine, mine] = found[first : first + self._cells[k], first : first + self._cells[k]]
                continue
            made[k] = self._below(k, made, found, start)
            known[key] = start[k], made[k]
        out = np.empty_like(found)
        out[np.ix_(order, order)] = found
        return out

    @cached_property
    def _parts(self) -> dict[int, tuple[int, int]]:
        return {int(a): (int(b), int(c)) for a, b, c in self.nest.divided.tolist()}

    @cached_property
    def _cells(self) -> list[int]:
        """The number of cells below each count."""
        out = [1] * self.nest.size
        for k in range(self.nest.size - 1, -1, -1):
            if k in self._parts:
                out[k] = sum(out[p] for p in self._parts[k])
        return out

    @cached_property
    def _spans(self) -> tuple[list[int], Ints]:
        """The order of cells by divisions: the start of each count's cells, and the cells."""
        start, order = [0] * self.nest.size, np.zeros(self._cells[0], dtype=np.int64)
        for k in range(self.nest.size):
            if k in self._parts:
                left, right = self._parts[k]
                start[left], start[right] = start[k], start[k] + self._cells[left]
            else:
                order[start[k]] = self.nest.cell[k]
        return start, order

    def distribution(self, count: int) -> Floats:
        """Return the probabilities of a count's noise, from -M to M."""
        p = self._probability(count)
        return np.asarray(p / p.sum(), dtype=np.float64)

    def variances(self, wanted: Floats) -> Floats:
        """Return the variances of rows over the cells."""
        return np.asarray(np.einsum("ij,ij->i", wanted @ self.covariance, wanted), dtype=np.float64)

    @cached_property
    def _contexts(self) -> list[_Context | None]:
        """The context of each count; None for the root, which has no noise."""
        for kind in reversed(self._kinds):  # parts before wholes, because recursion would be too deep on long chains
            _ = kind.table
        out: list[_Context | None] = [None] * self.nest.size
        known: dict[tuple[object, ...], _Context] = {}
        for whole, left, right in self.nest.divided.tolist():
            for part, other in ((left, right), (right, left)):
                key = (out[whole], self._kinds[whole], self._kinds[part], self._kinds[other])
                if key not in known:
                    known[key] = self._around(out[whole], *key[1:])
                out[part] = known[key]
        return out

    @staticmethod
    def _around(
        outside: _Context | None, whole: _HierarchyKind, part: _HierarchyKind, other: _HierarchyKind
    ) -> _Context:
        """Return o of a part: the convolution of its sibling and the context of the whole; symmetric."""
        size = len(part.table) // 2
        if outside is None:
            found = other.table
        else:
            o = outside.around
            found = _convolved(o * _powers(whole.weight, len(o) // 2), other.table)
        found = _resized(found, size)
        return _Context(found / found.max())

    def _probability(self, k: int) -> Floats:
        """Return P of a count's noise, from -M to M, without negligible tails."""
        context = self._contexts[k]
        if context is None:
            return np.ones(1)
        p = self._kinds[k].table * context.around
        return _trimmed(p / p.sum(), _NOTHING)

    def _below(self, k: int, made: "dict[int, _Below]", found: Floats, start: list[int]) -> "_Below":
        """Return the expectations below a count from those of its parts; store the covariances across the parts."""
        p, here = self._probability(k), np.arange(start[k], start[k] + self._cells[k])
        halves = self._kinds[k].halves
        if halves is None:
            found[start[k], start[k]] = _variance(p)
            return _Below(p, np.zeros(1, dtype=np.int64), np.ones(1), None)
        left, right = (made[part] for part in self._parts[k])
        middle = self._cells[self._parts[k][0]]
        (one, a), (other, b) = halves[0].equal_parts(), halves[1].equal_parts()
        if one is other and left.slopes is not None and right.slopes is not None:
            across = np.outer(left.slopes, right.slopes) * (_variance(p) - _variance(left.p) - _variance(right.p)) / 2
            slopes = np.concatenate([left.slopes * a / (a + b), right.slopes * b / (a + b)])
            below = _Below(p, np.arange(len(slopes)), slopes, None)
        else:
            context = self._contexts[k]
            weight = self._kinds[k].weight
            around = None if context is None else context.around * _powers(weight, len(context.around) // 2)
            across, given = _joined(p, left, right, halves, around)
            below = _still_felt(p, np.concatenate([left.cells, middle + right.cells]), given)
        rows, columns = here[left.cells], here[middle + right.cells]
        found[np.ix_(rows, columns)] = across
        found[np.ix_(columns, rows)] = across.T
        return below


@dataclass(frozen=True, eq=False)
class _Below:
    """A count's noise distribution, and E_i(s) of cells below, as slopes or tables; cells that are left out have 0."""

    p: Floats
    cells: Ints  # numbered among the cells below
    slopes: Floats | None
    given: Floats | None

    def expected(self) -> Floats:
        """Return E_i(s): a row for each cell, a column for each s of the distribution."""
        if self.slopes is not None:
            return np.outer(self.slopes, _places(self.p))
        if self.given is None:
            raise NotCertified("nothing is known")
        return self.given


def _still_felt(p: Floats, cells: Ints, given: Floats) -> _Below:
    """Drop cells with a negligible expectation given the count, of which a chain has many."""
    felt = np.sqrt(given**2 @ p) > _HARDLY * np.sqrt(_variance(p))
    return _Below(p, cells[felt], None, given[felt])


def _joined(
    p: Floats, left: _Below, right: _Below, halves: tuple[_HierarchyKind, _HierarchyKind], around: Floats | None
) -> tuple[Floats, Floats]:
    """Return the covariances across two different parts, and E_i(s) given their sum, from their joint distribution."""
    m, n, size = len(left.p) // 2, len(right.p) // 2, len(p) // 2
    if max(len(left.p), len(right.p)) > MOST_SQUARE:
        raise NotCertified("the noise is too wide, and the counts too different, to compute its error")
    f, g = _resized(halves[0].table, m), _resized(halves[1].table, n)
    mine, theirs = left.expected(), right.expected()
    if around is None:  # the sum is 0
        reach = min(m, n)
        f, g = _resized(f, reach), _resized(g, reach)
        distribution = f * g / (f @ g)  # both are symmetric
        across = (_middle(mine, reach) * distribution) @ np.ascontiguousarray(_middle(theirs, reach)[:, ::-1].T)
        return across, np.zeros((len(mine) + len(theirs), len(p)))
    outer = sliding_window_view(_resized(around, m + n), 2 * n + 1)[:, ::-1]  # at (l, r) for s = l - r; g is symmetric
    joint = f[:, None] * g * outer
    joint = joint / joint.sum()
    across = mine @ (joint @ np.ascontiguousarray(theirs[:, ::-1].T))
    # E_i(s) = sum over l of f(l) g(s - l) E_i(l) / (f * g)(s), and the same with the parts exchanged.
    # A window that begins at -(m + size) has g(l - s) for s = size, so the order is reversed.
    by_left = sliding_window_view(_resized(g, m + size), 2 * m + 1) * f
    by_right = sliding_window_view(_resized(f, n + size), 2 * n + 1) * g
    bottom = by_left.sum(axis=1)
    top = np.vstack([mine @ by_left.T, theirs @ by_right.T])
    return across, np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)[:, ::-1].copy()


def _middle(lines: Floats, reach: int) -> Floats:
    now = lines.shape[1] // 2
    return lines[:, now - reach : now + reach + 1]


def _places(p: Floats) -> Floats:
    return np.arange(-(len(p) // 2), len(p) // 2 + 1, dtype=np.float64)


def _variance(p: Floats) -> float:
    return float(p @ _places(p) ** 2)


def _powers(weight: float, ends: int) -> Floats:
    return np.exp(-weight * np.abs(np.arange(-ends, ends + 1, dtype=np.float64)))


def _convolved(f: Floats, g: Floats) -> Floats:
    """Return the convolution of two symmetric tables, by Fourier transforms if they are long.

    The rounding noise of a transform is set to 0.
    """
    if min(len(f), len(g)) <= _SHORT:
        return np.asarray(np.convolve(f, g), dtype=np.float64)
    size = 1 << (len(f) + len(g)).bit_length()
    both = np.fft.irfft(np.fft.rfft(f, size) * np.fft.rfft(g, size), size)[: len(f) + len(g) - 1]
    return np.asarray(np.where(both > _LOST * both.max(), both, 0.0), dtype=np.float64)


def _resized(table: Floats, ends: int) -> Floats:
    """Return the table from -ends to ends, cut or padded with zeros."""
    now = len(table) // 2
    return table[now - ends : now + ends + 1] if now >= ends else np.pad(table, ends - now)


def _trimmed(table: Floats, nothing: float = np.exp(-_TAIL)) -> Floats:
    """Return the table without negligible tails."""
    middle = len(table) // 2
    upper = table[middle:]
    ends = max(int(np.flatnonzero(upper > nothing * upper.max())[-1]), 1)
    return table[middle - ends : middle + ends + 1]


def level_variances(weights: Floats) -> Floats:
    """Return the variance of the counts of each level of halved ranges, cells first, the halves of the whole last.

    >>> print((level_variances(np.array([0.01])) * 0.01**2).round(4))  # two cells: one number of scale 1 / 0.02
    [0.5]
    """
    kinds = [_HierarchyKind(float(weights[0]))]
    for weight in weights[1:]:
        kinds.append(_HierarchyKind(float(weight), (kinds[-1], kinds[-1])))
    out, around, above = np.zeros(len(weights)), None, _HierarchyKind(0.0)
    for level in range(len(weights) - 1, -1, -1):
        kind = kinds[level]
        around = Moments._around(around, above, kind, kind)
        p = kind.table * around.around
        out[level] = _variance(p / p.sum())
        above = kind
    return out
