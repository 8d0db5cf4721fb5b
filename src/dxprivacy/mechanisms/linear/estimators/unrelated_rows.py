"""Rows of a component that keep noise of their own, beside others whose noise agrees."""

from collections.abc import Sequence

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.linear.estimators.least_squares import Component, Solution, noises_of, solved
from dxprivacy.mechanisms.linear.estimators.measured import Measured
from dxprivacy.mechanisms.linear.noise.noise_laws import Blend, Laplace, least_of
from dxprivacy.mechanisms.linear.strategies.k_norm_components import DIGITS, Part, Value, rounded
from dxprivacy.universe.answers import Law
from dxprivacy.universe.hierarchy import Nest


class Alone(Part):
    """Rows whose noise is their own, and why; what was asked follows by least squares."""

    whole = False

    def __init__(self, numbers: tuple[Ints, Ints], whole: Measured, part: Component, why: NotCertified) -> None:
        super().__init__(*numbers)
        self.why = why
        self._whole, self._part = whole, part
        self._solved: tuple[tuple[float, ...], Solution] | None = None

    @property
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        return ()

    @property
    def alone(self) -> Ints:
        return self.counted

    def widest(self, scales: Sequence[float]) -> float:  # noqa: ARG002
        return 0.0

    def _solution(self, scales: Sequence[float]) -> Solution:
        key = tuple(scales)
        if self._solved is None or self._solved[0] != key:
            self._solved = key, solved(self._whole, self._part, noises_of(key))
        return self._solved[1]

    def laws(self, scales: Sequence[float]) -> list[Law]:
        found = self._solution(scales)
        least = least_of(found.noises.tolist())
        return [Blend(rounded(v), *least) if v > 0 else Laplace(0.0) for v in found.variances().tolist()]

    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        found = self._solution(scales)
        spread = found.variances().tolist()
        told = found.estimate(noisy, records).tolist()
        return [round(x, DIGITS) if v > 0 else round(x) for x, v in zip(told, spread, strict=True)]
