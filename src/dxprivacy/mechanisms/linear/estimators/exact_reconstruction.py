"""Estimators in exact numbers, which a file can carry and a verifier can check by multiplication alone.

Floats propose R~ and r~ (`least_squares`). Rounded to multiples of 2^-30, they miss R B + r 1' = W by a little. The
residual is corrected exactly along independent rows of B and the total. Their inverse has small integers over one
denominator in all strategies that count zeros and ones. Then R B + r 1' = W holds in integers, so that the estimate R
noisy + r n is exactly unbiased, and R differs from R~ only in the weights of the noise. If the numbers are too large or
too many, the file carries no estimator.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.pair_constraints import directions

MOST_ENTRIES = 200_000
MOST_PRODUCTS = 20_000_000  # products to check it, from record to record
MOST_NUMBERS = 200_000_000  # workload rows x measured rows x records: about a second, and no large matrix
_BITS = 30
_LARGEST = 1 << 62
_FINEST = 1 << 20  # largest denominator of an inverse
_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class ExactEstimator:
    """R and r over one denominator: workload row i is (sum of its entries times noisy + its constant times n) /
    denominator.
    """

    denominator: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    entries: tuple[int, ...]
    constants: tuple[int, ...]

    def estimate(self, noisy: Sequence[int], records: int) -> list[Fraction]:
        """Return the workload rows without rounding."""
        sums = [c * records for c in self.constants]
        for row, column, entry in zip(self.rows, self.columns, self.entries, strict=True):
            sums[row] += entry * noisy[column]
        return [Fraction(x, self.denominator) for x in sums]

    def variances(self, noises: Floats) -> Floats:
        """Return the variance of each workload row, given the noise variances of the measured rows."""
        out = np.zeros(len(self.constants))
        weights = np.array(self.entries, dtype=np.float64) / self.denominator
        np.add.at(out, np.array(self.rows, dtype=np.int64), weights**2 * noises[list(self.columns)])
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: list(x) if isinstance(x, tuple) else x for name, x in vars(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], asked: int, counted: int) -> "ExactEstimator":
        """Load from JSON. Callers must check that it reconstructs the workload."""
        if set(data) != {"denominator", "rows", "columns", "entries", "constants"}:
            raise ValueError("reconstruction")
        lists = {name: tuple(data[name]) for name in ("rows", "columns", "entries", "constants")}
        whole = [data["denominator"], *(x for some in lists.values() for x in some)]
        if not all(type(x) is int and abs(x) < _LARGEST for x in whole) or data["denominator"] < 1:
            raise ValueError("reconstruction")
        rows, columns = lists["rows"], lists["columns"]
        if not len(rows) == len(columns) == len(lists["entries"]) <= MOST_ENTRIES or len(lists["constants"]) != asked:
            raise ValueError("reconstruction")
        if not all(0 <= r < asked and 0 <= c < counted for r, c in zip(rows, columns, strict=True)):
            raise ValueError("reconstruction")
        places = list(zip(rows, columns, strict=True))
        # Each position once and in order: an entry split in two would understate its variance.
        if any(a >= b for a, b in pairwise(places)) or 0 in lists["entries"]:
            raise ValueError("reconstruction")
        return cls(data["denominator"], **lists)


@dataclass(frozen=True, eq=False)
class SolvedPiece:
    """A component: its rows over the records that they separate, and R~ and r~ in floats."""

    asked_rows: Ints
    counted_rows: Ints
    wanted: Ints
    counted: Ints
    noises: Floats
    back: Floats
    constant: Floats


def exact_estimator(pieces: Sequence[SolvedPiece], base: Ints) -> ExactEstimator | None:
    """Return the exact estimator of all components; `base` holds the entries of constant rows.

    None if some component has no exact estimator with small numbers.
    """
    found = [_exact(piece) for piece in pieces]
    kept = [one for one in found if one is not None]
    if len(kept) < len(found):
        return None
    denominator = math.lcm(1, *(d for d, _ in kept))
    if denominator >= _LARGEST or _products(pieces, kept) > MOST_PRODUCTS:
        return None
    constants = [int(x) * denominator for x in base]
    places: list[Ints] = [np.zeros((3, 0), dtype=np.int64)]
    for piece, (own, whole) in zip(pieces, kept, strict=True):
        times = denominator // own
        if int(np.abs(whole).max(initial=0)) * times >= _LARGEST:
            return None
        multiplied = whole * times
        for row, constant in zip(piece.asked_rows.tolist(), multiplied[:, 0].tolist(), strict=True):
            constants[row] = constant
        at = np.nonzero(multiplied[:, 1:])
        places.append(np.stack([piece.asked_rows[at[0]], piece.counted_rows[at[1]], multiplied[:, 1:][at]]))
    found_at = np.hstack(places)
    if found_at.shape[1] > MOST_ENTRIES or max((abs(x) for x in constants), default=0) >= _LARGEST:
        return None
    rows, columns, entries = found_at[:, np.lexsort(found_at[1::-1])].tolist()
    return ExactEstimator(denominator, tuple(rows), tuple(columns), tuple(entries), tuple(constants))


def tells(given: ExactEstimator, pieces: Sequence[SolvedPiece], base: Ints) -> bool:
    """Whether R B + r 1' = W, where every row uses only its own component, and constant rows use no measured row."""
    left = set(range(len(base)))
    dense = {row: {0: c} for row, c in enumerate(given.constants)}
    for row, column, entry in zip(given.rows, given.columns, given.entries, strict=True):
        dense[row][1 + column] = dense[row].get(1 + column, 0) + entry
    for piece in pieces:
        place = {1 + c: 1 + k for k, c in enumerate(piece.counted_rows.tolist())} | {0: 0}
        whole = np.zeros((len(piece.asked_rows), 1 + len(piece.counted_rows)), dtype=object)
        for k, row in enumerate(piece.asked_rows.tolist()):
            left.discard(row)
            if not dense[row].keys() <= place.keys():
                return False
            for column, entry in dense[row].items():
                whole[k, place[column]] = entry
        if not _is_product(whole, _with_total(piece), given.denominator, piece.wanted):
            return False
    return all(dense[row] == {0: int(base[row]) * given.denominator} for row in left)


