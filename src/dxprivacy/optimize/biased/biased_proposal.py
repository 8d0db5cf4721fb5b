"""What a biased plan proposes: rows to measure instead of the asked ones, and the noise of each."""

from dataclasses import dataclass

from dxprivacy.exact.arrays import Floats


@dataclass(frozen=True, eq=False)
class Biased:
    """Measure `rows @ x` with Laplace noise of `scales` and report it as the answer to the rows that were asked.

    The worst squared error of answer k over all data sets of n records is exactly `bias[k]^2 + 2 scales[k]^2`, since
    the noise has mean 0; `loss` is their sum times the weights (for absolute errors that of `bias[k] + scales[k]`).  A
    row at scale 0 is constant on every class of elements that may not be told apart freely: its answer costs nothing.
    """

    rows: Floats
    scales: Floats
    bias: Floats
    loss: float
    name: str
    rounds: int
