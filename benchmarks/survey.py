"""Invented surveys and maps whose answers are known, for a comparison with peers: numpy alone, as these run elsewhere.

Each run has new records, the same for all who are compared; answers are cut at what is publicly possible, everybody's.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PEOPLE, HOMES = 5_000, 20_000
REGIONS, TOP, ROOMS = 5, 100, 8
EDGE, CELL = 400, 10  # km of the map, and of its cells
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Sample:
    """Records by columns: `smoker` is 0 or 1, `rooms` from 1; `home` is a number of a place, of a map only."""

    region: Ints
    smoker: Ints
    age: Ints
    rooms: Ints
    home: Ints


@functools.cache
def people(run: int) -> Sample:
    """Regions of different sizes, ages that are skewed, older people with more rooms."""
    rng = np.random.default_rng(1_000 + run)
    region = rng.choice(REGIONS, PEOPLE, p=[0.35, 0.25, 0.2, 0.12, 0.08])
    smoker = (rng.random(PEOPLE) < 0.15 + 0.05 * region).astype(np.int64)
    age = np.clip(rng.gamma(4, 9 + region).astype(np.int64), 0, TOP)
    rooms = np.clip(np.rint(1 + age / 20 + rng.normal(0, 1.2, PEOPLE)), 1, ROOMS).astype(np.int64)
    return Sample(region, smoker, age, rooms, np.zeros(0, np.int64))


@functools.cache
def places() -> Floats:
    """3,000 places in twelve towns, half a km apart at least, and two corners that make the box a round one."""
    rng = np.random.default_rng(4)
    towns, size = rng.uniform(40, EDGE - 40, (12, 2)), rng.dirichlet(np.ones(12) * 0.7)
    spots = towns[rng.choice(12, 20_000, p=size)] + rng.normal(0, 9, (20_000, 2))
    spots = np.unique(np.round(np.clip(spots, 1, EDGE - 1) * 2) / 2, axis=0)
    return np.vstack([[0, 0], rng.permutation(spots)[:2_998], [EDGE, EDGE]]).astype(float)


@functools.cache
def homes(run: int) -> Sample:
    rng = np.random.default_rng(2_000 + run)
    nobody = np.zeros(0, np.int64)
    return Sample(nobody, nobody, nobody, nobody, rng.integers(0, len(places()), HOMES))


def cells(sample: Sample) -> Ints:
    """The square that each home lies in, by its number."""
    side = EDGE // CELL
    x, y = np.minimum(places()[sample.home] // CELL, side - 1).astype(np.int64).T
    return x * side + y


def by_region(sample: Sample, found: Callable[[NDArray[np.bool_]], object]) -> Floats:
    """What is found in each region, one after the other; several numbers of a region stand together."""
    return np.array([found(sample.region == r) for r in range(REGIONS)], dtype=float).ravel()


def _at(numbers: Ints) -> Floats:
    return np.quantile(numbers, QUARTILES, method="inverted_cdf").astype(float)


@dataclass(frozen=True)
class Query:
    """In our words, what is true, what is possible, and how often it is asked."""

    words: str
    truth: Callable[[Sample], Floats]
    low: float
    high: float
    runs: int = 100
    sample: Callable[[int], Sample] = people

    def rmse(self, answer: Callable[[Sample], Floats]) -> float:
        """Over all answers and runs."""
        errors = []
        for run in range(self.runs):
            sample = self.sample(run)
            found = np.clip(np.nan_to_num(answer(sample), nan=self.low), self.low, self.high)
            errors.append(float(np.mean(np.square(found - self.truth(sample)))))
        return math.sqrt(float(np.mean(errors)))


SHARES = Query("proportion where smoker=Y by region", lambda s: by_region(s, lambda r: s.smoker[r].mean()), 0, 1)
MEANS = Query("mean age by region", lambda s: by_region(s, lambda r: s.age[r].mean()), 0, TOP)
RATIOS = Query(
    "ratio of sum age to sum rooms by region",
    lambda s: by_region(s, lambda r: s.age[r].sum() / s.rooms[r].sum()),
    0,
    TOP,
)
QUANTILES = Query(
    "quantile 0.25, 0.5, 0.75 of age by region", lambda s: by_region(s, lambda r: _at(s.age[r])), 0, TOP, 60
)
MEDIANS = Query(
    "median age by region where smoker=Y",
    lambda s: by_region(s, lambda r: _at(s.age[r & (s.smoker == 1)])[1]),
    0,
    TOP,
    60,
)
VARIANCE = Query("variance age", lambda s: np.array([s.age.var()]), 0, (TOP / 2) ** 2, 300)
SD = Query("sd age", lambda s: np.array([s.age.std()]), 0, TOP / 2, 300)
COVARIANCE = Query(
    "covariance age, rooms",
    lambda s: np.cov(s.age, s.rooms, ddof=0)[:1, 1],
    -TOP * (ROOMS - 1) / 4,
    TOP * (ROOMS - 1) / 4,
    600,
)
CORRELATION = Query("correlation age, rooms", lambda s: np.corrcoef(s.age, s.rooms)[:1, 1], -1, 1, 300)
HISTOGRAM = Query(
    "histogram age/10", lambda s: np.bincount(s.age // 10, minlength=TOP // 10 + 1).astype(float), 0, PEOPLE
)
CUMULATIVE = Query("cumulative age", lambda s: np.bincount(s.age, minlength=TOP + 1).cumsum().astype(float), 0, PEOPLE)
MAP = Query(
    "density home width 10 every 10",
    lambda s: np.bincount(cells(s), minlength=(EDGE // CELL) ** 2).astype(float),
    0,
    HOMES,
    10,
    homes,
)
ALL = (
    SHARES, MEANS, RATIOS, QUANTILES, MEDIANS, VARIANCE, SD, COVARIANCE, CORRELATION, HISTOGRAM, CUMULATIVE, MAP,
)  # fmt: skip
