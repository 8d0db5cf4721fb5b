"""The same queries by diffprivlib, as its users put them together, at one ε for every replaced record.

Runs in an environment of its own (benchmarks/peers.py).  Its variances and sums are of numbers whose number is public,
and keep ε for one that is replaced.  What differs from that:

- a *histogram* has noise for one cell, but a replaced record changes two: it gets ε/2;
- a *quantile* keeps its ε for a record that leaves or comes too: groups at ε/2 keep ε together;
- a *sum* over a group, whose size nobody knows, is one over all records, with 0 for others.  Of numbers around 0,
  who leaves one group and joins another changes each by half of what its noise is for: all groups together keep ε.

Its noise is made of floats.
"""

import json
import sys
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks import survey
from benchmarks.survey import CELL, EDGE, QUARTILES, REGIONS, ROOMS, TOP, Floats, Ints, Sample, by_region

Answer = Callable[[Sample], Floats]
MIDDLE = TOP / 2
CANNOT = {
    "covariance age, rooms": "it has none",
    "correlation age, rooms": "it has none",
}


def main() -> None:
    """Root mean squared errors of what is asked for: [[words, ε], …], as JSON."""
    warnings.filterwarnings("ignore")
    queries = {query.words: query for query in survey.ALL}
    print(json.dumps([queries[words].rmse(_ANSWERS[words](eps)) for words, eps in json.loads(sys.argv[1])[0]]))


def _budgets(epsilon: float) -> Answer:
    def budgets(s: Sample) -> Floats:
        without, smokers = _counts(2 * s.region + s.smoker, 2 * REGIONS, epsilon).reshape(REGIONS, 2).T
        return smokers / np.maximum(smokers + without, 1)

    return budgets


def _means(epsilon: float) -> Answer:
    def means(s: Sample) -> Floats:
        sums = by_region(s, lambda r: _sum((s.age - MIDDLE) * r, -MIDDLE, MIDDLE, epsilon / 2))
        return MIDDLE + sums / np.maximum(_counts(s.region, REGIONS, epsilon / 2), 1)

    return means


def _ratios(epsilon: float) -> Answer:
    """Sums from 0: both groups of somebody who moves may change by all that the noise is for, so each gets half."""

    def ratios(s: Sample) -> Floats:
        ages = by_region(s, lambda r: _sum(s.age * r, 0, TOP, epsilon / 4))
        rooms = by_region(s, lambda r: _sum(s.rooms * r, 0, ROOMS, epsilon / 4))
        return ages / np.maximum(rooms, 1)

    return ratios


def _quantiles(epsilon: float) -> Answer:
    return lambda s: by_region(s, lambda r: _quantile(s.age[r], QUARTILES, epsilon / 2))


def _medians(epsilon: float) -> Answer:
    return lambda s: by_region(s, lambda r: _quantile(s.age[r & (s.smoker == 1)], (0.5,), epsilon / 2))


def _variance(epsilon: float) -> Answer:
    from diffprivlib import tools

    return lambda s: np.array([tools.var(s.age.astype(float), epsilon=epsilon, bounds=(0, TOP))])


def _sd(epsilon: float) -> Answer:
    from diffprivlib import tools

    return lambda s: np.array([tools.std(s.age.astype(float), epsilon=epsilon, bounds=(0, TOP))])


def _histogram(epsilon: float) -> Answer:
    return lambda s: _counts(s.age // 10, TOP // 10 + 1, epsilon)


def _cumulative(epsilon: float) -> Answer:
    """Sums of the cells of a histogram: there are no trees."""
    return lambda s: _counts(s.age, TOP + 1, epsilon).cumsum()


def _map(epsilon: float) -> Answer:
    from diffprivlib import tools

    def counts(s: Sample) -> Floats:
        x, y = survey.places()[s.home].T
        ends = [(0, EDGE), (0, EDGE)]
        return np.ravel(tools.histogram2d(x, y, epsilon=epsilon / 2, bins=EDGE // CELL, range=ends)[0]).astype(float)

    return counts


def _counts(codes: Ints, number: int, epsilon: float) -> Floats:
    from diffprivlib import tools

    return tools.histogram(codes, epsilon=epsilon / 2, bins=number, range=(-0.5, number - 0.5))[0].astype(float)


def _sum(numbers: Floats | Ints, low: float, high: float, epsilon: float) -> float:
    from diffprivlib import tools

    return float(tools.sum(numbers, epsilon=epsilon, bounds=(low, high)))


def _quantile(numbers: Ints, at: tuple[float, ...], epsilon: float) -> Floats:
    from diffprivlib import tools

    return np.atleast_1d(tools.quantile(numbers.astype(float), at, epsilon=epsilon, bounds=(0, TOP)))


_ANSWERS: dict[str, Callable[[float], Answer]] = {
    query.words: function
    for query, function in {
        survey.SHARES: _budgets,
        survey.MEANS: _means,
        survey.RATIOS: _ratios,
        survey.QUANTILES: _quantiles,
        survey.MEDIANS: _medians,
        survey.VARIANCE: _variance,
        survey.SD: _sd,
        survey.HISTOGRAM: _histogram,
        survey.CUMULATIVE: _cumulative,
        survey.MAP: _map,
    }.items()
}
