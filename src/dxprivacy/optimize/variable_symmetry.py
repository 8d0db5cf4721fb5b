"""Reduce a large system of pairs by symmetry, without losing the optimum: equivalent variables get equal values.

Minimize `sum_k f_k(w_k)`, each f_k convex, under `A w <= d`.  Let variables fall into classes C within which f_k is the
same, and pairs into classes P within which d is, so that for every P and C

*rows*     sum over k in C of A_ik is the same for all pairs i in P, and
*columns*  sum over i in P of A_ik is the same for all variables k in C

(an equitable partition).  Replace a feasible w by its means over the classes.  For i in P, (A w')_i is then the mean of
(A w) over P, hence at most d.  The objective does not grow, because f is convex.  So the optimum over one value for
each class, with one pair of each class, is the optimum.  The symmetry need not be known: the classes are found by color
refinement.  Pairs are equivalent if they have equal limits and equal loads on equivalent variables, and vice versa.

Refinement compares sums of hashes; its result is checked against the two conditions in integers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.optimize.pair_constraints import SparsePairs

_MOST_ENTRIES = 20_000_000
_MOST_ROUNDS = 100
_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class Reduced:
    """The reduced system: one variable for each class of variables, one pair for each class of pairs."""

    pairs: SparsePairs
    variable: Ints  # the class of each variable


def reduced(pairs: SparsePairs, alike: Ints) -> Reduced | None:
    """Return the problem for classes of variables; None if it would not be smaller.

    `alike` has equal numbers for variables with equal terms in the objective.

    >>> from scipy.sparse import csr_array
    >>> star = csr_array(np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]]))
    >>> small = reduced(SparsePairs(star, np.ones(3)), np.zeros(3, dtype=np.int64))
    >>> small.variable.tolist(), small.pairs.loads.toarray().tolist()
    ([0, 0, 0], [[2.0]])
    """
    loads = pairs.loads.tocsr()
    if not pairs.size or loads.nnz > _MOST_ENTRIES or loads.max() * pairs.count >= _EXACT:
        return None
    found = _refined(loads, _codes(pairs.limits), _codes(alike))
    if found is None:
        return None
    variable, pair = found
    first = np.unique(pair, return_index=True)[1]
    if len(first) == pairs.size and int(variable.max()) + 1 == pairs.count:
        return None
    together = _summed(loads, variable)
    if not _agree(together, pair) or not _agree(_summed(loads.T.tocsr(), pair), variable):
        return None
    return Reduced(SparsePairs(together[first], pairs.limits[first]), variable)


def _codes(values: Any) -> Ints:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _summed(matrix: Any, classes: Ints) -> Any:
    """Return the matrix with columns summed over classes."""
    from scipy.sparse import csr_array

    size = len(classes)
    member = csr_array((np.ones(size), (np.arange(size), classes)), shape=(size, int(classes.max()) + 1))
    out = (matrix @ member).tocsr()
    out.sum_duplicates()
    return out


def _agree(matrix: Any, classes: Ints) -> bool:
    """Return whether all rows of a class are equal."""
    order = np.argsort(classes, kind="stable")
    same = classes[order[1:]] == classes[order[:-1]]
    apart = matrix[order[1:][same]] - matrix[order[:-1][same]]
    return apart.nnz == 0 or not bool(apart.data.any())


def _refined(loads: Any, pair: Ints, variable: Ints) -> tuple[Ints, Ints] | None:
    """Return the classes of variables and of pairs at which refinement is stable; None if nothing is gained."""
    entries = loads.tocoo()
    row, column = entries.row.astype(np.int64), entries.col.astype(np.int64)
    amount = _codes(entries.data)
    counts = (int(variable.max()) + 1, int(pair.max()) + 1)
    for _ in range(_MOST_ROUNDS):
        pair = _split(pair, row, _mixed(variable[column], amount))
        variable = _split(variable, column, _mixed(pair[row], amount))
        now = (int(variable.max()) + 1, int(pair.max()) + 1)
        if now == counts:
            return variable, pair
        if now[0] == len(variable):  # every variable its own class: nothing is gained
            return None
        counts = now
    return None


def _split(classes: Ints, at: Ints, marks: Any) -> Ints:
    """Split classes by the multiset of marks of each member."""
    total = np.zeros(len(classes), dtype=np.uint64)
    np.add.at(total, at, marks)
    return _codes(_mixed_with(total, classes))


def _mixed(classes: Ints, amounts: Ints) -> Any:
    return _mixed_with(_scrambled(amounts.astype(np.uint64) + np.uint64(1)), classes)


def _mixed_with(total: Any, classes: Ints) -> Any:
    # Offsets keep hashes nonzero: a zero mark would have no effect on a sum.
    return _scrambled(total * np.uint64(0x9E3779B97F4A7C15) + _scrambled(classes.astype(np.uint64) + np.uint64(2)))


def _scrambled(x: Any) -> Any:
    """Apply a bijection of 64-bit integers that mixes all bits (after Steele, Lea and Flood)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
