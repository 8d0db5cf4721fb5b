"""What is asked along each attribute of a table, and how it is measured: single values, or anything along a line.

A table may ask, along attribute a, not for each value's count but for other rows with the Gram matrix G (prefixes,
ranges), and may measure other rows A (cells and mixtures of cells, say) whose columns have an l1 norm of at most 1, so
that a table of products of rows costs what a table of counts costs.  If the all-ones vector is an eigenvector of A'A,
the components of `table_components` stay uncorrelated, and three numbers per attribute say everything:

    contrast   tr(Q G Q (A'A)^+) / n, with Q the projection along the all-ones vector     counts: (n - 1) / n
    asked      1'G1 / n^2: what of the mean is asked                                        counts: 1 / n
    told       1'A'A1 / n^2: what of the mean is measured                                   counts: 1 / n

Then c_S = sum over asked tables W >= S of weight prod_S contrast prod_{W without S} asked, and a measured table T tells
of the component S by w^2 prod_{T without S} told prod_S 1/n.  Where all are counts, that is `table_components`'s
formula.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats

_COMMUTES = 1e-9  # of its mean: what roundings may leave of the all-ones vector's image off that vector


@dataclass(frozen=True)
class Axis:
    """One attribute: its size, and the three numbers; `counts` says that single values are asked and measured."""

    size: int
    contrast: float
    asked: float
    told: float
    counts: bool = False

    @classmethod
    def of_counts(cls, size: int) -> "Axis":
        """Single values, each counted.

        >>> Axis.of_counts(4)
        Axis(size=4, contrast=0.75, asked=0.25, told=0.25, counts=True)
        """
        return cls(size, (size - 1) / size, 1 / size, 1 / size, counts=True)

    @classmethod
    def of_rows(cls, gram: Floats, rows: Floats) -> "Axis":
        """Questions with this Gram matrix, measured by rows whose Gram matrix keeps the all-ones vector.

        >>> Axis.of_rows(np.eye(4), np.eye(4))
        Axis(size=4, contrast=0.75, asked=0.25, told=0.25, counts=False)
        """
        n = gram.shape[0]
        if gram.shape != (n, n) or rows.shape[1:] != (n,):
            raise UsageError(f"a Gram matrix and rows over the same values are needed, not {gram.shape}, {rows.shape}")
        if np.abs(rows).sum(axis=0).max() > 1 + 1e-9:
            raise UsageError("the columns of the rows that are measured must have a norm of at most 1")
        moments = rows.T @ rows
        image = moments.sum(axis=0)
        if np.ptp(image) > _COMMUTES * abs(float(image.mean())):
            raise UsageError("the rows must tell the mean of all values apart from everything else")
        centered = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        contrast = float(np.trace(np.linalg.solve(moments, centered))) / n
        return cls(n, contrast, float(gram.mean()), float(moments.mean()))


def of_sizes(sizes: Sequence[int]) -> tuple[Axis, ...]:
    """Counts along all attributes."""
    return tuple(Axis.of_counts(n) for n in sizes)
