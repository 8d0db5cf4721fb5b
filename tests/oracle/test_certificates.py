"""Certificates against exact fractions: on accept, on refuse, and one ulp below the tight scale."""

import math
import random
from dataclasses import replace
from fractions import Fraction as F

import pytest
from mpmath import iv, mp

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from contracts.oracle_brute import Brute
from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy.errors import NotCertified
from dxprivacy.exact.rounding import round_down, round_up
from dxprivacy.metrics.place_metrics import GreatCircle
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.privacy.certificate import certify
from dxprivacy.privacy.costs import LaplaceCost


@pytest.mark.parametrize(
    "seed", [*mostly_slow([0, 1, 2, 3], [2]), *(pytest.param(k, marks=pytest.mark.soak) for k in range(4, 10))]
)
def test_a_hundred_random_cases_with_rational_metrics_agree_with_fractions(seed):
    rng = random.Random(seed)
    done = 0
    while done < 100:
        metric = random_metric(rng, plain=rng.random() < 0.8)
        workload = random_queries(rng, metric.universe).on(metric.universe)
        if workload.universe.size > 60:
            continue
        scales = random_scales(rng, workload)
        cost = LaplaceCost(workload, scales)
        brute = Brute([workload], metric)
        truth = brute.worst(scales)
        assert certify(cost, metric).ratio == truth
        done += 1
        if truth in (0, math.inf):
            continue
        # Scale to the tight point: there it is accepted; one ulp below, exactly if the fractions say so.
        tight = [round_up(F(s) * truth) for s in scales]
        for proposal in (tight, [math.nextafter(s, 0) for s in tight]):
            candidate = LaplaceCost(workload, proposal)
            assert (certify(candidate, metric).ratio <= 1) == (brute.worst(proposal) <= 1)


@pytest.mark.parametrize("part", [F(1, 10**9), F(1, 10**12), F(1, 1 << 50)])
def test_scales_that_are_a_billionth_too_small_are_refused_before_anything_is_drawn(part):
    """No tolerance: neither by the certificate, nor by the mechanism, nor by the ledger."""
    d = dx.metrics.line(4, "0.3")
    plan = dx.plan([[1, 0, 0, 2], [0, 1, 3, 0]], d, method="optimal")
    assert plan.certificate.ratio > 1 - F(1, 10**11)
    less = tuple(round_down(F(s) * (1 - part - F(1, 10**10))) for s in plan.scales)
    cheat = replace(plan, scales=less)
    with pytest.raises(NotCertified):
        cheat.certificate.require(at_most=F(1))
    with pytest.raises(NotCertified):
        dx.laplace(cheat, [5, 5, 5, 5])


@pytest.mark.parametrize("seed", range(4))
def test_for_places_accepting_is_true_in_interval_arithmetic_and_refusing_is_tight(seed):
    rng = random.Random(1000 + seed)
    iv.prec = mp.prec = 200
    done = 0
    while done < 15:
        metric = random_metric(rng, places=True, plain=True, axes=1)
        base = metric.base if isinstance(metric, WithOther) else metric
        if base.kind not in ("euclidean", "great-circle"):
            continue
        workload = random_queries(rng, metric.universe).on(metric.universe)
        cost = LaplaceCost(workload, random_scales(rng, workload))
        ratio = certify(cost, metric).ratio
        if ratio in (0, math.inf):
            continue
        done += 1
        for factor in (ratio, ratio * (1 - F(1, 2**40)), ratio * (1 - F(1, 2**38))):
            candidate = LaplaceCost(workload, [round_up(F(s) * factor) for s in cost.scales.tolist()])
            accepted = certify(candidate, metric).ratio <= 1
            high = worst_load(candidate, metric, base)
            if accepted:
                assert high <= 1 + mp.mpf(10) ** -50  # never accepted against the truth
            else:
                assert high > 1 - mp.mpf(2) ** -40  # refused only within 2^-40 of tight


def worst_load(cost, metric, base):
    """An upper bound on the largest loss / true distance, by intervals of 200 bits."""
    high = mp.mpf(0)
    for i in range(metric.universe.size):
        for j in range(i):
            loss = cost.exact(i, j)
            if not loss:
                continue
            d = true_distance(metric, base, i, j)
            r = iv.mpf(loss.numerator) / loss.denominator / d
            high = max(high, mp.mpf(r.b))
    return high


def true_distance(metric, base, i, j):
    price = iv.mpf(base.per_unit.numerator) / base.per_unit.denominator
    radius = getattr(metric, "radius", None)
    if radius is not None and metric.last in (i, j):
        return iv.mpf(F(radius).numerator) / F(radius).denominator
    p, q = base.coordinates[i].tolist(), base.coordinates[j].tolist()
    if isinstance(base, GreatCircle):
        rad = iv.pi / 180
        (a, b), (c, d) = ([iv.mpf(x) * rad for x in point] for point in (p, q))
        h = iv.sin((a - c) / 2) ** 2 + iv.cos(a) * iv.cos(c) * iv.sin((b - d) / 2) ** 2
        root = iv.sqrt(h)
        ends = [2 * mp.asin(mp.mpf(root.a)), 2 * mp.asin(min(mp.mpf(root.b), mp.mpf(1)))]
        length = iv.mpf(ends) * iv.mpf(63710088) / 10000
    else:
        length = iv.sqrt(sum((iv.mpf(x) - iv.mpf(y)) ** 2 for x, y in zip(p, q, strict=True)))
    own = price * length
    if radius is not None and radius != math.inf:
        cap = 2 * iv.mpf(F(radius).numerator) / F(radius).denominator
        return iv.mpf([min(own.a, cap.a), min(own.b, cap.b)])
    return own
