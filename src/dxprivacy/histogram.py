"""The histogram: how many rows fall into each cell of the universe.

This is the one object that holds true counts.  It never shows them by itself: neither its `repr` nor any error text
contains a count, so that it can pass through logs and tracebacks.
"""

from dataclasses import dataclass, field

import numpy as np

from dxprivacy.errors import DataError
from dxprivacy.exact.arrays import Ints
from dxprivacy.model.universe import Universe

_TOO_LARGE = 1 << 62


@dataclass(frozen=True, repr=False, eq=False)
class Histogram:
    """One non-negative whole number for each cell of a universe.

    >>> h = Histogram.of(Universe.listed(["a", "b", "c"]), [4, 0, 1])
    >>> h, h.total
    (Histogram(3 cells, counts hidden), 5)
    """

    universe: Universe
    counts: Ints = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _checked(self.counts, self.universe.size))

    @classmethod
    def of(cls, universe: Universe, counts: object) -> "Histogram":
        """A histogram from a list or an array of any integer-valued type."""
        return cls(universe, counts)  # type: ignore[arg-type]

    @property
    def total(self) -> int:
        """The number of rows; refused where the policy calls it private."""
        if self.universe.absent is not None:
            raise DataError("the number of records is private under this policy", hints=[("count", "with noise")])
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"Histogram({self.universe.size:,} cells, counts hidden)"


def _checked(counts: object, size: int) -> Ints:
    """A read-only int64 copy of `counts`; every refusal is worded without a count."""
    array = _as_array(counts)
    if array is None or array.dtype.kind not in "iuf":
        raise DataError("counts must be whole numbers", hints=["give one whole number for each cell"])
    if array.shape != (size,):
        shape = " × ".join(f"{n:,}" for n in array.shape) or "a single number"
        raise DataError(f"counts have the wrong shape: {shape} instead of {size:,}, one for each cell")
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.trunc(array)).all()):
        raise DataError("counts must be whole numbers", details=["Some are fractional, infinite or not a number."])
    if size and array.min() < 0:
        raise DataError("counts must not be negative")
    # The sum bounds every single count, and float64 is exact enough to see a sum of 2^62 coming.
    if float(array.sum(dtype=np.float64)) >= _TOO_LARGE:
        raise DataError("counts are too large for 64-bit whole numbers")
    out = array.astype(np.int64)
    out.setflags(write=False)
    return out


def _as_array(counts: object) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None:
    """Counts as a numpy array, or None where they are no rectangle of numbers."""
    try:
        array = np.asarray(counts)
        if array.dtype.kind == "O" and all(type(x) is int for x in array.flat):
            array = array.astype(np.float64)  # whole numbers beyond 64 bits, refused for their size later
        if array.size == 0:
            array = array.astype(np.int64)  # an empty list has no type of its own
    except (ValueError, TypeError, OverflowError):
        return None
    return array