def _is_product(whole: Any, rows: Ints, times: int, wanted: Ints) -> bool:
    """Whether `whole @ rows == times * wanted`; in 64 bits if nothing can overflow, otherwise in Python integers."""
    small = whole.astype(np.int64)  # files hold no larger integers
    if _fits(small, rows) and float(times) * float(np.abs(wanted).max(initial=0)) < _LARGEST:
        return bool((small @ rows == times * wanted).all())
    return bool((whole.dot(rows.astype(object)) == times * wanted.astype(object)).all())


def _with_total(piece: SolvedPiece) -> Ints:
    total = np.ones((1, piece.counted.shape[1]), dtype=np.int64)
    return np.vstack([total, piece.counted])


def _exact(piece: SolvedPiece) -> tuple[int, Ints] | None:
    """Return the denominator, and integers X with X [1; B] = denominator W."""
    rows = _with_total(piece)
    order = np.argsort(piece.noises > 0, kind="stable")  # the total and noise-free rows first
    exact = 1 + int((piece.noises == 0).sum())
    ordered = np.concatenate([[0], 1 + order])
    weights = 1 / np.sqrt(piece.noises[order[exact - 1 :]])
    independent = ordered[directions(rows[ordered], exact, weights).rows]
    inverse = _inverse(rows[independent])
    near = np.column_stack([piece.constant, piece.back])
    if inverse is None or np.abs(near).max(initial=0.0) >= 2.0**20:
        return None
    pivots, whole, own = inverse
    proposed = np.rint(near * (1 << _BITS)).astype(np.int64)
    if not _fits(proposed, rows) or float(np.abs(piece.wanted).max(initial=0)) >= 2.0**30:
        return None
    missed = (piece.wanted << _BITS) - proposed @ rows
    if not _fits(missed, whole) or np.abs(proposed).max(initial=0) * own >= _LARGEST / 2:
        return None
    out = proposed * own
    out[:, independent] += missed[:, pivots] @ whole
    denominator = own << _BITS
    if denominator >= _LARGEST or not _fits(out, rows) or denominator * np.abs(piece.wanted).max(initial=1) >= _LARGEST:
        return None
    if (out @ rows != denominator * piece.wanted).any():
        return None
    common = math.gcd(denominator, int(np.gcd.reduce(out, axis=None)))
    return denominator // common, out // common


def _inverse(rows: Ints) -> tuple[Ints, Ints, int] | None:
    """Return columns on which independent rows are a square matrix, its inverse in integers, and their denominator."""
    from scipy.linalg import qr

    if not len(rows):
        return None
    _, _, pivot = qr(rows.astype(np.float64), mode="economic", pivoting=True)
    pivots = np.sort(pivot[: len(rows)]).astype(np.int64)
    square = rows[:, pivots]
    try:
        near = np.linalg.inv(square.astype(np.float64))
    except np.linalg.LinAlgError:
        return None
    own = 1
    for x in np.unique(np.abs(near).round(9)).tolist():
        own = math.lcm(own, Fraction(x).limit_denominator(_FINEST).denominator)
        if own > _FINEST:
            return None
    whole = np.rint(near * own).astype(np.int64)
    if np.abs(near * own - whole).max() > _NEAR or not _fits(whole, square):
        return None
    if (whole @ square != own * np.eye(len(rows), dtype=np.int64)).any():
        return None
    return pivots, whole, own


def _fits(left: Ints, right: Ints) -> bool:
    """Whether no sum of products can overflow 63 bits."""
    return float(np.abs(left).sum(axis=1).max(initial=0)) * float(np.abs(right).max(initial=0)) < _LARGEST


def _products(pieces: Sequence[SolvedPiece], kept: Sequence[tuple[int, Ints]]) -> int:
    """The number of products of a check that goes from record to record and uses only changed entries."""
    total = 0
    for piece, (_, whole) in zip(pieces, kept, strict=True):
        changes = (np.diff(piece.counted, axis=1) != 0).sum(axis=1)
        total += int(changes @ (whole[:, 1:] != 0).sum(axis=0))
    return total
