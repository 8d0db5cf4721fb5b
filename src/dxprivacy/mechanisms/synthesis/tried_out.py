"""Simulate the methods on tables drawn without data, to predict which has the least error.

Both methods run with ordinary random numbers on a few made-up tables of the public size: mixtures of skewed product
distributions, some with independent perturbations. The score is the mean absolute error per row, relative to the row's
range, compared with that of guessing uniformly. Seeds are fixed, so the same plan always has the same expected error;
real data may differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.direct.run import fit_histogram, over_asked
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.mwem.plan import MwemPlan
from dxprivacy.mechanisms.mwem.run import run_mwem
from dxprivacy.mechanisms.mwem.weights import row_spans
from dxprivacy.mechanisms.sampling.system_noise import DrawnBlockMax
from dxprivacy.mechanisms.spending import Act, StepCost
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.optimize.deadline import Watch
from dxprivacy.queries.asked import Stack
from dxprivacy.releases.guarantee import NOWHERE
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import percent

# -- Seeded random numbers in place of exact noise: for made-up tables only, never for data ----------------------------


class SimulatedNoise:
    """Seeded float noise, for simulated data only."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def laplace(self, scales: Floats) -> Ints:
        """Return discrete Laplace noise as the difference of two geometric numbers."""
        p = -np.expm1(-1.0 / np.where(scales > 0, scales, 1.0))
        two = self._rng.geometric(p, (2, len(p)))
        return np.where(scales > 0, two[0] - two[1], 0).astype(np.int64)

    def together(self, family: DrawnBlockMax) -> Ints:
        """Sample with ordinary random bytes."""
        return family.draw(self.entropy)

    def select(self, scores: Ints, scales: Floats, *, flip: bool = False) -> int:
        """Return the largest of scores / (2 scales) plus Gumbel noise, or exponential noise for permute-and-flip."""
        noise = self._rng.exponential(size=len(scores)) if flip else self._rng.gumbel(size=len(scores))
        return int((scores / (2.0 * scales) + noise).argmax())

    def entropy(self, count: int) -> bytes:
        """Return ordinary random bytes."""
        return self._rng.bytes(count)


# -- Expected errors of the methods, before anything is spent ----------------------------------------------------------


SMALL_CELLS = 50_000  # up to this size, methods are simulated on several tables
_CLUSTERS = 3


@dataclass(frozen=True)
class Expectation:
    """Expected errors by method, as fractions of the error of guessing uniformly, and notes."""

    errors: dict[str, float]
    notes: tuple[str, ...] = field(default=())

    @property
    def best(self) -> str:
        """The method with the least expected error."""
        return min(self.errors, key=lambda name: self.errors[name])

    def __str__(self) -> str:
        ordered = sorted(self.errors.items(), key=lambda pair: pair[1])
        parts = [f"{name}: about {_about(e)}" for name, e in ordered]
        if parts:
            parts[0] += " of the error of guessing uniformly"
        return "; ".join([*parts, *self.notes])


def _about(part: float) -> str:
    """Two digits, because simulations on made-up tables are not more accurate."""
    return percent(float(f"{part:.2g}")) if part >= 0.001 else "less than 0.1 %"


def _given(table: Histogram) -> Histogram:
    return table


class _Unpaid:
    """Spending for made-up tables, which costs nothing."""

    def step(self, cost: StepCost, queries: Stack, name: str, act: Act, *, asked: Stack | None = None) -> str:  # noqa: ARG002
        return act(NOWHERE)


def made_up_tables(universe: Universe, records: int, count: int) -> list[Ints]:
    """Return tables of `records` records, the same every time: mixtures of skewed products, every other one perturbed.

    >>> [int(t.sum()) for t in made_up_tables(Universe.listed("abc"), 100, 2)]
    [100, 100]
    """
    out = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        chances = np.zeros(universe.cells)
        for budget in rng.dirichlet(np.ones(_CLUSTERS)):
            part = np.full(1, budget)
            for size in universe.shape:
                part = np.multiply.outer(part, rng.dirichlet(np.full(size, 0.5))).ravel()
            chances += part
        if seed % 2:
            chances *= rng.gamma(0.5, 2.0, universe.cells)
        whole = np.zeros(universe.size, dtype=np.int64)
        whole[: universe.cells] = rng.multinomial(records, chances / chances.sum())
        out.append(whole)
    return out


class Trial:
    """A few made-up tables, and the error of guessing uniformly on them."""

    def __init__(self, workload: Workload, records: int, tables: int) -> None:
        self.workload, self.records = workload, records
        self._projection = Projection(workload)
        spans = row_spans(workload)
        self._weights = np.where(spans > 0, 1.0 / np.where(spans > 0, spans, 1.0), 0.0)
        self.tables = [Histogram.of(workload.universe, t) for t in made_up_tables(workload.universe, records, tables)]
        cells = workload.universe.cells
        self.uniform = self.error([np.full(cells, records / cells)] * tables)

    def error(self, histograms: Sequence[Floats]) -> float:
        """Return the mean error per row, given one histogram for each table."""
        return float(np.mean([self._off(y, t) for y, t in zip(histograms, self.tables, strict=False)]))

    def _off(self, y: Floats, table: Histogram) -> float:
        off = self._projection.answers(y) - self.workload.answer(table.counts)
        return float(np.abs(off * self._weights).sum() / max(np.count_nonzero(self._weights), 1))

    def part(self, error: float) -> float:
        """Return an error as a fraction of that of guessing uniformly."""
        return error / self.uniform if self.uniform > 0 else 1.0

    def mwem(self, plan: MwemPlan, watch: Watch) -> float:
        """Return MWEM's error as a fraction of guessing; the first table is always run, further ones while time is
        left.
        """
        found: list[Floats] = []
        for seed, table in enumerate(self.tables):
            if watch.over and found:
                break
            found.append(
                run_mwem(plan, partial(_given, table), _Unpaid(), SimulatedNoise(np.random.default_rng(seed))).histogram
            )
        return self.part(self.error(found))

    def direct(self, plan: Plan) -> tuple[float, bool]:
        """Return the direct fit's error as a fraction of guessing, and whether it converged."""
        counted = over_asked(plan)[1]
        scales = np.asarray(plan.scales)
        found = []
        for seed, table in enumerate(self.tables if self.workload.universe.cells <= SMALL_CELLS else self.tables[:1]):
            noisy = counted.answer(table.counts) + SimulatedNoise(np.random.default_rng(seed)).laplace(scales)
            found.append(fit_histogram(plan, noisy, n_records=self.records))
        converged = all(made.fit is None or made.fit["converged"] for made in found)
        return self.part(self.error([made.histogram for made in found])), converged
