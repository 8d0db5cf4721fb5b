"""Stretching (Alaggan, Gambs and Kermarrec 2015): multiply each record by its own weight, then apply standard DP.

A record of value i counts w_i q_i instead of q_i, w_i = eps_i / max eps, and all answers get Laplace noise of one scale
c.  With c = S / max eps, S = max_i ||Q_i||_1, adding or removing i changes the answers by w_i ||Q_i||_1 <= eps_i c, and
replacing i by j by at most (eps_i + eps_j) c: it keeps `per_element(budgets)`, and the histogram attains that on every
pair.  For one count of ones the largest loss is max(eps_i, eps_j), so less noise is enough: the scale used is the least
one that is certified.

Weights are integers over a common denominator: exact if the budgets have one below 2^20, otherwise rounded down.  The
certificate is computed from the rounded rows.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import NotCertified, TooLarge
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import common_tick, round_up
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.metrics import Metric
from dxprivacy.paper.baselines.baseline import LARGEST_SCALE, Baseline, Given, read, used_by
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.repair import parse_budget
from dxprivacy.queries.kinds.matrix_query import MatrixQuery
from dxprivacy.universe.workload import Workload, stack

_FINEST = 1 << 20  # the largest denominator of weights
_LARGEST_ENTRY = 1 << 52


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Stretched(Baseline):
    """Stretched rows with noise of one scale; `parts` are the weights.

    >>> import dxprivacy as dx
    >>> found = dx.baselines.stretching([[1, 1, 1]], ["0.1", 1, 1])
    >>> found.bias([100, 100, 100]), found.release([100, 100, 100]).shape  # 90 of the first 100 are lost
    (array([-90.]), (1,))
    """

    counted: Workload

    @cached_property
    def cost(self) -> LaplaceCost:
        """The exact loss of Laplace noise on the stretched rows."""
        return LaplaceCost(self.counted, self.scales)

    @cached_property
    def scales(self) -> tuple[float, ...]:
        return tuple(round_up(self.scale / unit) for unit in self.units)

    @property
    def units(self) -> tuple[Fraction, ...]:
        return self.counted.units

    @property
    def varies(self) -> Floats:
        """Zero: stretching has no random sampling."""
        return np.zeros(len(self.parts))

    def noisy_rows(self, histogram: Histogram, noise: Noise) -> Ints:
        self.certificate.require(at_most=self.budget)  # Thm 1, for the stretched rows
        self._require_room(histogram, self.counted.largest)
        return noise.laplace(np.array(self.scales)) + self.counted.answer(histogram)


def stretching(
    queries: Any, budgets: Iterable[Any], *, metric: Metric | None = None, budget: object = "100%"
) -> Stretched:
    """Plan stretching for linear queries: a record of value i has the weight eps_i / max eps.

    `budgets` has one number for each possible record; a record with an infinite one (public) has weight 1.  It keeps
    eps_i + eps_j (`per_element`); with another `metric`, the same rows get the least noise that keeps that metric.

    >>> found = stretching([[1, 1, 0]], ["0.1", 1, 1])
    >>> [str(w) for w in found.parts], float(found.scale), found.certificate.ratio <= 1
    (['1/10', '1', '1'], 0.8181818181818182, True)
    >>> found.bias([50, 50, 50]), found.rmse([50, 50, 50]).round(2)
    (array([-45.]), array([45.01]))
    """
    granted = parse_budget(budget)
    given = read(queries, budgets, metric)
    weights, denominator = _weights(given)
    blocks = [MatrixQuery(given.rows[k : k + 1] * weights, unit / denominator) for k, unit in enumerate(given.units)]
    counted = stack([block.on(given.metric.universe) for block in blocks])
    printed = given.reach / given.top
    one = LaplaceCost(counted, [round_up(printed / unit) for unit in counted.units])
    # If the stretched rows separate no records, the loss is 0 at any scale: use the printed one.
    scale = printed * max(Fraction(used_by(one, given)) / granted, Fraction(0)) or printed
    parts = tuple(Fraction(w, denominator) for w in weights.tolist())
    for _ in range(64):  # scales on the grid are rounded to floats: the first scale may be some ulps too small
        found = Stretched(given=given, budget=granted, scale=scale, printed=printed, parts=parts, counted=counted)
        if max(found.scales) >= LARGEST_SCALE:
            raise NotCertified("the noise would be larger than any answer", hints=["the metric is too strict for this"])
        if found.certificate.ratio <= granted:
            return found
        scale = scale * (1 + Fraction(1, 1 << 52))
    raise NotCertified("no scale could be certified", hints=["this is a bug: please report it"])


def _weights(given: Given) -> tuple[Ints, int]:
    """Return integers w and a denominator with w / denominator <= eps_i / max eps, equal if the budgets allow it."""
    finite = [e if e == math.inf else Fraction(e) for e in given.budgets]
    tick = common_tick([Fraction(e) for e in finite if e != math.inf])
    room = _LARGEST_ENTRY // int(np.abs(given.rows).max())
    if room < 256:
        raise TooLarge("the numbers of the queries leave no room for weights", hints=["ask for larger units"])
    denominator = int(given.top / tick)
    if denominator > min(_FINEST, room):
        denominator = min(_FINEST, 1 << (room.bit_length() - 1))
    weights = [denominator if e == math.inf else math.floor(Fraction(e) / given.top * denominator) for e in finite]
    return np.array(weights, dtype=np.int64), denominator
