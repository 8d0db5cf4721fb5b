"""The error bound of MWEM (Theorem 8 of the paper, corrected), and the number of rounds that makes it least.

For rows in a unit range, of which every one changes by at most c d(i, j), T rounds of Algorithm 2 as corrected (one
update each, from the uniform histogram, the average of the histograms before each round) answer every row within
`2 n sqrt(ln N / T) + 10 T c ln |Q|`, except with probability `2 T / |Q|` (Hardt, Ligett, McSherry 2012, Theorem 2.2).

Corrected: the printed T makes the two terms equal, which is not the minimum; T is a whole number; and where 2 T / |Q|
is 1 or more the statement says nothing, so that none is made (MATH section 2, correction 3).
"""

import math
from dataclasses import dataclass

from dxprivacy.wording import digits


@dataclass(frozen=True)
class ErrorBound:
    """The guarantee of theory: every answer within `error` range units, except with probability `failure`."""

    error: float
    failure: float
    records: int

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: it may fail always, or any histogram answers within n."""
        return self.failure >= 1 or self.error >= self.records

    def __str__(self) -> str:
        if self.failure >= 1:
            return f"no error bound: the theorem's would fail with probability {digits(self.failure)}, so says nothing"
        if self.error >= self.records:
            return f"no error bound: the theorem's, {digits(self.error)}, is above the number of records"
        return (
            f"every answer is within {digits(self.error)} times its range "
            f"(with probability {digits(1 - self.failure)}, by theorem)"
        )


def error_bound(records: int, cells: int, rows: int, c: float, rounds: int) -> ErrorBound:
    """The bound for so many rounds.

    >>> round(error_bound(1_000_000, 100, 1000, 1.0, 50).error)
    610425
    """
    return ErrorBound(_bound(records, cells, rows, c, rounds), 2 * rounds / rows, records)


def _bound(records: int, cells: int, rows: int, c: float, rounds: int) -> float:
    return 2 * records * math.sqrt(math.log(cells) / rounds) + 10 * rounds * c * math.log(rows)


def best_rounds(records: int, cells: int, rows: int, c: float) -> int:
    """The whole number of rounds with the least bound.

    The bound falls, then rises: its derivative is 0 at T = (n sqrt(ln N) / (10 c ln |Q|))^(2/3), and the best whole
    number is beside it.

    >>> best_rounds(1_000_000, 100, 1000, 1.0)
    988
    """
    if rows < 2 or cells < 2 or not c > 0:
        return 1  # one row is measured once; nothing to find out about one cell
    best = (records * math.sqrt(math.log(cells)) / (10 * c * math.log(rows))) ** (2 / 3)
    beside = {max(1, math.floor(best)), max(1, math.ceil(best))}
    return int(min(beside, key=lambda t: (_bound(records, cells, rows, c, t), t)))
