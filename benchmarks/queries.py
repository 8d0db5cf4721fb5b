"""Queries that use the metric: errors of medians and densities, beside OpenDP.

Root mean squares over many samples and releases, in units of the answer.  OpenDP has one ε for all pairs: the worst
case of our release, where it protects close values far less than we do, or the ε of our closest pair, where it is as
strict as we are with these and stricter with all others.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

import dxprivacy as dx
from benchmarks.figures import Figure
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.normal import STEPS
from dxprivacy.metrics.place_metrics import Euclidean
from dxprivacy.universe.attributes.listed_points import Points

RUNS = 300
TOP = 100
PER_UNIT = "0.01"
BEST = {300: 1.8, 1_000: 0.84, 5_000: 0.4}
"""What the prototype errs by with the best of some widths, found with the data."""


def run(runs: int = RUNS) -> list[Figure]:
    """Medians at three sizes, a density, maps."""
    universe = dx.Universe([dx.Integers(name="x", low=0, high=TOP, has_other=False)])
    policy = dx.metrics.attributes(universe, {"x": {"epsilon": PER_UNIT, "per": 1}})
    rows = [figure for records, best in BEST.items() for figure in _medians(policy, records, best, runs)]
    return [*rows, _densities(policy), *_maps()]


def _sample(rng: np.random.Generator, records: int) -> Ints:
    return np.clip(rng.gamma(4, 10, records).astype(np.int64), 0, TOP)


def _rms(errors: list[float]) -> float:
    return math.sqrt(float(np.mean(np.square(errors))))


def _medians(policy: dx.metrics.Metric, records: int, best: float, runs: int) -> list[Figure]:
    rng = np.random.default_rng(records)
    plan = dx.plan("median x", policy, n_records=records)
    worst = plan.worst_epsilon
    peers = [_opendp_median(epsilon) for epsilon in (float(PER_UNIT), worst)]
    ours: list[float] = []
    theirs: list[list[float]] = [[], []]
    inside = 0
    for _ in range(runs):
        x = _sample(rng, records)
        truth = float(np.quantile(x, 0.5, method="inverted_cdf"))
        (row,) = plan.by_hand(np.bincount(x, minlength=TOP + 1)).answers
        ours.append(row.value - truth)
        inside += row.low <= truth <= row.high
        for found, peer in zip(theirs, peers, strict=True):
            found.append(peer(x) - truth)
    mine, strict, loose = _rms(ours), *map(_rms, theirs)
    what = f"median of {records:,} values, ε = {PER_UNIT} a unit"
    note = f"width {plan.queries.queries[0].to_dict()['width']}; 95 % intervals held {100 * inside / runs:.0f} %"
    less = f"OpenDP has ε = {worst:.3g} for neighbors too, {worst / float(PER_UNIT):.0f} times ours"
    return [
        Figure(f"{what}: the best width, found with the data", mine, best, mine / best, "≤ 1.5", "", note),
        Figure(f"{what}: OpenDP as strict with neighbors", mine, strict, strict / mine, "≥ 4", ""),
        Figure(f"{what}: OpenDP at our worst case", mine, loose, loose / mine, "none", "", less),
    ]


def _opendp_median(epsilon: float) -> Callable[[Ints], float]:
    """Permute-and-flip over all values; a replaced record is one removed and one added."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    mechanism = dp.binary_search_chain(
        lambda scale: dp.m.make_private_quantile(
            *space, dp.max_divergence(), candidates=list(range(TOP + 1)), alpha=0.5, scale=scale
        ),
        d_in=2,
        d_out=epsilon,
        bounds=(1e-3, 1e9),
    )
    return lambda x: float(mechanism(x.tolist()))


def _densities(policy: dx.metrics.Metric) -> Figure:
    """The noise of a cell: soft borders against hard ones, one scale for all."""
    asked = ("density x width 10 every 5", "count by x/5")
    plans = [dx.plan(query, policy, n_records=1_000, method="same-scale") for query in asked]
    soft, hard = (float(np.mean([error.rmse for error in plan.errors])) for plan in plans)
    return Figure("a cell of 5: density of width 10, against hard borders", soft, hard, hard / soft, "≥ 10", "")


def _maps() -> list[Figure]:
    """The prototype's map: 20,000 homes in 12 towns, 400 km wide, cells of 10 km; and one of places close together."""
    rng = np.random.default_rng(4)
    towns, size = rng.uniform(40, 360, (12, 2)), rng.dirichlet(np.ones(12) * 0.7)
    spots = np.clip(towns[rng.choice(12, 20_000, p=size)] + rng.normal(0, 9, (20_000, 2)), 0, 399.9)
    where = (spots // 10).astype(np.int64)
    steps = np.arange(5.0, 400, 10)
    grid = np.array([[x, y] for x in steps for y in steps])
    metric = _places(grid)
    plan = dx.plan("density home width 10 every 10", metric, n_records=20_000)
    counts = np.bincount(where[:, 0] * 40 + where[:, 1], minlength=1_600)
    drawn = np.array([row.value for row in plan.by_hand(counts).answers])
    scale, like = plan.scales[0] / STEPS, float(np.corrcoef(drawn, counts)[0, 1])
    homes = np.unique(np.round(spots * 2) / 2, axis=0)[:3_000]  # half a km apart, at least
    close = max(dx.plan("density home width 10 every 20", _places(homes), n_records=20_000).scales) / STEPS
    hard = 2 / (0.5 * float(PER_UNIT))
    apart = "a cell of a map of width 10 km, places 10 km apart: its scale, against 7.98 of the prototype"
    near = "the same, 3,000 homes half a km apart, against 2/ε for hard cells"
    return [
        Figure(apart, scale, 7.98, 7.98 / scale, "≥ 0.99", ""),
        Figure(near, close, hard, hard / close, "≥ 45", ""),
        Figure("correlation of the first map with the true counts, against 0.9", like, 0.9, like / 0.9, "≥ 1", ""),
    ]


def _places(spots: Floats) -> dx.metrics.Metric:
    names = tuple(f"p{k}" for k in range(len(spots)))
    universe = dx.Universe([Points(name="home", ids=names, coordinates=spots, has_other=False)])
    return Euclidean(universe, spots, Fraction(PER_UNIT))
